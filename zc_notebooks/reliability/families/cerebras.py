"""Cerebras: flat errors; ``param: quota`` and ``token_quota_exceeded`` for minute, hour and day alike."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, CAPACITY, NOT_FOUND, Failures

TABLE: Final = Failures(
    codes={
        "queue_exceeded": CAPACITY,
        "wrong_api_key": AUTH,
        "payment_required": BALANCE,
        "model_archived": NOT_FOUND,
        "model_not_found": NOT_FOUND,
    },
    phrases=(("experiencing high traffic", CAPACITY),),
    day_reset="rolling",
)
