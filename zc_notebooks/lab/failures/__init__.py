"""Every failure of every provider the lab can play, by name, as ``groq.tokens_per_day`` or ``google.limit_zero``.

The bodies have the shapes that public records show; ids, numbers and names in them are the lab's own. Times are
computed from the lab's clock, so that the reset a failure states really comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from zc_notebooks.lab.failures.shape import Failure, Moment, Rendered, moment_of, render

_TABLES = ("groq", "google", "openrouter", "mistral", "hosts", "chinese", "vendors", "local", "generic")

_ALIASES = {"rate": "requests_per_minute", "quota": "requests_per_day", "overloaded": "capacity"}

__all__ = ["Failure", "Moment", "Rendered", "failure", "failure_response", "failures", "moment_of", "render"]


@cache
def failures() -> Mapping[str, Failure]:
    """All failures by name."""
    found: dict[str, Failure] = {}
    for table in _TABLES:
        for one in import_module(f"zc_notebooks.lab.failures.{table}").FAILURES:
            found.setdefault(one.name, one)
    return MappingProxyType(found)


def failure(name: str, family: str = "custom") -> Failure:
    """A failure by its full name, or by its kind for a family (``balance`` of ``groq``).

    A family that is not on record with a kind answers it as any OpenAI-compatible server does.

    Raises:
        KeyError: there is no such failure; the message names near ones.
    """
    table = failures()
    alias = _ALIASES.get(name, name)
    for full in (name, f"{family}.{name}", f"{family}.{alias}", f"custom.{name}", f"custom.{alias}"):
        if full in table:
            return table[full]
    import difflib

    near = difflib.get_close_matches(name if "." in name else f"{family}.{name}", table, n=3, cutoff=0.4)
    raise KeyError(f"the lab knows no failure {name!r}" + (f"; near are {', '.join(near)}" if near else ""))


def failure_response(name: str, now: datetime, **numbers: Any) -> tuple[int, dict[str, str], bytes]:
    """The response a failure is: status, headers (lower-case names) and body, as if it began at ``now``.

    Args:
        name: Full name, see :func:`failures`.
        now: Aware instant of the response; resets are computed from it.
        numbers: Fields of :class:`~zc_notebooks.lab.failures.shape.Moment` to use instead of the failure's own
            (``model``, ``limit``, ``used``, ``requested``, ``wire``, …).

    Raises:
        KeyError: there is no such failure.
    """
    chosen = failure(name)
    rendered = render(chosen, moment_of(chosen, now, **numbers))
    return rendered.status, dict(rendered.headers), rendered.body
