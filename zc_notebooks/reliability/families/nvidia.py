"""NVIDIA NIM: problem+json; a wrong key is 403; a sick deployment is a 400; credits end with 402."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, CAPACITY, NOT_FOUND, Failures

TABLE: Final = Failures(
    phrases=(
        ("authorization failed", AUTH),
        ("authentication failed", AUTH),
        ("cloud credits expired", BALANCE),
        ("credits exhausted", BALANCE),
        ("degraded function", CAPACITY),
        ("resourceexhausted", CAPACITY),
        ("worker local total request limit", CAPACITY),
        ("reached its end of life", NOT_FOUND),
        ("not found for account", NOT_FOUND),
    ),
)
