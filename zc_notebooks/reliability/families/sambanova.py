"""SambaNova: the body never says the period; the ``-day`` headers do."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import BALANCE, Failures

TABLE: Final = Failures(
    codes={"payment_required": BALANCE},
    phrases=(("payment method is required", BALANCE),),
    periods={"requests": "minute", "tokens": "minute"},
    day_reset="rolling",
)
