"""``call_timeout_s`` is the whole call's, whatever it waits for (spec 5.5), on real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import zc_notebooks as zc
from tests.streams.holding import LIMIT_S, config, holding
from zc_notebooks.sinks import CallableSink
from zc_notebooks.transport import AsyncTransport

SHORT_S = 0.2


async def ask(chain: zc.Chain) -> object:
    return await chain.ask("hello", timeout_s=SHORT_S)


async def stream(chain: zc.Chain) -> object:
    return await chain.stream("hello", timeout_s=SHORT_S).into(CallableSink(print))


@pytest.mark.parametrize("call", [ask, stream])
def test_88_waiting_for_a_connection_counts(call: Callable[[zc.Chain], Awaitable[object]], tmp_path: Path) -> None:
    """88: all connections are taken by other calls; this one ends with its time, and the others go on."""

    async def run() -> None:
        transport = AsyncTransport(max_connections=1)
        async with zc.open(tmp_path / "zc.toml", ledger=tmp_path / "ledger", transport=transport) as chain:
            other = asyncio.ensure_future(chain.ask("silent"))
            await asyncio.to_thread(server.asked.wait, LIMIT_S)
            with pytest.raises(zc.CallTimeout):
                async with asyncio.timeout(5):
                    await call(chain)
            assert not other.done()
            other.cancel()
            await asyncio.wait([other])

    with holding() as server:
        (tmp_path / "zc.toml").write_text(config(server), encoding="utf-8")
        asyncio.run(run())
        assert server.requests == 1
