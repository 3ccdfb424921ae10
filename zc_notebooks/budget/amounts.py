"""Money as whole nano-dollars: sums are exact, costs are rounded up, budgets down: nothing is undercounted."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from numbers import Number
from typing import Final

from zc_notebooks.prompt_parts import InvalidRequest

MOST: Final = 10**17
"""100 million dollars. What is more counts as this much, so that sums stay within SQLite's integers."""


def cost(amount: Decimal) -> int:
    """What something costs, in nano-dollars, rounded up."""
    return int(min(amount, usd(MOST)).scaleb(9).to_integral_value(ROUND_CEILING))


def limit(amount: Decimal | None) -> int | None:
    """What may be spent, in nano-dollars, rounded down."""
    return None if amount is None else int(min(amount, usd(MOST)).scaleb(9).to_integral_value(ROUND_FLOOR))


def usd(nano: int) -> Decimal:
    """US dollars, exactly."""
    return Decimal(nano).scaleb(-9)


def dollars(amount: Decimal | int) -> str:
    """``$0.25``: at least cents, and every digit that is there. A whole number is nano-dollars."""
    exact = usd(amount) if isinstance(amount, int) else amount
    whole, _, part = f"{exact:f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def asked(value: object) -> Decimal | None:
    """A call's own ``budget_usd``: a number of any kind, exactly as it is shown.

    Raises:
        InvalidRequest: It is no amount.
    """
    if value is None:
        return None
    try:
        given = Decimal("NaN" if isinstance(value, bool) or not isinstance(value, Number) else str(value))
    except InvalidOperation:
        given = Decimal("NaN")
    if not given.is_finite() or given < 0:
        raise InvalidRequest(f"budget_usd: expected an amount of US dollars of 0 or more, got {value!r:.40}")
    return given
