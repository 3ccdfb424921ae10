"""Storms of a few seconds; ``python -m tests.perf storm`` runs them at full size."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger.storm import Weather
from tests.ledger.storm_parts import Trouble

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs kill -9 and Linux's clocks and limits")


@pytest.mark.parametrize("trouble", ["none", "mixed", "removed"])
def test_every_acknowledged_row_is_there_once(tmp_path: Path, trouble: Trouble) -> None:
    """Writers are killed, a reader asks, a compactor runs: nothing lost, nothing twice, no query fails."""
    storm = Weather(tmp_path / "ledger", tmp_path, writers=3, rows=1000, every_s=0.3, trouble=trouble).run()
    assert storm.faults == ""
    assert storm.killed >= 2
    assert storm.queries >= 1
    assert storm.check is not None
    assert (storm.check.duplicates, storm.check.foreign) == (0, 0)
    assert storm.check.torn <= storm.killed
    if trouble == "none":
        assert storm.acknowledged >= 3 * 1000
        assert storm.followed == storm.rows
    if trouble == "removed":
        assert storm.removed >= 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this user cannot mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_runs_full(tmp_path: Path, small_disk: Path) -> None:
    """What was acknowledged is there; what did not fit was not acknowledged; compaction without room is harmless."""
    storm = Weather(small_disk / "ledger", tmp_path, writers=3, rows=600, every_s=0.3, trouble="full disk").run()
    assert storm.faults == ""
    assert 0 < storm.acknowledged <= storm.rows
    assert storm.check is not None
    assert storm.check.foreign == 0
