"""Columns of the views: one constant is the source of their frames, of the documented table and of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from zc_notebooks.ledger.row import DUCKDB_TYPES

if TYPE_CHECKING:
    import polars as pl

MONEY: Final = "DECIMAL(38,12)"
"""US dollars; decimals, so that a total is the same under any grouping."""
_LINE: Final = {"pool": "VARCHAR", "credential_id": "VARCHAR", "model": "VARCHAR", "provider_ref": "VARCHAR"}
_WHERE: Final = {"provider_ref": "VARCHAR", "model": "VARCHAR"}

VIEW_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "attempts": DUCKDB_TYPES,
    "attempts_short": {
        "t": "TIMESTAMPTZ",
        "provider": "VARCHAR",
        "model": "VARCHAR",
        "in": "BIGINT",
        "out": "BIGINT",
        "secs": "DOUBLE",
        "status": "VARCHAR",
        "attempt": "INTEGER",
        "failover": "BOOLEAN",
    },
    "repriced": {
        "t": "TIMESTAMPTZ",
        "call_id": "VARCHAR",
        "ordinal": "INTEGER",
        "provider_ref": "VARCHAR",
        "model": "VARCHAR",
        "cost_usd": "DOUBLE",
        "cost_usd_original": "DOUBLE",
        "price_source": "VARCHAR",
        "price_source_original": "VARCHAR",
        "priced_at": "TIMESTAMPTZ",
        "price_version": "INTEGER",
    },
    "calls": {
        "call_id": "VARCHAR",
        "t": "TIMESTAMPTZ",
        "turn_id": "VARCHAR",
        "mode": "VARCHAR",
        "requested_ref": "VARCHAR",
        "requested_model": "VARCHAR",
        "served_ref": "VARCHAR",
        "served_model": "VARCHAR",
        "outcome": "VARCHAR",
        "reason": "VARCHAR",
        "attempts": "BIGINT",
        "skips": "BIGINT",
        "wait_s": "DOUBLE",
        "total_s": "DOUBLE",
        "cost_usd": MONEY,
        "at_least": "BOOLEAN",
    },
    "hops": {
        "call_id": "VARCHAR",
        "t": "TIMESTAMPTZ",
        "from_ref": "VARCHAR",
        "from_model": "VARCHAR",
        "from_credential": "VARCHAR",
        "to_ref": "VARCHAR",
        "to_model": "VARCHAR",
        "to_credential": "VARCHAR",
        "status": "VARCHAR",
        "reason": "VARCHAR",
        "lost_s": "DOUBLE",
        "answered": "BOOLEAN",
    },
    "exhaustion": {
        **_LINE,
        "kind": "VARCHAR",
        "begin_at": "TIMESTAMPTZ",
        "last_at": "TIMESTAMPTZ",
        "back_at": "TIMESTAMPTZ",
        "reset_source": "VARCHAR",
        "end_at": "TIMESTAMPTZ",
        "ended_by": "VARCHAR",
        "out_s": "DOUBLE",
        "calls": "BIGINT",
        "refused": "BIGINT",
        "skipped": "BIGINT",
    },
    "reachability": {
        **_WHERE,
        "hour": "TIMESTAMPTZ",
        "calls": "BIGINT",
        "reached": "BIGINT",
        "refused": "BIGINT",
        "cancelled": "BIGINT",
        "share": "DOUBLE",
        "accepted": "BIGINT",
    },
    "spend": {
        **_WHERE,
        "day": "DATE",
        "attempts": "BIGINT",
        "accepted": "BIGINT",
        "rejected": "BIGINT",
        "input_tokens": "BIGINT",
        "cached_input_tokens": "BIGINT",
        "output_tokens": "BIGINT",
        "reasoning_tokens": "BIGINT",
        "accepted_usd": MONEY,
        "rejected_usd": MONEY,
        "cost_usd": MONEY,
        "unpriced": "BIGINT",
        "at_least": "BOOLEAN",
    },
    "latency": {
        **_WHERE,
        "answers": "BIGINT",
        "p50_s": "DOUBLE",
        "p95_s": "DOUBLE",
        "first_p50_s": "DOUBLE",
        "first_p95_s": "DOUBLE",
        "failures": "BIGINT",
        "failed_p50_s": "DOUBLE",
    },
    "last_state": {
        **_WHERE,
        "credential_id": "VARCHAR",
        "pool": "VARCHAR",
        "tier": "VARCHAR",
        "state": "VARCHAR",
        "t": "TIMESTAMPTZ",
        "kind": "VARCHAR",
        "status": "VARCHAR",
        "reason": "VARCHAR",
        "resets_at": "TIMESTAMPTZ",
        "ok_at": "TIMESTAMPTZ",
        "failed_at": "TIMESTAMPTZ",
    },
    "headroom": {
        **_LINE,
        "tier": "VARCHAR",
        "answers_today": "BIGINT",
        "tokens_today": "BIGINT",
        "tokens_at_least": "BOOLEAN",
        "days": "BIGINT",
        "days_out": "BIGINT",
        "out_after_answers": "DOUBLE",
        "out_after_tokens": "DOUBLE",
        "most_answers": "BIGINT",
        "answers_left": "DOUBLE",
        "tokens_left": "DOUBLE",
        "out_until": "TIMESTAMPTZ",
    },
}
"""View → column → DuckDB type. Names and types are stable: columns are only added, at the end."""


def view_schema(name: str) -> dict[str, pl.DataType]:
    """Column → polars type of a view."""
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
    return {column: types[kind] for column, kind in VIEW_COLUMNS[name].items()}
