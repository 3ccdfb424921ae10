"""Warnings that name the line of the caller, or no line, and one said once, where a filter that raises does no harm."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_PACKAGE: Final = __name__.partition(".")[0]
_BETWEEN: Final = frozenset({_PACKAGE, "contextlib"})
_LOOPS: Final = frozenset({"asyncio", "concurrent", "threading"})
"""Whoever called a task or a thread does not stand below them."""
_HEARD: ContextVar[Callable[[str], object] | None] = ContextVar("zc_warnings_heard", default=None)


def warn(words: str, category: type[Warning]) -> None:
    """Warns the caller of the package; where that is nobody's line, no file is named and it is said each time."""
    if (heard := _HEARD.get()) is not None:
        heard(words)
        return
    frame = sys._getframe(1)  # noqa: SLF001 (what warnings.warn does, without its fixed stacklevel)
    while frame.f_back is not None and _owner(frame.f_globals) in _BETWEEN:
        frame = frame.f_back
    if (found := _owner(frame.f_globals)) in _BETWEEN or found in _LOOPS:
        warnings.warn_explicit(words, category, f"<{_PACKAGE}>", 1, _PACKAGE)
    else:
        kept = frame.f_globals.setdefault("__warningregistry__", {})
        name = frame.f_globals.get("__name__", "<unknown>")
        warnings.warn_explicit(words, category, frame.f_code.co_filename, frame.f_lineno, name, kept)


@contextmanager
def heard_by(hear: Callable[[str], object]) -> Iterator[None]:
    """Inside the block and in what it calls, ``hear`` is given each sentence instead."""
    token = _HEARD.set(hear)
    try:
        yield
    finally:
        _HEARD.reset(token)


def _owner(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]


class Complaint:
    """What is wrong with a thing: the first trouble is kept by :meth:`say`, under a lock, and given by :meth:`warn`."""

    def __init__(self, category: type[Warning]) -> None:
        self._category = category
        self._waiting: str | None = None
        self._said = False

    def say(self, words: str) -> None:
        """Keeps ``words``, unless something was said before."""
        if not self._said:
            self._said, self._waiting = True, words

    def warn(self) -> None:
        """Warns of what was kept; for outside the lock, when all is settled."""
        words, self._waiting = self._waiting, None
        if words is not None:
            warn(words, self._category)
