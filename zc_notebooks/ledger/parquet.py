"""The Parquet files of a ledger: their names, what their footers say, and the SQL that reads and writes them.

A file holds the rows of many segments, sorted by time. Its footer names what it *replaces*: a segment up to a number of
bytes, or another Parquet file. Whoever finds both reads the replaced part from the Parquet file only. So the moment a
finished file gets its name is the moment its rows change form, and removing what it replaces is mere tidying.

Columns: the schema's, ``_batch`` (a number that grows with every compaction; readers that follow know by it what is
new) and ``_more``: the fields of rows a newer version wrote that this one does not know, as JSON text. Files of an
older version have fewer columns; columns of a newer one are kept when files are merged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.records import Record

SUFFIX: Final = ".parquet"
BATCH: Final = "_batch"
MORE: Final = "_more"
ROW_GROUP: Final = 122_880
_KEY: Final = "zc_ledger"
_NAME: Final = re.compile(r"attempts-\d{4}-\d{2}-\d{2}-[0-9a-f]{16}\.parquet")


class Part(Record, frozen=True, kw_only=True):
    """How much of a segment was taken."""

    bytes: int
    lines: int


class Footer(Record, frozen=True, kw_only=True):
    """What a file says of itself. New fields go to the end with a default."""

    rows: int
    newest: int
    """The highest ``_batch`` in it."""
    columns: tuple[str, ...]
    first: datetime | None = None
    """Start of its earliest attempt."""
    segments: Mapping[str, Part] = {}
    """Segments it replaces, by name."""
    files: tuple[str, ...] = ()
    """Parquet files it replaces."""
    torn: int = 0
    """Torn lines of the segments whose rows it holds."""
    more: tuple[str, ...] = ()
    """Names of the fields in ``_more``."""


class Compacted(Record, frozen=True, kw_only=True):
    """One Parquet file that counts."""

    path: str
    size: int
    footer: Footer


def new_name(first: datetime) -> str:
    """``attempts-2026-11-30-0f9c2a7e0f9c2a7e.parquet``: the day it begins with, and what nobody else has."""
    return f"attempts-{first:%Y-%m-%d}-{os.urandom(8).hex()}{SUFFIX}"


def is_ours(name: str) -> bool:
    """Whether a compaction may have given this name."""
    return _NAME.fullmatch(name) is not None


def read_footer(path: Path) -> Footer | None:
    """The file's footer, or ``None`` when it is no Parquet file a ledger wrote.

    Raises:
        OSError: It cannot be opened.
    """
    import polars as pl

    try:
        text = pl.read_parquet_metadata(path).get(_KEY)
        return None if text is None else msgspec.json.decode(text, type=Footer)
    except (pl.exceptions.PolarsError, msgspec.DecodeError, ValueError):
        return None


def read_sql(files: Sequence[Compacted]) -> str:
    """A SELECT of the schema's columns and ``_batch`` over some files; at least one."""
    there = {name for file in files for name in file.footer.columns}
    more = {name for file in files for name in file.footer.more}
    columns = (f'{_column(name, kind, there, more)} as "{name}"' for name, kind in DUCKDB_TYPES.items())
    return f"select {', '.join(columns)}, {BATCH} from {source_sql(file.path for file in files)}"  # noqa: S608 (our own names)


def source_sql(paths: Iterable[str]) -> str:
    """The table function over some files. A folder called ``year=2026`` makes no column."""
    named = ", ".join(quoted(path) for path in paths)
    return f"read_parquet([{named}], union_by_name = true, hive_partitioning = false)"


def copy_sql(query: str, path: Path, footer: Footer) -> str:
    """Writes a query's rows to a file, with its footer. Version 2's encodings: a third smaller and quicker to read."""
    text = quoted(msgspec.json.encode(footer).decode())
    return (
        f"copy ({query}) to {quoted(str(path))} (format parquet, parquet_version v2, compression zstd, "
        f"row_group_size {ROW_GROUP}, use_tmp_file false, kv_metadata {{{_KEY}: {text}}})"
    )


def quoted(text: str) -> str:
    """A SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _column(name: str, kind: str, there: set[str], more: set[str]) -> str:
    plain = f'"{name}"' if name in there else f"null::{kind}"
    return f"coalesce({plain}, try_cast({MORE} ->> '$.{name}' as {kind}))" if name in more else plain
