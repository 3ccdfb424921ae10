"""One process at a time rewrites a ledger folder. Writers and readers of rows never take this lock.

The lock is a ``flock`` on a hidden file, which the kernel drops when its holder ends, however it ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

from zc_notebooks.errors import LedgerError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # pragma: no cover (Windows)
    fcntl = None

NAME: Final = ".rewriting.lock"
_TRY_S: Final = 0.02


@contextmanager
def alone(folder: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Holds the folder's lock. ``wait_s``: how long to wait for another holder, in seconds.

    Raises:
        LedgerError: Another process holds it, or this file system has no locks.
        OSError: The lock file cannot be made.
    """
    deadline = time.monotonic() + wait_s
    while (fd := _taken(folder / NAME)) is None:
        if time.monotonic() >= deadline:
            raise LedgerError(f"another process is rewriting the ledger {folder.name} right now; try again later")
        time.sleep(_TRY_S)
    try:
        yield
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """The folder, readable by its owner only.

    Raises:
        OSError: It cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _taken(path: Path) -> int | None:
    """The locked file's descriptor, or ``None`` while somebody else holds it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(fd)
        if _same(fd, path):  # else the folder was removed meanwhile and the lock is on a file without a name
            return fd
    except BlockingIOError:
        pass
    except OSError as problem:
        os.close(fd)
        raise LedgerError(
            f"the file system of {path.parent.name} has no locks ({problem.strerror}); move the ledger to a local disk"
        ) from None
    os.close(fd)
    return None


def _lock(fd: int) -> None:
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt  # pragma: no cover (Windows)

    try:  # pragma: no cover
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:  # pragma: no cover (it has one error for everything)
        raise BlockingIOError from None


def _same(fd: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
