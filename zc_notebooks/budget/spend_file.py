"""The spend file: what each UTC day cost and what is reserved now, in one SQLite database. Errors go up.

A month is the sum of its days. A reservation counts for the day it was made on until its attempt's row settles it; one
whose process died stays counted until that day, and that month, are over.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from zc_notebooks.budget.amounts import MOST
from zc_notebooks.records import Record
from zc_notebooks.shared_file import claim, connect, open_file, transaction, use_log

APPLICATION_ID: Final = 0x7A636D24  # "zcm$"
KEPT: Final = 62
"""Days on record that are never deleted: two months."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS days (
    day TEXT PRIMARY KEY, spent INTEGER NOT NULL DEFAULT 0, unknown INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reserved (
    token TEXT PRIMARY KEY, day TEXT NOT NULL, amount INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
"""
_SUMS: Final = """
SELECT (SELECT total(spent) FROM days WHERE day = :day), (SELECT total(amount) FROM reserved WHERE day = :day),
    (SELECT total(unknown) FROM days WHERE day = :day),
    (SELECT total(spent) FROM days WHERE substr(day, 1, 7) = :month),
    (SELECT total(amount) FROM reserved WHERE substr(day, 1, 7) = :month),
    (SELECT total(unknown) FROM days WHERE substr(day, 1, 7) = :month)
""".replace("total(", "coalesce(sum(").replace(") FROM", "), 0) FROM")


class Reservation(Record, frozen=True, kw_only=True):
    """Money set aside for one attempt."""

    token: str
    day: str
    """The UTC day it counts for, ``2026-09-01``."""
    nano: int
    complete: bool = True
    """``False``: a part of the highest cost is not known, so the attempt may cost more than this."""


class Settled(Record, frozen=True, kw_only=True):
    """What a reservation came to."""

    reservation: Reservation
    nano: int
    at_least: bool
    """The attempt's cost is not known and may be more than :attr:`nano`."""


class Sums(NamedTuple):
    """One period, in nano-dollars."""

    spent: int
    reserved: int
    unknown: int
    """Attempts that may have cost more than was counted."""


def open_spend(path: Path | None) -> sqlite3.Connection:
    """A connection to the file, made when absent, readable by its owner only; ``None`` is memory.

    Raises:
        OSError: the folder or file cannot be made.
        sqlite3.Error: the file is no database, somebody else's, broken, or locked.
    """
    if path is not None:
        _make(path)
        return open_file(path, _prepare)
    connection = connect(":memory:")
    connection.executescript(_TABLES)
    return connection


def _make(path: Path) -> None:
    """The file with its tables, in one step: one that is there and empty was cut off, and what was spent with it."""
    if path.exists():
        if path.stat().st_size == 0:
            raise sqlite3.DatabaseError("it is empty, so what was spent is not known; delete it to count anew")
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        connection = connect(name)
        try:
            _prepare(connection)
        finally:
            connection.close()
        with suppress(OSError):  # another process was first, or files cannot be linked here: then it is made in place
            os.link(name, path)
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(name + suffix).unlink(missing_ok=True)


def _prepare(connection: sqlite3.Connection) -> None:
    mine = claim(connection, APPLICATION_ID)
    use_log(connection)
    if mine:
        return
    with transaction(connection):
        for statement in _TABLES.split(";")[:-1]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")


def sums(connection: sqlite3.Connection, day: str) -> tuple[Sums, Sums]:
    """The day and its month, of one moment. Raises :class:`ValueError` when what stands there makes no sense."""
    values = connection.execute(_SUMS, {"day": day, "month": day[:7]}).fetchall()[0]
    if any(not isinstance(value, int) or value < 0 for value in values):
        raise ValueError("its amounts make no sense")
    return Sums(*values[:3]), Sums(*values[3:])


def reserve(connection: sqlite3.Connection, reservation: Reservation) -> None:
    """Sets the money aside. Call it inside a transaction that has looked at :func:`sums`."""
    values = (reservation.token, reservation.day, reservation.nano)
    connection.execute("INSERT INTO reserved (token, day, amount) VALUES (?, ?, ?)", values)


def settle(connection: sqlite3.Connection, settled: Settled) -> None:
    """Puts what an attempt came to in the place of its reservation. Call it inside a transaction."""
    connection.execute("DELETE FROM reserved WHERE token = ?", (settled.reservation.token,))
    connection.execute(
        "INSERT INTO days (day, spent, unknown) VALUES (?, ?, ?) ON CONFLICT (day) DO UPDATE"
        " SET spent = min(spent + excluded.spent, ?), unknown = unknown + excluded.unknown",
        (settled.reservation.day, settled.nano, int(settled.at_least), MOST),
    )


def purge(connection: sqlite3.Connection, day: str) -> None:
    """Deletes what no period counts any more: before the month before, and before the last :data:`KEPT` days on record.

    So a clock that is years ahead for a moment makes nobody forget what this month cost. Call it inside a transaction.
    """
    oldest = (date.fromisoformat(day).replace(day=1) - timedelta(days=1)).replace(day=1).isoformat()
    last = "SELECT min(day) FROM (SELECT day FROM days ORDER BY day DESC LIMIT ?)"
    first = min(oldest, connection.execute(last, (KEPT,)).fetchone()[0] or oldest)
    connection.execute("DELETE FROM days WHERE day < ?", (first,))
    connection.execute("DELETE FROM reserved WHERE day < ?", (first,))
