"""What a file of attempts may be written in: one mapping per format, and the list of them.

A mapping turns the objects of a JSON lines file into ledger rows. It must give a line the same key (``call_id``,
``ordinal``) every time, whatever else is in the ledger: that is what makes importing a file twice add nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from zc_notebooks.ledger.importing.bounds import impossible
from zc_notebooks.ledger.importing.texts import key
from zc_notebooks.ledger.lines import decode, judge
from zc_notebooks.ledger.row import AttemptRow, encode
from zc_notebooks.records import Record
from zc_notebooks.redact import redact


class Line(Record, frozen=True, kw_only=True):
    """One JSON object of the file."""

    number: int
    """From 1."""
    value: Mapping[str, Any]
    raw: bytes
    """As it stands in the file, without its line end."""


class Row(Record, frozen=True, kw_only=True):
    """A ledger row ready to be stored."""

    call_id: str
    ordinal: int
    line: bytes
    """Its JSON line, line end included."""


class Refused(Record, frozen=True, kw_only=True):
    """A line no row can be made of."""

    line: int
    """From 1."""
    why: str
    """What is wrong, in words, without repeating what the line holds."""


class ImportFormat(Protocol):
    """A mapping from one kind of JSON lines to ledger rows."""

    @property
    def name(self) -> str:
        """One or two words for messages and ``--json``."""
        ...

    def recognises(self, value: Mapping[str, Any]) -> bool:
        """Whether an object is one of this format's; looks at names of fields only."""
        ...

    def rows(self, lines: Iterable[Line]) -> Iterator[Row | Refused]:
        """The rows of a whole file, in its order. Never raises; skips nothing silently."""
        ...


def row(attempt: AttemptRow, line: int) -> Row | Refused:
    """A mapped attempt, ready to be stored; refused where it cannot be a row."""
    return stored(encode(attempt).removesuffix(b"\n"), line)


def stored(raw: bytes, line: int) -> Row | Refused:
    """A ledger row's JSON, ready to be stored without its secrets. Refused where it is no row, or cannot have been."""
    verdict = judge(raw)
    if verdict is not None:
        return Refused(line=line, why=verdict[1])
    raw = _without_secrets(raw)
    found = decode(raw)
    why = impossible(found)
    if why is not None:
        return Refused(line=line, why=why)
    return Row(call_id=found.call_id, ordinal=found.ordinal, line=raw + b"\n")


def _without_secrets(raw: bytes) -> bytes:
    """As it stands when it holds none. A key's place in ``call_id`` takes a hash, so that rows stay apart."""
    text = raw.decode()
    if "\\" not in text and redact(text) == text:
        return raw
    value = msgspec.json.decode(raw)
    clean = {name: _clean(given) for name, given in value.items()}
    for name in ("call_id", "turn_id"):
        if clean.get(name) != value.get(name):
            clean[name] = key("imported", value[name])
    return raw if clean == value else msgspec.json.encode(clean)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _clean(inner) for name, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value
