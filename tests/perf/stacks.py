"""``python -m tests.perf stacks``: HTTP stacks without a chain, interleaved: what ``transport/`` was chosen from.

Stacks that are not installed are left out; ``pip install aiohttp httpx-aiohttp`` for all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any

from tests.perf.measure import Call, interleaved, table
from tests.perf.server import serving
from tests.perf.setting import HEADERS, PAYLOAD, transport_call, yardstick

BASE = "httpx.AsyncClient.post"
BODY = json.dumps(PAYLOAD).encode()

Stack = Callable[[AsyncExitStack, str], Awaitable[Call]]


def run(arguments: list[str]) -> int:
    """Prints one table for each number of tasks."""
    argparse.ArgumentParser(prog="python -m tests.perf stacks", description=__doc__).parse_args(arguments)
    with serving() as base:
        asyncio.run(_all(base))
    return 0


async def _all(base: str) -> None:
    for title, order, tasks, calls, rounds in (
        ("1 task", "", 1, 100, 8),
        ("16 tasks", "", 16, 20, 4),
        ("128 tasks", "", 128, 4, 2),
        ("512 tasks, the server takes 300 ms", "/delay-300", 512, 2, 1),
    ):
        async with AsyncExitStack() as stack:
            url = f"{base}{order}/v1/chat/completions"
            candidates = {name: await make(stack, url) for name, make in _stacks().items()}
            table(title, await interleaved(candidates, tasks=tasks, calls=calls, rounds=rounds), base=BASE)


def _stacks() -> dict[str, Stack]:
    stacks: dict[str, Stack] = {
        BASE: yardstick,
        "httpx transport, one per connection": _httpx_each,
        "httpcore connection, LIFO": _httpcore,
    }
    if find_spec("httpx_aiohttp") is not None:
        stacks["httpx over aiohttp, transport alone"] = _httpx_aiohttp
    if find_spec("aiohttp") is not None:
        stacks["aiohttp session"] = _aiohttp
    stacks["zc_notebooks.transport"] = transport_call
    return stacks


async def _httpx_each(stack: AsyncExitStack, url: str) -> Call:
    import httpx

    context = httpx.create_ssl_context()

    def make() -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(verify=context, limits=httpx.Limits(max_connections=1))

    borrowed = _lifo(stack, make)

    async def call() -> object:
        async with borrowed() as transport:
            response = await transport.handle_async_request(httpx.Request("POST", url, headers=HEADERS, content=BODY))
            return json.loads(await response.aread())

    return call


async def _httpcore(stack: AsyncExitStack, url: str) -> Call:
    import httpcore

    target = httpcore.URL(url)
    headers = [("Host", "127.0.0.1"), *HEADERS.items(), ("Content-Length", str(len(BODY)))]
    borrowed = _lifo(stack, lambda: httpcore.AsyncHTTPConnection(target.origin))

    async def call() -> object:
        async with borrowed() as connection:
            request = httpcore.Request("POST", target, headers=headers, content=BODY)
            response = await connection.handle_async_request(request)
            body = await response.aread()
            await response.aclose()
            return json.loads(body)

    return call


async def _httpx_aiohttp(stack: AsyncExitStack, url: str) -> Call:
    import httpx
    from httpx_aiohttp import AiohttpTransport

    transport = await stack.enter_async_context(AiohttpTransport(limits=httpx.Limits(max_connections=1000)))

    async def call() -> object:
        response = await transport.handle_async_request(httpx.Request("POST", url, headers=HEADERS, content=BODY))
        return json.loads(await response.aread())

    return call


async def _aiohttp(stack: AsyncExitStack, url: str) -> Call:
    import aiohttp

    session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))

    async def call() -> object:
        async with session.post(url, data=BODY, headers=HEADERS, allow_redirects=False) as response:
            return json.loads(await response.read())

    return call


def _lifo(stack: AsyncExitStack, make: Callable[[], Any]) -> Callable[[], Any]:
    """Lends out what ``make`` made, the last returned first."""
    free: list[Any] = []

    @asynccontextmanager
    async def borrowed() -> AsyncIterator[Any]:
        if free:
            item = free.pop()
        else:
            item = make()
            stack.push_async_callback(item.aclose)
        try:
            yield item
        finally:
            free.append(item)

    return borrowed
