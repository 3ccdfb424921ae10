"""Writing the ledger: one file per process, one ``write`` per row, and no failure that reaches the caller.

Nothing is buffered: when :meth:`LedgerWriter.write` has returned ``True`` the row is with the operating system and
outlives ``kill -9``; ``durability="fsync"`` makes it outlive a power cut too. See :mod:`zc_notebooks.ledger.segments`
for the files' names and when one is sealed.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
import time
import weakref
from datetime import UTC, date
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from zc_notebooks.clock import Clock
from zc_notebooks.complaint import warn
from zc_notebooks.ledger.row import AttemptRow, encode
from zc_notebooks.ledger.segments import hold, new_name
from zc_notebooks.ledger.steps import sync_folder
from zc_notebooks.markup import counted
from zc_notebooks.redact import redact

_DAY_S: Final = 86_400
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_NAMED_CALLS: Final = 20

_log = logging.getLogger(__name__)
_writers: weakref.WeakSet[LedgerWriter] = weakref.WeakSet()


class LedgerWarning(UserWarning):
    """Rows could not be written. The message names them; the call they belong to went on."""


class LedgerWriter:
    """Appends rows to a ledger folder. Safe to share between threads and across ``fork``.

    Args:
        folder: Created with the first row, and again if it was removed.
        durability: ``os`` hands each row to the operating system, ``fsync`` waits for the disk (milliseconds).
        clock: Whose UTC date names the files; the system's by default.
        gather: Leave the warning about lost rows to :meth:`report`, so that one warning can name every row of a call.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        durability: Literal["os", "fsync"] = "os",
        clock: Clock | None = None,
        gather: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self._place = self.folder.expanduser().absolute()  # a later change of directory moves no rows
        self._fsync = durability == "fsync"
        self._clock = clock
        self._gather = gather
        self._losses = _Losses(self.folder)
        self._start()
        _writers.add(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._fd = -1
        self._inode = (0, 0)
        self._path: Path | None = None
        self._day = 0

    def write(self, row: AttemptRow) -> bool:
        """Appends one row; ``False`` when it could not be written. Never raises.

        The first row lost gives one :class:`LedgerWarning`; every later row is tried again.
        """
        with self._lock:
            try:
                self._append(_encoded(row))
            except Exception as problem:  # noqa: BLE001 (a ledger that fails must never fail the call)
                self._losses.add(row, problem)
            else:
                return True
        if not self._gather:
            self.report()
        return False

    def report(self) -> None:
        """Warns about the rows lost so far, unless a warning was already given (the rest is named at the end)."""
        self._losses.warn(first_only=True)

    def close(self) -> None:
        """Closes the file and warns about lost rows not named yet. A later row opens a new file."""
        with self._lock:
            self._drop()
        self._losses.warn(first_only=False)

    def __del__(self) -> None:
        """Nobody closes the chain of a cell that is run again."""
        if hasattr(self, "_fd"):
            self.close()

    @property
    def lost(self) -> int:
        """How many rows this process could not write."""
        return self._losses.count

    @property
    def trouble(self) -> str:
        """Why the last lost row was lost, in the system's words; empty when none was."""
        return self._losses.why

    def __repr__(self) -> str:
        return (
            f"LedgerWriter({self.folder.name}, {self.lost} lost)" if self.lost else f"LedgerWriter({self.folder.name})"
        )

    def _append(self, line: bytes) -> None:
        day = self._today()
        if self._fd < 0 or day > self._day or not self._still_ours():
            self._open(day)
        try:
            _put(self._fd, line)
            if self._fsync:
                os.fsync(self._fd)
        except OSError as problem:
            if problem.errno not in _FULL or isinstance(problem, _Torn):
                self._drop()
            raise

    def _today(self) -> int:
        """Days since 1970, UTC. A clock that jumps back leaves the file of the later day in use."""
        if self._clock is None:
            return int(time.time() // _DAY_S)
        return self._clock.now().astimezone(UTC).toordinal() - _EPOCH_DAY

    def _still_ours(self) -> bool:
        """Whether the descriptor is our file and that file still has a name (0.6 µs; a removed folder is noticed)."""
        try:
            stat = os.fstat(self._fd)
        except OSError:
            self._fd = -1
            return False
        if (stat.st_dev, stat.st_ino) != self._inode:
            self._fd = -1  # somebody closed our descriptor and the number is another file's now: leave that open
            return False
        return stat.st_nlink > 0

    def _open(self, day: int) -> None:
        self._drop()
        path = self._place / new_name(date.fromordinal(_EPOCH_DAY + day))
        try:
            fd = os.open(path, _FLAGS, 0o600)
        except FileNotFoundError:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(path, _FLAGS, 0o600)
        hold(fd)
        stat = os.fstat(fd)
        if stat.st_nlink == 0:  # tidied away as a dead writer's before it was held
            os.close(fd)
            self._open(day)
            return
        self._fd, self._path, self._day, self._inode = fd, path, day, (stat.st_dev, stat.st_ino)
        if self._fsync:
            sync_folder(self._place)

    def _drop(self) -> None:
        """Lets the file go; one that never got a row is removed."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        with contextlib.suppress(OSError):
            if os.fstat(fd).st_size == 0 and self._path is not None:
                self._path.unlink()
        with contextlib.suppress(OSError):
            os.close(fd)

    def _forked(self) -> None:
        """In the child: leave the parent's file to the parent, whatever state its lock was copied in."""
        fd = self._fd
        self._start()
        self._losses = _Losses(self.folder)
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)


class _Torn(OSError):
    """A part of a row stands in the file and could not be taken back: the file is left to the reader as it is."""


class _Losses:
    """Rows that could not be written, by call, until somebody was told."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._folder = folder
        self._lock = threading.Lock()
        self._untold: dict[str, list[int]] = {}
        self._untold_rows = 0
        self.why = ""
        self._told = False

    def add(self, row: AttemptRow, problem: Exception) -> None:
        with self._lock:
            self.count += 1
            self._untold_rows += 1
            self.why = (problem.strerror if isinstance(problem, OSError) else None) or type(problem).__name__
            call = str(getattr(row, "call_id", "?"))
            if call in self._untold or len(self._untold) <= _NAMED_CALLS:
                self._untold.setdefault(call, []).append(getattr(row, "ordinal", -1))

    def warn(self, *, first_only: bool) -> None:
        with self._lock:
            if not self._untold_rows or (first_only and self._told):
                return
            text = self._text()
            self._untold, self._untold_rows, self._told = {}, 0, True
        try:
            warn(text, LedgerWarning)
        except LedgerWarning:  # the caller turns warnings into errors; a lost row still must not end the call
            _log.error(text)

    def _text(self) -> str:
        rows = counted(self._untold_rows, "more row" if self._told else "row")
        named = list(self._untold.items())[:_NAMED_CALLS]
        calls = "; ".join(f"call {call}, {_numbers(ordinals)}" for call, ordinals in named)
        calls += "; and others" if sum(len(ordinals) for _, ordinals in named) < self._untold_rows else ""
        where = f"the ledger {self._folder} ({self.why})"
        return redact(
            f"{rows} could not be written to {where}: {calls}. "
            "The call itself is not affected; later rows are tried again."
        )


def _numbers(ordinals: list[int]) -> str:
    word = "row" if len(ordinals) == 1 else "rows"
    shown = ", ".join(str(number) for number in ordinals[:_NAMED_CALLS])
    return f"{word} {shown}, …" if len(ordinals) > _NAMED_CALLS else f"{word} {shown}"


def _encoded(row: AttemptRow) -> bytes:
    try:
        return encode(row)
    except UnicodeEncodeError:  # half a surrogate pair from a provider's JSON, which UTF-8 cannot carry
        return msgspec.json.encode({name: _clean(value) for name, value in msgspec.structs.asdict(row).items()}) + b"\n"


def _clean(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _put(fd: int, line: bytes) -> None:
    """One ``write``. What a short one leaves is finished, or else taken back, so that no torn line stays."""
    done = os.write(fd, line)
    if done == len(line):
        return
    try:
        while done < len(line):
            done += os.write(fd, line[done:])
    except OSError as problem:
        try:
            os.ftruncate(fd, os.lseek(fd, 0, os.SEEK_END) - done)
        except OSError:
            raise _Torn(problem.errno, problem.strerror) from problem
        raise


def _after_fork() -> None:
    for writer in list(_writers):
        writer._forked()  # noqa: SLF001 (same module)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
