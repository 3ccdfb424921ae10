"""Opt-in: people's own ``asyncio.run`` in cells."""

from __future__ import annotations

import asyncio
from contextlib import suppress


def allow_nested_loops() -> None:
    """Lets your own code call ``asyncio.run(…)`` or ``loop.run_until_complete(…)`` in a cell.

    When it is needed: your code, or a library of yours, calls ``asyncio.run`` and a cell answers "asyncio.run() cannot
    be called from a running event loop", because the kernel runs a loop already. When it is not: for anything of this
    package. In a cell ``await chain.ask(…)`` works as it stands, and ``ask_sync``, ``stream_sync`` and the magics run
    on a loop thread of their own, so nothing is patched for them; a cell of yours that can say ``await`` needs it
    neither. It patches ``asyncio`` for the whole kernel (nest-asyncio2, the maintained successor of nest-asyncio, whose
    last release drops queued cells of "Run All"), and stays until the kernel restarts. Calling it twice is fine.
    """
    import nest_asyncio2

    loop = None
    with suppress(RuntimeError):
        loop = asyncio.get_running_loop()
    nest_asyncio2.apply(loop)
