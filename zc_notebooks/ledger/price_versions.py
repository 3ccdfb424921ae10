"""Corrected prices beside the rows: ``prices-000001.parquet``, the next correction ``prices-000002.parquet``, ….

A row is never edited. Each file holds every correction that counts at its time, one per (``call_id``, ``ordinal``), so
a reader needs the one with the highest number only; those before it stay as the history of what was believed when. A
file appears whole, under a name that was not there before, and is never changed.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from zc_notebooks.errors import LedgerError
from zc_notebooks.records import Record

if TYPE_CHECKING:
    import polars as pl

_KEY: Final = "zc_prices"
_NAME: Final = re.compile(r"prices-(\d{6})\.parquet")
_CORRECTED: Final = """
select rows.* exclude (cost_usd, price_source),
    if(p.version is null, rows.cost_usd, p.cost_usd) as cost_usd,
    if(p.version is null, rows.price_source, p.price_source) as price_source,
    rows.cost_usd as cost_usd_original, rows.price_source as price_source_original,
    p.priced_at, p.version as price_version
from ({rows}) rows left join store.prices p on rows.call_id = p.call_id and rows.ordinal = p.ordinal
"""
_AS_WRITTEN: Final = """
select *, cost_usd as cost_usd_original, price_source as price_source_original,
    null::timestamptz as priced_at, null::integer as price_version
from ({rows})
"""


class _Head(Record, frozen=True, kw_only=True):
    """What a file says of itself. New fields go to the end with a default."""

    version: int
    rows: int
    """Corrections in it."""
    written_at: datetime


def new_name(version: int) -> str:
    """``prices-000001.parquet``."""
    return f"prices-{version:06}.parquet"


def version_of(name: str) -> int | None:
    """The number in a file's name, or ``None`` for any other name."""
    match = _NAME.fullmatch(name)
    return None if match is None else int(match[1])


def is_whole(path: Path) -> bool:
    """Whether the file holds corrections that can be read.

    Raises:
        OSError: It cannot be opened.
    """
    import polars as pl

    os.close(os.open(path, os.O_RDONLY))
    try:
        text = pl.read_parquet_metadata(path).get(_KEY)
        return text is not None and bool(msgspec.json.decode(text, type=_Head))
    except (pl.exceptions.PolarsError, msgspec.DecodeError, ValueError):
        return False


def rows_sql(rows: str, *, corrected: bool) -> str:
    """A SELECT of the rows with the newest prices and, beside them, those that were written."""
    return (_CORRECTED if corrected else _AS_WRITTEN).format(rows=rows)


def schema() -> dict[str, pl.DataType]:
    """Columns of a file."""
    import polars as pl

    return {
        "call_id": pl.String(),
        "ordinal": pl.Int32(),
        "cost_usd": pl.Float64(),
        "price_source": pl.String(),
        "priced_at": pl.Datetime("us", "UTC"),
        "version": pl.Int32(),
    }


def read(path: Path | str | None) -> pl.DataFrame:
    """The corrections of a file; of none: an empty frame.

    Raises:
        LedgerError: It is damaged.
    """
    import polars as pl

    try:
        return pl.DataFrame(schema=schema()) if path is None else pl.read_parquet(path)
    except pl.exceptions.PolarsError:
        raise LedgerError(f"{Path(path or '').name} is damaged: move it away and reprice again") from None


def write(path: Path, before: pl.DataFrame, new: list[tuple[Any, ...]], version: int, now: datetime) -> None:
    """Writes a file with the corrections so far and the new ones, which count where both have a key."""
    import polars as pl

    key = ["call_id", "ordinal"]
    added = pl.DataFrame(new, schema=schema(), orient="row").unique(key, keep="first", maintain_order=True)
    together = pl.concat([before.join(added, on=key, how="anti"), added], how="diagonal_relaxed").sort(key)
    head = _Head(version=version, rows=together.height, written_at=now)
    together.write_parquet(path, compression="zstd", metadata={_KEY: msgspec.json.encode(head).decode()})
