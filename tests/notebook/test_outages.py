"""The exhaustion timeline: which rows begin and end an outage."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ledger.rows import NOON, row
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.notebook.outages import CHANGES, Outage, outages

Event = tuple[float, str, float | None]
"""Minutes from noon; ``ok``, a reason, or ``skip`` and one; minutes from noon of the reset."""


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def seen(folder: Path, events: Sequence[Event], now: float) -> list[tuple[float, float | None, str]]:
    """(begin, end, reason) of each outage, in minutes, through a real ledger."""
    with closing(LedgerWriter(folder)) as writer:
        for number, (minute, what, reset) in enumerate(events):
            ok, skip = what == "ok", what.startswith("skip")
            writer.write(
                row(
                    f"call-{number}",
                    t=at(minute),
                    kind="skip" if skip else "attempt",
                    status="ok" if ok else "skipped_cooldown" if skip else "http_429",
                    reason=None if ok else what.removeprefix("skip "),
                    accepted=ok,
                    resets_at=None if reset is None else at(reset),
                )
            )
    found = outages(Ledger(folder).sql(CHANGES, [at(-60)]).to_dicts(), at(now))
    return [(_minutes(item.begin), None if item.end is None else _minutes(item.end), item.reason) for item in found]


def _minutes(instant: datetime) -> float:
    return (instant - NOON).total_seconds() / 60


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([(0, "ok", None), (1, "server_error", None)], []),
        ([(0, "daily_limit", 90)], [(0, None, "daily_limit")]),
        ([(0, "daily_limit", 30)], [(0, 30, "daily_limit")]),
        ([(0, "balance", None)], [(0, None, "balance")]),
        ([(0, "balance", None), (10, "ok", None)], [(0, 10, "balance")]),
        ([(0, "daily_limit", 90), (5, "daily_limit", 100), (20, "ok", None)], [(0, 20, "daily_limit")]),
        ([(0, "minute_limit", 1), (5, "minute_limit", 6)], [(0, 1, "minute_limit"), (5, 6, "minute_limit")]),
        ([(0, "minute_limit", 1), (3, "ok", None)], [(0, 1, "minute_limit")]),
        ([(0, "minute_limit", None)], [(0, 1, "minute_limit")]),
        ([(0, "balance", None), (5, "skip balance", 90), (6, "skip balance", 90)], [(0, None, "balance")]),
        ([(0, "balance", None), (5, "skip balance", 30), (6, "skip balance", 30)], [(0, 30, "balance")]),
        (
            [(0, "daily_limit", 90), (5, "server_error", None), (6, "token_daily_limit", 50)],
            [(0, None, "token_daily_limit")],
        ),
        (
            [(0, "ok", None), (1, "ok", None), (2, "balance", None), (3, "ok", None), (4, "ok", None)],
            [(2, 3, "balance")],
        ),
    ],
)
def test_begin_and_end(tmp_path: Path, events: Sequence[Event], expected: list[object]) -> None:
    """The first refusal begins it; an answer or the stated reset ends it; later refusals are the same one."""
    assert seen(tmp_path, events, now=60) == expected


def test_words() -> None:
    """Which limit, from when, and until when: stated, over, or nobody said."""
    out = Outage(ref="a.b", model="m", reason="token_daily_limit", begin=at(0), until=at(150))
    assert out.words(at(5)) == "tokens per day, 12:00:00 UTC until 14:30:00 UTC"
    unknown = Outage(ref="a.b", model="m", reason="balance", begin=at(0), until=None)
    assert unknown.words(at(5)) == "unpaid, 12:00:00 UTC until an answer comes"
    over = Outage(ref="a.b", model="m", reason="balance", begin=at(0), until=None, end=at(3))
    assert over.words(at(5)) == "unpaid, 12:00:00 to 12:03:00 UTC"


_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ok", "daily_limit", "minute_limit", "balance"]),
        st.integers(1, 30),
        st.one_of(st.none(), st.integers(1, 60)),
        st.sampled_from(["a", "b"]),
    ),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(_ROWS, st.integers(0, 60))
def test_outages_of_one_candidate_never_overlap(steps: list[tuple[str, int, int | None, str]], later: int) -> None:
    """In order, each ends before the next begins, only the last may be open, and none ends before it begins."""
    minute, rows = 0, []
    for what, pause, wait, ref in steps:
        minute += pause
        reset = None if what == "ok" or wait is None else at(minute + wait)
        fields = {"t": at(minute), "provider_ref": ref, "model": "m", "reason": what, "resets_at": reset}
        rows.append({**fields, "accepted": what == "ok"})
    found = outages(rows, at(minute + later))
    for ref in ("a", "b"):
        mine = [item for item in found if item.ref == ref]
        assert all(item.end is not None for item in mine[:-1])
        assert all(item.end is None or item.end >= item.begin for item in mine)
        assert all(one.end is not None and one.end <= two.begin for one, two in pairwise(mine))
