"""The lab's own time: follows the real clock until somebody moves or stops it."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta

from zc_notebooks.clock import SystemLimit


class LabClock:
    """Wall clock of a lab. It satisfies :class:`zc_notebooks.clock.Clock`, so a chain can live by the same time.

    Args:
        start: Aware instant the clock shows at construction; the real now by default.
        frozen: Whether it stands still between :meth:`advance` and :meth:`set`. A frozen clock's :meth:`sleep`
            moves the clock instead of waiting.

    Thread-safe: the lab's server reads it in its own thread.
    """

    def __init__(self, start: datetime | None = None, *, frozen: bool = False) -> None:
        self._lock = threading.Lock()
        self._frozen = frozen
        self._shown = _aware(start) if start is not None else datetime.now(UTC)
        self._real = time.monotonic()
        self._moved_s = 0.0

    @property
    def frozen(self) -> bool:
        """Whether the clock stands still by itself."""
        return self._frozen

    def now(self) -> datetime:
        """Aware UTC instant."""
        with self._lock:
            return self._now()

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; moved by :meth:`advance`, never going back."""
        with self._lock:
            return self._moved_s + (0.0 if self._frozen else time.monotonic())

    def advance(self, seconds: float) -> datetime:
        """Moves the clock forward and returns the new instant.

        Raises:
            ValueError: ``seconds`` is negative; use :meth:`set` to go back.
        """
        if seconds < 0:
            raise ValueError(f"a clock is advanced by 0 s or more, not {seconds}; set() goes back")
        with self._lock:
            self._show(self._now() + timedelta(seconds=seconds))
            self._moved_s += seconds
            return self._shown

    def set(self, instant: datetime) -> None:
        """Shows ``instant`` from now on (forward or back); a running clock runs on from there.

        Raises:
            ValueError: the instant has no time zone.
        """
        with self._lock:
            ahead = (_aware(instant) - self._now()).total_seconds()
            self._show(_aware(instant))
            self._moved_s += max(ahead, 0.0)

    def freeze(self) -> None:
        """Stops the clock at what it shows."""
        with self._lock:
            if not self._frozen:
                self._show(self._now())
                self._moved_s += time.monotonic()
                self._frozen = True

    def run(self) -> None:
        """Lets the clock follow real time from what it shows."""
        with self._lock:
            if self._frozen:
                self._frozen = False
                self._real = time.monotonic()
                self._moved_s -= self._real

    async def sleep(self, seconds: float) -> None:
        """Waits; a frozen clock advances by ``seconds`` instead and only yields."""
        if self._frozen:
            self.advance(max(seconds, 0.0))
            await asyncio.sleep(0)
        else:
            await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> SystemLimit:
        """A limit in real seconds, on a frozen clock too: it guards against a server that says nothing."""
        return SystemLimit(asyncio.get_running_loop().time() + seconds)

    def sleep_sync(self, seconds: float) -> None:
        """The same for synchronous code."""
        if self._frozen:
            self.advance(max(seconds, 0.0))
        else:
            time.sleep(seconds)

    def __repr__(self) -> str:
        return f"LabClock({self.now():%Y-%m-%d %H:%M:%S} UTC{', frozen' if self._frozen else ''})"

    def _now(self) -> datetime:
        if self._frozen:
            return self._shown
        return self._shown + timedelta(seconds=time.monotonic() - self._real)

    def _show(self, instant: datetime) -> None:
        self._shown = instant
        self._real = time.monotonic()


def _aware(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone; give an aware datetime")
    return instant.astimezone(UTC)
