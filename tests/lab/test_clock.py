"""The lab's clock: running, frozen, moved and set."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from zc_notebooks.lab import LabClock

NOON = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


def test_a_frozen_clock_moves_only_when_told() -> None:
    """Advance and set move it; both readings of time agree on how far."""
    clock = LabClock(NOON, frozen=True)
    before = clock.monotonic()
    assert clock.now() == NOON
    assert clock.advance(90) == NOON + timedelta(seconds=90)
    clock.set(NOON + timedelta(hours=1))
    assert clock.monotonic() - before == 3600
    clock.set(NOON)
    assert clock.now() == NOON
    assert clock.monotonic() - before == 3600


def test_a_running_clock_follows_real_time_from_where_it_was_put() -> None:
    """It starts at the given instant and does not stand still."""
    clock = LabClock(NOON)
    clock.advance(60)
    assert timedelta(seconds=60) <= clock.now() - NOON < timedelta(seconds=70)
    first = clock.now()
    clock.freeze()
    stopped, reading = clock.now(), clock.monotonic()
    assert stopped >= first
    assert (clock.now(), clock.monotonic()) == (stopped, reading)
    clock.run()
    assert not clock.frozen
    assert 0 <= clock.monotonic() - reading < 10


def test_sleeping_on_a_frozen_clock_takes_no_time() -> None:
    """A chain that lives by the lab's frozen clock waits an hour at once."""
    clock = LabClock(NOON, frozen=True)
    asyncio.run(clock.sleep(3600))
    clock.sleep_sync(60)
    assert clock.now() == NOON + timedelta(seconds=3660)


def test_bad_instants_are_refused() -> None:
    """A time without a zone and a step back are errors with a hint."""
    with pytest.raises(ValueError, match="time zone"):
        LabClock(datetime(2026, 9, 1))  # noqa: DTZ001 (refused on purpose)
    with pytest.raises(ValueError, match="set"):
        LabClock(NOON).advance(-1)
    assert "2026-09-01 12:00:00 UTC, frozen" in repr(LabClock(NOON, frozen=True))
