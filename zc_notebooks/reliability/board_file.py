"""The marks file: schema, reading and writing of one SQLite database. Errors go up; the store deals with them.

Marks are worth less than a disk flush per failure (see :mod:`zc_notebooks.shared_file`). The schema only grows: a
missing column is added, an unknown one is left alone, so older and newer versions of this package share one file.
"""

from __future__ import annotations

import secrets
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast, get_args

from zc_notebooks.records import Mark, MarkKey, Reason, ResetSource
from zc_notebooks.reliability.board import Board, Seen
from zc_notebooks.reliability.mark_rules import MAX_AHEAD, Row
from zc_notebooks.shared_file import ForeignFile, claim, one, open_file, transaction, use_log

APPLICATION_ID: Final = 0x7A636D6B  # "zcmk"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)
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


def open_board(path: Path, *, briefly: bool = False) -> sqlite3.Connection:
    """A connection to a marks file, made when absent (see :func:`~zc_notebooks.shared_file.open_file`)."""
    return open_file(path, lambda connection: _prepare(connection, briefly=briefly), briefly=briefly)


def _prepare(connection: sqlite3.Connection, *, briefly: bool) -> None:
    mine = claim(connection, APPLICATION_ID)
    for table in _TABLES:
        columns = _columns(connection, table)
        if columns and not columns.issuperset(_KEY):
            raise ForeignFile(f"its table {table} is not the one this program writes")
    use_log(connection)
    if not mine or _missing(connection):
        _make_tables(connection, briefly=briefly)


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()}


def _missing(connection: sqlite3.Connection) -> bool:
    return any(not {*_KEY, *fields} <= _columns(connection, table) for table, fields in _TABLES.items())


def _make_tables(connection: sqlite3.Connection, *, briefly: bool) -> None:
    with transaction(connection, briefly=briefly):
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


def file_id(connection: sqlite3.Connection) -> int:
    """A random number given to a file when it is made: inode numbers come again, this does not."""
    return cast("int", one(connection, "PRAGMA user_version"))


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
