"""What no attempt can have been: a row that says so would stand in the views for good, so it is not taken in."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from zc_notebooks.ledger.row import DUCKDB_TYPES

SECONDS: Final = 1e7
"""Four months."""
TOKENS: Final = 10**12
USD: Final = 1e6
YEARS: Final = range(2000, 2100)

_LIMITS: Final[dict[str, float]] = {
    **dict.fromkeys(("secs", "wait_s", "first_token_s"), SECONDS),
    **{name: TOKENS for name in DUCKDB_TYPES if name.endswith("_tokens")},
    "cost_usd": USD,
}
_INSTANTS: Final = tuple(name for name, kind in DUCKDB_TYPES.items() if kind == "TIMESTAMPTZ")


def impossible(row: Any) -> str | None:
    """Which column of a row cannot be, in words; ``None`` when all can."""
    for name, most in _LIMITS.items():
        value = getattr(row, name)
        if value is not None and not 0 <= value <= most:
            return f"{name} cannot be: {'below 0' if value < 0 else f'more than {most:,.0f}'}"
    for name in _INSTANTS:
        value = getattr(row, name)
        if value is not None and not possible(value):
            return f"{name} cannot be: not within the years {YEARS[0]} to {YEARS[-1]}"
    return None


def possible(when: datetime) -> bool:
    """Whether an instant is of a year in which a call can have been made."""
    return when.year in YEARS
