"""Writing one Parquet file of a ledger: rows of segments and of other such files, sorted by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.columns import frame_of_lines
from zc_notebooks.ledger.lines import more_fields
from zc_notebooks.ledger.parquet import BATCH, MORE, Compacted, Footer, Part, copy_sql, read_footer, source_sql
from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.ledger.sources import Source
from zc_notebooks.ledger.steps import Disk
from zc_notebooks.ledger.store import hand_over
from zc_notebooks.records import Record

if TYPE_CHECKING:
    import duckdb

_PORTION: Final = 32 * 1024 * 1024
"""Bytes of lines handed to DuckDB at a time."""
_FACTS: Final = """
select count(*), min(t), (select list(distinct name order by name) from (
    select unnest(json_keys(_more)) as name from taken where _more is not null))
from taken
"""


class Writing(Record, frozen=True, kw_only=True):
    """What goes into a file, and what its footer shall say it replaces."""

    path: Path
    sources: Sequence[Source]
    merged: Sequence[Compacted]
    cutoff: datetime | None
    """Rows before this are left out."""
    segments: Mapping[str, Part]
    files: tuple[str, ...]
    newest: int
    """The highest ``_batch`` in the ledger."""
    now: datetime


def write(wanted: Writing, disk: Disk) -> Footer:
    """Writes the file and reads its footer back.

    Raises:
        LedgerError: The file does not hold what went in.
        OSError, duckdb.Error: It cannot be written.
    """
    import duckdb

    with duckdb.connect(":memory:", config={"temp_directory": ""}) as con:
        con.execute("set TimeZone = 'UTC'")
        batch = max(wanted.newest + 1, int(wanted.now.timestamp() * 1e6))
        _gather(con, wanted, batch)
        footer = _footer(con, wanted, batch)
        count = disk.write(con, copy_sql("from taken order by t, call_id, ordinal", wanted.path, footer))
    found = read_footer(wanted.path)
    if found != footer or count != footer.rows:
        raise LedgerError(
            f"{wanted.path.parent.name}: the compacted file does not hold what was written; nothing changed"
        )
    return footer


def _gather(con: duckdb.DuckDBPyConnection, wanted: Writing, batch: int) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in DUCKDB_TYPES.items())
    con.execute(f"create table fresh ({columns}, {BATCH} bigint, {MORE} varchar)")
    for lines, count in _portions(wanted.sources):
        _insert(con, lines, count, batch)
    rows = "from fresh"
    if wanted.merged:
        rows = f"{rows} union all by name from {source_sql(file.path for file in wanted.merged)}"
    where = "" if wanted.cutoff is None else f"where t >= '{wanted.cutoff.isoformat()}'::timestamptz"
    con.execute(f"create view taken as select * from ({rows}) {where}")  # noqa: S608 (our own names and quoted paths)


def _footer(con: duckdb.DuckDBPyConnection, wanted: Writing, batch: int) -> Footer:
    rows, first, more = con.execute(_FACTS).fetchall()[0]
    columns = [name for name, *_ in con.execute("describe taken").fetchall()]
    return Footer(
        rows=rows,
        newest=batch if wanted.sources else max(file.footer.newest for file in wanted.merged),
        columns=tuple(columns),
        first=None if first is None else first.astimezone(UTC),
        segments=wanted.segments,
        files=wanted.files,
        torn=sum(source.torn for source in wanted.sources) + sum(file.footer.torn for file in wanted.merged),
        more=tuple(more or ()),
    )


def _portions(sources: Sequence[Source]) -> list[tuple[bytes, int]]:
    portions: list[tuple[bytes, int]] = []
    parts: list[bytes] = []
    size = count = 0
    for source in sources:
        parts.append(source.rows)
        size, count = size + len(source.rows), count + source.count
        if size >= _PORTION:
            portions.append((b"".join(parts), count))
            parts, size, count = [], 0, 0
    return [*portions, (b"".join(parts), count)] if count else portions


def _insert(con: duckdb.DuckDBPyConnection, lines: bytes, count: int, batch: int) -> None:
    import polars as pl

    frame = frame_of_lines(lines, count)
    more = pl.Series(MORE, more_fields(lines) or [None] * count, dtype=pl.String)
    hand_over(con, frame.with_columns(pl.lit(batch, pl.Int64).alias(BATCH), more), "fresh")
