"""The folder of what outlives a process, and the salt in it."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from zc_notebooks.config.state import StateWarning, read_salt, state_dir


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"ZC_STATE_DIR": "{}/own", "XDG_STATE_HOME": "{}/x"}, "own"),
        ({"XDG_STATE_HOME": "{}/x"}, "x/zc_notebooks"),
    ],
)
def test_place(tmp_path: Path, environ: dict[str, str], expected: str) -> None:
    """ZC_STATE_DIR wins over XDG_STATE_HOME; the folder is made for its owner only."""
    folder = state_dir({name: value.format(tmp_path) for name, value in environ.items()})
    assert folder == tmp_path / expected
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without either it is below the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_dir({}) == tmp_path / ".local" / "state" / "zc_notebooks"
    assert state_dir({"ZC_STATE_DIR": "~/mine"}) == tmp_path / "mine"


def test_place_that_cannot_be_made(tmp_path: Path) -> None:
    """A place that cannot be made is still named; nothing is raised."""
    (tmp_path / "file").touch()
    assert state_dir({"ZC_STATE_DIR": f"{tmp_path}/file/state"}) == tmp_path / "file" / "state"


def test_salt(tmp_path: Path) -> None:
    """The salt is made once, for its owner only, and leaves nothing else behind."""
    first = read_salt(tmp_path)
    assert len(first) == 32
    assert read_salt(tmp_path) == first
    assert stat.S_IMODE((tmp_path / "salt").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["salt"]


RACER = """
import sys
from pathlib import Path
from zc_notebooks.config.state import read_salt
sys.stdout.write("ready\\n"); sys.stdout.flush(); sys.stdin.readline()
sys.stdout.write(read_salt(Path(sys.argv[1])).hex())
"""


def test_race_for_the_salt(tmp_path: Path) -> None:
    """Processes that start at the same moment agree on one salt."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    salts = {racer.communicate()[0] for racer in racers}
    assert salts == {read_salt(tmp_path).hex()}


def test_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where files cannot be linked the salt is written in place."""

    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", refuse)
    assert read_salt(tmp_path) == (tmp_path / "salt").read_bytes()


def test_unusable_folder(tmp_path: Path) -> None:
    """Where nothing can be kept the process has a salt of its own, and says so once."""
    (tmp_path / "file").touch()
    with pytest.warns(StateWarning, match="this process only") as said:
        first = read_salt(tmp_path / "file")
    assert read_salt(tmp_path / "file") == first
    assert len(said) == 1
    assert len(first) == 32


def test_a_full_disk_leaves_nothing_of_a_salt(tmp_path: Path) -> None:
    """The process has one of its own, and starts that follow leave no litter."""
    resource = pytest.importorskip("resource", reason="limits of a process are a Unix thing")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.warns(StateWarning, match="this process only"):
            assert len(read_salt(tmp_path)) == 32
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_damaged_salt(tmp_path: Path) -> None:
    """A salt of the wrong length is not used."""
    (tmp_path / "salt").write_bytes(b"short")
    with pytest.warns(StateWarning, match="damaged"):
        assert len(read_salt(tmp_path)) == 32
