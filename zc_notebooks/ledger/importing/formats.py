"""What a file of attempts may be written in: one mapping per format, and the list of them.

A mapping turns the objects of a JSON lines file into ledger rows. It must give a line the same key (``call_id``,
``ordinal``) every time, whatever else is in the ledger: that is what makes importing a file twice add nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from zc_notebooks.ledger.row import AttemptRow, encode
from zc_notebooks.records import Record


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


def row(attempt: AttemptRow) -> Row:
    """A mapped attempt, ready to be stored."""
    return Row(call_id=attempt.call_id, ordinal=attempt.ordinal, line=encode(attempt))
