"""The cooldown board: "do not use until" marks that notebooks and scripts of the machine share (spec 7).

Look at a variant's key before an attempt, set a mark from the verdict when the walk leaves a variant because of a
limit, tell successes. Where a mark has ended, :meth:`Marks.acquire` lets one caller of all processes through.
"""

from __future__ import annotations

import asyncio
import secrets
import weakref
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from msgspec.structs import replace

from zc_notebooks.clock import Clock
from zc_notebooks.records import Mark, MarkKey, Record, Variant, Verdict
from zc_notebooks.reliability.board import Board
from zc_notebooks.reliability.board_store import BoardStore, MarksWarning
from zc_notebooks.reliability.headroom import HeadroomStore, disproved, stated_mark
from zc_notebooks.reliability.mark_rules import (
    LEASE,
    MAX_AHEAD,
    OPEN,
    Gate,
    Row,
    covering,
    covers,
    gate_of,
    mark_from,
    may_lease,
)

__all__ = ["OPEN", "Gate", "Lease", "Marks", "MarksWarning"]

Outcome = Literal["success", "limit", "other"]
POLL_S: Final = 0.05
"""How often a waiting caller looks whether another process's probe is decided."""


class Lease(Record, frozen=True, kw_only=True):
    """The right to make one attempt on a closed entry, until :attr:`until` at the latest."""

    key: MarkKey
    token: str
    until: datetime
    marks: tuple[Mark, ...]
    """The marks it holds, as they were when it was taken."""


