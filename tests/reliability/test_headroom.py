"""What providers state on successes: kept, shared, and a stated nothing treated as a mark until its reset."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.boards import DAY, HOUR, after, board, key, limit, state, variant
from zc_notebooks.records import MarkKey
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.reliability.reset_time import Headroom
from zc_notebooks.testing import START, ManualClock


def left(
    remaining: int | None, resets_s: float | None = 60.0, dimension: Any = "requests", period: Any = "minute"
) -> Headroom:
    """One statement."""
    resets = None if resets_s is None else after(resets_s)
    return Headroom(dimension=dimension, period=period, limit=30, remaining=remaining, resets_at=resets)


def say(marks: Marks, *dims: Headroom, model: str | None = "m1") -> None:
    """A success states this."""
    marks.headroom.update("groq", "aaaaaaaa", model, dims, provider_ref="groq.free")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Marks, Marks, ManualClock]]:
    """Two boards on one file."""
    clock = ManualClock()
    path = tmp_path / "marks.sqlite"
    with Marks(path, clock=clock) as here, Marks(path, clock=clock) as there:
        yield here, there, clock


def test_the_last_statement_is_kept() -> None:
    """What the latest success said is what is known; a success that says nothing changes nothing."""
    marks, clock = board()
    say(marks, left(9), left(4000, dimension="tokens"))
    clock.advance(1)
    say(marks, left(8))
    say(marks)
    known = marks.headroom.get("groq", "aaaaaaaa", "m1")
    assert known is not None
    assert (known.dims, known.seen_at, known.provider_ref) == ((left(8),), after(1), "groq.free")
    assert marks.headroom.get("groq", "aaaaaaaa", "m2") is None
    assert [one.key for one in marks.headroom.all()] == [key()]


@pytest.mark.parametrize(
    ("dims", "until_s", "reason"),
    [
        pytest.param([left(0)], 60, "minute_limit", id="requests of a minute"),
        pytest.param([left(0, 0.3, period="second")], 0.3, "minute_limit", id="of a second"),
        pytest.param([left(0, HOUR, period="hour")], HOUR, "minute_limit", id="of an hour"),
        pytest.param([left(0, DAY, period="day")], DAY, "daily_limit", id="of a day"),
        pytest.param([left(0, DAY, "tokens", "day")], DAY, "token_daily_limit", id="tokens of a day"),
        pytest.param([left(0, DAY, "input_tokens", "day")], DAY, "token_daily_limit", id="input tokens of a day"),
        pytest.param([left(0, 20 * DAY, period="month")], 20 * DAY, "daily_limit", id="of a month"),
        pytest.param([left(0, 90, period="unknown")], 90, "minute_limit", id="unknown and short"),
        pytest.param([left(0, 6 * HOUR, "tokens", "unknown")], 6 * HOUR, "token_daily_limit", id="unknown and long"),
        pytest.param([left(0), left(0, DAY, period="day"), left(5, 2 * DAY)], DAY, "daily_limit", id="the longest"),
        pytest.param([left(0, 60 * DAY, period="day")], 32 * DAY, "daily_limit", id="never beyond 32 days"),
    ],
)
def test_nothing_left_is_a_mark(dims: list[Headroom], until_s: float, reason: str) -> None:
    """A candidate whose stated remaining is 0 is cooling until the reset stated with it, at the price of no call."""
    marks, clock = board()
    say(marks, *dims)
    mark = marks.look(key()).mark
    assert mark is not None
    assert (state(marks, variant()), mark.until, mark.provenance, mark.reason) == (
        "cooling",
        after(until_s),
        "stated",
        reason,
    )
    assert marks.list() == (mark,)
    assert marks.earliest([key()]) == mark
    assert marks.acquire(key()) is None
    assert state(marks, variant("m2")) == "open"
    clock.advance(until_s)
    assert state(marks, variant()) == "open" or until_s == 32 * DAY


@pytest.mark.parametrize(
    "dims",
    [
        pytest.param([left(1)], id="one left"),
        pytest.param([left(None)], id="remaining unknown"),
        pytest.param([left(0, None)], id="no reset stated"),
        pytest.param([left(0, 0)], id="reset now"),
        pytest.param([left(0, -5)], id="reset past"),
        pytest.param([left(0, dimension="other")], id="images"),
    ],
)
def test_anything_else_is_none(dims: list[Headroom]) -> None:
    """Without a stated nothing and a stated end there is no mark."""
    marks, _ = board()
    say(marks, *dims)
    assert state(marks, variant()) == "open"
    assert marks.list() == ()


def test_a_statement_about_no_model_binds_all() -> None:
    """An account-wide statement benches every model of the pool and credential."""
    marks, _ = board()
    say(marks, left(0), model=None)
    assert [state(marks, variant(name)) for name in ("m1", "m2")] == ["cooling", "cooling"]
    assert state(marks, variant(credential="bbbbbbbb")) == "open"


def test_the_later_of_mark_and_statement_decides() -> None:
    """With a mark and a stated nothing the one that ends last is named; an ended mark still waits for its reset."""
    marks, clock = board()
    marks.set_from(limit(30.0), variant(), now=START)
    say(marks, left(0, 60))
    assert _until(marks) == after(60)
    marks.set_from(limit(90.0, scope="model"), variant(), now=START)
    assert _until(marks) == after(90)
    clock.advance(40)
    assert state(marks, variant()) == "cooling"
    assert marks.clear(model="m1") == 2
    assert state(marks, variant()) == "probe"


def _until(marks: Marks) -> datetime | None:
    mark = marks.look(key()).mark
    return mark and mark.until


def test_clearing_and_success_forget_a_stated_nothing() -> None:
    """Behaviour 102: what a person clears, and what a later success disproves, no longer stands in the way."""
    marks, clock = board()
    say(marks, left(0, DAY, period="day"))
    assert marks.clear("groq.free") == 1
    assert state(marks, variant()) == "open"
    say(marks, left(0, DAY, period="day"))
    marks.success(variant(), clock.now())
    assert state(marks, variant()) == "cooling"
    clock.advance(1)
    marks.success(variant(), clock.now())
    assert state(marks, variant()) == "open"


def test_nothing_left_is_shared_at_once(pair: tuple[Marks, Marks, ManualClock]) -> None:
    """Another process learns of an exhausted quota, and of its return, by its next look."""
    here, there, clock = pair
    say(here, left(1))
    say(here, left(0))
    assert state(there, variant()) == "cooling"
    clock.advance(1)
    say(here, left(29))
    assert state(there, variant()) == "open"


def test_ordinary_statements_are_written_now_and_then(pair: tuple[Marks, Marks, ManualClock]) -> None:
    """The first is written, later ones every five seconds or when the board is flushed or closed."""
    here, there, clock = pair
    seen = []
    for remaining in range(20, 12, -1):
        say(here, left(remaining, 600))
        known = there.headroom.get("groq", "aaaaaaaa", "m1")
        seen.append(known and known.dims[0].remaining)
        clock.advance(1)
    assert seen == [20, 20, 20, 20, 20, 15, 15, 15]
    assert _remaining(here) == 13
    here.headroom.flush()
    assert _remaining(there) == 13
    say(here, left(12, 600))
    here.close()
    assert _remaining(there) == 12


def _remaining(marks: Marks) -> int | None:
    known = marks.headroom.get("groq", "aaaaaaaa", "m1")
    return known and known.dims[0].remaining


def test_the_later_statement_wins_between_processes(pair: tuple[Marks, Marks, ManualClock]) -> None:
    """A statement that was kept back does not overwrite what another process heard after it."""
    here, there, clock = pair
    say(here, left(20))
    clock.advance(1)
    say(here, left(19))
    clock.advance(1)
    say(there, left(3))
    here.headroom.flush()
    assert (_remaining(here), _remaining(there)) == (3, 3)


def test_statements_survive_a_restart(tmp_path: Path) -> None:
    """The last known values are there for the next run, to be shown and to be obeyed."""
    with board(tmp_path / "m.sqlite")[0] as marks:
        say(marks, left(0, DAY, period="day"))
        say(marks, left(7), model=None)
    with board(tmp_path / "m.sqlite")[0] as again:
        assert [(one.key, one.dims[0].remaining) for one in again.headroom.all()] == [(key(None), 7), (key(), 0)]
        assert state(again, variant()) == "cooling"


def test_a_form_of_another_version_counts_as_nothing(tmp_path: Path) -> None:
    """A stored statement that cannot be read is no statement."""
    with board(tmp_path / "m.sqlite")[0] as marks:
        say(marks, left(0))
        seen = marks._store.seen()[0]  # noqa: SLF001 (to store what only another version would)
        marks._store.note(type(seen)(key=seen.key, seen_at=seen.seen_at, dims='[{"x":1}]'), write=True)  # noqa: SLF001 (as above)
        assert state(marks, variant()) == "open"
        assert marks.headroom.all()[0].dims == ()


def test_threads_may_state_and_look_at_once(pair: tuple[Marks, Marks, ManualClock]) -> None:
    """Statements by eight threads while others look leave the last one of each model."""
    here, _, _ = pair

    def speak(name: int) -> None:
        for remaining in range(30, 0, -1):
            say(here, left(remaining), model=f"m{name}")
            here.look(MarkKey(pool="groq", credential_id="aaaaaaaa", model=f"m{name}"))

    threads = [threading.Thread(target=speak, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.key.model: one.dims[0].remaining for one in here.headroom.all()} == {f"m{n}": 1 for n in range(8)}
