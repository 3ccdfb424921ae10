"""A storm over one ledger folder: writers, a reader, a compactor, and ``kill -9`` for some of them.

What must be true at the end: every row whose write returned is there exactly once (of rows in flight when their writer
was killed, at most one a writer), torn lines are counted, and no query failed. Every process is ended by its own id.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests import ROOT
from tests.ledger.storm_parts import ACK, MIXED, Trouble
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger, LedgerCheck

_POLL_S: Final = 0.01


@dataclass
class Storm:
    """What happened."""

    acknowledged: int = 0
    rows: int = 0
    """In the ledger at the end."""
    killed: int = 0
    compactors_killed: int = 0
    removed: int = 0
    queries: int = 0
    seconds: float = 0.0
    lost: list[tuple[str, int]] = field(default_factory=list)
    """Acknowledged and not there."""
    doubled: list[tuple[str, int]] = field(default_factory=list)
    unasked: int = 0
    """Beyond what was acknowledged, and not explained by a writer killed between its write and its note."""
    followed: int = 0
    """Rows a follower got, of all it should have."""
    check: LedgerCheck | None = None

    @property
    def faults(self) -> str:
        """What must not be, in words; empty when all is well."""
        found = {"lost": self.lost[:5], "doubled": self.doubled[:5], "unasked": self.unasked}
        return ", ".join(f"{name}: {value}" for name, value in found.items() if value)

    def __str__(self) -> str:
        torn = self.check.torn if self.check else 0
        return (
            f"{self.acknowledged:,} rows acknowledged, {self.rows:,} there, {self.killed} writers and "
            f"{self.compactors_killed} compactors killed, {self.queries:,} queries, {torn} torn lines, "
            f"{self.seconds:.1f} s" + (f", removed {self.removed} times" if self.removed else "")
        )


@contextmanager
def _part(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.ledger.storm_parts", *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", "a process of the storm did not start"


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write("go\n")
        process.stdin.flush()


class Weather:
    """Runs one storm.

    Args:
        folder: The ledger's.
        beside: A folder for notes, on another disk than a full one.
        writers, rows: Processes, and rows each.
        every_s: A writer is killed this often; every third time a compactor too.
        trouble: What else goes wrong.
    """

    def __init__(
        self, folder: Path, beside: Path, *, writers: int, rows: int, every_s: float, trouble: Trouble = "none"
    ) -> None:
        self._folder, self._beside, self._trouble = folder, beside, trouble
        self._writers, self._rows, self._every_s = writers, rows, every_s
        self._storm = Storm()
        self._last_removal = 0.0
        self._mixed = -1
        self._victims: list[Path] = []

    def run(self) -> Storm:
        began = time.monotonic()
        steady = [self._beside / f"writer-{number}" for number in range(self._writers)]
        with ExitStack() as stack:
            reader = stack.enter_context(_part("reader", self._folder, self._beside / "reader.json", self._trouble))
            _ready(reader)
            writers = [stack.enter_context(self._writer(path, self._rows)) for path in steady]
            compactor = stack.enter_context(_part("compactor", self._folder, self._trouble))
            victim = stack.enter_context(self._victim())
            for process in (compactor, *writers, victim):
                _ready(process)
            for process in (*writers, victim):
                _go(process)
            due = time.monotonic() + self._every_s
            while any(process.poll() is None for process in writers) or not self._storm.killed:
                assert reader.poll() is None, "the reader failed"
                time.sleep(_POLL_S)
                if time.monotonic() < due:
                    continue
                self._kill(victim)
                if self._storm.killed % 3 == 0:
                    self._kill_compactor(compactor)
                    compactor = stack.enter_context(_part("compactor", self._folder, self._trouble))
                    _ready(compactor)
                if self._trouble == "removed" and any(process.poll() is None for process in writers):
                    self._remove()
                victim = stack.enter_context(self._victim())
                _ready(victim)
                _go(victim)
                due = time.monotonic() + self._every_s
            self._kill(victim)
            assert [process.returncode for process in writers] == [0] * len(writers), "a writer failed"
            for process in (compactor, reader):
                assert process.poll() is None, "the compactor failed"
                assert process.stdin is not None
                process.stdin.close()
                assert process.wait(60) == 0, "the reader or the compactor failed"
        self._storm.seconds = time.monotonic() - began
        self._count(steady)
        return self._storm

    def _writer(self, acks: Path, rows: int) -> AbstractContextManager[subprocess.Popen[str]]:
        trouble = self._trouble
        if trouble == "mixed":
            self._mixed += 1
            trouble = MIXED[self._mixed % len(MIXED)]
        return _part("writer", self._folder, acks.name, rows, acks, trouble)

    def _victim(self) -> AbstractContextManager[subprocess.Popen[str]]:
        self._victims.append(self._beside / f"victim-{len(self._victims)}")
        return self._writer(self._victims[-1], 0)

    def _kill(self, victim: subprocess.Popen[str]) -> None:
        assert victim.poll() is None, "the victim ended by itself"
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        self._storm.killed += 1

    def _kill_compactor(self, compactor: subprocess.Popen[str]) -> None:
        assert compactor.poll() is None, "the compactor failed"
        compactor.send_signal(signal.SIGKILL)
        compactor.wait()
        self._storm.compactors_killed += 1

    def _remove(self) -> None:
        while self._folder.exists():
            with suppress(OSError):  # a writer makes files in it meanwhile
                shutil.rmtree(self._folder)
        self._last_removal = time.monotonic()
        self._storm.removed += 1

    def _count(self, steady: list[Path]) -> None:
        storm = self._storm
        seen = json.loads((self._beside / "reader.json").read_text())
        storm.queries, storm.followed = seen["queries"], seen["followed"]
        for _ in range(2):  # as it was left, and after a last compaction
            self._compare(steady)
            if storm.faults:
                return
            if self._trouble != "full disk":
                compact(self._folder)

    def _compare(self, steady: list[Path]) -> None:
        storm, ledger = self._storm, Ledger(self._folder)
        there = Counter(ledger.sql("select call_id, ordinal from attempts").rows())
        acknowledged = {}
        for path in (*steady, *self._victims):
            for part in path.parent.glob(f"{path.name}.*"):
                notes = part.read_bytes()
                whole = notes[: len(notes) // ACK.size * ACK.size]
                acknowledged.update({(path.name, number): began for number, began in ACK.iter_unpack(whole)})
        storm.acknowledged, storm.rows = len(acknowledged), there.total()
        storm.lost = [key for key, began in acknowledged.items() if key not in there and began > self._last_removal]
        storm.doubled = [key for key, times in there.items() if times > 1]
        extra = Counter(name for name, number in there if (name, number) not in acknowledged)
        allowed = {path.name for path in self._victims}
        storm.unasked = sum(times - (name in allowed) for name, times in extra.items())
        storm.check = ledger.check()
        ledger.close()
