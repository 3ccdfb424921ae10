"""What an answer really costs: everything a period was charged, over the calls it answered."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.ledger.period import When, period
from zc_notebooks.markup import counted
from zc_notebooks.records import Record

if TYPE_CHECKING:
    from zc_notebooks.ledger.read import Ledger

_SUMS: Final = """
with asked as (
    select *, starts_with(status, 'http_') as refused
    from attempts
    where kind = 'attempt' and ($1::timestamptz is null or t >= $1) and ($2::timestamptz is null or t < $2)
), counted as (
    select *,
        try_cast(case when refused and cost_usd is null then 0 when abs(cost_usd) <= 1e9 then cost_usd end
            as decimal(38, 12)) as usd,
        not refused and (usd is null or input_tokens is null or output_tokens is null) as unpriced
    from asked
)
select
    count(distinct call_id) filter (where mode <> 'probe') as calls,
    count(distinct call_id) filter (where accepted and mode <> 'probe') as answered,
    count(*) as attempts,
    count(*) filter (where unpriced) as unpriced,
    cast(sum(usd) as varchar) as cost,
    cast(sum(usd) filter (where not accepted) as varchar) as rejected
from counted
"""
"""A price of a billion is a mistake, and not known. Decimals, so that the sum is exact and the same in any order;
twelve places hold every list price times a token."""


class EffectiveCost(Record, frozen=True, kw_only=True):
    """Costs and answers of a period."""

    since: datetime | None
    until: datetime | None
    """Begin (included) and end (not included); ``None`` is open."""
    calls: int
    """Calls with an attempt in the period. Probes are no calls, though what they cost counts."""
    answered: int
    """Those of them with an accepted attempt."""
    attempts: int
    unpriced: int
    """Attempts whose price or usage is not known; a refusal's is a known zero."""
    cost_usd: Decimal | None
    """Of all attempts, accepted or not; ``None`` when no part is known."""
    rejected_usd: Decimal | None
    """The part that bought no answer."""

    @property
    def at_least(self) -> bool:
        """Whether a part of the cost is not known, so that every figure is a lower bound."""
        return self.unpriced > 0

    @property
    def per_answer_usd(self) -> Decimal | None:
        """Cost per answered call. ``None`` when nothing was answered or no cost is known: never 0 for not known."""
        return None if self.cost_usd is None or not self.answered else self.cost_usd / self.answered

    def __str__(self) -> str:
        bound = "at least " if self.at_least else ""
        answers = f"{self.answered:,} of {counted(self.calls, 'call')} answered"
        if self.cost_usd is None:
            return f"{answers}, cost unknown" if self.attempts else "no attempts"
        rejected = f", ${_figure(self.rejected_usd)} of it rejected" if self.rejected_usd else ""
        each = "" if self.per_answer_usd is None else f": {bound}${_figure(self.per_answer_usd)} an answered call"
        return f"{answers}, {bound}${_figure(self.cost_usd)} in all{rejected}{each}"


def effective_cost(ledger: Ledger, since: When | None = None, until: When | None = None) -> EffectiveCost:
    """The effective cost per answered call of a period, rejected attempts and probes included.

    An attempt counts in the period it began in, so a call that straddles its end counts in part.

    Args:
        ledger: Where the attempts are.
        since: Begin, included: ``"24h"``, a date or an instant.
        until: End, not included; the same forms.

    Raises:
        LedgerError: A bound cannot be read.
    """
    begin, end = period(since, until, now=ledger.clock.now())
    found: dict[str, Any] = ledger.sql(_SUMS, [begin, end]).row(0, named=True)
    return EffectiveCost(
        since=begin,
        until=end,
        calls=found["calls"],
        answered=found["answered"],
        attempts=found["attempts"],
        unpriced=found["unpriced"],
        cost_usd=_money(found["cost"]),
        rejected_usd=_money(found["rejected"]),
    )


def _money(text: str | None) -> Decimal | None:
    """Without the zeros of the column's scale: ``0.3``, as the rows' own figures."""
    return None if text is None else Decimal(format(Decimal(text).normalize(), "f"))


def _figure(amount: Decimal | None) -> str:
    return f"{amount or 0:.6f}"
