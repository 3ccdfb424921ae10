"""``python -m tests.perf stream``: a stream end to end beside raw httpx ``aiter_lines`` + ``json``, interleaved."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.perf.measure import Targets, at
from tests.perf.server import serving
from tests.perf.setting import HEADERS, PAYLOAD, open_chain

CHUNKS = 5000
SHORT = 10
RAW, EVENTS, CHAIN, SDK = "httpx aiter_lines + json", "transport + decoder", "chain.stream, ledger on", "openai SDK"

Seen = Callable[[], None]
Read = Callable[[Seen], Awaitable[int]]
"""Reads one stream, calls back at its first piece of text, returns how many pieces there were."""


@dataclass
class Streams:
    """Seconds of each stream of one candidate."""

    whole: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def run(arguments: list[str]) -> int:
    """Prints the tables and the targets. ``--check`` makes a missed target the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf stream", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--rounds", type=int, default=30, help="streams of each kind")
    options = parser.parse_args(arguments)
    targets = Targets()
    with tempfile.TemporaryDirectory() as folder, serving() as base:
        os.environ["ZC_STATE_DIR"] = folder
        asyncio.run(_all(Path(folder), base, targets, options.rounds))
    return targets.show(check=options.check)


async def _all(folder: Path, base: str, targets: Targets, rounds: int) -> None:
    fast = await _measure(folder, base, f"chunks-{CHUNKS}", CHUNKS, rounds)
    _table(f"{CHUNKS} chunks as fast as they come", fast, CHUNKS)
    for name in (EVENTS, CHAIN):
        if name in fast:
            targets.at_least(f"{name}: chunks a second / raw", _ratio(fast[RAW].whole, fast[name].whole), 1.3)
            targets.at_most(f"{name}: first chunk / raw", _ratio(fast[name].first, fast[RAW].first), 0.85)
    slow = await _measure(folder, base, "chunks-300/pace-2", 300, max(rounds // 5, 1))
    _table("300 chunks, one every 2 ms", slow, 300)
    for name in (EVENTS, CHAIN):
        if name in slow and SDK in slow:
            targets.at_most(f"{name}: slow, CPU a chunk / {SDK}", _ratio(slow[name].cpu, slow[SDK].cpu), 0.6)
    short = await _measure(folder, base, f"chunks-{SHORT}/pace-2", SHORT, 5 * rounds)
    _table(f"{SHORT} chunks, one every 2 ms, many times", short, SHORT)
    for name in (EVENTS, CHAIN):
        targets.at_most(f"{name}: time to first token / raw", _ratio(short[name].first, short[RAW].first), 1.15)


def _ratio(over: list[float], under: list[float]) -> float:
    return at(over, 0.5) / at(under, 0.5)


async def _measure(folder: Path, base: str, order: str, chunks: int, rounds: int) -> dict[str, Streams]:
    async with AsyncExitStack() as stack:
        readers = await _readers(stack, folder, base, order)
        seen = {name: Streams() for name in readers}
        for read in readers.values():
            await _once(read, Streams(), chunks)
        for _ in range(rounds):
            for name, read in readers.items():
                await _once(read, seen[name], chunks)
    return seen


async def _once(read: Read, into: Streams, chunks: int) -> None:
    gc.collect()
    first: list[float] = []
    cpu, start = time.process_time(), time.perf_counter()
    pieces = await read(lambda: first.append(time.perf_counter()) if not first else None)
    into.whole.append(time.perf_counter() - start)
    into.cpu.append(time.process_time() - cpu)
    into.first.append(first[0] - start)
    assert pieces == chunks, f"{pieces} of {chunks} pieces of text"


def _table(title: str, streams: dict[str, Streams], chunks: int) -> None:
    print(f"\n{title}")
    print(f"  {'':28}{'chunks/s':>10}{'ratio':>8}{'first ms':>10}{'ratio':>8}{'CPU µs/chunk':>14}")
    raw = streams[RAW]
    for name, one in streams.items():
        cells = (
            f"{chunks / at(one.whole, 0.5):10.0f}{_ratio(raw.whole, one.whole):8.2f}",
            f"{at(one.first, 0.5) * 1e3:10.2f}{_ratio(one.first, raw.first):8.2f}",
            f"{at(one.cpu, 0.5) / chunks * 1e6:14.1f}",
        )
        print(f"  {name:28}" + "".join(cells), flush=True)


async def _readers(stack: AsyncExitStack, folder: Path, base: str, order: str) -> dict[str, Read]:
    url = f"{base}/{order}/v1"
    readers = {RAW: await _raw(stack, url), EVENTS: await _events(stack, url)}
    chain = await open_chain(stack, folder, base, order, name="stream")
    if hasattr(chain, "stream"):
        readers[CHAIN] = _chain(chain)
    if find_spec("openai") is not None:
        readers[SDK] = await _sdk(stack, url)
    return readers


async def _raw(stack: AsyncExitStack, url: str) -> Read:
    import httpx

    client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))

    async def read(seen: Seen) -> int:
        pieces = 0
        body = json.dumps({**PAYLOAD, "stream": True}, separators=(",", ":"))
        async with client.stream("POST", f"{url}/chat/completions", content=body, headers=HEADERS) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {") and json.loads(line[6:])["choices"][0]["delta"].get("content"):
                    pieces += 1
                    seen()
        return pieces

    return read


async def _events(stack: AsyncExitStack, url: str) -> Read:
    from zc_notebooks.chat import Text
    from zc_notebooks.records import HttpRequest
    from zc_notebooks.transport import AsyncTransport
    from zc_notebooks.wire.registry import wire

    transport = AsyncTransport()
    stack.push_async_callback(transport.aclose)

    async def read(seen: Seen) -> int:
        pieces = 0
        body = json.dumps({**PAYLOAD, "stream": True}, separators=(",", ":")).encode()
        request = HttpRequest(method="POST", url=f"{url}/chat/completions", headers=HEADERS, body=body)
        async with transport.stream(request, connect_s=10, first_byte_s=30, idle_s=60) as response:
            decoder = wire("openai_chat").decoder(response.headers, anthropic_completion="stop_reason")
            async for chunk in response.chunks():
                for event in decoder.feed(chunk):
                    if isinstance(event, Text):
                        pieces += 1
                        seen()
            assert decoder.finish().answer is not None
        return pieces

    return read


def _chain(chain: Any) -> Read:
    from zc_notebooks.chat import Text

    async def read(seen: Seen) -> int:
        pieces = 0
        async with chain.stream("Why is the sky blue?") as events:
            async for event in events:
                if isinstance(event, Text):
                    pieces += 1
                    seen()
        return pieces

    return read


async def _sdk(stack: AsyncExitStack, url: str) -> Read:
    import openai

    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key="sk-bench", max_retries=0))

    async def read(seen: Seen) -> int:
        pieces = 0
        async for chunk in await client.chat.completions.create(**PAYLOAD, stream=True):
            if chunk.choices and chunk.choices[0].delta.content:
                pieces += 1
                seen()
        return pieces

    return read
