"""Writing rows: files, rotation, forks, threads, and every way a folder can fail."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests import ROOT
from tests.ledger.rows import NOON, row
from tests.open_files import FOLDER, open_files
from zc_notebooks.ledger.append import LedgerWarning, LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.segments import parse_name
from zc_notebooks.testing import ManualClock


def lines(folder: Path) -> list[str]:
    """All lines of all segments."""
    return [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_row_is_one_json_line_in_a_private_file(tmp_path: Path) -> None:
    """A written row stands whole in a file only its owner can read, named for date, host and process."""
    writer = LedgerWriter(tmp_path / "ledger", clock=ManualClock(NOON))
    assert writer.write(row(model_reported="groq/gpt"))
    (path,) = (tmp_path / "ledger").iterdir()
    name = parse_name(path.name)
    assert name is not None
    assert (name.day, name.pid) == (NOON.date(), os.getpid())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    (line,) = lines(tmp_path / "ledger")
    assert json.loads(line)["model_reported"] == "groq/gpt"


def test_no_file_before_the_first_row(tmp_path: Path) -> None:
    """A writer that never writes leaves nothing behind."""
    LedgerWriter(tmp_path / "ledger").close()
    assert not (tmp_path / "ledger").exists()


def test_a_new_day_takes_a_new_file_and_a_clock_that_jumps_back_does_not(tmp_path: Path) -> None:
    """Rows go to a file of their UTC date; no file of a past date is opened again."""
    clock = ManualClock(NOON)
    writer = LedgerWriter(tmp_path, clock=clock)
    for days in (0, 1, -3, 0.1):
        clock.advance(days * 86_400)
        assert writer.write(row())
    found = sorted(name.day.isoformat() for path in tmp_path.iterdir() if (name := parse_name(path.name)))
    assert found == ["2026-11-30", "2026-12-01"]
    assert len(lines(tmp_path)) == 4


def test_local_midnight_changes_nothing(tmp_path: Path) -> None:
    """The date is UTC's whatever zone the clock speaks."""
    tokyo = datetime.fromisoformat("2026-12-01T03:00:00+09:00")
    LedgerWriter(tmp_path, clock=ManualClock(tokyo)).write(row())
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("attempts-2026-11-30-")


def test_a_change_of_directory_moves_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder means the one it meant when the writer was made."""
    monkeypatch.chdir(tmp_path)
    writer = LedgerWriter("ledger")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert writer.write(row())
    assert len(lines(tmp_path / "ledger")) == 1


def test_writers_of_one_process_never_share_a_file(tmp_path: Path) -> None:
    """Two writers have two files."""
    first, second = LedgerWriter(tmp_path), LedgerWriter(tmp_path)
    assert first.write(row("a"))
    assert second.write(row("b"))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_closed_writer_can_write_again(tmp_path: Path) -> None:
    """Closing ends the file, not the writer."""
    writer = LedgerWriter(tmp_path)
    writer.write(row("a"))
    writer.close()
    assert writer.write(row("b"))
    assert len(lines(tmp_path)) == 2


def test_threads_share_a_writer(tmp_path: Path) -> None:
    """Rows of eight threads are all there, each whole."""
    writer = LedgerWriter(tmp_path)
    start = threading.Barrier(8)

    def work(name: str) -> None:
        start.wait()
        for number in range(250):
            writer.write(row(name, number, notes="x" * 500))

    threads = [threading.Thread(target=work, args=(f"call-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = {(found["call_id"], found["ordinal"]) for found in map(json.loads, lines(tmp_path))}
    assert len(keys) == len(lines(tmp_path)) == 2000


FORK = """
import os, sys
from pathlib import Path
from tests.ledger.rows import row
from zc_notebooks.ledger.append import LedgerWriter
writer = LedgerWriter(Path(sys.argv[1]))
writer.write(row("parent", 0))
with writer._lock:              # the worst moment: another thread is writing
    child = os.fork()
    if child == 0:
        os._exit(0 if writer.write(row("child", 0)) else 1)
