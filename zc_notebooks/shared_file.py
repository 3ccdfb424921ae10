"""A small SQLite file that the processes of one user share: opening, waiting for each other, telling files apart.

WAL with ``synchronous=NORMAL``: a commit is written to the log by one system call before it returns, so it belongs to
the operating system and a ``kill -9`` of any process loses nothing that was reported written. Only a power cut may lose
the last commits. Errors go up; whoever keeps something in the file deals with them.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

T = TypeVar("T")

BUSY_S: Final = 0.5
"""How long to wait for another process. The writes here take microseconds: longer means somebody sits on the file."""
_TRY_S: Final = 0.005
"""What SQLite itself waits. Its own waiting grows to 100 ms steps, in which a process starves beside a busy writer."""
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_OPENING = threading.Lock()
"""Creating a file closes a descriptor on it, which drops the process's locks on it: never beside another opening."""


class ForeignFile(sqlite3.DatabaseError):
    """The path holds a database of another program, which must not be touched."""


def is_busy(error: Exception) -> bool:
    """Whether the file is fine and merely held by somebody else."""
    return isinstance(error, sqlite3.Error) and (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _BUSY


class _Connection(sqlite3.Connection):
    """Closes itself when nobody refers to it any more: a chain that was made in a cell is seldom closed by hand."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # one that could not be opened
            self.close()


def connect(path: Path | str) -> sqlite3.Connection:
    """A connection in autocommit mode, for any thread; ``":memory:"`` is no file. Raises :class:`sqlite3.Error`."""
    return sqlite3.connect(path, timeout=_TRY_S, isolation_level=None, check_same_thread=False, factory=_Connection)


class Identity(NamedTuple):
    """Device and inode of the file and of its log, each ``None`` when absent. Neither changes while it is open."""

    main: tuple[int, int] | None
    log: tuple[int, int] | None


def identity(path: Path) -> Identity:
    """What stands at the path now."""
    return Identity(main=_inode(path), log=_inode(_beside(path, "-wal")))


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def drop_orphans(path: Path, was: Identity) -> None:
    """Removes the log and index that a lost file has left: SQLite would play them into the file in its place."""
    now = identity(path)
    if now.main != was.main and now.log is not None and now.log == was.log:
        for suffix in ("-wal", "-shm"):
            with suppress(OSError):
                _beside(path, suffix).unlink(missing_ok=True)


def open_file(
    path: Path, prepare: Callable[[sqlite3.Connection], None], *, briefly: bool = False
) -> sqlite3.Connection:
    """A connection to a file that ``prepare`` has given its tables, made when absent, readable by its owner only.

    Raises:
        OSError: the folder or file cannot be made.
        sqlite3.Error: the file is no database, somebody else's, broken, or locked.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _OPENING:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = connect(path)
    try:
        patiently(lambda: prepare(connection), briefly=briefly)
        _owner_only(path)
    except BaseException:
        connection.close()
        raise
    return connection


def patiently(act: Callable[[], T], *, briefly: bool = False, for_s: float | None = None) -> T:
    """Does ``act``, again and again for :data:`BUSY_S` while others hold the file. ``act`` must be safe to repeat.

    ``for_s``: seconds in place of :data:`BUSY_S`.

    ``briefly``: gives up after the first try, for a file that somebody is known to sit on.

    Processes that make the file at the same time are in each other's way too: SQLite refuses some of them at once.
    """
    deadline: float | None = None
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            raced = is_busy(error) or "duplicate column" in str(error)
            deadline = deadline or time.monotonic() + (BUSY_S if for_s is None else for_s)
            if briefly or not raced or time.monotonic() >= deadline:
                raise
            time.sleep(0.0005)


def begin(connection: sqlite3.Connection, *, briefly: bool = False) -> None:
    """Takes the one write lock."""
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), briefly=briefly)


def roll_back(connection: sqlite3.Connection) -> None:
    """Ends a transaction that will not be committed, if there is one."""
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


@contextmanager
def transaction(connection: sqlite3.Connection, *, briefly: bool = False) -> Iterator[None]:
    """The block under the one write lock; it is committed as a whole, or not at all."""
    begin(connection, briefly=briefly)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def claim(connection: sqlite3.Connection, application_id: int) -> bool:
    """Whether the file bears ``application_id``; one that has tables of another program is refused.

    Raises:
        ForeignFile: the database is somebody else's.
    """
    # Tables first: another process may commit tables and sign, together, between the two questions.
    tables = one(connection, "SELECT count(*) FROM sqlite_master")
    mine = bool(one(connection, "PRAGMA application_id") == application_id)
    if tables and not mine:
        raise ForeignFile("it is another program's database")
    return mine


def use_log(connection: sqlite3.Connection) -> None:
    """Write-ahead log, no flush per commit."""
    if one(connection, "PRAGMA journal_mode") != "wal":
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint=256")


def one(connection: sqlite3.Connection, query: str) -> Any:
    """The first value of the first row."""
    return connection.execute(query).fetchall()[0][0]


def _owner_only(path: Path) -> None:
    """SQLite gives ``-wal`` and ``-shm`` the mode of the file; older, wider ones are narrowed here."""
    for suffix in ("", "-wal", "-shm"):
        beside = _beside(path, suffix)
        with suppress(OSError):
            if beside.stat().st_mode & 0o077:
                beside.chmod(0o600)


def data_version(connection: sqlite3.Connection) -> int:
    """A number that changes when another connection has committed (3 µs)."""
    return cast("int", one(connection, "PRAGMA data_version"))
