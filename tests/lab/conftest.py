"""Labs that answer at once on a clock that stands still, and a plain HTTP client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest

from zc_notebooks.lab import Lab, LabClock

NOON = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def _shared() -> Iterator[dict[str, Lab]]:
    labs: dict[str, Lab] = {}
    yield labs
    for lab in labs.values():
        lab.close()


def _fresh(shared: dict[str, Lab], scenario: str) -> Lab:
    """A lab of the scenario as if it had just been started at noon."""
    if scenario not in shared:
        shared[scenario] = Lab(scenario, clock=LabClock(NOON, frozen=True), latency=0).start()
    lab = shared[scenario]
    lab.clock.set(NOON)
    lab.reset()
    return lab


@pytest.fixture
def lab(_shared: dict[str, Lab]) -> Lab:
    """The default scenario."""
    return _fresh(_shared, "default")


@pytest.fixture
def wires(_shared: dict[str, Lab]) -> Lab:
    """One healthy provider for each wire."""
    return _fresh(_shared, "wires")


@pytest.fixture
def tiers(_shared: dict[str, Lab]) -> Lab:
    """Free tiers with their real limits."""
    return _fresh(_shared, "free_tiers")


@pytest.fixture
def keyed(_shared: dict[str, Lab]) -> Lab:
    """Providers that ask for a key."""
    return _fresh(_shared, "keys")


@pytest.fixture
def pair(_shared: dict[str, Lab]) -> Lab:
    """A primary and a backup."""
    return _fresh(_shared, "pair")


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """A client without retries and redirects; one for all tests, because making one reads all certificates."""
    with httpx.Client(timeout=5) as opened:
        yield opened
