"""What a foreign log's values may become in a row: short redacted words, instants, keys. Nothing here raises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

import msgspec

from zc_notebooks.redact import redact, short

_LONGEST: Final = 200
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,99}")
_NAME: Final = re.compile(r"[^a-z0-9_-]+")


def name(value: object) -> str | None:
    """One redacted line of at most 200 characters; ``None`` for anything but a text that says something."""
    return (short(value, _LONGEST) or None) if isinstance(value, str) else None


def key(source: str, theirs: str) -> str:
    """A ``call_id`` or ``turn_id`` from an id of theirs: the id itself where it is one, else a hash of it."""
    if _PLAIN_ID.fullmatch(theirs) and redact(theirs) == theirs:
        return f"{source}-{theirs}"
    return f"{source}-{blake2b(theirs.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"


def ref(family: str | None, alias: str) -> str:
    """A dotted ref: the family in lower case without dots of its own, and where the row came from."""
    clean = _NAME.sub("_", (family or "").lower()).strip("_")
    return f"{clean or 'unknown'}.{alias}"


def instant(value: object) -> datetime | None:
    """An aware UTC instant from ISO 8601 (a space for the T, no zone: UTC) or from Unix seconds."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value.strip())
            return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def seconds(begin: datetime | None, end: datetime | None) -> float | None:
    """From one instant to another; ``None`` when one is not known or they stand in the wrong order."""
    if begin is None or end is None or end < begin:
        return None
    return (end - begin).total_seconds()


def fields(value: object) -> Mapping[str, Any]:
    """An object, also one that stands there as JSON text; anything else is empty."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
