"""OpenRouter: ``metadata.limit_source`` names the wall; ``metadata.raw`` is what a backend said."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    MINUTE,
    NOT_FOUND,
    PERMISSION,
    PERMISSION_MODEL,
    Failures,
    Rule,
)

_FREE_DAY: Final = Rule(reason="daily_limit", scope="model", covers="*:free")
_FREE_MINUTE: Final = Rule(reason="minute_limit", scope="model", covers="*:free")

TABLE: Final = Failures(
    codes={
        "openrouter_free_tier_daily": _FREE_DAY,
        "openrouter_free_tier_minute": _FREE_MINUTE,
        "openrouter_free_tier_per_minute": _FREE_MINUTE,
        "upstream_provider_shared_pool": CAPACITY,
        "openrouter_admission_control": CAPACITY,
        "openrouter_credits": BALANCE,
        "openrouter_in_flight_budget": MINUTE,
        "in_flight_budget_exhausted": MINUTE,
        "key": BALANCE,
        "key_limit_exceeded": BALANCE,
    },
    phrases=(
        ("free-models-per-day", _FREE_DAY),
        ("free-models-per-min", _FREE_MINUTE),
        ("current in-flight requests", MINUTE),
        ("temporarily rate-limited upstream", CAPACITY),
        ("key limit exceeded", BALANCE),
        ("fewer max_tokens", BALANCE),
        ("prompt tokens limit exceeded", BALANCE),
        ("insufficient credits", BALANCE),
        ("data policy", PERMISSION_MODEL),
        ("guardrail restrictions", PERMISSION_MODEL),
        ("no allowed providers are available", PERMISSION_MODEL),
        ("all providers have been ignored", PERMISSION_MODEL),
        ("no endpoints found", NOT_FOUND),
        ("is not a valid model id", NOT_FOUND),
        ("input was flagged", CONTENT_FILTER),
        ("user not found", AUTH),
        ("missing authentication header", AUTH),
        ("no cookie auth credentials found", AUTH),
        ("no auth credentials found", AUTH),
        ("not allowed to use this key", PERMISSION),
    ),
    day_reset="utc_midnight",
    own_upstream=False,
)
