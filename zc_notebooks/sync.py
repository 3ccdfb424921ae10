"""A private event loop in a thread, so that synchronous calls work in scripts and inside a running notebook loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

CLEANUP_S = 2.0
"""How long an interrupted call may take to close its socket and write its row."""


class LoopThread:
    """One loop in one daemon thread, started on first use. The caller's context variables go with each call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

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

    def call_soon(self, call: Callable[[], object]) -> None:
        """Calls ``call`` on the loop soon."""
        self._running().call_soon_threadsafe(call)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="zc-notebooks-loop", daemon=True).start()
            return self._loop


async def _signalling(work: Coroutine[Any, Any, T], cleaned_up: threading.Event) -> T:
    try:
        return await work
    finally:
        cleaned_up.set()


shared = LoopThread()
"""The process's one loop thread: connections are kept between synchronous calls."""
