"""Hugging Face router: ``error`` is a string; monthly credits are money; backends' errors are passed on."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, CAPACITY, NOT_FOUND, PERMISSION, SERVER_ERROR, Failures

TABLE: Final = Failures(
    codes={"model_not_supported": NOT_FOUND},
    phrases=(
        ("monthly included credits", BALANCE),
        ("free monthly usage limit", BALANCE),
        ("pre-paid credits", BALANCE),
        ("invalid credentials", AUTH),
        ("invalid username or password", AUTH),
        ("does not have sufficient permissions", PERMISSION),
        ("not supported by any provider", NOT_FOUND),
        ("is currently loading", CAPACITY),
        ("model too busy", CAPACITY),
    ),
    statuses={424: SERVER_ERROR},
)
