"""Telling rows from everything else in the bytes of a segment.

A line is a *row*, *torn* (a row that its writer did not finish: valid up to where it stops) or *foreign* (anything
else: other JSON, wrong types, text, binary data, an empty line). Fields a newer version added are let through, and so
are new words in the enumerated fields; a wrong type never is, so nothing turns into NULL unseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

from zc_notebooks.ledger.row import DUCKDB_TYPES, AttemptRow
from zc_notebooks.records import Record

PIECE: Final = 256 * 1024
"""Bytes checked at a time: in pieces of this size 100,000 rows take 0.11 s, in one piece 0.57 s."""
LONGEST: Final = 16 * 1024 * 1024
"""Bytes after which a line is no row, whatever it holds."""

LineKind = Literal["torn", "foreign"]

_Text = str
_Instant = Annotated[datetime, msgspec.Meta(tz=True)]
_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_PYTHON_TYPES: Final[dict[str, Any]] = {
    "VARCHAR": _Text,
    "INTEGER": _Int32,
    "BIGINT": _Int64,
    "DOUBLE": float,
    "BOOLEAN": bool,
    "TIMESTAMPTZ": _Instant,
}

REQUIRED: Final[tuple[str, ...]] = tuple(field.name for field in msgspec.structs.fields(AttemptRow) if field.required)
"""Columns every row has; a version that adds a column gives it a default."""


def _reader_type(*, exact: bool = False) -> type[msgspec.Struct]:
    """The row as a reader takes it: the schema's types, plain words where the writer has a fixed list."""
    fields: list[Any] = []
    for name, sql_type in DUCKDB_TYPES.items():
        kind = _PYTHON_TYPES[sql_type]
        fields.append((name, kind) if name in REQUIRED else (name, kind | None, None))
    return msgspec.defstruct("StoredRow", fields, frozen=True, gc=False, forbid_unknown_fields=exact)


StoredRow: Final = _reader_type()
_decoder: Final = msgspec.json.Decoder(StoredRow)
_exact: Final = msgspec.json.Decoder(_reader_type(exact=True))


class BadLine(Record, frozen=True, kw_only=True):
    """A line that is no row. What it holds is never repeated: it may be anything."""

    file: str
    line: int
    """From 1."""
    kind: LineKind
    why: str


class Sorted(Record, frozen=True, kw_only=True):
    """A piece of a segment, sorted."""

    rows: bytes
    """The lines that are rows."""
    count: int
    """How many those are."""
    bad: tuple[tuple[int, LineKind, str], ...] = ()
    """Line number within the piece (from 0), kind and why."""
    lines: int
    """All lines of the piece."""


def sort_lines(piece: bytes) -> Sorted:
    """Sorts whole lines (``piece`` ends with a line end)."""
    lines = piece.count(b"\n")
    if _all_rows(piece, lines):
        return Sorted(rows=piece, count=lines, lines=lines)
    good: list[bytes] = []
    bad: list[tuple[int, LineKind, str]] = []
    for number, line in enumerate(piece.split(b"\n")[:lines]):
        verdict = judge(line)
        if verdict is None:
            good.append(line)
        else:
            bad.append((number, *verdict))
    return Sorted(rows=b"".join(line + b"\n" for line in good), count=len(good), bad=tuple(bad), lines=lines)


def _all_rows(piece: bytes, lines: int) -> bool:
    """One pass over a piece without a fault. The decoder skips line ends, hence the counts."""
    if piece.count(b"}\n") != lines:
        return False
    try:
        return len(_decoder.decode_lines(piece)) == lines
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False


def judge(line: bytes) -> tuple[LineKind, str] | None:
    """Why one line is no row, or ``None`` when it is one."""
    if not line.strip():
        return "foreign", "an empty line"
    if len(line) > LONGEST:
        return "foreign", TOO_LONG
    try:
        _decoder.decode(line)
    except msgspec.ValidationError as problem:
        return "foreign", f"not a ledger row: {problem}"
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        if line.startswith(b'{"') and "truncated" in str(problem):
            return "torn", "the row ends before it is complete"
        return "foreign", "not JSON"
    return None


TOO_LONG: Final = f"longer than {LONGEST // 2**20} MiB"


def more_fields(rows: bytes) -> list[str | None] | None:
    """For each row the fields this version does not know, as JSON text; ``None`` when there are none at all."""
    try:
        _exact.decode_lines(rows)
    except msgspec.ValidationError:
        return [_more(line) for line in rows.removesuffix(b"\n").split(b"\n")]
    return None


def _more(line: bytes) -> str | None:
    value = {name: given for name, given in msgspec.json.decode(line).items() if name not in DUCKDB_TYPES}
    return msgspec.json.encode(value).decode() if value else None


def decode(line: bytes) -> Any:
    """One line that :func:`judge` calls a row, with its columns as attributes."""
    return _decoder.decode(line)


def decode_rows(rows: bytes) -> Iterator[tuple[Any, ...]]:
    """Values of each row in the order of the schema. For what the columnar reader cannot take; slow."""
    return (msgspec.structs.astuple(row) for row in _decoder.decode_lines(rows))
