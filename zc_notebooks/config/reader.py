"""Reads tables by declared fields and collects every problem and warning of a file instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from zc_notebooks.config.fields import Check, Wrong
from zc_notebooks.config.schema import ConfigWarning
from zc_notebooks.errors import Problem
from zc_notebooks.redact import short

_SHOWN: Final = 60
"""Characters of a value that a problem quotes."""
_LONGEST: Final = 1_000
"""Characters of a problem's words: the names of all keys of a provider stand in one."""


class Reader:
    """One reading of one file."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.broken: set[str] = set()
        """Profiles with a fault of their own: whoever names them is not at fault too."""
        self._warnings: dict[tuple[str, str], ConfigWarning] = {}

    @property
    def warnings(self) -> tuple[ConfigWarning, ...]:
        """Every warning, each (code, path) once."""
        return tuple(self._warnings.values())

    def problem(self, path: str, message: str, value: object = None) -> None:
        """Notes a fault; ``value`` is quoted when it is plain."""
        self.problems.append(Problem(path=plain(path), message=plain(message, _LONGEST), value=shown(value)))

    def warn(self, code: str, path: str, message: str, ref: str = "") -> None:
        """Notes something questionable, once."""
        path = plain(path)
        if (code, path) not in self._warnings:
            self._warnings[code, path] = ConfigWarning(code=code, path=path, message=plain(message), ref=ref)

    def section(
        self, value: object, fields: Mapping[str, Check], path: str, required: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The good values of a table; faults, unknown names and blank required fields become problems."""
        if not isinstance(value, dict):
            self.problem(path, "must be a table", value)
            return {}
        found: dict[str, Any] = {}
        faulty: set[str] = set()
        for name, raw in value.items():
            where = f"{path}.{name}" if path else str(name)
            if name not in fields:
                self._unknown(name, fields, where, raw)
                continue
            try:
                parsed = fields[name](raw)
            except Wrong as wrong:
                faulty.add(name)
                self._fault(where, wrong, raw)
            else:
                if parsed is not None:
                    found[name] = parsed
        for name in required:
            if name not in found and name not in faulty:
                self.problem(f"{path}.{name}", "is required and must not be blank", value.get(name))
        return found

    def blocks(self, value: object, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The tables of an array of tables with the path of each."""
        if not isinstance(value, list):
            self.problem(path, f"must be written as [[{path}]] blocks", value)
            return
        for place, item in enumerate(value):
            if isinstance(item, dict):
                yield f"{path}[{place}]", item
            else:
                self.problem(f"{path}[{place}]", "must be a table", item)

    def _fault(self, where: str, wrong: Wrong, raw: object) -> None:
        value = None if wrong.hidden else (wrong.value if wrong.at else raw)
        self.problem(where + wrong.at, str(wrong), value)

    def _unknown(self, name: str, fields: Iterable[str], where: str, raw: object) -> None:
        near = nearest(name, fields)
        hint = f"did you mean {near!r}?" if near else f"known are {', '.join(sorted(fields))}"
        self.problem(where, f"is not a known key: {hint}", unquoted(raw))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    import difflib

    lowered = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word[:_SHOWN].lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def plain(text: str, limit: int = 400) -> str:
    """One redacted line without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in short(text, limit))


def unquoted(value: object) -> object:
    """The value of a misplaced name, except text: that may be a key nobody knows as one."""
    return value if isinstance(value, int | float) else None


def shown(value: object) -> str:
    """A value as a problem quotes it: redacted, one line, cut; of what holds others only what it is."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return plain(short(repr(value), _SHOWN))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**18:
        return "a very large number"
    return plain(short(str(value).lower() if isinstance(value, bool) else str(value), _SHOWN))