_, status = os.waitpid(child, 0)
writer.write(row("parent", 1))
sys.exit(status)
"""


def run(code: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs code in its own process."""
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, cwd=ROOT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_takes_its_own_file(tmp_path: Path) -> None:
    """A fork in the middle of a write neither blocks the child nor mixes the two processes' rows."""
    done = run(FORK, tmp_path)
    assert done.returncode == 0, done.stderr
    found = [[json.loads(line)["call_id"] for line in path.read_text().splitlines()] for path in tmp_path.iterdir()]
    assert sorted(found) == [["child"], ["parent", "parent"]]


def test_fsync_durability_writes_the_same(tmp_path: Path) -> None:
    """A writer that waits for the disk stores the same line."""
    assert LedgerWriter(tmp_path, durability="fsync").write(row())
    assert len(lines(tmp_path)) == 1


def test_text_that_utf8_cannot_carry_is_replaced(tmp_path: Path) -> None:
    """Half a surrogate pair from a provider costs one character, not the row."""
    assert LedgerWriter(tmp_path).write(row(model_reported="a\ud800b"))
    assert json.loads(lines(tmp_path)[0])["model_reported"] == "a?b"


def test_a_removed_folder_comes_back(tmp_path: Path) -> None:
    """After ``rm -r`` of the folder the next row is in a new folder, without a warning."""
    folder = tmp_path / "ledger"
    writer = LedgerWriter(folder)
    assert writer.write(row("a"))
    shutil.rmtree(folder)
    assert writer.write(row("b"))
    assert [json.loads(line)["call_id"] for line in lines(folder)] == ["b"]


def test_a_moved_folder_keeps_its_rows(tmp_path: Path) -> None:
    """Rows follow the file: a renamed folder gets them, and nothing is lost."""
    folder, moved = tmp_path / "ledger", tmp_path / "moved"
    writer = LedgerWriter(folder)
    writer.write(row("a"))
    folder.rename(moved)
    assert writer.write(row("b"))
    assert len(lines(moved)) == 2


@pytest.mark.skipif(not FOLDER.is_dir(), reason="descriptors cannot be listed here")
def test_a_descriptor_taken_away_is_noticed(tmp_path: Path) -> None:
    """Code that closes all descriptors, and a file that then gets the number, do not get the rows."""
    folder, other = tmp_path / "ledger", tmp_path / "other.txt"
    writer = LedgerWriter(folder)
    writer.write(row("a"))
    segment = next(folder.iterdir())
    number = next(number for number, file in open_files().items() if file == str(segment))
    os.close(number)
    assert writer.write(row("b"))
    file = os.open(other, os.O_RDWR | os.O_CREAT)
    others = {number: name for number, name in open_files().items() if name != str(segment)}
    again = next(number for number, name in others.items() if name.startswith(str(folder)))
    os.dup2(file, again)
    assert writer.write(row("c"))
    assert other.read_bytes() == b""
    os.close(file)
    os.close(again)
    assert [json.loads(line)["call_id"] for line in lines(folder)].count("c") == 1


# -- folders that cannot be written ----------------------------------------------------------------------------------


