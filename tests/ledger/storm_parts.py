"""The processes of a storm (see :mod:`tests.ledger.storm`), one of which this program becomes.

``writer FOLDER NAME ROWS ACKS TROUBLE``: writes rows; ``ROWS`` 0: until it is killed. Each row whose write returned is
noted in files that begin with ``ACKS``, with the moment at which its write began.
``reader FOLDER OUT TROUBLE``: asks until its input ends, then writes what it saw. ``compactor FOLDER TROUBLE``.
"""

from __future__ import annotations

import errno
import json
import os
import random
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final, Literal

from tests.ledger.rows import row
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWarning, LedgerWriter
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger

Trouble = Literal["none", "full disk", "no space", "size limit", "removed", "clock", "mixed"]
"""``full disk``: a real one; ``no space``: ``os.write`` says so now and then; ``size limit``: ``RLIMIT_FSIZE``;
``mixed``: a different one of the last three for each writer."""
MIXED: Final[tuple[Trouble, ...]] = ("no space", "size limit", "clock")
ACK: Final = struct.Struct("<qd")
"""Ordinal, and ``time.monotonic()`` before its write."""
LIMIT: Final = 40_000
"""Bytes a file may have under ``size limit``."""


class JumpingClock:
    """A clock that is set back and forth by up to three days."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(hours=random.choice((0, 0, 0, -72, -30, -1, 26, 72)))  # noqa: S311

    def monotonic(self) -> float:
        return time.monotonic()

    def __getattr__(self, name: str) -> object:
        raise AttributeError(name)


def full_now_and_then() -> None:
    """Every so often the disk takes half a row and then nothing."""
    plain, left = os.write, {"lines": 50, "failing": 0}

    def write(fd: int, data: bytes) -> int:
        if left["failing"] > 0:
            left["failing"] -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        left["lines"] -= 1
        if left["lines"] > 0:
            return plain(fd, data)
        left.update(lines=random.randrange(20, 80), failing=random.randrange(1, 4))  # noqa: S311
        return plain(fd, data[: len(data) // 2])

    os.write = write


def size_limit() -> None:
    """No file may grow beyond :data:`LIMIT`."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def writer(folder: str, name: str, rows: str, acks: str, trouble: Trouble) -> None:
    """Pauses after every twentieth row, so that the storm lasts; takes a new file after every hundredth."""
    clock = JumpingClock() if trouble in {"clock", "mixed"} else None
    ledger = LedgerWriter(Path(folder), clock=clock)  # type: ignore[arg-type]
    done, plain = -1, os.write
    warnings.simplefilter("ignore", LedgerWarning)
    print("ready", flush=True)
    sys.stdin.readline()
    if trouble == "no space":
        full_now_and_then()
    if trouble == "size limit":
        size_limit()
    for number in range(int(rows)) if int(rows) else count():
        if number % 1000 == 0:
            done = os.open(f"{acks}.{number // 1000}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        began = time.monotonic()
        if ledger.write(row(name, number, notes="n" * (number % 300))):
            plain(done, ACK.pack(number, began))
        if number % 20 == 19:
            time.sleep(0.02)
        if number % 100 == 99:
            ledger.close()


def _until_end_of_input() -> Callable[[], bool]:
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended.is_set


def reader(folder: str, out: str, trouble: Trouble) -> None:
    """An open ledger asked all the time, and a new one now and then: rows never fewer, none twice, no failure."""
    ended = _until_end_of_input()
    ledger, follower = Ledger(folder), None
    follower = ledger.follow()
    last = queries = followed = 0
    print("ready", flush=True)
    while not ended():
        asked = Ledger(folder) if queries % 10 == 9 else ledger
        rows, distinct = asked.sql("select count(*), count(distinct (call_id, ordinal)) from attempts").row(0)
        if rows != distinct or (rows < last and trouble != "removed"):
            raise SystemExit(f"{rows} rows, {distinct} keys, {last} before")
        followed += follower.new_rows().height
        last, queries = rows, queries + 1
        if asked is not ledger:
            asked.close()
    followed += follower.new_rows().height
    rows = ledger.sql("select count(*) from attempts").item()
    Path(out).write_text(json.dumps({"queries": queries, "followed": followed, "rows": rows}))


def compactor(folder: str, trouble: Trouble) -> None:
    """Compacts again and again; only what a full, removed or busy folder explains may go wrong."""
    ended = _until_end_of_input()
    print("ready", flush=True)
    while not ended():
        try:
            compact(folder, clock=JumpingClock() if trouble in {"clock", "mixed"} else None)  # type: ignore[arg-type]
        except LedgerError as problem:
            if trouble not in {"full disk", "removed"}:
                raise SystemExit(f"compaction: {problem}") from None
        time.sleep(0.01)


if __name__ == "__main__":
    {"writer": writer, "reader": reader, "compactor": compactor}[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]
