"""Helpers for the tests of compaction; started as a program, a compaction that is killed at one of its steps.

Arguments: ledger folder, number of the step (from 0), ``before`` or ``after``.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.ledger.steps import Disk

When = Literal["before", "after", "half"]


class BreakingDisk(Disk):
    """Does ``fail`` at one of its steps: instead of it, after it, or (writing) with half of it done."""

    def __init__(self, step: int, when: When, fail: Callable[[], None]) -> None:
        self._step, self._when, self._fail = step, when, fail
        self.steps: list[str] = []
        self.failed = False

    def _do(self, name: str, act: Callable[[], Any], path: Path | None = None) -> Any:
        mine = len(self.steps) == self._step
        self.steps.append(name)
        if mine and self._when == "before":
            self.failed = True
            self._fail()
        done = act()
        if mine and self._when != "before":
            if self._when == "half" and path is not None:
                os.truncate(path, path.stat().st_size // 2)
            self.failed = True
            self._fail()
        return done

    def write(self, con: Any, copy: str) -> int:
        path = Path(copy.rsplit(") to '", 1)[1].split("'", 1)[0])
        return int(self._do("write", lambda: super(BreakingDisk, self).write(con, copy), path))

    def sync(self, path: Path) -> None:
        self._do("sync", lambda: super(BreakingDisk, self).sync(path))

    def rename(self, old: Path, new: Path) -> None:
        self._do("rename", lambda: super(BreakingDisk, self).rename(old, new))

    def unlink(self, path: Path) -> None:
        self._do("unlink", lambda: super(BreakingDisk, self).unlink(path))


def written(folder: Path, *rows: AttemptRow) -> None:
    """One sealed segment."""
    writer = LedgerWriter(folder)
    assert all(writer.write(one) for one in rows)
    writer.close()


def keys(folder: Path) -> list[tuple[str, int]]:
    """The keys of all rows a new reader sees, sorted; those that are there twice come twice."""
    ledger = Ledger(folder)
    try:
        return sorted(ledger.sql("select call_id, ordinal from attempts").rows())
    finally:
        ledger.close()


def kinds(folder: Path) -> dict[str, int]:
    """How many files of which kind lie in the folder; hidden locks are not counted."""
    found: dict[str, int] = {}
    for path in folder.iterdir():
        kind = "hidden" if path.name.startswith(".new-") else path.suffix
        if not path.name.endswith(".lock"):
            found[kind] = found.get(kind, 0) + 1
    return found


def main(folder: str, step: str, when: When) -> None:
    compact(folder, disk=BreakingDisk(int(step), when, lambda: os.kill(os.getpid(), signal.SIGKILL)))


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
