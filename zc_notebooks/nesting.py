"""What stands in a context, block within block, and is gone where it began even when its end comes from elsewhere.

A context variable alone is not enough for a block in an async generator: whoever leaves a loop over that early goes on
in a context that still holds the block, while its end runs in another one, which cannot take it back there.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Nested(Generic[T]):
    """A context variable with blocks. Tasks and threads that carry the context keep what stood where they began."""

    def __init__(self, name: str) -> None:
        self._var: ContextVar[_Block[T] | None] = ContextVar(name, default=None)

    def get(self) -> T | None:
        """The value of the innermost block here, or ``None``."""
        block = held = self._var.get()
        while block is not None and block.left and block.began_here():
            block = block.outer
        if block is not held:
            self._var.set(block)
        return None if block is None else block.value

    @contextmanager
    def within(self, value: T) -> Iterator[None]:
        """``value`` stands inside the block."""
        self.get()
        block = _Block(value, self._var.get())
        token = self._var.set(block)
        try:
            yield
        finally:
            block.left = True
            if self._var.get() is block:
                try:
                    self._var.reset(token)
                    block.left = False  # nobody else has to be told; tasks that began inside keep it
                except ValueError:  # in another context
                    pass


class _Block(Generic[T]):
    def __init__(self, value: T, outer: _Block[T] | None) -> None:
        self.value = value
        self.outer = outer
        self.left = False
        """Ended in another context, or before a later block: the one it began in still holds it."""
        self._thread = threading.get_ident()
        self._task = _task()

    def began_here(self) -> bool:
        """Whether this is the task, or the thread without one, that the block began in."""
        task = None if self._task is None else self._task()
        now = _task()
        here = now is None if self._task is None else now is not None and now() is task
        return here and self._thread == threading.get_ident()


def _task() -> Callable[[], asyncio.Task[Any] | None] | None:
    """The running task, held weakly."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return None
    return None if task is None else weakref.ref(task)
