"""Time as a parameter: wall clock, monotonic clock and sleep behind one small protocol."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the shell asks of time. Tests and the lab use :class:`zc_notebooks.testing.ManualClock`."""

    def now(self) -> datetime:
        """Aware UTC wall clock."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits; a cancel ends it at once."""
        ...


class SystemClock:
    """The real clock."""

    def now(self) -> datetime:
        """See :class:`Clock`."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """See :class:`Clock`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See :class:`Clock`."""
        await asyncio.sleep(seconds)
