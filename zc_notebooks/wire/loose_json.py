"""JSON as servers really send it: strict and fast first, tolerant second, never an exception."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec


class _Broken:
    """The type of :data:`BROKEN`."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "BROKEN"


BROKEN: Final = _Broken()
"""What :func:`parse` gives for text that is no JSON. Falsy, and no dict, list or string."""

_strict = msgspec.json.Decoder()


def parse(data: bytes | str) -> Any:
    """The JSON value of ``data``, or :data:`BROKEN`.

    Invalid UTF-8 and lone surrogates become U+FFFD; raw control characters (a NUL too) inside strings are kept.
    """
    try:
        return _strict.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _tolerant(data)


def _tolerant(data: bytes | str) -> Any:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return _whole(json.loads(text.removeprefix("\ufeff"), strict=False))
    except (ValueError, RecursionError):
        return BROKEN


def _whole(value: Any) -> Any:
    """The same value with every string encodable: surrogate halves that met become one character."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def to_text(value: object) -> str:
    """Compact JSON text of a value that :func:`parse` gave, for payloads and tool arguments."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return json.dumps(value, default=str)


def as_text(value: object) -> str:
    """The string itself; ``""`` for anything else."""
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> dict[str, Any]:
    """The object itself; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The array itself; an empty one for anything else."""
    return value if isinstance(value, list) else []
