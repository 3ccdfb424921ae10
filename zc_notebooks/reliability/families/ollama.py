"""Ollama: ``error`` is a string locally, an object in the cloud; the cloud's session is five hours, then a week."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import BALANCE, DAY, MINUTE, NOT_FOUND, PERMISSION_MODEL, WINDOW, Failures

TABLE: Final = Failures(
    phrases=(
        ("payment is past due", BALANCE),
        ("usage limit", DAY),
        ("concurrent", MINUTE),
        ("requires a subscription", PERMISSION_MODEL),
        ("upgrade for access", PERMISSION_MODEL),
        ("exceeded max context length", WINDOW),
        ("try pulling it first", NOT_FOUND),
    ),
)
