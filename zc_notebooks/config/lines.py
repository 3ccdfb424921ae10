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
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        key = None if header else _KEY.match(line)
        if header:
            table = _header(header[1], counts) or table
            found.setdefault(table, number)
        elif key:
            name = _parsed(f"{key[1]}=0")
            if name is not None:
                found.setdefault(f"{table}.{name.path}" if table else name.path, number)
    return found


class _Name(Record, frozen=True, kw_only=True):
    path: str
    array: bool


def _header(text: str, counts: dict[str, int]) -> str | None:
    """The path of a table header; the n-th block of an array of tables ends in ``[n]``."""
    name = _parsed(text)
    if name is None:
        return None
    if not name.array:
        return name.path
    place = counts.get(name.path, 0)
    counts[name.path] = place + 1
    return f"{name.path}[{place}]"


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
    return _Name(path=".".join(parts), array=isinstance(value, list))
