"""One budget between real processes: never overspent, whoever is killed when."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from tests import ROOT
from tests.budget_worker import PRICE
from zc_notebooks.budget.spending import PeriodLimits, Shortage, Spending
from zc_notebooks.clock import SystemClock
from zc_notebooks.lab import Lab
from zc_notebooks.ledger.read import Ledger


@pytest.fixture
def path() -> Path:
    """Where the spend file goes: this test's own state folder."""
    return Path(os.environ["ZC_STATE_DIR"]) / "spend.sqlite"


@pytest.fixture
def spending(path: Path) -> Iterator[Spending]:
    """This process's own view."""
    opened = Spending(path, clock=SystemClock())
    yield opened
    opened.close()


def worker(path: Path, *words: str) -> subprocess.Popen[str]:
    """A process of its own that uses the purse at ``path``."""
    command = [sys.executable, "-W", "error", "-m", "tests.budget_worker", str(path), *words]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def together(workers: Sequence[subprocess.Popen[str]]) -> list[int]:
    """Lets all of them begin at once; the numbers they print."""
    for one in workers:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in workers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    return [int(one.communicate(timeout=120)[0]) for one in workers]


def test_four_processes_spend_exactly_one_budget(path: Path, spending: Spending) -> None:
    """Four processes reserve and settle as fast as they can: together exactly what there is, nothing reserved after."""
    made = together([worker(path, "all", str(400 * PRICE + PRICE // 2)) for _ in range(4)])
    day, month = spending.sums()
    assert sum(made) == 400
    assert day == month == (400 * PRICE, 0, 0)


def test_a_killed_process_leaves_its_reservation_counted(path: Path, spending: Spending) -> None:
    """Nobody knows what its attempt cost, so all of it counts until the day is over."""
    holder = worker(path, "hang")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "Reservation\n"
    holder.kill()
    holder.communicate(timeout=60)
    assert spending.sums()[0] == (0, PRICE, 0)
    assert spending.short(PRICE, PeriodLimits(day=2 * PRICE)) is None
    assert spending.short(PRICE + 1, PeriodLimits(day=2 * PRICE)) == Shortage(period="day", left=PRICE)


@pytest.mark.parametrize("reports", [1, 2, 9, 60])
def test_kill_9_in_the_middle_undercounts_nothing(path: Path, spending: Spending, reports: int) -> None:
    """Two spenders are killed at whatever they are doing: what they had reported is counted and the file is good."""
    limit = 1000 * PRICE
    spenders = [worker(path, "ever", str(limit)) for _ in range(2)]
    lines: list[str] = []
    for spender in spenders:
        assert spender.stdout is not None
        lines += [spender.stdout.readline() for _ in range(reports)]
    for spender in spenders:
        spender.send_signal(signal.SIGKILL)
    for spender in spenders:
        assert spender.stdout is not None
        lines += spender.stdout.readlines()
        spender.communicate(timeout=60)
    day, _ = spending.sums()
    assert day.spent >= lines.count("settled\n") * PRICE // 2
    assert day.spent // (PRICE // 2) + day.reserved // PRICE >= lines.count("reserved\n")
    assert day.reserved <= 2 * PRICE
    assert day.spent + day.reserved <= limit


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_both_sides_of_a_fork_spend_one_budget(path: Path, spending: Spending) -> None:
    """Five processes at money for three: three get it."""
    process = worker(path, "fork", str(3 * PRICE))
    assert process.communicate(timeout=60)[0] == "3\n"
    assert spending.sums()[0].reserved == 3 * PRICE


def test_four_processes_make_calls_at_one_budget(path: Path, tmp_path: Path) -> None:
    """Four processes call until they are refused: below the budget together, one request in the lab per row."""
    with Lab("default", latency=0.0) as lab:
        config, ledger = tmp_path / "zc.toml", tmp_path / "ledger"
        text = lab.config_text()
        name = "deepseek.prepaid"
        head = text[: text.index("[[chain]]")]
        config.write_text(f'{head}\n[[chain]]\nprovider = "{name}"\n[borders]\nbudget_day_usd = 0.004\n')
        before = len(lab.requests)
        made = together([worker(path, "ask", str(config), str(ledger), "200") for _ in range(4)])
        rows = Ledger(ledger).sql("select kind, cost_usd from attempts").rows()
        costs = [Decimal(str(cost)) for kind, cost in rows if kind == "attempt"]
        assert len(lab.requests) - before == len(costs) == sum(made) > 4
        assert 0 < sum(costs) <= Decimal("0.004")
    day = Spending(path, clock=SystemClock()).sums()[0]
    assert (Decimal(day.spent).scaleb(-9), day.reserved, day.unknown) == (sum(costs), 0, 0)
