"""Groq: only the message says which limit; its day is a rolling window; bare request headers count a day."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    BALANCE,
    CAPACITY,
    NOT_FOUND,
    PERMISSION_ACCOUNT,
    PERMISSION_MODEL,
    TOOL_SCHEMA,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "organization_restricted": PERMISSION_ACCOUNT,
        "tool_use_failed": TOOL_SCHEMA,
        "output_parse_failed": TOOL_SCHEMA,
        "model_terms_required": PERMISSION_MODEL,
        "model_permission_blocked_org": PERMISSION_MODEL,
        "model_permission_blocked_project": PERMISSION_MODEL,
        "model_decommissioned": NOT_FOUND,
        "model_not_active": NOT_FOUND,
        "blocked_api_access": BALANCE,
        "capacity_exceeded": CAPACITY,
    },
    phrases=(
        ("is currently over capacity", CAPACITY),
        ("reached its spend limit", BALANCE),
        ("requires terms acceptance", PERMISSION_MODEL),
    ),
    statuses={498: CAPACITY},
    periods={"requests": "day", "tokens": "minute"},
    day_reset="rolling",
)
