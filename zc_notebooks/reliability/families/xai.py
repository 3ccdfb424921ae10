"""xAI: one code for several causes, ``error`` is a string; no money is 403 (never paid) or 429 (spent)."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, CAPACITY, CONTENT_FILTER, NOT_FOUND, WINDOW, Failures

TABLE: Final = Failures(
    codes={"unauthenticated": AUTH},
    phrases=(
        ("credits or licenses", BALANCE),
        ("used all available credits", BALANCE),
        ("monthly spending limit", BALANCE),
        ("safety_check_type", CONTENT_FILTER),
        ("violates usage guidelines", CONTENT_FILTER),
        ("incorrect api key", AUTH),
        ("invalid or expired credentials", AUTH),
        ("no authorization header", AUTH),
        ("api key is currently blocked", AUTH),
        ("api key is disabled", AUTH),
        ("maximum prompt length is", WINDOW),
        ("at capacity", CAPACITY),
        ("model not found", NOT_FOUND),
    ),
)
