"""Time as a parameter: wall clock, monotonic clock and sleep behind one small protocol."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Protocol, Self


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

    def timeout(self, seconds: float) -> Limit:
        """A block that raises ``TimeoutError`` when it takes longer, or at once when told to :meth:`Limit.expire`."""
        ...


class Limit(Protocol):
    """A time limit around a block."""

    async def __aenter__(self) -> Self:
        """Begins."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Ends; raises ``TimeoutError`` when the limit struck."""
        ...

    def expire(self) -> None:
        """Lets the limit strike now."""
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

    def timeout(self, seconds: float) -> SystemLimit:
        """See :class:`Clock`."""
        return SystemLimit(asyncio.get_running_loop().time() + seconds)


class SystemLimit:
    """asyncio's own timeout, which can also be made to strike."""

    __slots__ = ("_timeout",)

    def __init__(self, when: float) -> None:
        self._timeout = asyncio.timeout_at(when)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._timeout.__aexit__(kind, error, trace)

    def expire(self) -> None:
        """See :class:`Limit`. Does nothing once the block has ended."""
        with suppress(RuntimeError):
            self._timeout.reschedule(asyncio.get_running_loop().time())
