"""A private event loop in a thread, so that synchronous calls work in scripts and inside a running notebook loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from zc_notebooks.wakeful import HEARD_WITHIN_S

T = TypeVar("T")

CLEANUP_S = 2.0
"""How long an interrupted call may take to close its socket and write its row."""
_BEGINS_WITHIN_S = 0.01
"""What the loop was told of before has begun by then."""


_FROM_A_HOOK = (
    "a hook of a synchronous call cannot make another one, for which it would wait for ever: "
    "make it in a thread of its own, or after the call"
)


class LoopThread:
    """One loop in one daemon thread, started on first use. The caller's context variables go with each call."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._forget()

    def _forget(self) -> None:
        """As new: no loop, nothing open."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._held: list[Callable[[], Awaitable[object]]] = []
        self._closing: set[asyncio.Future[object]] = set()
        self._ended = False

    def _of_this_process(self) -> None:
        """A forked child has none of its parent's threads: it starts anew; what is open is the parent's to close."""
        if self._pid != os.getpid():
            self._forget()
            self._pid = os.getpid()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs ``work`` to its end. Ctrl-C cancels it there, waits until it has cleaned up, and is raised here.

        Raises:
            CancelledError: The task that waits here was cancelled, by Ctrl-C inside ``asyncio.run``.
            RuntimeError: From the loop's own thread, where a hook of another synchronous call runs.
        """
        if self._thread is not None and threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(_FROM_A_HOOK)
        job = _Job(work)
        try:
            return _result(asyncio.run_coroutine_threadsafe(job.running, self._running()))
        except (KeyboardInterrupt, asyncio.CancelledError):  # wherever it strikes: the job may run before we hold it
            self.call_soon(job.cancel)
            job.ended.wait(timeout=CLEANUP_S)
            raise

    @contextmanager
    def holding(self, close: Callable[[], Awaitable[object]]) -> Iterator[None]:
        """Something is open on the loop inside the block; ``close`` ends it after the block, or when the process ends.

        The block may belong to a generator that the garbage collector ends, on whatever thread that runs, the loop's
        own included: there, and while the interpreter goes down, nobody can wait for the loop. In a forked child
        nothing is closed: what was open is the parent's.
        """
        self._of_this_process()
        pid, held = self._pid, self._held
        held.append(close)
        try:
            yield
        finally:
            if pid == os.getpid():
                try:
                    if threading.current_thread() is self._thread:
                        self.call_soon(lambda: self._close_later(close))
                    elif not self._ended:
                        self.run(_awaiting(close))
                finally:
                    held.remove(close)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Calls ``call`` on the loop soon."""
        self._running().call_soon_threadsafe(call)

    def _running(self) -> asyncio.AbstractEventLoop:
        self._of_this_process()
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_for_ever, args=(self._loop,), name="zc-notebooks-loop", daemon=True
                )
                self._thread.start()
                atexit.register(self._end)
            return self._loop

    def _close_later(self, close: Callable[[], Awaitable[object]]) -> None:
        task = asyncio.ensure_future(close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _end(self) -> None:
        """The process ends: what is open or under way is closed and has its row, within a few seconds."""
        if self._pid != os.getpid():
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._close(), self._running()).result(timeout=CLEANUP_S)
        self._ended = True

    async def _close(self) -> None:
        await asyncio.gather(*(close() for close in self._held), return_exceptions=True)
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


class _Job(Generic[T]):
    """Work on the loop that can be cancelled before anybody holds its task, and says when it has cleaned up."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.ended = threading.Event()
        self._work = work
        self._task: asyncio.Task[Any] | None = None
        self._unwanted = False
        self.running = self._run()
        """What the loop is to run."""

    async def _run(self) -> T:
        self._task = asyncio.current_task()
        try:
            if self._unwanted:
                self._work.close()
                raise asyncio.CancelledError
            return await self._work
        finally:
            self.ended.set()

    def cancel(self) -> None:
        """To be called on the loop."""
        self._unwanted = True
        if self._task is not None:
            self._task.cancel()
        else:
            asyncio.get_running_loop().call_later(_BEGINS_WITHIN_S, self._forget)

    def _forget(self) -> None:
        """It has not begun, so the loop was never told of it."""
        if self._task is None:
            self.running.close()
            self._work.close()
            self.ended.set()


def _result(future: Future[T]) -> T:
    """What the work gives or raises. The main thread looks up from its wait now and then, for two reasons.

    A wait without a time limit does not hear Ctrl-C once polars is imported: its signal handler has the system restart
    what a signal interrupted. And inside ``asyncio.run`` Ctrl-C raises nothing: it cancels the task that waits here.
    """
    if threading.current_thread() is not threading.main_thread():
        return future.result()
    task = _task()
    cancels = 0 if task is None else task.cancelling()
    while True:
        try:
            return future.result(timeout=HEARD_WITHIN_S)
        except TimeoutError:
            if future.done():  # the work's own, or it ended just now
                return future.result()
        if task is not None and task.cancelling() > cancels:
            raise asyncio.CancelledError


def _task() -> asyncio.Task[Any] | None:
    """The task that calls, inside of a running loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _run_for_ever(loop: asyncio.AbstractEventLoop) -> None:
    """The loop outlives a hook that ends the program (``sys.exit()``): asyncio stops for that, the caller gets it."""
    while True:
        try:
            return loop.run_forever()
        except (KeyboardInterrupt, SystemExit):
            continue


async def _awaiting(close: Callable[[], Awaitable[object]]) -> None:
    await close()


shared = LoopThread()
"""The process's one loop thread: connections are kept between synchronous calls."""
