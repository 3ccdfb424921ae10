"""Ledger to frame: what notebooks, charts and boards work on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from zc_notebooks.ledger.columns import frame_of_rows
from zc_notebooks.ledger.period import When
from zc_notebooks.ledger.row import AttemptRow

if TYPE_CHECKING:
    import polars as pl

    from zc_notebooks.ledger.read import Ledger

ANSWERED: Final = "answered"
SKIPPED: Final = "skipped"
OUTCOMES: Final[tuple[str, ...]] = (
    ANSWERED,
    "rate limit",
    "quota spent",
    "no balance",
    "refused",
    "provider trouble",
    "no good answer",
    "cancelled",
    SKIPPED,
)
"""How an attempt or skip ended, in words, in the order in which charts and tables show them."""

_BY_REASON: Final[Mapping[str, str]] = {
    "minute_limit": "rate limit",
    "daily_limit": "quota spent",
    "token_daily_limit": "quota spent",
    "balance": "no balance",
    "auth": "refused",
    "permission": "refused",
    "not_found": "refused",
    "context_window": "refused",
    "bad_request": "refused",
    "content_filter": "refused",
    "capacity": "provider trouble",
    "server_error": "provider trouble",
    "network": "provider trouble",
    "empty": "no good answer",
    "stream_cut": "no good answer",
}
_BY_STATUS: Final[Mapping[str, str]] = {
    "ok": "no good answer",
    "http_402": "no balance",
    "http_429": "rate limit",
    "network": "provider trouble",
    "timeout": "provider trouble",
    "cancelled": "cancelled",
}
"""For rows without a reason. ``ok`` here is an answer that was not accepted."""


def attempts(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """Attempts and skips of a period with a column ``outcome``; see :meth:`~zc_notebooks.ledger.read.Ledger.attempts`.

    Raises:
        LedgerError: A bound cannot be read.
    """
    return with_outcome(ledger.attempts(since=since, until=until))


def attempts_from_rows(rows: Iterable[AttemptRow]) -> pl.DataFrame:
    """The same for rows at hand, for instance ``completion.attempts``; none give an empty frame with all columns."""
    return with_outcome(frame_of_rows(list(rows)))


def with_outcome(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with a column ``outcome``: one of :data:`OUTCOMES`."""
    import polars as pl

    by_reason = pl.col("reason").replace_strict(_BY_REASON, default=None, return_dtype=pl.String)
    by_status = pl.col("status").replace_strict(_BY_STATUS, default=None, return_dtype=pl.String)
    by_class = (
        pl.when(pl.col("status").str.starts_with("http_5"))
        .then(pl.lit("provider trouble"))
        .when(pl.col("status").str.starts_with("http_"))
        .then(pl.lit("refused"))
        .otherwise(pl.lit("no good answer"))
    )
    outcome = (
        pl.when(pl.col("kind") == "skip")
        .then(pl.lit(SKIPPED))
        .when(pl.col("accepted"))
        .then(pl.lit(ANSWERED))
        .when(pl.col("status") == "cancelled")
        .then(pl.lit("cancelled"))
        .otherwise(pl.coalesce(by_reason, by_status, by_class))
    )
    return frame.with_columns(outcome.cast(pl.Enum(OUTCOMES)).alias("outcome"))


def by_outcome(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows per provider and outcome: ``provider_ref``, ``outcome``, ``count``, ``secs``, ``cost_usd``, ``at_least``.

    ``secs`` and ``cost_usd`` sum what is known and are null when nothing is; ``at_least`` says that a part of the
    cost is not known. Providers stand in the order of their first row, outcomes in that of :data:`OUTCOMES`.
    """
    import polars as pl

    frame = frame if "outcome" in frame.columns else with_outcome(frame)
    unpriced = (pl.col("kind") == "attempt") & pl.col("cost_usd").is_null() & ~pl.col("status").str.starts_with("http_")
    return (
        frame.with_row_index("_place")
        .with_columns(pl.col("_place").min().over("provider_ref"))
        .group_by("provider_ref", "outcome")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            _known_sum("secs"),
            _known_sum("cost_usd"),
            unpriced.any().alias("at_least"),
            pl.col("_place").first(),
        )
        .sort("_place", "outcome")
        .drop("_place")
    )


def _known_sum(column: str) -> pl.Expr:
    import polars as pl

    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum())
