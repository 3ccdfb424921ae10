"""Fireworks: an account without money is suspended with HTTP 412."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, LIMIT, NOT_FOUND, WINDOW, Failures

TABLE: Final = Failures(
    codes={"UNAUTHORIZED": AUTH, "NOT_FOUND": NOT_FOUND, "RESOURCE_EXHAUSTED": LIMIT, "RATE_LIMIT_EXCEEDED": LIMIT},
    phrases=(
        ("is suspended", BALANCE),
        ("model not found, inaccessible", NOT_FOUND),
        ("prompt is too long", WINDOW),
        ("api key you provided is invalid", AUTH),
    ),
)
