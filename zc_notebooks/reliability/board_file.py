"""The marks file: schema, opening, reading and writing of one SQLite database. Errors go up; the store deals with them.

WAL with ``synchronous=NORMAL``: a commit is written to the log by one system call before it returns, so it belongs to
the operating system and a ``kill -9`` of any process loses nothing that was reported set. Only a power cut may lose the
last commits, and marks are worth less than a disk flush per failure. The schema only grows: a missing column is added,
an unknown one is left alone, so older and newer versions of this package share one file.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args

from zc_notebooks.records import Mark, MarkKey, Reason, ResetSource
from zc_notebooks.reliability.board import Board, Seen
from zc_notebooks.reliability.mark_rules import MAX_AHEAD, Row

T = TypeVar("T")

BUSY_S: Final = 0.5
"""How long to wait for another process. The writes here take microseconds: longer means somebody sits on the file."""
_TRY_S: Final = 0.005
"""What SQLite itself waits. Its own waiting grows to 100 ms steps, in which a process starves beside a busy writer."""
APPLICATION_ID: Final = 0x7A636D6B  # "zcmk"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_OPENING = threading.Lock()
"""Creating a file closes a descriptor on it, which drops the process's locks on it: never beside another opening."""

_KEY: Final = ("pool", "credential_id", "model")
_TABLES: Final[dict[str, dict[str, str]]] = {
    "marks": {
        "until_us": "INTEGER NOT NULL DEFAULT 0",
        "provenance": "TEXT NOT NULL DEFAULT 'guessed'",
        "reason": "TEXT NOT NULL DEFAULT 'minute_limit'",
        "set_at_us": "INTEGER NOT NULL DEFAULT 0",
        "provider_ref": "TEXT NOT NULL DEFAULT ''",
        "text": "TEXT NOT NULL DEFAULT ''",
        "lease": "TEXT NOT NULL DEFAULT ''",
        "lease_until_us": "INTEGER",
    },
    "headroom": {
        "seen_at_us": "INTEGER NOT NULL DEFAULT 0",
        "dims": "TEXT NOT NULL DEFAULT '[]'",
        "provider_ref": "TEXT NOT NULL DEFAULT ''",
    },
}


class ForeignFile(sqlite3.DatabaseError):
    """The path holds a database of another program, which must not be touched."""


