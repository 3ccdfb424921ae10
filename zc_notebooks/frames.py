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


def calls(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """One row per call that began in a period: asked for, served, what it took, what it cost. In the order of time.

    Columns of this and the other views: :data:`~zc_notebooks.ledger.views.schema.VIEW_COLUMNS`; what they mean stands
    at the head of the ``.sql`` files beside it. ``since`` and ``until`` are ``"24h"``, ``"7d"``, dates (midnight UTC)
    or instants. All of them raise :class:`~zc_notebooks.errors.LedgerError` when a bound cannot be read.
    """
    return ledger.view("calls", since, until)


def hops(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """One row per hop of a period, from the candidate that failed to the one asked next."""
    return ledger.view("hops", since, until)


def exhaustion(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """Episodes of credentials and pools being out that touch a period, with their true begin."""
    return ledger.view("exhaustion", since, until)


def reachability(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """Calls a provider answered, good or not, over the calls that asked it, by hour; from the attempts of a period."""
    return ledger.view("reachability", since, until)


def spend(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """Money and tokens by provider, model and day, accepted and rejected apart; from the attempts of a period.

    Money is ``Decimal``, so that totals are exact under any grouping.
    """
    return ledger.view("spend", since, until)


def latency(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """Medians and 95 % quantiles of answers by provider and model; from the attempts of a period."""
    return ledger.view("latency", since, until)


def last_state(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """How each candidate met in a period stood when it was last met."""
    return ledger.view("last_state", since, until)


def headroom(ledger: Ledger, since: When | None = None, until: When | None = None) -> pl.DataFrame:
    """What the rows of a period allow to say about today's allowance of each credential: an estimate, or NULL."""
    return ledger.view("headroom", since, until)


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
    missing = pl.any_horizontal(pl.col("cost_usd", "input_tokens", "output_tokens").is_null())
    unpriced = (pl.col("kind") == "attempt") & missing & ~pl.col("status").str.starts_with("http_")
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


def judged(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``reachability`` that say something, with ``judged`` calls and how many of them ``failed``."""
    import polars as pl

    count = pl.col("calls") - pl.col("refused") - pl.col("cancelled")
    return frame.with_columns(count.alias("judged"), (count - pl.col("reached")).alias("failed")).filter(
        pl.col("judged") > 0
    )
