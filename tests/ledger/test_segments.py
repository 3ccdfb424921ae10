"""Names of segments, and when one is sealed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.rows import NOON, row
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.segments import clean_host, new_name, parse_name, sealed
from zc_notebooks.testing import ManualClock


@given(st.text(max_size=80), st.integers(0, 2**31), st.dates(min_value=date(1970, 1, 1)))
def test_any_host_makes_a_name_that_can_be_read_back(host: str, pid: int, day: date) -> None:
    """Whatever a machine is called, its segments have plain names that keep date and process."""
    name = new_name(day, host=host, pid=pid)
    found = parse_name(name)
    assert found is not None
    assert (found.day, found.pid, found.host) == (day, pid, clean_host(host))
    assert "/" not in name
    assert name.isascii()


@pytest.mark.parametrize(
    ("host", "clean"),
    [("alpha", "alpha"), ("a/../b c", "a_.._b_c"), ("", "host"), ("x" * 300, "x" * 40), ("夢", "_")],
    ids=["plain", "path", "empty", "long", "foreign"],
)
def test_host_names_are_made_safe(host: str, clean: str) -> None:
    """Nothing of a host name can leave the folder or break the name."""
    assert clean_host(host) == clean


@pytest.mark.parametrize(
    "name", ["notes.txt", "attempts-2026-13-01-a-1-00000000.jsonl", "attempts-2026-11-30-a-1-0.jsonl", "x.jsonl"]
)
def test_other_names_are_no_segments(name: str) -> None:
    """A name that is not ours says nothing."""
    assert parse_name(name) is None


def test_a_held_segment_is_sealed_an_hour_after_its_day(tmp_path: Path) -> None:
    """While its writer lives, only the date seals a segment, with an hour for slow writes and other clocks."""
    writer = LedgerWriter(tmp_path, clock=ManualClock(NOON))
    writer.write(row())
    (segment,) = tmp_path.iterdir()
    assert not sealed(segment, now=NOON)
    assert not sealed(segment, now=datetime(2026, 12, 1, 0, 59, tzinfo=UTC))
    assert sealed(segment, now=datetime(2026, 12, 1, 1, 0, tzinfo=UTC))
    writer.close()
    assert sealed(segment, now=NOON)
