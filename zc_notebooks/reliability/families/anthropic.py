"""Anthropic: ``error.type`` names the status; ``error.details.error_code`` tells a spend cap from a rate limit."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    MINUTE,
    PERMISSION,
    PERMISSION_ACCOUNT,
    REQUEST,
    WINDOW,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "overloaded_error": CAPACITY,
        "request_too_large": REQUEST,
        "enforced_spend_limit_reached": BALANCE,
        "billing_error": BALANCE,
    },
    phrases=(
        ("credit balance is too low", BALANCE),
        ("reached your specified api usage limits", BALANCE),
        ("reached your api usage limits", BALANCE),
        ("will regain access on", BALANCE),
        ("draw from your extra usage", BALANCE),
        ("extra usage is required for long context", PERMISSION),
        ("organization has been disabled", PERMISSION_ACCOUNT),
        ("oauth authentication is currently not", PERMISSION),
        ("only authorized for use with", PERMISSION),
        ("invalid x-api-key", AUTH),
        ("blocked by content filtering", CONTENT_FILTER),
        ("exceed context limit", WINDOW),
        ("number of concurrent connections", MINUTE),
    ),
)
