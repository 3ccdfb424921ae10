"""``python -m tests.perf storm``: eight writers of 5,000 rows, a reader, a compactor, and ``kill -9`` every second.

Once in fair weather and once with each trouble: no space (a small tmpfs where one can be mounted, a faked ``os.write``,
``RLIMIT_FSIZE``), a folder that is removed, clocks that jump. What must be true stands in :mod:`tests.ledger.storm`.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from tests.ledger.storm import Weather
from tests.ledger.storm_parts import Trouble


def run(arguments: list[str]) -> int:
    """Prints a line for each storm; exit code 1 when a row was lost or doubled."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf storm", description=__doc__)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--rows", type=int, default=5_000, help="of each writer")
    parser.add_argument("--trouble", choices=get_args(Trouble), help="only this one")
    parser.add_argument("--check", action="store_true", help="a fault is the exit code in any case")
    options = parser.parse_args(arguments)
    failed = 0
    for trouble in [options.trouble] if options.trouble else get_args(Trouble):
        with tempfile.TemporaryDirectory() as beside, _ledger(Path(beside), trouble) as folder:
            if folder is None:
                print(f"{trouble:12} left out: this user cannot mount a small disk", flush=True)
                continue
            weather = Weather(
                folder, Path(beside), writers=options.writers, rows=options.rows, every_s=1.0, trouble=trouble
            )
            storm = weather.run()
        failed += bool(storm.faults)
        print(f"{trouble:12} {storm.faults or 'holds'}: {storm}", flush=True)
    return int(failed > 0)


@contextmanager
def _ledger(beside: Path, trouble: Trouble) -> Iterator[Path | None]:
    if trouble != "full disk":
        yield beside / "ledger"
        return
    disk = beside / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        yield None
        return
    try:
        yield disk / "ledger"
    finally:
        subprocess.run(["umount", str(disk)], check=True)