class Marks:
    """The board. ``path=None`` keeps it in this process's memory; a file is shared by every process of the user.

    Thread-safe, fork-safe, usable from any event loop. Nothing here raises because of the file: whatever is wrong with
    it costs one :class:`MarksWarning`, and marks go on in memory (see :mod:`zc_notebooks.reliability.board_store`).
    The file holds credential ids, never any part of a key.

    Args:
        path: the SQLite file; made when absent, readable by its owner only.
        clock: wall clock (aware UTC) and sleep.
        guess_s: seconds of a mark whose end nobody stated.
        period_guess_s: the same for a quota of five hours or longer.
    """

    def __init__(
        self, path: Path | None, *, clock: Clock, guess_s: float = 10.0, period_guess_s: float = 3600.0
    ) -> None:
        self._clock = clock
        self._guess_s = guess_s
        self._period_guess_s = period_guess_s
        self._store = BoardStore(path, clock=clock)
        self.headroom = HeadroomStore(self._store, clock=clock)
        """What providers stated is left, see :class:`~zc_notebooks.reliability.headroom.HeadroomStore`."""
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()
        weakref.finalize(self, self._store.close)

    def guess(self, guess_s: float, period_guess_s: float) -> None:
        """Sets the lengths of marks made from now on whose end nobody states (see the constructor)."""
        self._guess_s, self._period_guess_s = guess_s, period_guess_s

    # -- before an attempt ------------------------------------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        """Nothing is on the board, so that every gate is open."""
        return self._store.board().quiet

    def look(self, key: MarkKey) -> Gate:
        """The gate of a variant's own key. A mark that another process has set counts from its commit on."""
        board = self._store.board()
        if board.quiet:
            return OPEN
        now = self._clock.now()
        rows = board.under(key.pool, key.credential_id)
        if rows:
            rows = self._within_reach(rows, now)
        gate = gate_of(rows, key.model, now)
        stated = stated_mark(board.seen, key, now) if board.seen else None
        if stated is None or (gate.mark is not None and gate.mark.until >= stated.until) or gate.state == "held":
            return gate
        return Gate(state="cooling", mark=stated, lease_until=gate.lease_until)

    def acquire(self, key: MarkKey) -> Lease | None:
        """Takes the one probe of an ended mark, or of a live one that is only guessed (last resort, spec 7.3).

        ``None``: somebody else holds it, a stated or inferred mark is live, or the gate is open by now: look again.
        """
        now, board = self._clock.now(), self._store.board()
        if not board.under(key.pool, key.credential_id) or stated_mark(board.seen, key, now) is not None:
            return None
        token = secrets.token_hex(8)

        def edit(board: Board) -> tuple[Mark, ...]:
            rows = covering(board.under(key.pool, key.credential_id), key.model, now)
            if not may_lease(rows, now):
                return ()
            for row in rows:
                board.put(Row(mark=row.mark, lease=token, lease_until=now + LEASE))
            return tuple(row.mark for row in rows)

        marks = self._store.change(edit)
        return Lease(key=key, token=token, until=now + LEASE, marks=marks) if marks else None

    async def wait_free(self, key: MarkKey, *, timeout_s: float) -> Gate:
        """Waits while another caller's probe of ``key`` runs, at most ``timeout_s``, and returns the gate after it.

        A holder in this process is noticed at once, one in another process within 50 ms.
        """
        end = self._clock.monotonic() + timeout_s
        while True:
            signal, ticket = self._listen()
            try:
                gate = self.look(key)
                left = end - self._clock.monotonic()
                if gate.state != "held" or left <= 0:
                    return gate
                await self._first_of(signal, min(POLL_S, left))
            finally:
                self._waiters.discard(ticket)

    # -- after an attempt -------------------------------------------------------------------------------------------

    def set_from(self, verdict: Verdict, variant: Variant, *, now: datetime) -> Mark | None:
        """Sets the mark this verdict calls for; returns the one that stands then, or ``None`` if it calls for none.

        ``now`` is the instant (aware UTC) that stated waits count from.
        """
        mark = mark_from(verdict, variant, now, guess_s=self._guess_s, period_guess_s=self._period_guess_s)
        if mark is None:
            return None
        stands = self._store.change(lambda board: board.hit(mark, now))
        self._wake()
        return stands

    def release(self, lease: Lease, outcome: Outcome) -> None:
        """Ends a probe. ``success`` deletes the marks it held; otherwise the lease is free again.

        After a limit call :meth:`set_from` first: the fresh mark replaces the ended one.
        """

        def edit(board: Board) -> None:
            for row in board.under(lease.key.pool, lease.key.credential_id):
                if row.lease != lease.token:
                    continue
                if outcome == "success" and row.mark in lease.marks:
                    board.drop(row.mark.key)
                else:
                    board.put(Row(mark=row.mark))

        self._store.change(edit)
        self._wake()

    def success(self, variant: Variant, started_at: datetime) -> int:
        """Deletes the marks that cover ``variant`` and are older than the start of its attempt; returns how many.

        A statement that nothing was left, made before that start, goes too: the success has disproved it.
        """
        key, now, board = variant.key, self._clock.now(), self._store.board()
        self.headroom.forget(disproved(board.seen, key, started_at, now))
        if not board.under(key.pool, key.credential_id):
            return 0
        return self._delete(
            lambda mark: (
                (mark.key.pool, mark.key.credential_id) == (key.pool, key.credential_id)
                and covers(mark.key.model, key.model)
                and (mark.set_at < started_at or mark.set_at > now)
            )
        )

    # -- by hand ----------------------------------------------------------------------------------------------------

    def list(self, *, ended: bool = False) -> tuple[Mark, ...]:
        """Live marks, the nearest end first, those that a stated remaining of 0 amounts to included.

        ``ended=True`` adds marks that have ended and wait for a probe.
        """
        now = self._clock.now()
        since = now - MAX_AHEAD if ended else now
        marks = [row.mark for row in self._within_reach(self._store.rows(), now) if row.mark.until > since]
        return tuple(sorted((*marks, *self.headroom.marks(now)), key=_nearest))

    def clear(
        self,
        ref: str | None = None,
        pool: str | None = None,
        all: bool = False,  # noqa: A002 (the word people type)
        model: str | None = None,
        keys: Collection[MarkKey] = (),
    ) -> int:
        """Deletes marks by hand and returns how many: those of a profile ref, a pool or under ``keys``, or all.

        ``model`` narrows it to marks of exactly this model or pattern. Statements of an exhausted quota go with them.

        Raises:
            ValueError: nothing was named.
        """
        if ref is None and pool is None and model is None and not all:
            raise ValueError("say which marks to clear: a provider ref, a pool, a model, or all of them")

        def chosen(mark: Mark) -> bool:
            owner = all or (ref is None and pool is None) or mark.provider_ref == ref or mark.key.pool == pool
            return (owner or mark.key in keys) and (model is None or mark.key.model == model)

        stated = tuple(mark.key for mark in self.headroom.marks(self._clock.now()) if chosen(mark))
        self.headroom.forget(stated)
        return len(stated) + self._delete(chosen)

    def earliest(self, keys: Iterable[MarkKey]) -> Mark | None:
        """Of the variants that are cooling, the mark whose end opens the first of them."""
        gates = (self.look(key) for key in keys)
        return min((gate.mark for gate in gates if gate.state == "cooling" and gate.mark), key=_nearest, default=None)

    def close(self) -> None:
        """Writes what waits and closes the file; a later use opens it again."""
        self._store.close()

    def __enter__(self) -> Marks:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        with suppress(MarksWarning):  # a filter may raise it, a repr may not
            self._store.board()
        now = self._clock.now()
        rows = self._store.rows()
        live = sum(row.live(now) for row in rows)
        place = "shared by file" if self._store.shared else "in memory"
        return f"<Marks: {live} cooling, {len(rows) - live} ended, {place}>"

    # -- inside -----------------------------------------------------------------------------------------------------

    def _delete(self, chosen: Callable[[Mark], bool]) -> int:
        """Deletes the chosen ones of the marks that are on the board by now; returns how many still meant something."""
        now = self._clock.now()
        known = {row.mark for row in self._store.rows()}

        def edit(board: Board) -> int:
            gone = [row.mark for row in board if chosen(row.mark) and (row.mark in known or row.mark.set_at <= now)]
            for mark in gone:
                board.drop(mark.key)
            return sum(mark.until > now - MAX_AHEAD for mark in gone)

        count = self._store.change(edit)
        self._wake()
        return count

    def _within_reach(self, rows: tuple[Row, ...], now: datetime) -> tuple[Row, ...]:
        """``rows`` with no end beyond 32 days from now, for good: a clock that jumped back can make such an end."""
        furthest = now + MAX_AHEAD
        if all(row.mark.until <= furthest for row in rows):
            return rows
        far = tuple(row for row in rows if row.mark.until > furthest)

        def edit(board: Board) -> None:
            for row in far:
                if board.get(row.mark.key) == row:
                    board.put(_ending(row, furthest))

        self._store.change(edit)
        return tuple(_ending(row, furthest) if row in far else row for row in rows)

    def _listen(self) -> tuple[asyncio.Future[None], tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]]:
        loop = asyncio.get_running_loop()
        signal = loop.create_future()
        ticket = (loop, signal)
        self._waiters.add(ticket)
        return signal, ticket

    async def _first_of(self, signal: asyncio.Future[None], step_s: float) -> None:
        nap = asyncio.ensure_future(self._clock.sleep(step_s))
        try:
            await asyncio.wait((signal, nap), return_when=asyncio.FIRST_COMPLETED)
        finally:
            nap.cancel()

    def _wake(self) -> None:
        """Tells everybody in this process, on whatever loop, that a probe may be decided."""
        for loop, signal in tuple(self._waiters):
            with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
                loop.call_soon_threadsafe(_resolve, signal)


def _resolve(signal: asyncio.Future[None]) -> None:
    if not signal.done():
        signal.set_result(None)


def _nearest(mark: Mark) -> tuple[datetime, str, str, str]:
    return mark.until, mark.key.pool, mark.key.credential_id, mark.key.model or ""


def _ending(row: Row, until: datetime) -> Row:
    mark = replace(row.mark, until=min(row.mark.until, until))
    return Row(mark=mark, lease=row.lease, lease_until=row.lease_until)
