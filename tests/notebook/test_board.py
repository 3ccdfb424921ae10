"""The live board: what it shows of all processes, and when it looks."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests import ROOT
from tests.fleet import Fleet
from tests.ledger.rows import NOON, row
from tests.notebook.here import KeptBoard, until
from zc_notebooks.budget.amounts import dollars
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.notebook.board_state import BoardState
from zc_notebooks.notebook.outages import Outage
from zc_notebooks.testing import ManualClock, chat_answer, chat_error


def test_another_process_is_seen(tmp_path: Path) -> None:
    """Rows of a process that has nothing to do with this one arrive at the next look."""
    state = BoardState(tmp_path / "ledger", clock=ManualClock(NOON))
    assert state.recent == ()
    told: list[str] = []
    state.observe(told.append)
    command = [
        sys.executable,
        "-m",
        "tests.ledger.worker",
        str(tmp_path / "ledger"),
        "other",
        "3",
        str(tmp_path / "done"),
    ]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, input=b"\n", check=True, timeout=60)
    state.refresh()
    assert told == ["panel"]
    assert [item.turn for item in state.recent] == ["othe"] * 3
    assert state.arrived == 3
    state.refresh()
    assert told == ["panel"]
    state.close()


def test_the_newest_stand_first(tmp_path: Path) -> None:
    """Attempts and skips of a call, in the reverse order of time, with their outcomes in words."""
    fleet = Fleet({"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [chat_answer()]}, tmp_path)
    asyncio.run(fleet.chain.ask("x"))
    state = zc.board(fleet.chain).state
    assert [(item.ref, item.outcome) for item in state.recent] == [("custom.b", "answered"), ("custom.a", "rate limit")]
    assert [item.begin for item in state.outages] == [fleet.clock.now()]
    assert state.says() == "Today: 2 attempts, 1 answer, cost at least $0.00. Out now: custom.a."
    fleet.clock.advance(1)
    asyncio.run(fleet.chain.ask("x"))
    state.refresh()
    assert state.outages[0].until == fleet.clock.now() + timedelta(seconds=89)
    state.close()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"accepted": True}, "answered"),
        ({"status": "http_429", "reason": "daily_limit"}, "quota spent: daily limit, http 429"),
        ({"status": "empty", "reason": "empty"}, "no good answer: empty"),
        ({"status": "cancelled"}, "cancelled"),
        ({"kind": "skip", "status": "skipped_cooldown", "reason": "balance"}, "skipped: balance, cooldown"),
    ],
)
def test_an_outcome_says_nothing_twice(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    """The outcome in words, then what it was judged by."""
    writer = LedgerWriter(tmp_path)
    writer.write(row("a", **fields))
    state = BoardState(tmp_path, clock=ManualClock(NOON))
    state.refresh()
    assert [item.words() for item in state.recent] == [words]
    state.close()
    writer.close()


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([], "nothing"),
        ([None], "unknown"),
        ([0.0], "$0.00"),
        ([0.0000004], "$0.0000004"),
        ([0.001, 0.0005], "$0.0015"),
        ([0.001, None], "at least $0.001"),
    ],
)
def test_spend_today(tmp_path: Path, costs: list[float | None], words: str) -> None:
    """Known costs are summed; unknown is not zero, and yesterday is not today."""
    with closing(LedgerWriter(tmp_path)) as writer:
        writer.write(row("old", t=NOON - timedelta(days=1), accepted=True, cost_usd=7.0))
        for number, cost in enumerate(costs):
            writer.write(row(f"call-{number}", accepted=True, cost_usd=cost, input_tokens=9, output_tokens=3))
    state = BoardState(tmp_path, clock=ManualClock(NOON))
    assert state.spent() == words
    shown = [item["cost"] for item in KeptBoard(state).panel["recent"]]
    assert shown == [*("-" if cost is None else dollars(Decimal(str(cost))) for cost in reversed(costs)), "$7.00"]
    assert len(state.recent) == len(costs) + 1
    state.close()


def test_time_alone_changes_it(tmp_path: Path) -> None:
    """A limit that ended and a day that began are shown without a new row, within half a minute."""
    clock = ManualClock(NOON)
    with closing(LedgerWriter(tmp_path)) as writer:
        writer.write(row(status="http_429", reason="daily_limit", resets_at=NOON + timedelta(minutes=1)))
    state = BoardState(tmp_path, clock=clock)
    assert _open(state) == 1
    clock.advance(29)
    state.refresh()
    assert state.at == NOON
    clock.advance(32)
    state.refresh()
    assert _open(state) == 0
    clock.advance(86_400)
    state.refresh()
    assert state.today == ()
    state.close()


@pytest.mark.parametrize("what", ["the folder", "a file"])
def test_rows_that_were_removed_are_shown_no_more(tmp_path: Path, what: str) -> None:
    """The next look shows what is there now."""
    folder = tmp_path / "ledger"
    with closing(LedgerWriter(folder)) as writer:
        writer.write(row(status="http_429", reason="daily_limit"))
    state = BoardState(folder, clock=ManualClock(NOON))
    state.refresh()
    assert (len(state.recent), len(state.today), _open(state)) == (1, 1, 1)
    if what == "the folder":
        shutil.rmtree(folder)
    else:
        next(folder.glob("*.jsonl")).unlink()
    state.refresh()
    assert (state.recent, state.today, _open(state)) == ((), (), 0)
    state.close()


def test_pause_and_close(tmp_path: Path) -> None:
    """Paused it stands still, then it catches up; closed it looks no more, and closing twice is fine."""
    state = BoardState(tmp_path, clock=ManualClock(NOON))
    writer = LedgerWriter(tmp_path)
    state.pause()
    writer.write(row("one"))
    state.refresh()
    assert state.recent == ()
    state.pause(False)  # noqa: FBT003 (on and off)
    assert len(state.recent) == 1
    state.close()
    state.close()
    writer.write(row("two"))
    state.refresh()
    assert len(state.recent) == 1
    writer.close()


def test_the_board_follows_while_it_is_seen(tmp_path: Path) -> None:
    """A page begins it; what others write comes by itself; the last page that goes, or ``close``, ends it."""
    writer = LedgerWriter(tmp_path)

    async def run() -> None:
        view = KeptBoard(BoardState(tmp_path, clock=ManualClock(NOON)))
        assert not view.following
        view.set_trait("_view_count", 1)
        writer.write(row("one", status="http_429", reason="daily_limit"))
        await until(lambda: view.panel["recent"])
        view.set_trait("_view_count", 0)
        await until(lambda: not view.tasks.running)
        view.set_trait("_view_count", 1)
        await asyncio.sleep(0)
        view.close()
        await until(lambda: not view.tasks.running)
        assert len(asyncio.all_tasks()) == 1
        shown: dict[str, Any] = json.loads(json.dumps(view.panel))
        assert shown["recent"][0]["outcome"] == "quota spent"
        assert shown["outages"][0]["words"] == "requests per day, 12:00:00 UTC until an answer comes"

    asyncio.run(run())
    writer.close()


def test_board_without_a_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``zc.board()`` is the ledger of the configuration found, and starts no lab."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zc.toml").write_text(
        '[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\nkeyless = true\n[ledger]\npath = "rows"\n',
        "utf-8",
    )
    with closing(LedgerWriter(tmp_path / "rows")) as writer:
        writer.write(row())
    view = zc.board()
    assert len(view.state.recent) == 1
    assert repr(view).startswith("Board(Today: ")
    view.close()


def _open(state: BoardState) -> int:
    found: tuple[Outage, ...] = state.outages
    return sum(item.end is None for item in found)
