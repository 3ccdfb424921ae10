"""Every failure that the lab can play, written apart from the classifier, is understood and ends when the lab says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from zc_notebooks.explanation import explain
from zc_notebooks.lab.failures import failure_response, failures, moment_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ROUNDED_S = 1.01
"""A wait in whole seconds is rounded up."""


@pytest.mark.parametrize("name", sorted(failures()))
def test_lab_failure(name: str) -> None:
    """The reason is the lab's own, and a stated time is the one at which the lab lets go."""
    failure = failures()[name]
    status, headers, body = failure_response(name, NOW)
    found = explain(
        provider=failure.family, status=status, headers=headers, body=body, stream=failure.when == "stream", now=NOW
    )
    assert found.reason == failure.reason, found.evidence
    ahead = found.retry_after_s
    if found.resets_at is not None:
        ahead = (found.resets_at - NOW).total_seconds()
    until = moment_of(failure, NOW).until
    if ahead is not None:
        assert until is not None
        assert abs(ahead - (until - NOW).total_seconds()) < ROUNDED_S
