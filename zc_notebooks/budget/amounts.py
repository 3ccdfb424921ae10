"""Money as whole nano-dollars: sums are exact, costs are rounded up and budgets down, so nothing is ever undercounted."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Final

from zc_notebooks.prompt_parts import InvalidRequest

MOST: Final = 10**17
"""100 million dollars. What is more counts as this much, so that sums stay within SQLite's integers."""
_CENTS: Final = Decimal("0.01")


def cost(usd: Decimal) -> int:
    """What something costs, in nano-dollars, rounded up."""
    return min(int(usd.scaleb(9).to_integral_value(ROUND_CEILING)), MOST)


def limit(usd: Decimal | None) -> int | None:
    """What may be spent, in nano-dollars, rounded down."""
    return None if usd is None else min(int(usd.scaleb(9).to_integral_value(ROUND_FLOOR)), MOST)


def usd(nano: int) -> Decimal:
    """US dollars, exactly."""
    return Decimal(nano).scaleb(-9)


def dollars(amount: Decimal | int) -> str:
    """``$0.25``: at least cents, and every digit that is there. A whole number is nano-dollars."""
    exact = (usd(amount) if isinstance(amount, int) else amount).normalize()
    return f"${exact if exact.as_tuple().exponent < -2 else exact.quantize(_CENTS):f}"  # type: ignore[operator]


def asked(value: object) -> Decimal | None:
    """A call's own ``budget_usd``. Raises :class:`~zc_notebooks.prompt_parts.InvalidRequest` when it is no amount."""
    if value is None:
        return None
    try:
        given = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, InvalidOperation):
        given = Decimal("NaN")
    if isinstance(value, bool | str | tuple | list) or not given.is_finite() or given < 0:
        raise InvalidRequest(f"budget_usd: expected an amount of US dollars of 0 or more, got {value!r:.40}")
    return given
