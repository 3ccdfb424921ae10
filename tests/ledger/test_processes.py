"""Many processes write one ledger while it is queried, and some of them are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests import ROOT
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.segments import sealed

ROWS = 2000
WRITERS = 8
KILLED_AFTER = 500


@contextmanager
def started(folder: Path, name: str, rows: int, acknowledged: Path) -> Iterator[subprocess.Popen[str]]:
    """A writing process that waits for the word."""
    command = [sys.executable, "-m", "tests.ledger.worker", str(folder), name, str(rows), str(acknowledged)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def go(process: subprocess.Popen[str]) -> None:
    """Gives the word."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9 on this system")
def test_no_row_whose_write_returned_is_lost_or_doubled(tmp_path: Path) -> None:
    """Eight writers, a reader, and one writer killed with -9 in full flight: every acknowledged row is there once."""
    folder, acknowledged = tmp_path / "ledger", tmp_path / "acknowledged"
    acknowledged.mkdir()
    names = [f"writer-{number}" for number in range(WRITERS)]
    with ExitStack() as stack:
        steady = [stack.enter_context(started(folder, name, ROWS, acknowledged / name)) for name in names]
        victim = stack.enter_context(started(folder, "victim", 0, acknowledged / "victim"))
        for process in (*steady, victim):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        ledger = Ledger(folder)
        follower, seen = ledger.follow(), 0
        for process in (*steady, victim):
            go(process)
        last = 0
        while victim.poll() is None or any(process.poll() is None for process in steady):
            rows = ledger.sql("select count(*) from attempts").item()
            assert rows >= last
            last = rows
            seen += follower.new_rows().height
            if victim.returncode is None and (acknowledged / "victim").stat().st_size >= KILLED_AFTER:
                victim.send_signal(signal.SIGKILL)
                victim.wait()
        assert [process.returncode for process in steady] == [0] * WRITERS
    seen += follower.new_rows().height
    found = ledger.sql(
        "select call_id, count(*) n, count(distinct ordinal) d, max(ordinal) top from attempts group by all"
    )
    by_name = {name: (n, d, top) for name, n, d, top in found.rows()}
    for name in names:
        assert by_name.pop(name) == (ROWS, ROWS, ROWS - 1)
        assert (acknowledged / name).stat().st_size == ROWS
    n, d, top = by_name.pop("victim")
    assert n == d == top + 1
    assert n - (acknowledged / "victim").stat().st_size in {0, 1}
    assert by_name == {}
    check = ledger.check()
    assert check.torn <= 1
    assert (check.foreign, check.pending, check.duplicates) == (0, 0, 0)
    assert seen == check.rows == ROWS * WRITERS + n
    assert all(sealed(path) for path in folder.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9 on this system")
def test_a_segment_is_sealed_by_the_end_of_its_process_however_it_ends(tmp_path: Path) -> None:
    """A living writer holds its segment without writing; ``kill -9`` lets it go."""
    with started(tmp_path / "ledger", "victim", 0, tmp_path / "acknowledged") as victim:
        go(victim)
        ledger = Ledger(tmp_path / "ledger")
        while ledger.attempts().is_empty():
            assert victim.poll() is None
        (segment,) = (tmp_path / "ledger").iterdir()
        assert not sealed(segment)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        assert sealed(segment)
