"""Columns of the ledger as polars has them: the schema, rows to a frame, a DuckDB result to a frame."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from zc_notebooks.ledger.lines import REQUIRED, decode_rows
from zc_notebooks.ledger.row import DUCKDB_TYPES, AttemptRow
from zc_notebooks.ledger.views.schema import MONEY

if TYPE_CHECKING:
    import polars as pl

_INSTANTS: Final = tuple(name for name, sql_type in DUCKDB_TYPES.items() if sql_type == "TIMESTAMPTZ")
_TEXT_IN_FRAMES: Final = ("UNION", "BIT", "BIGNUM", "TIME WITH TIME ZONE", "TIMETZ")
"""DuckDB types polars has no counterpart for; shown as text."""


def polars_schema(columns: Mapping[str, str] = DUCKDB_TYPES) -> dict[str, pl.DataType]:
    """Column → polars type, for columns and their DuckDB types: those of the rows, or of a view."""
    import polars as pl

    types: dict[str, pl.DataType] = {
        "VARCHAR": pl.String(),
        "INTEGER": pl.Int32(),
        "BIGINT": pl.Int64(),
        "DOUBLE": pl.Float64(),
        "BOOLEAN": pl.Boolean(),
        "DATE": pl.Date(),
        "TIMESTAMPTZ": pl.Datetime("us", "UTC"),
        MONEY: pl.Decimal(38, 12),
    }
    return {name: types[sql_type] for name, sql_type in columns.items()}


def frame_of_rows(rows: Sequence[AttemptRow]) -> pl.DataFrame:
    """Ledger rows as a typed frame; none give an empty frame with the schema."""
    import polars as pl

    return pl.DataFrame([msgspec.structs.astuple(row) for row in rows], schema=polars_schema(), orient="row")


def frame_of_lines(lines: bytes, count: int) -> pl.DataFrame:
    """Whole lines that were all found to be rows, as a typed frame of ``count`` rows."""
    import polars as pl

    schema = polars_schema()
    as_text = {name: pl.String() if name in _INSTANTS else kind for name, kind in schema.items()}
    try:
        frame = pl.read_ndjson(io.BytesIO(lines), schema=as_text).with_columns(
            pl.col(*_INSTANTS).str.to_datetime("%+", time_unit="us", time_zone="UTC")
        )
    except pl.exceptions.PolarsError:
        frame = pl.DataFrame()
    if frame.height == count and not any(frame[name].null_count() for name in REQUIRED):
        return frame
    # A form of JSON the columnar reader does not take as msgspec does: value by value, which is three times slower.
    return pl.DataFrame(list(decode_rows(lines)), schema=schema, orient="row")


def frame_of_result(relation: Any) -> pl.DataFrame:
    """A DuckDB relation as a frame, through Arrow's own interface (neither pyarrow nor numpy is needed)."""
    import polars as pl

    names: list[str] = relation.columns
    types = [str(kind) for kind in relation.types]
    unique = _unique(names)
    casts = [_cast(kind) for kind in types]
    if unique != names or any(casts):
        columns = (cast.format(f"#{place}") if cast else f"#{place}" for place, cast in enumerate(casts, start=1))
        relation = relation.project(", ".join(f"{c} as {_quoted(n)}" for c, n in zip(columns, unique, strict=True)))
    frame = pl.DataFrame(relation)
    return frame.with_columns(**_repairs(frame, dict(zip(unique, types, strict=True))))


def _cast(kind: str) -> str:
    if kind == "INTERVAL":
        return "epoch_us({})"
    if "INTERVAL" in kind or any(kind.startswith(name) for name in _TEXT_IN_FRAMES):
        return "cast({} as varchar)"
    return ""


def _repairs(frame: pl.DataFrame, types: Mapping[str, str]) -> dict[str, pl.Series]:
    """Intervals become durations; sums of whole numbers (128 bits in DuckDB) become plain integers."""
    import polars as pl

    repairs: dict[str, pl.Series] = {}
    for name, kind in types.items():
        if kind == "INTERVAL":
            repairs[name] = frame[name].cast(pl.Duration("us"))
        elif kind in {"HUGEINT", "UHUGEINT"}:
            narrow = frame[name].cast(pl.Int64, strict=False)
            repairs[name] = narrow if narrow.null_count() == frame[name].null_count() else frame[name]
    return repairs


def _unique(names: Sequence[str]) -> list[str]:
    seen: set[str] = set()
    result = []
    for name in names:
        new, number = name, 1
        while new in seen:
            new, number = f"{name}_{number}", number + 1
        seen.add(new)
        result.append(new)
    return result


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
