"""One board for all processes of the user: a snapshot in memory, kept true to one SQLite file while that is possible.

Every read asks ``PRAGMA data_version`` (3 µs), so a mark of another process is seen by the very next call. Whatever is
wrong with the file costs one :class:`MarksWarning` and never an exception: the snapshot goes on in memory, every edit
is kept, and when the file can be used again the edits are made on it too. SQLite connections and POSIX locks do not
survive a fork, so the connection is closed before one and each side opens its own.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from zc_notebooks import forks, shared_file
from zc_notebooks.clock import Clock
from zc_notebooks.complaint import Complaint
from zc_notebooks.records import MarkKey
from zc_notebooks.reliability import board_file
from zc_notebooks.reliability.board import Board, Seen
from zc_notebooks.reliability.mark_rules import Row

T = TypeVar("T")
Edit = Callable[[Board], object]
"""A change of the board. It may be made again on a newer board, so it must give the same end when repeated."""

_FILE_ERRORS: Final = (sqlite3.Error, OSError, ValueError)
_CHECK_S: Final = 0.25
"""How often a read looks whether the file at the path is still the one that is open. A write always looks."""
_BUSY_RETRY_S: Final = 1.0
_BROKEN_RETRY_S: Final = 5.0
_MAX_PENDING: Final = 1000


class MarksWarning(UserWarning):
    """The marks file cannot be used as it should; says which file, why, and what to do."""


class BoardStore:
    """The board behind :class:`~zc_notebooks.reliability.cooldown.Marks`. Thread-safe and fork-safe.

    ``path=None`` keeps everything in this process's memory.
    """

    def __init__(self, path: Path | None, *, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._board = Board()
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity = shared_file.Identity(main=None, log=None)
        self._file_id = 0
        self._version = -1
        self._purged = False
        self._was_busy = False
        self._check_at = self._retry_at = float("-inf")
        self._pending: deque[Edit] = deque(maxlen=_MAX_PENDING)
        self._kept: tuple[Row, ...] = ()
        self._unwritten: dict[MarkKey, Seen] = {}
        self._complaint = Complaint(MarksWarning)
        forks.register(self)

    @property
    def shared(self) -> bool:
        """Whether other processes see what is set here."""
        return self._connection is not None and not self._waiting

    @property
    def _waiting(self) -> bool:
        """Whether something is to be written as soon as the file takes it."""
        return bool(self._pending or self._kept)

    def board(self) -> Board:
        """The board as it is now. Only to be read; iterate over :meth:`rows` instead."""
        if self.path is not None:
            with self._lock:
                self._refresh(self._clock.monotonic())
            self._complaint.warn()
        return self._board

    def rows(self) -> tuple[Row, ...]:
        """All rows, ended ones included."""
        self.board()
        with self._lock:
            return tuple(self._board)

    def seen(self) -> tuple[Seen, ...]:
        """All statements of headroom."""
        self.board()
        with self._lock:
            return tuple(self._board.seen.values())

    def change(self, edit: Callable[[Board], T]) -> T:
        """Makes ``edit`` on the newest board, over all processes one at a time, and returns what it returns.

        Once this returns, the change is in the file, or one warning has said that it is in memory only.
        """
        with self._lock:
            result = self._change(edit)
        self._complaint.warn()
        return result

    def note(self, seen: Seen, *, write: bool) -> None:
        """Keeps a statement of headroom: at once in memory, in the file now or with the next :meth:`flush`."""
        if write or self.path is None:
            self.change(lambda board: board.note(seen))
            return
        with self._lock:
            self._unwritten[seen.key] = seen
            self._board.note(seen)
            self._board.settle()

    def forget(self, keys: Iterable[MarkKey]) -> None:
        """Drops what was stated for these keys."""
        gone = tuple(keys)

        def edit(board: Board) -> None:
            for key in gone:
                board.forget(key)

        with self._lock:
            for key in gone:
                self._unwritten.pop(key, None)
        if gone:
            self.change(edit)

    def flush(self) -> None:
        """Writes what :meth:`note` kept back."""

        def edit(board: Board) -> None:
            for seen in waiting:
                board.note(seen)

        with self._lock:
            waiting = tuple(self._unwritten.values())
            self._unwritten.clear()
        if waiting and self.path is not None:
            self.change(edit)

    def close(self) -> None:
        """Writes what is waiting and closes the file. The store can still be used; it opens the file again."""
        with suppress(MarksWarning):
            self.flush()
        with self._lock:
            self._disconnect()

    def _refresh(self, tick: float) -> None:
        """Makes the snapshot what the file holds now."""
        if tick < self._retry_at:
            return
        if self._connection is None or tick >= self._check_at:
            self._check_file(tick)
        if self._connection is None:
            return
        try:
            if self._waiting:
                self._begin()
                self._commit()
            else:
                shared_file.patiently(self._follow, briefly=self._was_busy)
            self._was_busy = False
        except _FILE_ERRORS as error:
            self._failed(error, tick)

    def _follow(self) -> None:
        """Reads the file again if anybody else has written."""
        assert self._connection is not None  # noqa: S101 (its caller has looked)
        if shared_file.data_version(self._connection) != self._version:
            self._load()

    def _change(self, edit: Callable[[Board], T]) -> T:
        tick = self._clock.monotonic()
        if self.path is None:
            result = edit(self._board)
            self._board.settle()
            return result
        if tick >= self._retry_at:
            self._check_file(tick)
        if self._connection is None or tick < self._retry_at:
            return self._in_memory(edit)
        made = False
        try:
            self._begin()
            result, made = edit(self._board), True
            self._commit()
        except _FILE_ERRORS as error:
            self._failed(error, tick)
            if not made:
                return self._in_memory(edit)
            self._pending.append(edit)
        except BaseException:
            self._rollback()
            raise
        return result

    def _in_memory(self, edit: Callable[[Board], T]) -> T:
        result = edit(self._board)
        self._board.settle()
        self._pending.append(edit)
        return result

    def _begin(self) -> None:
        """Takes the one write lock and brings the snapshot up to date under it, edits that wait included."""
        assert self._connection is not None  # noqa: S101 (both callers have looked)
        shared_file.begin(self._connection, briefly=self._was_busy)
        if self._waiting:
            self._load()
        else:
            self._follow()

    def _commit(self) -> None:
        assert self._connection is not None  # noqa: S101 (see _begin)
        board_file.write_changes(self._connection, self._board)
        if not self._purged:
            board_file.purge(self._connection, self._clock.now())
        self._connection.execute("COMMIT")
        self._purged, self._was_busy = True, False
        self._board.settle()
        self._pending.clear()
        self._kept = ()

    def _load(self) -> None:
        assert self._connection is not None  # noqa: S101 (see _begin)
        version = shared_file.data_version(self._connection)
        board = board_file.read_board(self._connection, self._clock.now())
        for row in self._kept:
            old = board.get(row.mark.key)
            if old is None or old.mark.set_at < row.mark.set_at:
                board.put(row)
        for edit in self._pending:
            edit(board)
        for seen in self._unwritten.values():
            stored = board.seen.get(seen.key)
            if stored is None or stored.seen_at <= seen.seen_at:
                board.seen[seen.key] = seen
        self._board, self._version = board, version

    def _check_file(self, tick: float) -> None:
        """Opens the file if it is not open, or again if another one has taken its place."""
        assert self.path is not None  # noqa: S101 (both callers have looked)
        self._check_at = tick + _CHECK_S
        moved = self._connection is not None and shared_file.identity(self.path) != self._identity
        if moved:
            self._disconnect()
            shared_file.drop_orphans(self.path, self._identity)
        if self._connection is None:
            try:
                self._open(self.path, moved=moved)
            except _FILE_ERRORS as error:
                self._failed(error, tick)

    def _open(self, path: Path, *, moved: bool) -> None:
        """Opens what is at ``path``. If that is not the file used before, the marks of the snapshot go into it."""
        self._connection = board_file.open_board(path, briefly=self._was_busy)
        before, self._file_id = self._file_id, board_file.file_id(self._connection)
        self._identity = shared_file.identity(path)
        self._purged = False
        if before and (moved or before != self._file_id):
            self._kept = tuple(self._board)
            self._say("it was removed or replaced while in use; the marks known here were written again")
        self._load()

    def _failed(self, error: Exception, tick: float) -> None:
        self._rollback()
        busy = self._was_busy = shared_file.is_busy(error)
        if busy and self._connection is not None:
            self._retry_at = tick + _BUSY_RETRY_S
        else:
            self._disconnect()
            self._retry_at = tick + _BROKEN_RETRY_S
        fix = "close what holds it" if busy else "mend or delete the file"
        self._say(f"{error}; they are kept in the memory of this process alone: {fix} to share them again")

    def _rollback(self) -> None:
        """Ends a transaction that will not be committed; the snapshot is read again next time."""
        self._version = -1
        if self._connection is not None:
            shared_file.roll_back(self._connection)

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection, self._version = None, -1

    def _say(self, why: str) -> None:
        self._complaint.say(f"cooldown marks at {self.path}: {why}")

    def before_fork(self) -> None:
        """Nobody is inside, and no connection is open, while the process forks."""
        self._lock.acquire()
        self._disconnect()

    def after_fork(self, *, child: bool) -> None:
        """Undoes :meth:`before_fork`; a child starts with its own lock and leaves its parent's notes to the parent."""
        if child:
            self._lock = threading.RLock()
            self._unwritten.clear()
        else:
            self._lock.release()
