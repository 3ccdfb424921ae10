"""Moonshot and Kimi: ``error.type`` tells money, rate and load apart; RPM, TPM and TPD stand in the message."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    DAY,
    LIMIT,
    NOT_FOUND,
    PERMISSION,
    SOFT_PERMISSION,
    WINDOW,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "engine_overloaded_error": CAPACITY,
        "exceeded_current_quota_error": BALANCE,
        "rate_limit_reached_error": LIMIT,
        "invalid_authentication_error": AUTH,
        "incorrect_api_key_error": AUTH,
        "permission_denied_error": PERMISSION,
        "access_terminated_error": SOFT_PERMISSION,
        "resource_not_found_error": NOT_FOUND,
        "content_filter": CONTENT_FILTER,
    },
    phrases=(
        ("suspended due to insufficient balance", BALANCE),
        ("membership benefits", BALANCE),
        ("considered high risk", CONTENT_FILTER),
        ("exceeded model token limit", WINDOW),
        ("receiving too many requests", CAPACITY),
        ("usage limit for this", DAY),
        ("hour usage limit", DAY),
        ("monthly usage limit", DAY),
        ("weekly usage limit", DAY),
    ),
    zone="Asia/Shanghai",
)
