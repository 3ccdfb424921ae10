"""On which line of a TOML text a config path stands: a best effort for messages, made only when there are any."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Final

from zc_notebooks.errors import Problem
from zc_notebooks.records import Record

_HEADER: Final = re.compile(r"\s*(\[\[?[^\[\]]+\]\]?)\s*(?:#.*)?$")
_KEY: Final = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_LONGEST: Final = 1 << 20
"""Characters of a text that is searched at all."""


def with_lines(problems: Iterable[Problem], text: str) -> tuple[Problem, ...]:
    """The problems, each with the line of its path or of the nearest thing around it."""
    known = lines(text) if len(text) <= _LONGEST else {}
    return tuple(_placed(problem, known) for problem in problems)


def _placed(problem: Problem, known: Mapping[str, int]) -> Problem:
    path = problem.path
    while path and path not in known:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return _with(problem, known[path]) if path else problem


def _with(problem: Problem, line: int) -> Problem:
    return Problem(path=problem.path, message=problem.message, value=problem.value, line=line)


def lines(text: str) -> Mapping[str, int]:
    """Path → 1-based line, for table headers and keys."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        header = _HEADER.match(line)
        key = None if header else _KEY.match(line)
        if header:
            table = _header(header[1], counts) or table
            _note(found, table, 0, number)
        elif key:
            name = _parsed(f"{key[1]}=0")
            if name is not None:
                _note(found, table + name.parts, len(table), number)
    return found


def _note(found: dict[str, int], parts: tuple[str, ...], known: int, number: int) -> None:
    """Notes the line of a path and of everything around it that was not met before."""
    for end in range(known + 1, len(parts) + 1):
        found.setdefault(".".join(parts[:end]), number)


class _Name(Record, frozen=True, kw_only=True):
    parts: tuple[str, ...]
    array: bool


def _header(text: str, counts: dict[str, int]) -> tuple[str, ...]:
    """The path of a table header; the n-th block of an array of tables ends in ``[n]``."""
    name = _parsed(text)
    if name is None:
        return ()
    if not name.array:
        return name.parts
    path = ".".join(name.parts)
    place = counts.get(path, 0)
    counts[path] = place + 1
    return (*name.parts[:-1], f"{name.parts[-1]}[{place}]")


def _parsed(text: str) -> _Name | None:
    """The dotted path of a one-line TOML text."""
    try:
        value: object = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    parts = []
    while isinstance(value, dict) and value:
        name, value = next(iter(value.items()))
        parts.append(name.strip())
    return _Name(parts=tuple(parts), array=isinstance(value, list))
