"""What ``chain.budget()`` gives: each period's limit, what was spent, what is reserved, what is left, until when."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Final

from msgspec.structs import replace

from zc_notebooks.budget.amounts import dollars, usd
from zc_notebooks.budget.spend_file import Sums
from zc_notebooks.budget.spending import PeriodName, Spending, Unusable, fresh_at
from zc_notebooks.config.schema import Borders
from zc_notebooks.records import Record
from zc_notebooks.shown import Keyed, Shown

BUDGET_COLUMNS: Final = ("period", "limit", "spent", "reserved", "left", "fresh at")
"""What :meth:`Budget.rows` has."""


class PeriodBudget(Record, frozen=True, kw_only=True):
    """One period in UTC. Amounts are US dollars."""

    period: PeriodName
    limit_usd: Decimal | None
    """``None``: no limit for this period."""
    spent_usd: Decimal
    """Costs of settled attempts; of one whose usage never came, the most it can have cost."""
    reserved_usd: Decimal
    """Set aside for attempts that run now, or whose process died before it could say what they cost."""
    left_usd: Decimal | None
    """Never negative; ``None`` without a limit."""
    fresh_at: datetime
    """When the period is over."""
    at_least: bool = False
    """Whether something of unknown price was asked (``unknown_price = "allow"``)."""

    def line(self) -> str:
        """The period in one line."""
        left = "no limit" if self.limit_usd is None else f"{dollars(self.left_usd or Decimal(0))} left"
        of = "" if self.limit_usd is None else f" of {dollars(self.limit_usd)}"
        return f"{self.period}: {self.spent()}{of} spent, {dollars(self.reserved_usd)} reserved, {left}"

    def spent(self) -> str:
        """What was spent, in words."""
        return f"{'at least ' if self.at_least else ''}{dollars(self.spent_usd)}"


class Budget(Record, Shown, Keyed[PeriodBudget], frozen=True, kw_only=True):
    """The budgets of a configuration at one moment. ``budget["day"]`` is one period."""

    at: datetime
    call_usd: Decimal | None = None
    """What one call may cost."""
    unknown_price: str = "refuse"
    """Whether a candidate of unknown price may be asked while a budget is set."""
    periods: tuple[PeriodBudget, ...] = ()
    """Day and month when one of them has a limit."""
    problem: str = ""
    """Why what was spent is not known; nothing that costs is asked then."""

    def by_key(self) -> dict[str, PeriodBudget]:
        """``day`` and ``month`` when one of them has a limit."""
        return {item.period: item for item in self.periods}

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """A table of the periods, with :data:`BUDGET_COLUMNS`."""
        return tuple(
            (
                item.period,
                "-" if item.limit_usd is None else dollars(item.limit_usd),
                item.spent(),
                dollars(item.reserved_usd),
                "-" if item.left_usd is None else dollars(item.left_usd),
                f"{item.fresh_at:%Y-%m-%d %H:%M} UTC",
            )
            for item in self.periods
        )

    def __repr__(self) -> str:
        parts = [] if self.call_usd is None else [f"call: up to {dollars(self.call_usd)}"]
        parts += [item.line() for item in self.periods]
        parts += [self.problem] if self.problem else []
        return f"Budget({'; '.join(parts) or 'none is set'})"


def report(borders: Borders, spending: Spending, at: datetime) -> Budget:
    """The budgets now. Without a limit for day or month nothing is read."""
    made = Budget(at=at, call_usd=borders.budget_call_usd, unknown_price=borders.unknown_price)
    if borders.budget_day_usd is None and borders.budget_month_usd is None:
        return made
    try:
        day, month = spending.sums()
    except Unusable as error:
        return replace(made, problem=str(error))
    periods = _period("day", borders.budget_day_usd, day, at), _period("month", borders.budget_month_usd, month, at)
    return replace(made, periods=periods)


def _period(name: PeriodName, limit: Decimal | None, sums: Sums, at: datetime) -> PeriodBudget:
    return PeriodBudget(
        period=name,
        limit_usd=limit,
        spent_usd=usd(sums.spent),
        reserved_usd=usd(sums.reserved),
        left_usd=None if limit is None else max(limit - usd(sums.spent + sums.reserved), Decimal(0)),
        fresh_at=fresh_at(name, at),
        at_least=sums.unknown > 0,
    )
