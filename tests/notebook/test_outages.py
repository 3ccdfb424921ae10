"""Times of exhaustion in words."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.rows import NOON, row
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.notebook.outages import MOST, Outage, Outages
from zc_notebooks.testing import ManualClock


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
    found = {
        "provider_ref": "a.b",
        "pool": "p",
        "kind": kind,
        "begin_at": NOON,
        "back_at": minutes(until),
    }
    out = Outage.of({**found, "end_at": minutes(end)}, "a.b/all models")
    assert out.words(NOON + timedelta(minutes=5)) == words


@pytest.mark.parametrize(
    ("keys", "lanes"),
    [
        (["11111111"], ["groq.free/all models"]),
        (["11111111", "22222222"], ["groq.free/all models [11111111]", "groq.free/all models [22222222]"]),
    ],
    ids=["one", "two"],
)
def test_credentials_of_one_provider_have_a_lane_each(tmp_path: Path, keys: list[str], lanes: list[str]) -> None:
    """By their ids, where there are several."""
    with closing(LedgerWriter(tmp_path)) as writer, closing(Ledger(tmp_path)) as ledger:
        for key in keys:
            writer.write(row(key, t=NOON, status="http_402", reason="balance", credential_id=key))
        out = Outages(ledger, ManualClock(NOON), 24.0)
        out.look()
        assert [item.lane for item in out.shown] == lanes


def test_looked_up_only_when_a_row_may_have_changed_them(tmp_path: Path) -> None:
    """A refusal for a quota, or an answer of one that is out; everything else leaves them as they are."""
    with closing(LedgerWriter(tmp_path)) as writer:
        out = Outages(ledger := Ledger(tmp_path, clock=(clock := ManualClock(NOON))), clock, 24.0)
        out.look()
        follower = ledger.follow()
        due = []
        for number, fields in enumerate(
            [
                {"accepted": True},
                {"status": "http_500", "reason": "server_error"},
                {"status": "http_402", "reason": "balance"},
                {"accepted": True, "pool": "another"},
                {"accepted": True},
            ]
        ):
            clock.advance(1)
            writer.write(row(f"call-{number}", t=clock.now(), **fields))
            out.changed(follower.new_rows())
            due.append(out.due)
            if out.due:
                out.look()
        assert due == [False, False, True, False, True]
        assert [item.end for item in out.shown] == [clock.now()]
        ledger.close()


@pytest.mark.parametrize(("takes_s", "due"), [(0.0, [True] * 3), (0.09, [True] * 3), (2.0, [False, False, True])])
def test_a_slow_look_is_followed_by_a_pause(tmp_path: Path, takes_s: float, due: list[bool]) -> None:
    """Ten times its length, both by the clock that is given; a quick one by none."""
    clock = ManualClock(NOON)

    class Slow(Ledger):
        def view(self, *named: Any) -> Any:
            clock.advance(takes_s)
            return super().view(*named)

    with closing(LedgerWriter(tmp_path)) as writer, closing(Slow(tmp_path, clock=clock)) as ledger:
        out, follower = Outages(ledger, clock, 24.0), ledger.follow()
        out.look()
        writer.write(row(t=clock.now(), status="http_402", reason="balance"))
        out.changed(follower.new_rows())
        found = []
        for seconds in (0.0, 19.5, 1.0):
            clock.advance(seconds)
            found.append(out.due)
        assert found == due


def test_at_most_so_many(tmp_path: Path) -> None:
    """Those that are not over are always shown, then the newest; the rest is counted."""
    with closing(LedgerWriter(tmp_path)) as writer:
        for number in range(MOST + 20):
            at = NOON + timedelta(seconds=2 * number)
            spent = {"status": "http_429", "reason": "daily_limit", "pool": "p"}
            writer.write(row("first", t=NOON, provider_ref="a.open", **{**spent, "pool": "q"}))
            writer.write(row(f"out-{number}", t=at, **spent))
            writer.write(row(f"back-{number}", t=at + timedelta(seconds=1), accepted=True, pool="p"))
    ledger = Ledger(tmp_path)
    out = Outages(ledger, ManualClock(NOON + timedelta(hours=1)), 24.0)
    out.look()
    assert (len(out.shown), out.left_out) == (MOST, 21)
    assert out.shown[0].ref == "a.open"
    assert out.shown[0].end is None
    ledger.close()
