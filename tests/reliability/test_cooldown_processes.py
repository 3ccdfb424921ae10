"""The board between real processes: marks seen, restarted, raced for, and killed in the middle of writing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT
from tests.reliability.boards import key, run, variant, worker
from zc_notebooks.clock import SystemClock
from zc_notebooks.reliability.cooldown import Marks


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the marks go."""
    return tmp_path / "marks.sqlite"


@pytest.fixture
def marks(path: Path) -> Iterator[Marks]:
    """This process's own view of the board."""
    with Marks(path, clock=SystemClock()) as opened:
        yield opened


def test_a_mark_of_one_process_stops_another_and_the_first_again(path: Path, marks: Marks) -> None:
    """Behaviour 100: process 1 sets and ends; this process, process 2 and process 1 restarted all skip the entry."""
    assert marks.look(variant().key).state == "open"
    run(path, "set", "m1")
    assert marks.look(variant().key).state == "cooling"
    assert run(path, "look", "m1") == "cooling"
    assert run(path, "look", "m2") == "open"
    assert marks.clear(all=True) == 1
    assert run(path, "look", "m1") == "open"


@pytest.mark.parametrize(("processes", "threads"), [(2, 10), (5, 4)])
def test_of_twenty_callers_at_the_end_one_probes(path: Path, marks: Marks, processes: int, threads: int) -> None:
    """Behaviour 103: twenty callers in several processes find the mark just ended; one gets the probe."""
    run(path, "ended")
    assert marks.look(key()).state == "probe"
    callers = [worker(path, "probe", str(threads)) for _ in range(processes)]
    for caller in callers:
        assert caller.stdout is not None
        assert caller.stdout.readline() == "ready\n"
    granted = [int(printed) for printed in _release(callers)]
    assert sum(granted) == 1
    assert marks.look(key()).state == "held"


def _release(callers: list[subprocess.Popen[str]]) -> list[str]:
    """Starts all of them before waiting for any."""
    for caller in callers:
        assert caller.stdin is not None
        caller.stdin.write("go\n")
        caller.stdin.flush()
    return [caller.communicate(timeout=60)[0] for caller in callers]


def test_a_killed_holder_leaves_its_lease_to_time(path: Path, marks: Marks) -> None:
    """Behaviour 104: nobody else probes while the dead holder's minute runs; the lease stands in the file."""
    run(path, "ended")
    holder = worker(path, "hang", "m1")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "leased\n"
    holder.kill()
    holder.communicate(timeout=60)
    gate = marks.look(key())
    assert gate.state == "held"
    assert gate.lease_until is not None
    assert 0 < (gate.lease_until - SystemClock().now()).total_seconds() <= 60
    assert marks.acquire(key()) is None


@pytest.mark.parametrize("reports", [1, 2, 7, 40, 150])
def test_kill_9_while_writing_loses_no_reported_mark(path: Path, reports: int) -> None:
    """Two writers are killed at whatever they are doing: every mark they had reported is there and the file is good."""
    writers = [worker(path, "write", name) for name in ("a", "b")]
    reported: set[str] = set()
    for writer in writers:
        assert writer.stdout is not None
        reported.update(writer.stdout.readline().strip() for _ in range(reports))
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
    for writer in writers:
        assert writer.stdout is not None
        reported.update(line[:-1] for line in writer.stdout if line.endswith("\n"))
        writer.communicate(timeout=60)
    with Marks(path, clock=SystemClock()) as after:
        there = {mark.key.model for mark in after.list()}
        assert reported <= there
        assert len(there - reported) <= 2
        assert "shared by file" in repr(after)


def test_twelve_processes_make_the_file_at_once(path: Path, marks: Marks) -> None:
    """A race for the first use ends in one good file with everybody's mark, without a warning."""
    setters = [worker(path, "set", f"m{number}") for number in range(12)]
    for setter in setters:
        setter.communicate(timeout=60)
    assert [setter.returncode for setter in setters] == [0] * 12
    assert len(marks.list()) == 12


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_both_sides_of_a_fork_use_the_board(path: Path, marks: Marks) -> None:
    """A child sees its parent's marks and the parent its child's, with threads at work while it forks."""
    assert run(path, "fork") == "True"
    assert len(marks.list()) == 11


def test_importing_the_board_is_cheap() -> None:
    """The board loads nothing heavy: no HTTP client, no frames, no widgets."""
    code = (
        "import sys, json, zc_notebooks.reliability.cooldown; print(json.dumps(sorted(set(sys.modules) &"
        " {'httpx','polars','duckdb','altair','ipywidgets','rich','typer','keyring','zc_notebooks.transport'})))"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(process.stdout) == []