def blocked(tmp_path: Path) -> Path:
    """A folder that cannot be made, even by root: a file is in its way."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "ledger"


def test_the_first_lost_row_gives_the_one_warning(tmp_path: Path) -> None:
    """Behaviour 180: a ledger that cannot be written warns once, names the row, and never raises."""
    writer = LedgerWriter(blocked(tmp_path))
    lost = [row("call-7", 3), row("call-7", 4), row("call-8", 0)]
    words = r"1 row could not be written .*Not a directory.*: call call-7, row 3\."
    with pytest.warns(LedgerWarning, match=words) as seen:
        results = [writer.write(one) for one in lost]
    assert results == [False] * 3
    assert len(seen) == 1
    assert writer.lost == 3
    with pytest.warns(LedgerWarning, match=r"2 more rows could not .*: call call-7, row 4; call call-8, row 0\."):
        writer.close()


def test_a_gathering_writer_names_all_rows_in_one_warning(tmp_path: Path) -> None:
    """The warning can wait for the end of a call, so that it names every row of it."""
    writer = LedgerWriter(blocked(tmp_path), gather=True)
    for ordinal in range(3):
        assert not writer.write(row("a", ordinal))
    with pytest.warns(LedgerWarning, match=r"3 rows could not be written .*: call a, rows 0, 1, 2\."):
        writer.report()
    writer.write(row("b", 0))
    writer.report()
    with pytest.warns(LedgerWarning, match="1 more row could not"):
        writer.close()


def test_many_lost_rows_are_counted_and_not_all_named(tmp_path: Path) -> None:
    """A long outage gives a short message with the true number."""
    writer = LedgerWriter(blocked(tmp_path), gather=True)
    for number in range(5000):
        writer.write(row(f"call-{number}"))
    with pytest.warns(LedgerWarning, match="5,000 rows .*; and others") as seen:
        writer.close()
    assert len(str(seen[0].message)) < 1500


def test_warnings_as_errors_do_not_end_the_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A process that turns warnings into errors still gets ``False`` and a log line."""
    writer = LedgerWriter(blocked(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not writer.write(row())
    assert "could not be written" in caplog.text


def test_a_folder_that_becomes_writable_gets_the_next_row(tmp_path: Path) -> None:
    """Every later row is tried again."""
    folder = blocked(tmp_path)
    writer = LedgerWriter(folder)
    with pytest.warns(LedgerWarning):
        writer.write(row("a"))
    folder.parent.unlink()
    assert writer.write(row("b"))
    assert len(lines(folder)) == 1


def test_a_value_that_is_no_row_is_a_loss_and_no_exception(tmp_path: Path) -> None:
    """Whatever is handed over, nothing is raised."""
    with pytest.warns(LedgerWarning, match="TypeError"):
        assert not LedgerWriter(tmp_path).write(object())  # type: ignore[arg-type]


LIMIT = """
import resource, sys
from pathlib import Path
from tests.ledger.rows import row
from zc_notebooks.ledger.append import LedgerWriter
writer = LedgerWriter(Path(sys.argv[1]))
results = [writer.write(row("a", number)) for number in range(3)]
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, resource.RLIM_INFINITY))
results += [writer.write(row("b", number)) for number in range(3)]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
results += [writer.write(row("c", 0))]
print(results)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no file size limits on this system")
def test_a_row_cut_short_is_taken_back(tmp_path: Path) -> None:
    """A write that stops in the middle leaves no torn line, and the rows around it stay whole."""
    done = run(LIMIT, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "LedgerWarning" in done.stderr
    written = eval(done.stdout)  # noqa: S307 (our own list of booleans)
    assert written[:3] == [True] * 3
    assert written[-1]
    assert False in written[3:6]
    found = Ledger(tmp_path).check()
    assert (found.rows, found.torn, found.foreign) == (sum(written), 0, 0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True)  # noqa: PLW1510
    if not made or made.returncode != 0:
        pytest.skip("a small file system cannot be mounted here (needs root)")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_loses_only_what_did_not_fit(small_disk: Path) -> None:
    """ENOSPC: whole rows up to the end, one warning, and rows again once there is room."""
    ledger, ballast = small_disk / "ledger", small_disk / "ballast"
    ballast.write_bytes(b"x" * 30_000)
    writer = LedgerWriter(ledger)
    with pytest.warns(LedgerWarning, match="No space left on device") as seen:
        written = sum(writer.write(row("a", number)) for number in range(200))
    assert len(seen) == 1
    assert 0 < written < 200
    ballast.unlink()
    assert writer.write(row("b"))
    found = Ledger(ledger).check()
    assert (found.rows, found.torn, found.foreign) == (written + 1, 0, 0)
    assert found.files == 1
    with pytest.warns(LedgerWarning, match="more rows"):
        writer.close()


def test_a_read_only_disk_warns_once(small_disk: Path) -> None:
    """EROFS is a loss like any other."""
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    writer = LedgerWriter(small_disk / "ledger")
    with pytest.warns(LedgerWarning, match="Read-only file system"):
        assert not writer.write(row())
    assert Ledger(small_disk / "ledger").check().rows == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_warns_once(tmp_path: Path) -> None:
    """EACCES is a loss like any other."""
    tmp_path.chmod(0o500)
    with pytest.warns(LedgerWarning, match="Permission denied"):
        assert not LedgerWriter(tmp_path).write(row())
    tmp_path.chmod(0o700)


def test_the_repr_is_one_short_line(tmp_path: Path) -> None:
    """No absolute path, no address; losses are named."""
    writer = LedgerWriter(tmp_path / "ledger")
    assert repr(writer) == "LedgerWriter(ledger)"
