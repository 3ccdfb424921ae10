"""A lab that answers at once, and a plain HTTP client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest

from zc_notebooks.lab import Lab, LabClock

NOON = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def lab() -> Iterator[Lab]:
    """The default scenario on a clock that stands still at noon UTC."""
    with Lab(clock=LabClock(NOON, frozen=True), latency=0) as started:
        yield started


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """A client without retries and redirects."""
    with httpx.Client(timeout=5) as opened:
        yield opened
