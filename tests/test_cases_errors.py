"""All recorded responses whose outcome is an error or a cut: reason, wait and reset as the recording says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conftest import load_cases
from zc_notebooks.explanation import explain_case
from zc_notebooks.reliability.reset_time import next_midnight

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIDNIGHTS = {"next 00:00 UTC": "utc_midnight", "next 00:00 America/Los_Angeles": "pacific_midnight"}
ROUNDED_S = 1.0
"""A Retry-After in whole seconds may stand beside a finer sentence: the longest of both counts (spec 6.2)."""

CASES = [pytest.param(case, id=case["name"]) for case in load_cases() if case["expect"]["outcome"] != "ok"]

pytestmark = pytest.mark.skipif(not CASES, reason="the folder of recorded responses is not here")


@pytest.mark.parametrize("case", CASES or [None])
def test_recorded_failure(case: dict[str, Any]) -> None:
    """The explanation has the recording's outcome, reason, wait, reset, finish word, usage and text."""
    expect = case["expect"]
    now = moment(expect["resets_at"])
    found = explain_case(case, now=now).to_dict()
    assert (found["outcome"], found["reason"]) == (expect["outcome"], expect["reason"]), found["evidence"]
    if expect["retry_after_s"] is None:
        assert found["retry_after_s"] is None
    else:
        assert 0 <= found["retry_after_s"] - expect["retry_after_s"] < ROUNDED_S
    assert found["resets_at"] == instant(expect["resets_at"], now)
    for field in ("finish_reason", "usage", "text", "reasoning"):
        assert found[field] == expect[field], field
    assert found["evidence"]


def moment(resets_at: str | None) -> datetime:
    """A time of arrival from which a recorded instant is a few hours ahead."""
    if resets_at is None or resets_at in MIDNIGHTS:
        return NOW
    return datetime.fromisoformat(resets_at) - timedelta(hours=3)


def instant(text: str | None, now: datetime) -> str | None:
    """The recorded instant, or the next midnight of the recorded rule."""
    if text in MIDNIGHTS:
        midnight = next_midnight(MIDNIGHTS[text], now)
        return f"{midnight:%Y-%m-%dT%H:%M:%SZ}"
    return text
