"""GitHub Models (retired 2026-07-30): ``UserByModelByDay`` in the message, the wait in seconds beside it."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, MINUTE, NOT_FOUND, PERMISSION_MODEL, REQUEST, Failures

TABLE: Final = Failures(
    codes={
        "tokens_limit_reached": REQUEST,
        "github_models_retirement_brownout": NOT_FOUND,
        "unknown_model": NOT_FOUND,
        "unavailable_model": NOT_FOUND,
        "no_access": PERMISSION_MODEL,
        "unauthorized": AUTH,
    },
    phrases=(
        ("userconcurrentrequests", MINUTE),
        ("bad credentials", AUTH),
        ("no access to model", PERMISSION_MODEL),
    ),
    day_reset="rolling",
)
