"""DeepSeek: ``error.code`` is ``invalid_request_error`` whatever happened; type, status and message tell."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, CAPACITY, CONTENT_FILTER, NOT_FOUND, Failures

TABLE: Final = Failures(
    phrases=(
        ("insufficient balance", BALANCE),
        ("authentication fails", AUTH),
        ("content exists risk", CONTENT_FILTER),
        ("model not exist", NOT_FOUND),
        ("service is too busy", CAPACITY),
        ("server overloaded", CAPACITY),
    ),
)
