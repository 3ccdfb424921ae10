"""Google Gemini: the period is in ``quotaId``; the day ends at midnight Pacific; never a Retry-After header."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    PERMISSION,
    PERMISSION_ACCOUNT,
    SERVER_ERROR,
    WINDOW,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "API_KEY_INVALID": AUTH,
        "API_KEY_EXPIRED": AUTH,
        "ACCESS_TOKEN_EXPIRED": AUTH,
        "ACCESS_TOKEN_TYPE_UNSUPPORTED": AUTH,
        "CREDENTIALS_MISSING": AUTH,
        "UNAUTHENTICATED": AUTH,
        "SERVICE_DISABLED": PERMISSION,
        "CONSUMER_SUSPENDED": PERMISSION_ACCOUNT,
        "CONSUMER_INVALID": PERMISSION_ACCOUNT,
        "BILLING_DISABLED": BALANCE,
        "payment_required": BALANCE,
        "CANCELLED": SERVER_ERROR,
        "MODEL_CAPACITY_EXHAUSTED": CAPACITY,
    },
    phrases=(
        ("api key was reported as leaked", AUTH),
        ("api key not valid", AUTH),
        ("api key expired", AUTH),
        ("api key not found", AUTH),
        ("unregistered callers", AUTH),
        ("prepay credit balance is depleted", BALANCE),
        ("prepayment credits are depleted", BALANCE),
        ("spending cap", BALANCE),
        ("requires billing to be enabled", BALANCE),
        ("location is not supported", PERMISSION_ACCOUNT),
        ("not available in your country", PERMISSION_ACCOUNT),
        ("has not been used in project", PERMISSION_ACCOUNT),
        ("input token count", WINDOW),
        ("model is overloaded", CAPACITY),
        ("resource exhausted. please try again later", CAPACITY),
    ),
    day_reset="pacific_midnight",
)
