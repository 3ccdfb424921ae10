"""Work that Ctrl-C ends at once, though it happens where Python does not look for signals."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

T = TypeVar("T")

_LOOK_S: Final = 0.1
"""Between looks for a signal, where waiting for a thread hides it (Windows)."""


def interruptible(work: Callable[[], T], interrupt: Callable[[], object]) -> T:
    """What ``work`` gives or raises. In the main thread, it runs in another one, and Ctrl-C calls ``interrupt``.

    Raises:
        KeyboardInterrupt: Ctrl-C, at whatever moment; the work has ended, or never begins.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            if begun.acquire(blocking=False):
                outcome.set_result(work())
        except BaseException as problem:  # noqa: BLE001 (raised again where it was asked for)
            outcome.set_exception(problem)
        finally:
            done.set()

    # No join: Python 3.11 takes a thread for ended when its join is interrupted.
    done, begun = threading.Event(), threading.Lock()
    thread = threading.Thread(target=run, name="zc-ledger-query", daemon=True)
    try:
        thread.start()
        while not done.wait(_LOOK_S) and thread.is_alive():
            pass
    except KeyboardInterrupt:
        if begun.acquire(blocking=False):
            raise  # before the work: it will not begin
        interrupt()
        while not done.wait(_LOOK_S):
            interrupt()  # again: the first may have come before there was anything to interrupt
        raise
    if not outcome.done():
        raise RuntimeError("the thread of a query ended without a word")
    return outcome.result()
