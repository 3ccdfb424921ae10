"""Mistral: flat ``object: error``; one body for second, minute and month; a limit of 0 is "not on the plan"."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, CAPACITY, CONTENT_FILTER, LIMIT, NOT_FOUND, WINDOW, Failures

TABLE: Final = Failures(
    codes={
        "3505": CAPACITY,
        "service_tier_capacity_exceeded": CAPACITY,
        "1300": LIMIT,
        "rate_limited": LIMIT,
        "1500": NOT_FOUND,
        "invalid_model": NOT_FOUND,
        "3051": WINDOW,
        "content_moderation": CONTENT_FILTER,
        "guardrail_violation": CONTENT_FILTER,
    },
    phrases=(
        ("service tier capacity exceeded", CAPACITY),
        ("inactive subscription or usage limit reached", BALANCE),
        ("too large for model with", WINDOW),
        ("invalid api key", AUTH),
    ),
)