def is_busy(error: Exception) -> bool:
    """Whether the file is fine and merely held by somebody else."""
    return isinstance(error, sqlite3.Error) and (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _BUSY


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


def open_file(path: Path, *, briefly: bool = False) -> sqlite3.Connection:
    """A connection to a file that has our tables, made when absent, readable by its owner only.

    Raises:
        OSError: the folder or file cannot be made.
        sqlite3.Error: the file is no database, somebody else's, broken, or locked.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _OPENING:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, timeout=_TRY_S, isolation_level=None, check_same_thread=False)
    try:
        patiently(lambda: _prepare(connection, briefly=briefly), briefly=briefly)
        _owner_only(path)
    except BaseException:
        connection.close()
        raise
    return connection


def patiently(act: Callable[[], T], *, briefly: bool = False) -> T:
    """Does ``act``, again and again for :data:`BUSY_S` while others hold the file. ``act`` must be safe to repeat.

    ``briefly``: gives up after the first try, for a file that somebody is known to sit on.

    Processes that make the file at the same time are in each other's way too: SQLite refuses some of them at once.
    """
    deadline: float | None = None
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            raced = is_busy(error) or "duplicate column" in str(error)
            deadline = deadline or time.monotonic() + BUSY_S
            if briefly or not raced or time.monotonic() >= deadline:
                raise
            time.sleep(0.0005)


def begin(connection: sqlite3.Connection, *, briefly: bool = False) -> None:
    """Takes the one write lock."""
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), briefly=briefly)


def _prepare(connection: sqlite3.Connection, *, briefly: bool) -> None:
    # Tables first: another process may commit tables and sign, together, between the two questions.
    tables = _one(connection, "SELECT count(*) FROM sqlite_master")
    mine = _one(connection, "PRAGMA application_id") == APPLICATION_ID
    if tables and not mine:
        raise ForeignFile("it is another program's database")
    for table in _TABLES:
        columns = _columns(connection, table)
        if columns and not columns.issuperset(_KEY):
            raise ForeignFile(f"its table {table} is not the one this program writes")
    if _one(connection, "PRAGMA journal_mode") != "wal":
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint=256")
    if not mine or _missing(connection):
        _make_tables(connection, briefly=briefly)


def _one(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchall()[0][0]


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()}


def _missing(connection: sqlite3.Connection) -> bool:
    return any(not {*_KEY, *fields} <= _columns(connection, table) for table, fields in _TABLES.items())


def _make_tables(connection: sqlite3.Connection, *, briefly: bool) -> None:
    begin(connection, briefly=briefly)
    try:
        for table, fields in _TABLES.items():
            columns = ", ".join(f"{name} {kind}" for name, kind in fields.items())
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (pool TEXT NOT NULL, credential_id TEXT NOT NULL,"
                f" model TEXT NOT NULL, {columns}, PRIMARY KEY (pool, credential_id, model)) WITHOUT ROWID"
            )
            for name in fields.keys() - _columns(connection, table):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {fields[name]}")
        if not file_id(connection):
            connection.execute(f"PRAGMA user_version={1 + secrets.randbelow(2**31 - 1)}")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _owner_only(path: Path) -> None:
    """SQLite gives ``-wal`` and ``-shm`` the mode of the file; older, wider ones are narrowed here."""
    for suffix in ("", "-wal", "-shm"):
        beside = _beside(path, suffix)
        with suppress(OSError):
            if beside.stat().st_mode & 0o077:
                beside.chmod(0o600)


def file_id(connection: sqlite3.Connection) -> int:
    """A random number given to a file when it is made: inode numbers come again, this does not."""
    return cast("int", _one(connection, "PRAGMA user_version"))


def data_version(connection: sqlite3.Connection) -> int:
    """A number that changes when another connection has committed (3 µs)."""
    return cast("int", _one(connection, "PRAGMA data_version"))


def read_board(connection: sqlite3.Connection, now: datetime) -> Board:
    """Everything in the file, without marks that ended more than 32 days ago and rows that make no sense."""
    oldest = _us(now - MAX_AHEAD)
    marks = connection.execute(
        "SELECT pool, credential_id, model, until_us, provenance, reason, set_at_us, provider_ref, text, lease,"
        " lease_until_us FROM marks WHERE until_us > ?",
        (oldest,),
    ).fetchall()
    seen = connection.execute(
        "SELECT pool, credential_id, model, seen_at_us, dims, provider_ref FROM headroom WHERE seen_at_us > ?",
        (oldest,),
    ).fetchall()
    return Board(filter(None, map(_row, marks)), filter(None, map(_seen, seen)))


def write_changes(connection: sqlite3.Connection, board: Board) -> None:
    """Writes what changed on ``board`` since it was settled. Call it inside a transaction."""
    for key, row in board.changed.items():
        _store(connection, "marks", key, None if row is None else _row_values(row))
    for key, seen in board.changed_seen.items():
        values = None if seen is None else (_us(seen.seen_at), seen.dims, seen.provider_ref)
        _store(connection, "headroom", key, values)


def purge(connection: sqlite3.Connection, now: datetime) -> None:
    """Deletes what :func:`read_board` no longer reads. Call it inside a transaction."""
    oldest = (_us(now - MAX_AHEAD),)
    connection.execute("DELETE FROM marks WHERE until_us <= ?", oldest)
    connection.execute("DELETE FROM headroom WHERE seen_at_us <= ?", oldest)


def _store(connection: sqlite3.Connection, table: str, key: MarkKey, values: tuple[Any, ...] | None) -> None:
    place = (key.pool, key.credential_id, key.model or "")
    if values is None:
        where = "pool = ? AND credential_id = ? AND model = ?"
        connection.execute(f"DELETE FROM {table} WHERE {where}", place)  # noqa: S608 (our own table names)
        return
    fields = list(_TABLES[table])
    marks = ", ".join("?" * (len(_KEY) + len(fields)))
    sets = ", ".join(f"{name} = excluded.{name}" for name in fields)
    connection.execute(
        f"INSERT INTO {table} ({', '.join((*_KEY, *fields))}) VALUES ({marks})"  # noqa: S608 (our own names)
        f" ON CONFLICT (pool, credential_id, model) DO UPDATE SET {sets}",
        (*place, *values),
    )


def _us(instant: datetime) -> int:
    return (instant - _EPOCH) // _US


def _at(us: int) -> datetime:
    return _EPOCH + us * _US


def _key(values: tuple[Any, ...]) -> MarkKey:
    pool, credential_id, model = (str(value) for value in values[:3])
    return MarkKey(pool=pool, credential_id=credential_id, model=model or None)


def _row_values(row: Row) -> tuple[Any, ...]:
    mark = row.mark
    lease_until = None if row.lease_until is None else _us(row.lease_until)
    return (
        _us(mark.until), mark.provenance, mark.reason, _us(mark.set_at), mark.provider_ref, mark.text, row.lease,
        lease_until,
    )  # fmt: skip


def _row(values: tuple[Any, ...]) -> Row | None:
    """A row as stored, or ``None`` when it cannot be understood: a broken mark must not break a call."""
    try:
        _, _, _, until, provenance, reason, set_at, ref, text, lease, lease_until = values
        mark = Mark(
            key=_key(values),
            until=_at(until),
            provenance=cast("ResetSource", provenance if provenance in get_args(ResetSource) else "guessed"),
            reason=cast("Reason", reason if reason in get_args(Reason) else "minute_limit"),
            set_at=_at(set_at),
            provider_ref=str(ref),
            text=str(text),
        )
        return Row(mark=mark, lease=str(lease), lease_until=None if lease_until is None else _at(lease_until))
    except (TypeError, ValueError, OverflowError):
        return None


def _seen(values: tuple[Any, ...]) -> Seen | None:
    try:
        _, _, _, seen_at, dims, ref = values
        return Seen(key=_key(values), seen_at=_at(seen_at), dims=str(dims), provider_ref=str(ref))
    except (TypeError, ValueError, OverflowError):
        return None
