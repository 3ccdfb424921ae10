"""Work that a click begins: a task that is kept until it ends, and whose exception somebody hears of.

Clicks reach a kernel on whatever thread serves its comms (a subshell's, which ends with the page), and a cell may block
the main one. So the tasks run on the package's own loop, where a Stop is heard at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from zc_notebooks.sync import shared

Work = Callable[[], Coroutine[Any, Any, object]]
Failed = Callable[[str, BaseException], object]


class Soon(Protocol):
    """Where callbacks are run: :class:`~zc_notebooks.sync.LoopThread`, or a running loop in tests."""

    def call_soon(self, call: Callable[[], object]) -> Any:
        """Calls ``call`` on the loop soon, from any thread."""
        ...


class Tasks:
    """The tasks of one panel.

    Args:
        failed: Called with (what was being done, the exception) of a task that ended in one.
        loop: Where they run; the package's loop thread unless given.
    """

    def __init__(self, failed: Failed, loop: Soon | None = None) -> None:
        self._failed = failed
        self._loop: Soon = loop or shared
        self._held: dict[asyncio.Task[object], str] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """What is being done now, in words."""
        return tuple(self._held.values())

    def start(self, doing: str, work: Work) -> None:
        """Begins ``work`` as a task; may be called from any thread."""
        self._loop.call_soon(lambda: self._begin(doing, work))

    def cancel(self, doing: str) -> None:
        """Cancels what is being done under this name."""
        self._loop.call_soon(lambda: [task.cancel() for task, name in self._held.items() if name == doing])

    def _begin(self, doing: str, work: Work) -> None:
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work(), name=f"zc: {doing}")
        self._held[task] = doing
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        doing = self._held.pop(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(doing, error)
