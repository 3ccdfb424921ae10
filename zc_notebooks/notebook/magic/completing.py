"""What Tab offers on the line of a magic: options, commands, refs, hints, and variables that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zc_notebooks.notebook.magic.filling import schema_of
from zc_notebooks.notebook.magic.options import COMMANDS, OPTIONS
from zc_notebooks.notebook.magic.session import Session


def offered(line: str, symbol: str, session: Session, variables: Mapping[str, Any]) -> list[str]:
    """What may stand in place of ``symbol``, the last word of ``line`` so far."""
    before = line[: len(line) - len(symbol)].replace("=", " ").split()
    if not before:
        return []
    magic, words = before[0], before[1:]
    if magic == "%zc":
        if not words:
            return _matching(COMMANDS, symbol)
        if words[0] in ("probe", "use"):
            return _matching(_values(words[0], session, variables), symbol)
        magic = f"%zc {words[0]}"
    options = {option.name: option for option in OPTIONS.get(magic, ())}
    last = options.get(words[-1]) if words else None
    if last is not None and last.value is not None:
        return _matching(_values(last.name, session, variables), symbol)
    return _matching((name for name in options if name not in words), symbol)


def _values(of: str, session: Session, variables: Mapping[str, Any]) -> Iterable[str]:
    if of in ("--start", "probe"):
        return session.config().profiles
    if of == "--hint":
        return dict.fromkeys(route.hint for route in session.config().routes)
    if of == "--schema":
        return _names(variables, lambda held: schema_of(held) is not None)
    if of == "use":
        from zc_notebooks.chain import Chain

        return _names(variables, lambda held: isinstance(held, Chain))
    return ()


def _names(variables: Mapping[str, Any], fits: Any) -> list[str]:
    return sorted(name for name, held in variables.items() if not name.startswith("_") and fits(held))


def _matching(words: Iterable[str], symbol: str) -> list[str]:
    return [word for word in words if word.startswith(symbol)]
