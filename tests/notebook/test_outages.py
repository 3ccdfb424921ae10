"""Times of exhaustion in words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.ledger.rows import NOON
from zc_notebooks.notebook.outages import Outage


def minutes(number: float | None) -> Any:
    return None if number is None else NOON + timedelta(minutes=number)


@pytest.mark.parametrize(
    ("kind", "until", "end", "words"),
    [
        ("token_daily_limit", 150, None, "tokens per day, 12:00:00 UTC until 14:30:00 UTC"),
        ("daily_limit", 1440, None, "requests per day, 12:00:00 UTC until 12-01 12:00 UTC"),
        ("balance", None, None, "unpaid, 12:00:00 UTC until an answer comes"),
        ("balance", None, 3, "unpaid, 12:00:00 to 12:03:00 UTC"),
        ("minute_limit", 1, 1, "per-minute limit, 12:00:00 to 12:01:00 UTC"),
    ],
)
def test_words(kind: str, until: float | None, end: float | None, words: str) -> None:
    """Which limit, from when, and until when: as stated, over, or nobody knows."""
    row = {"provider_ref": "a.b", "model": None, "kind": kind, "begin_at": NOON, "back_at": minutes(until)}
    out = Outage.of({**row, "end_at": minutes(end)})
    assert out.words(NOON + timedelta(minutes=5)) == words
    assert out.lane == "a.b/all models"
