"""The spend file: its owner's alone, shared, and never a reason to spend what cannot be counted."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet
from tests.test_budget import DEAR, FREE, ask, borders, chain_toml, dear_and_free, fleet_of
from zc_notebooks import shared_file
from zc_notebooks.budget import spend_file, spending
from zc_notebooks.budget.spend_file import Reservation
from zc_notebooks.budget.spending import BudgetWarning, PeriodLimits, Shortage, Spending, Unusable
from zc_notebooks.testing import ManualClock, chat_answer

CENT = 10_000_000
"""Nano-dollars."""
NONE = PeriodLimits()


@pytest.fixture
def path() -> Path:
    """Where chains of this test keep what they spent."""
    return Path(os.environ["ZC_STATE_DIR"]) / "spend.sqlite"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_file, "BUSY_S", 0.02)
    monkeypatch.setattr(spending, "PATIENCE_S", 0.02)


@pytest.fixture
def purse(path: Path) -> Iterator[Spending]:
    """A purse at the file, on a manual clock."""
    opened = Spending(path, clock=ManualClock())
    yield opened
    opened.close()


def reserve(purse: Spending, nano: int = CENT, limits: PeriodLimits = NONE) -> Reservation:
    """Sets money aside that must be there."""
    held = purse.reserve(nano, limits)
    assert isinstance(held, Reservation)
    return held


# -- the file ---------------------------------------------------------------------------------------------------------


def test_the_file_is_its_owners_alone(purse: Spending, path: Path) -> None:
    """The file, its log and its index can be read by their owner only."""
    reserve(purse)
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob("spend.sqlite*")} == {0o600}
    with sqlite3.connect(path) as other:
        assert other.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    other.close()


def test_what_is_spent_survives_a_restart(purse: Spending, path: Path) -> None:
    """Spent and reserved, to the nano-dollar."""
    purse.settle(reserve(purse), 1)
    reserve(purse)
    purse.close()
    again = Spending(path, clock=ManualClock())
    assert again.sums() == ((1, CENT, 0), (1, CENT, 0))
    again.close()


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (PeriodLimits(day=3 * CENT), Shortage(period="day", left=CENT)),
        (PeriodLimits(month=3 * CENT), Shortage(period="month", left=CENT)),
        (PeriodLimits(day=9 * CENT, month=3 * CENT), Shortage(period="month", left=CENT)),
        (PeriodLimits(day=CENT), Shortage(period="day", left=0)),
        (PeriodLimits(day=4 * CENT), None),
        (NONE, None),
    ],
)
def test_the_tightest_period_decides(purse: Spending, limits: PeriodLimits, left: Shortage | None) -> None:
    """Two cents are gone, one settled and one reserved; two more are asked for."""
    purse.settle(reserve(purse), CENT)
    reserve(purse)
    assert purse.short(2 * CENT, limits) == left
    assert isinstance(purse.reserve(2 * CENT, limits), Shortage if left else Reservation)


def test_a_settled_reservation_is_settled_once_for_its_own_day(path: Path) -> None:
    """Cost, keeping all, freeing: each ends the reservation, whatever day it has become."""
    clock = ManualClock()
    purse = Spending(path, clock=clock)
    held = [reserve(purse) for _ in range(3)]
    clock.advance(86_400)
    for one, cost in zip(held, (5, None, 0), strict=True):
        purse.settle(one, cost)
    assert purse.sums() == ((0, 0, 0), (5 + CENT, 0, 0))
    purse.close()


def test_only_what_may_have_cost_more_is_at_least(purse: Spending) -> None:
    """An unknown cost is counted at its highest; where that was not known either, the sum is a lower bound."""
    purse.settle(reserve(purse), None)
    assert purse.sums()[0].unknown == 0
    held = purse.reserve(CENT, NONE, complete=False)
    assert isinstance(held, Reservation)
    purse.settle(held, None)
    assert purse.sums()[0] == (2 * CENT, 0, 1)


def test_old_months_are_swept(path: Path) -> None:
    """The month before and the last 62 days on record stay, what is older goes, forgotten reservations with it."""
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    purse = Spending(path, clock=clock)
    reserve(purse)
    for _ in range(100):
        purse.settle(reserve(purse), 1)
        clock.advance(timedelta(days=1).total_seconds())
    purse.close()
    with sqlite3.connect(path) as read:
        count, first = read.execute("SELECT count(*), min(day) FROM days").fetchone()
        assert (count, first) == (62, "2026-02-08")
        assert read.execute("SELECT count(*) FROM reserved").fetchall() == [(0,)]
    read.close()


def test_a_clock_that_is_ahead_for_a_moment_forgets_nothing(path: Path) -> None:
    """An attempt years ahead is one of another month; when the clock is right again, the day is spent as it was."""
    clock = ManualClock(datetime(2026, 9, 15, tzinfo=UTC))
    purse = Spending(path, clock=clock)
    purse.settle(reserve(purse), CENT)
    reserve(purse)
    years = timedelta(days=4000).total_seconds()
    clock.advance(years)
    purse.settle(reserve(purse), 1)
    clock.advance(-years)
    assert purse.sums()[0] == (CENT, CENT, 0)
    assert isinstance(purse.reserve(CENT, PeriodLimits(day=2 * CENT)), Shortage)
    purse.close()


# -- a file that cannot be used ---------------------------------------------------------------------------------------


def _garbage(path: Path) -> None:
    path.write_bytes(os.urandom(4096))


def _directory(path: Path) -> None:
    path.mkdir()


def _foreign(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()


def _locked(path: Path) -> None:
    spend_file.open_spend(path).close()
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("PRAGMA locking_mode=EXCLUSIVE")
    held.execute("BEGIN EXCLUSIVE")
    _HELD.append(held)


def _nonsense(path: Path) -> None:
    connection = spend_file.open_spend(path)
    connection.execute("INSERT INTO days VALUES ('2026-09-01', -1000, 0)")
    connection.close()


def _words(path: Path) -> None:
    connection = spend_file.open_spend(path)
    connection.execute("INSERT INTO days VALUES ('2026-09-01', 'much', 0.5)")
    connection.close()


def _no_tables(path: Path) -> None:
    with sqlite3.connect(path) as ours:
        ours.execute(f"PRAGMA application_id={spend_file.APPLICATION_ID}")
    ours.close()


_HELD: list[sqlite3.Connection] = []


@pytest.mark.parametrize("spoil", [_garbage, _directory, _foreign, _locked, _nonsense, _words, _no_tables])
def test_without_a_usable_file_nothing_that_costs_is_asked(
    tmp_path: Path, path: Path, spoil: Callable[[Path], None]
) -> None:
    """The dear one is skipped with a sentence that names the file, the free one answers; mended, all is well."""
    spoil(path)
    fleet = fleet_of(tmp_path, dear_and_free(budget_day_usd=10.0))
    assert ask(fleet).text == "b"
    assert fleet.called == ["b"]
    dear = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(budget_month_usd=10.0))
    with pytest.raises(zc.NoPermittedCandidate, match="nothing that costs is asked: the spend file cannot be used"):
        ask(dear)
    now = dear.chain.budget()
    assert str(path) in now.problem
    assert now.periods == ()
    assert "Nothing that costs is asked" in (now._repr_html_() or "")
    _mend(path)
    assert ask(fleet).text == "a"
    assert dear.chain.budget().problem == ""


def _mend(path: Path) -> None:
    while _HELD:
        _HELD.pop().close()
    if path.is_dir():
        path.rmdir()
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path, path: Path) -> None:
    """The safe answer again."""
    path.parent.chmod(0o500)
    try:
        fleet = fleet_of(tmp_path, dear_and_free(budget_day_usd=10.0))
        assert ask(fleet).text == "b"
    finally:
        path.parent.chmod(0o700)


def test_a_free_chain_never_opens_the_file(tmp_path: Path, path: Path) -> None:
    """Nothing has to be counted where nothing costs."""
    _garbage(path)
    fleet = fleet_of(tmp_path, chain_toml("a", **FREE) + borders(budget_day_usd=10.0))
    assert ask(fleet).text == "a"


def test_what_cannot_be_settled_now_is_settled_later(purse: Spending, path: Path) -> None:
    """A file that is held when an attempt ends costs one warning; its reservation counts until it can be written."""
    held = [reserve(purse) for _ in range(2)]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.warns(BudgetWarning, match=r"close what holds .*spend\.sqlite; until then the highest possible cost"):
        purse.settle(held[0], 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        purse.settle(held[1], 6)
    assert purse.sums()[0] == (0, 2 * CENT, 0)
    with pytest.raises(Unusable, match="locked"):
        purse.reserve(1, NONE)
    other.execute("ROLLBACK")
    other.close()
    reserve(purse, 1)
    assert purse.sums()[0] == (11, 1, 0)


def test_a_file_system_without_links(purse: Spending, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is made in place, the owner's alone as ever, and shared; nothing is left beside it."""

    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", refuse)
    purse.settle(reserve(purse), 1)
    other = Spending(path, clock=ManualClock())
    assert other.sums()[0] == (1, 0, 0)
    other.close()
    assert {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob("*spend*")} == {
        f"spend.sqlite{suffix}": 0o600 for suffix in ("", "-wal", "-shm")
    }


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_taken_away_in_use(tmp_path: Path, purse: Spending, path: Path, how: str) -> None:
    """What runs is settled in the new file; a warning says that what was spent before no longer counts."""
    purse.settle(reserve(purse), CENT)
    held = reserve(purse)
    if how == "replaced":
        spend_file.open_spend(tmp_path / "other.sqlite").close()
        shutil.move(tmp_path / "other.sqlite", path)
    else:
        path.unlink()
    with pytest.warns(BudgetWarning, match="removed or replaced while in use"):
        purse.settle(held, 7)
    assert purse.sums()[0] == (7, 0, 0)


def test_a_warning_that_is_an_error_still_settles(path: Path) -> None:
    """The purse is whole when the warning leaves it."""
    purse = Spending(path, clock=ManualClock())
    held = reserve(purse)
    path.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BudgetWarning):
            purse.settle(held, 7)
    assert purse.sums()[0] == (7, 0, 0)
    purse.close()


def test_the_embedded_lab_keeps_no_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its money is play money: a budget there lives in the process."""
    monkeypatch.chdir(tmp_path)
    with zc.open(quiet=True, environ={"ZC_LOCAL_MODEL": "off"}) as chain:
        assert chain.site.spending.path is None
    fleet = Fleet({"a": [chat_answer()]}, tmp_path, spending=Spending(None, clock=ManualClock()))
    assert fleet.chain.site.spending.path is None
    assert not path.exists()
