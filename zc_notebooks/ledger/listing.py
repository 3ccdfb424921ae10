"""What lies in a ledger folder: segments, Parquet files, and what of them counts.

The look at the folder and the renaming of a finished Parquet file exclude each other by a ``flock`` that each holds for
milliseconds. Otherwise a look might pass the new file's place before it is there, and the old files' after they are
gone. A holder that was stopped (``SIGSTOP``) is waited for a second, not for ever.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final

from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger import parquet, price_versions
from zc_notebooks.ledger.parquet import Compacted, Footer, Part
from zc_notebooks.ledger.segments import SUFFIX
from zc_notebooks.redact import short

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # pragma: no cover (Windows: files are found by their footers alone)
    fcntl = None

LOCK: Final = ".listing.lock"
_WAIT_S: Final = 1.0
_TRY_S: Final = 0.001


@dataclass
class Listing:
    """One look at a folder."""

    segments: dict[str, os.stat_result] = field(default_factory=dict)
    compacted: tuple[Compacted, ...] = ()
    """The Parquet files that count, in the order of their names."""
    taken: dict[str, Part] = field(default_factory=dict)
    """Segments, or their beginnings, whose rows are in a Parquet file."""
    superseded: tuple[str, ...] = ()
    """Parquet files whose rows are in another."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Name → why it is not read."""
    prices: str | None = None
    """The newest file of corrected prices."""


class Lister:
    """Looks at one folder, and remembers the footers it has read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._footers: dict[tuple[int, int, int, int], Footer | None] = {}
        self._priced: set[str] = set()

    def look(self) -> Listing:
        """A consistent look.

        Raises:
            LedgerError: The folder cannot be listed.
        """
        while True:
            with suppress(FileNotFoundError):  # a Parquet file was replaced between the look and its opening
                return self._look()

    def _look(self) -> Listing:
        found = Listing()
        files: dict[str, os.stat_result] = {}
        priced: list[str] = []
        for name, info in _entries(self.folder, found.left_out):
            if price_versions.version_of(name) is not None:
                priced.append(name)
            else:
                (files if name.endswith(parquet.SUFFIX) else found.segments)[name] = info
        found.prices = self._newest(sorted(priced, reverse=True), found.left_out)
        footers = self._read(files, found.left_out)
        superseded = {name for footer in footers.values() for name in footer.files}
        found.superseded = tuple(sorted(superseded & footers.keys()))
        found.compacted = tuple(
            Compacted(path=str(self.folder / name), size=files[name].st_size, footer=footer)
            for name, footer in sorted(footers.items())
            if name not in superseded
        )
        for footer in footers.values():
            for name, part in footer.segments.items():
                if name not in found.taken or part.bytes > found.taken[name].bytes:
                    found.taken[name] = part
        return found

    def _newest(self, priced: list[str], left_out: dict[str, str]) -> str | None:
        """The first that can be read. Such a file never changes, so each is opened once."""
        for name in priced:
            path = str(self.folder / name)
            try:
                if path in self._priced or price_versions.is_whole(self.folder / name):
                    self._priced.add(path)
                    return path
                left_out[printable(name)] = "damaged"
            except FileNotFoundError:
                raise
            except OSError as problem:
                left_out[printable(name)] = problem.strerror or type(problem).__name__
        return None

    def _read(self, files: dict[str, os.stat_result], left_out: dict[str, str]) -> dict[str, Footer]:
        """Footers by name; each file is opened once in its life."""
        keys = {name: (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns) for name, info in files.items()}
        self._footers = {key: self._footers[key] for key in keys.values() if key in self._footers}
        footers = {}
        for name, key in keys.items():
            try:
                footer = self._footers[key] if key in self._footers else parquet.read_footer(self.folder / name)
            except FileNotFoundError:
                raise
            except OSError as problem:
                left_out[printable(name)] = problem.strerror or type(problem).__name__
                continue
            self._footers[key] = footer
            if footer is not None:
                footers[name] = footer
            else:
                left_out[printable(name)] = "damaged" if parquet.is_ours(name) else "not written by a ledger"
        return footers


@contextmanager
def nobody_looks(folder: Path) -> Iterator[None]:
    """Keeps other processes from looking at the folder, for the moment of a renaming.

    Raises:
        LedgerError: The folder is looked at without a pause.
        OSError: The lock file cannot be made.
    """
    fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(fd, exclusive=True, wait_s=30 * _WAIT_S):
            raise LedgerError(f"the ledger {folder.name} is being read without a pause; try again later")
        yield
    finally:
        os.close(fd)


def make_lock(folder: Path) -> None:
    """Makes the lock's file long before it is needed, so that no look at the folder can miss that it is there."""
    os.close(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600))


def printable(name: str) -> str:
    """A file's name as one line of text, whatever bytes it is made of."""
    return short(os.fsencode(name).decode("utf-8", "replace"))


def _entries(folder: Path, left_out: dict[str, str]) -> list[tuple[str, os.stat_result]]:
    try:
        while True:
            left_out.clear()
            with _no_renaming(folder) as locked, os.scandir(folder) as entries:
                seen = [(entry.name, info) for entry in entries if (info := _info(entry, left_out)) is not None]
            if locked or not (folder / LOCK).exists():  # else the first compaction of all began meanwhile
                return seen
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise LedgerError(f"{folder.name} is a file; a ledger is a folder of {SUFFIX} files") from None
    except OSError as problem:
        raise LedgerError(f"the ledger folder {folder.name} cannot be read: {problem.strerror}") from None


@contextmanager
def _no_renaming(folder: Path) -> Iterator[bool]:
    """Holds renamings off; ``False`` when there is no lock because nothing was ever compacted here."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        yield False
        return
    except OSError:  # somebody else's folder: no lock, and the footers still tell
        yield True
        return
    try:
        _locked(fd, exclusive=False, wait_s=_WAIT_S)
        yield True
    finally:
        os.close(fd)


def _locked(fd: int, *, exclusive: bool, wait_s: float) -> bool:
    if fcntl is None:  # pragma: no cover
        return True
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_TRY_S)
        except OSError:  # no locks on this file system
            return True
        else:
            return True


def _info(entry: os.DirEntry[str], left_out: dict[str, str]) -> os.stat_result | None:
    """A regular segment or Parquet file; everything else that is not hidden is left out with its reason."""
    if entry.name.startswith("."):
        return None
    try:
        info = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as problem:
        left_out[printable(entry.name)] = problem.strerror or type(problem).__name__
        return None
    if not stat.S_ISREG(info.st_mode):
        left_out[printable(entry.name)] = _kind(info.st_mode)
    elif not entry.name.endswith((SUFFIX, parquet.SUFFIX)):
        left_out[printable(entry.name)] = f"not a {SUFFIX} file"
    else:
        return info
    return None


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe"}
    return kinds.get(stat.S_IFMT(mode), "not a regular file")
