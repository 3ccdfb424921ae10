"""Keeps a notebook's loop awake while one of our calls runs in it, so that a kernel interrupt is heard at once.

A kernel is interrupted by a signal. Python acts on it when the main thread runs Python again, and a loop that waits for
a silent provider does not: the interrupt would be heard with the provider's next byte, or never.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

HEARD_WITHIN_S: Final = 0.2


@contextmanager
def wakeful() -> Iterator[None]:
    """Inside the block the running loop of a kernel's main thread wakes every :data:`HEARD_WITHIN_S` seconds.

    Anywhere else nothing is done: a script's own loop hears Ctrl-C by itself.
    """
    if "ipykernel" not in sys.modules or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    handle: asyncio.TimerHandle

    def wake() -> None:
        nonlocal handle
        handle = loop.call_later(HEARD_WITHIN_S, wake)

    wake()
    try:
        yield
    finally:
        handle.cancel()
