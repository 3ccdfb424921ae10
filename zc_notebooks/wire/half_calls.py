"""Tool calls whose arguments end early, told from those that are whole and merely no JSON (spec 8.2, 12.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from zc_notebooks.chat import ToolCall
from zc_notebooks.wire.loose_json import parse

_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OPENERS, _CLOSERS = "{[", "}]"


def half_call(calls: Iterable[ToolCall]) -> ToolCall | None:
    """The first call whose arguments were cut, or ``None``."""
    return next((call for call in calls if call.arguments is None and is_cut(call.raw)), None)


def is_cut(raw: str) -> bool:
    """Whether arguments began as JSON and end inside a string, an object or an array.

    Text that is no JSON from its first character on (a model that writes Python) is whole, so are too many closers.
    """
    text = raw.strip()
    if not text.startswith(("{", "[", '"')):
        return False
    rest = _STRING.sub("", text)
    if '"' in rest:
        return True
    depth = 0
    for letter in rest:
        depth += (letter in _OPENERS) - (letter in _CLOSERS)
        if depth < 0:
            return False
    inner = parse(text) if depth == 0 and text.startswith('"') else None
    return depth > 0 or (isinstance(inner, str) and is_cut(inner))  # arguments that were encoded twice
