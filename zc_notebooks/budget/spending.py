"""What all processes of the machine spend, and the one place where money is set aside.

Reservations are made under the file's one write lock (``BEGIN IMMEDIATE``), so any number of processes at one budget
never set aside more than there is. A file that cannot be used makes nothing free: whoever asks is told
:class:`Unusable`, and what an attempt cost is written as soon as the file takes it; until then its reservation counts.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, TypeVar

from zc_notebooks import forks, shared_file
from zc_notebooks.budget import spend_file
from zc_notebooks.budget.spend_file import Reservation, Settled, Sums
from zc_notebooks.clock import Clock
from zc_notebooks.complaint import Complaint
from zc_notebooks.records import Record

T = TypeVar("T")
PeriodName = Literal["day", "month"]
PATIENCE_S: Final = 2.0
"""How long to wait for another process: longer than for marks, because giving up refuses a call its money."""
_FILE_ERRORS: Final = (sqlite3.Error, OSError, ValueError)
_MAX_PENDING: Final = 1000


class BudgetWarning(UserWarning):
    """The spend file cannot be used as it should; says which file and why."""


class Unusable(Exception):
    """What was spent cannot be read or written; the text says which file and why."""


class PeriodLimits(Record, frozen=True, kw_only=True):
    """What may be spent in the day and in the month, in nano-dollars; ``None`` is no limit."""

    day: int | None = None
    month: int | None = None

    @property
    def any(self) -> bool:
        """Whether a period has a limit."""
        return self.day is not None or self.month is not None


class Shortage(Record, frozen=True, kw_only=True):
    """A period has not enough left."""

    period: PeriodName
    left: int
    """Nano-dollars; never negative."""


class Spending:
    """The shared purse. ``path=None`` keeps it in this process's memory. Nothing is opened before it is first used.

    Thread-safe and fork-safe.
    """

    def __init__(self, path: Path | None, *, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity = shared_file.Identity(main=None, log=None)
        self._pending: deque[Settled] = deque(maxlen=_MAX_PENDING)
        self._complaint = Complaint(BudgetWarning)
        forks.register(self)

    def sums(self) -> tuple[Sums, Sums]:
        """The UTC day and month of now. Raises :class:`Unusable`."""
        return self._use(lambda connection: spend_file.sums(connection, self._day()))

    def short(self, nano: int, limits: PeriodLimits) -> Shortage | None:
        """The period that has not ``nano`` left, or ``None``. Sets nothing aside. Raises :class:`Unusable`."""
        return _shortage(self.sums(), nano, limits)

    def reserve(self, nano: int, limits: PeriodLimits, *, complete: bool = True) -> Reservation | Shortage:
        """Sets ``nano`` aside, over all processes one at a time. Raises :class:`Unusable`.

        ``complete``: the attempt cannot cost more than this.
        """
        reservation = Reservation(token=secrets.token_hex(12), day=self._day(), nano=nano, complete=complete)

        def act(connection: sqlite3.Connection) -> Reservation | Shortage:
            short = _shortage(spend_file.sums(connection, reservation.day), nano, limits)
            if short is None:
                spend_file.reserve(connection, reservation)
            return short or reservation

        return self._use(lambda connection: self._locked(connection, act))

    def settle(self, reservation: Reservation, nano: int | None) -> None:
        """Puts the attempt's cost in the place of its reservation; an unknown one (``None``) keeps all of it.

        Never raises because of the file: the reservation counts until this can be written.
        """
        at_least = nano is None and not reservation.complete
        settled = Settled(reservation=reservation, nano=reservation.nano if nano is None else nano, at_least=at_least)
        with self._lock:
            self._pending.append(settled)
        try:
            self._use(lambda connection: self._locked(connection, lambda _: None))
        except Unusable as error:
            self._say(f"{error}; until then the highest possible cost of what was asked stays counted")
        self._complaint.warn()

    def close(self) -> None:
        """Closes the file; it is opened again when it is needed. What was in memory alone is gone."""
        with self._lock:
            self._disconnect()

    def _day(self) -> str:
        return self._clock.now().astimezone(UTC).date().isoformat()

    # -- the file -----------------------------------------------------------------------------------------------------

    def _use(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Does ``act`` with the open file. ``act`` must be safe to repeat: others may hold the file for a moment."""
        with self._lock:
            try:
                connection = self._connected()
                return shared_file.patiently(lambda: act(connection), for_s=PATIENCE_S)
            except _FILE_ERRORS as error:
                if not shared_file.is_busy(error):
                    self._let_go()
                fix = "close what holds" if shared_file.is_busy(error) else "mend or delete"
                raise Unusable(f"the spend file cannot be used ({error}): {fix} {self.path}") from error

    def _locked(self, connection: sqlite3.Connection, act: Callable[[sqlite3.Connection], T]) -> T:
        """``act`` in one transaction, after everything that waits to be written."""
        waiting = tuple(self._pending)
        with shared_file.transaction(connection, briefly=True):
            for settled in waiting:
                spend_file.settle(connection, settled)
            result = act(connection)
            spend_file.purge(connection, self._day())
        for _ in waiting:
            self._pending.popleft()
        return result

    def _connected(self) -> sqlite3.Connection:
        """The connection to what stands at the path now."""
        if self.path is not None and self._connection is not None:
            was = self._identity
            if shared_file.identity(self.path) != was:
                self._disconnect()
                shared_file.drop_orphans(self.path, was)
                self._moved(self.path, was)
        if self._connection is None:
            self._connection = spend_file.open_spend(self.path)
            if self.path is not None:
                self._identity = shared_file.identity(self.path)
        return self._connection

    def _moved(self, path: Path, was: shared_file.Identity) -> None:
        if shared_file.identity(path).main != was.main:
            self._say(f"{path} was removed or replaced while in use; what was spent before no longer counts")

    def _let_go(self) -> None:
        """Closes a file; memory has no second copy."""
        if self.path is not None:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _say(self, why: str) -> None:
        self._complaint.say(f"budget: {why}")

    def before_fork(self) -> None:
        """Nobody is inside, and no file is open, while the process forks."""
        self._lock.acquire()
        self._let_go()

    def after_fork(self, *, child: bool) -> None:
        """Undoes :meth:`before_fork`; what waits to be written is the parent's."""
        if child:
            self._lock = threading.RLock()
            self._pending.clear()
        else:
            self._lock.release()


def _shortage(now: tuple[Sums, Sums], nano: int, limits: PeriodLimits) -> Shortage | None:
    """The tightest period that has not enough left."""
    found: list[Shortage] = []
    names: tuple[PeriodName, ...] = ("day", "month")
    for name, sums, most in zip(names, now, (limits.day, limits.month), strict=True):
        left = None if most is None else most - sums.spent - sums.reserved
        if nano and left is not None and nano > left:
            found.append(Shortage(period=name, left=max(left, 0)))
    return min(found, key=lambda short: short.left, default=None)


def fresh_at(period: PeriodName, now: datetime) -> datetime:
    """When the period that ``now`` lies in is over: UTC midnight, or that of the month's last day."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "day":
        return today + timedelta(days=1)
    return (today.replace(day=28) + timedelta(days=4)).replace(day=1)
