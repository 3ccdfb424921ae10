"""The budgets of one call: looked at by every check, reserved before each attempt, settled by its row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Final

from zc_notebooks.budget import amounts
from zc_notebooks.budget.amounts import dollars
from zc_notebooks.budget.ceiling import Ceiling, ceiling
from zc_notebooks.budget.spend_file import Reservation
from zc_notebooks.budget.spending import PeriodLimits, Shortage, Spending, Unusable, fresh_at
from zc_notebooks.chat import ChatRequest
from zc_notebooks.clock import Clock
from zc_notebooks.config.schema import Borders
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Record, Variant
from zc_notebooks.reliability.shorten import shorten
from zc_notebooks.reliability.steps import Try

_MISSING: Final = {
    "price": "its price is unknown: add pricing to providers.{ref}",
    "answer": "its longest answer is unknown: set max_tokens",
}


class CallLimit(Record, frozen=True, kw_only=True):
    """What one call may cost."""

    nano: int
    name: str
    """Who says so, as error lines name it."""


class _Open(Record, frozen=True, kw_only=True):
    """The attempt that is being made."""

    nano: int
    reservation: Reservation | None
    """``None``: no period has a limit."""


class CallBudget:
    """What one call may spend. At most one attempt of a call runs at a time."""

    def __init__(
        self,
        *,
        call: CallLimit | None,
        periods: PeriodLimits,
        allow_unknown: bool,
        spending: Spending,
        clock: Clock,
        request_of: Callable[[Variant], ChatRequest],
    ) -> None:
        self._call = call
        self._periods = periods
        self._allow_unknown = allow_unknown
        self._spending = spending
        self._clock = clock
        self._request_of = request_of
        self._spent = 0
        self._open: _Open | None = None
        self._sent = False
        self._known: dict[tuple[tuple[int, int], int | None, bool], tuple[ChatRequest, Ceiling]] = {}

    @classmethod
    def of(
        cls,
        borders: Borders,
        asked: object,
        *,
        spending: Spending,
        clock: Clock,
        request_of: Callable[[Variant], ChatRequest],
    ) -> CallBudget | None:
        """The configured budgets, the call's own narrowed by what it ``asked`` for; ``None`` when there is none.

        Raises :class:`~zc_notebooks.prompt_parts.InvalidRequest` when ``asked`` is no amount.
        """
        call = _narrower(borders.budget_call_usd, amounts.asked(asked))
        periods = PeriodLimits(day=amounts.limit(borders.budget_day_usd), month=amounts.limit(borders.budget_month_usd))
        if call is None and not periods.any:
            return None
        return cls(
            call=call,
            periods=periods,
            allow_unknown=borders.unknown_price == "allow",
            spending=spending,
            clock=clock,
            request_of=request_of,
        )

    # -- before an attempt --------------------------------------------------------------------------------------------

    def refusal(self, variant: Variant) -> str | None:
        """Why an attempt on ``variant`` cannot be paid for now, or ``None``. Sets nothing aside."""
        most = self._ceiling(Try(variant=variant, attempt=0))
        if most.free:
            return None
        words = self._refused(most, variant)
        if words is None and self._periods.any:
            try:
                short = self._spending.short(most.nano, self._periods)
            except Unusable as error:
                return _unusable(error)
            words = None if short is None else self._too_little(short, most.nano)
        return words

    def reserve(self, step: Try) -> str | None:
        """Sets aside what ``step`` costs at most; why not, when there is not enough left."""
        self.free()
        most = self._ceiling(step)
        if most.free:
            self._open = _Open(nano=0, reservation=None)
            return None
        words = self._refused(most, step.variant)
        if words is not None:
            return words
        held: Reservation | Shortage | None = None
        if self._periods.any:
            try:
                held = self._spending.reserve(most.nano, self._periods, complete=most.missing is None)
            except Unusable as error:
                return _unusable(error)
        if isinstance(held, Shortage):
            return self._too_little(held, most.nano)
        self._open = _Open(nano=most.nano, reservation=held)
        return None

    def _ceiling(self, step: Try) -> Ceiling:
        request = self._request_of(step.variant)
        key = step.variant.id, step.max_tokens, step.shortened
        known = self._known.get(key)
        if known is None or known[0] is not request:
            sent = shorten(request) if step.shortened else request
            most = ceiling(step.variant, sent, max_tokens=step.max_tokens, at=self._clock.now())
            self._known[key] = known = (request, most)
        return known[1]

    def _refused(self, most: Ceiling, variant: Variant) -> str | None:
        """What can be said without looking at the periods."""
        if most.missing is not None and not self._allow_unknown:
            words = _MISSING[most.missing].format(ref=variant.ref)
            return f'{words} or borders.unknown_price = "allow" (a budget is set)'
        if self._call is None or not most.nano or most.nano <= self._call.nano - self._spent:
            return None
        left = max(self._call.nano - self._spent, 0)
        return _words(self._call.name, left, self._call.nano, most.nano, "in the next call")

    def _too_little(self, short: Shortage, nano: int) -> str:
        of = self._periods.day if short.period == "day" else self._periods.month
        fresh: datetime = fresh_at(short.period, self._clock.now())
        return _words(f"budget_{short.period}_usd", short.left, of or 0, nano, f"at {fresh:%Y-%m-%d %H:%M} UTC")

    # -- after it -----------------------------------------------------------------------------------------------------

    def sending(self) -> None:
        """The request goes out now: from here on it may cost."""
        self._sent = True

    def settle(self, row: AttemptRow) -> None:
        """Puts the row's cost in the place of the reservation; an unknown one keeps all of it."""
        self._settle(None if row.cost_usd is None else amounts.cost(Decimal(str(row.cost_usd))))

    def free(self) -> None:
        """Gives back what was set aside for an attempt that was not made; one without a row keeps it."""
        if self._open is not None:
            self._settle(None if self._sent else 0)

    def _settle(self, nano: int | None) -> None:
        made, self._open, self._sent = self._open, None, False
        if made is None:
            return
        self._spent += made.nano if nano is None else nano
        if made.reservation is not None:
            self._spending.settle(made.reservation, nano)


def _narrower(configured: Decimal | None, asked: Decimal | None) -> CallLimit | None:
    """The smaller one: a call may narrow its budget, never widen it."""
    found = [
        CallLimit(nano=nano, name=name)
        for usd, name in ((asked, "budget_usd"), (configured, "budget_call_usd"))
        if (nano := amounts.limit(usd)) is not None
    ]
    return min(found, key=lambda limit: limit.nano, default=None)


def _words(name: str, left: int, of: int, needed: int, fresh: str) -> str:
    return f"{name}: {dollars(left)} of {dollars(of)} left, up to {dollars(needed)} needed; fresh {fresh}"


def _unusable(error: Unusable) -> str:
    return f"nothing that costs is asked: {error}"
