"""A private event loop in a thread, so that synchronous calls work in scripts and inside a running notebook loop."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")

CLEANUP_S = 2.0
"""How long an interrupted call may take to close its socket and write its row."""


class LoopThread:
    """One loop in one daemon thread, started on first use. The caller's context variables go with each call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._held: list[Callable[[], Awaitable[object]]] = []
        self._ended = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs ``work`` to its end. Ctrl-C cancels it there, waits until it has cleaned up, and is raised here."""
        cleaned_up = threading.Event()
        future: Future[T] = asyncio.run_coroutine_threadsafe(_signalling(work, cleaned_up), self._running())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            cleaned_up.wait(timeout=CLEANUP_S)
            raise

    @contextmanager
    def holding(self, close: Callable[[], Awaitable[object]]) -> Iterator[None]:
        """Something is open on the loop inside the block; ``close`` ends it after the block, or when the process ends.

        The block may belong to a generator that the garbage collector ends, on whatever thread that runs, the loop's
        own included: there, and while the interpreter goes down, nobody can wait for the loop.
        """
        self._held.append(close)
        try:
            yield
        finally:
            with suppress(ValueError):
                self._held.remove(close)
            if threading.current_thread() is self._thread:
                self.call_soon(lambda: asyncio.ensure_future(close()))
            elif not self._ended:
                self.run(_awaiting(close))

    def call_soon(self, call: Callable[[], object]) -> None:
        """Calls ``call`` on the loop soon."""
        self._running().call_soon_threadsafe(call)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="zc-notebooks-loop", daemon=True)
                self._thread.start()
                atexit.register(self._end)
            return self._loop

    def _end(self) -> None:
        """The process ends: what is open or under way is closed and has its row, within a few seconds."""
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._close(), self._running()).result(timeout=CLEANUP_S)
        self._ended = True

    async def _close(self) -> None:
        await asyncio.gather(*(close() for close in self._held), return_exceptions=True)
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


async def _signalling(work: Coroutine[Any, Any, T], cleaned_up: threading.Event) -> T:
    try:
        return await work
    finally:
        cleaned_up.set()


async def _awaiting(close: Callable[[], Awaitable[object]]) -> None:
    await close()


shared = LoopThread()
"""The process's one loop thread: connections are kept between synchronous calls."""
