"""Together: 403 is a full context; type ``credit_limit`` also marks per-minute limits; resets in bare seconds."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import CAPACITY, MINUTE, NOT_FOUND, SOFT_BALANCE, WINDOW, Failures

TABLE: Final = Failures(
    codes={"credit_limit": SOFT_BALANCE, "model_not_available": NOT_FOUND, "dynamic_request_limited": MINUTE,
           "dynamic_token_limited": MINUTE},
    phrases=(
        ("`inputs` tokens + `max_new_tokens` must be", WINDOW),
        ("you have been rate limited", MINUTE),
        ("rate limit specific to this model", MINUTE),
        ("unable to access model", NOT_FOUND),
        ("unable to access non-serverless model", NOT_FOUND),
        ("engine is overloaded", CAPACITY),
    ),
    periods={"": "minute"},
)  # fmt: skip
