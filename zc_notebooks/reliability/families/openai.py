"""OpenAI: codes in ``error.code``; limits per model and organisation; resets as Go durations."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CONTENT_FILTER,
    PERMISSION,
    PERMISSION_ACCOUNT,
    SOFT_BAD_REQUEST,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "invalid_prompt": CONTENT_FILTER,
        "moderation_blocked": CONTENT_FILTER,
        "account_deactivated": AUTH,
        "invalid_organization": AUTH,
        "mismatched_organization": AUTH,
        "billing_not_active": BALANCE,
        "organization_must_be_verified": PERMISSION,
        "unsupported_value": SOFT_BAD_REQUEST,
        "unsupported_country_region_territory": PERMISSION_ACCOUNT,
    },
    phrases=(
        ("must be verified to use", PERMISSION),
        ("must be verified to stream", PERMISSION),
        ("do not have sufficient permissions", PERMISSION),
        ("insufficient permissions for this operation", PERMISSION),
        ("account is not active, please check your billing", BALANCE),
    ),
)
