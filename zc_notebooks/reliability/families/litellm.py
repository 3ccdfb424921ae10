"""LiteLLM proxy: Python exception names in the message, the backend's own words behind them."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    LIMIT,
    NOT_FOUND,
    PERMISSION_MODEL,
    WINDOW,
    Failures,
    Rule,
)

_COOLING: Final = Rule(reason="minute_limit", scope="model")
"""Every deployment of the model has just hit its own limit."""

TABLE: Final = Failures(
    codes={
        "ContextWindowExceededError": WINDOW,
        "ContentPolicyViolationError": CONTENT_FILTER,
        "RateLimitError": LIMIT,
        "AuthenticationError": AUTH,
        "BudgetExceededError": BALANCE,
        "budget_exceeded": BALANCE,
        "key_model_access_denied": PERMISSION_MODEL,
        "team_model_access_denied": PERMISSION_MODEL,
    },
    phrases=(
        ("no deployments available", _COOLING),
        ("no healthy deployment", CAPACITY),
        ("invalid model name passed", NOT_FOUND),
        ("budget has been exceeded", BALANCE),
        ("not allowed to access model", PERMISSION_MODEL),
        ("invalid proxy server token", AUTH),
    ),
)
