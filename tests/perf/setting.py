"""What the benchmarks share: the prompt, a ``zc.toml`` for the loopback server, chains over it, the yardstick."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.perf.measure import Call

PROMPT = "Say in one sentence why the sky is blue, and in another why it is red in the evening."
PAYLOAD = {"model": "bench", "messages": [{"role": "user", "content": PROMPT}]}
HEADERS = {"Authorization": "Bearer sk-bench-0123456789", "Content-Type": "application/json"}


def config_text(base: str, orders: Sequence[str], name: str) -> str:
    """A flat chain, one profile and pool for each of ``orders`` (``""`` answers, ``status-402`` refuses)."""
    lines = ["[reliability]", "provider_retries = 0"]
    for number, order in enumerate(orders):
        uri = f"{base}/{order}/v1" if order else f"{base}/v1"
        lines += [
            f"[providers.custom.p{number}]",
            f"uri = {json.dumps(uri)}",
            'model = "bench"',
            "keyless = true",
            'tier = "local"',
            f'billing_pool = "{name}{number}"',
        ]
    for number in range(len(orders)):
        lines += ["[[chain]]", f'provider = "custom.p{number}"']
    return "\n".join(lines) + "\n"


async def open_chain(stack: AsyncExitStack, folder: Path, base: str, *orders: str, name: str = "zc") -> Any:
    """A chain with its ledger and its board on disk, closed with ``stack``."""
    import zc_notebooks as zc

    path = folder / f"{name}.toml"
    path.write_text(config_text(base, orders, name), encoding="utf-8")
    return await stack.enter_async_context(zc.open(path, ledger=folder / f"ledger-{name}"))


async def yardstick(stack: AsyncExitStack, url: str) -> Call:
    """The plain thing to beat: ``httpx.AsyncClient.post(json=…)`` and ``.json()``, with its default limits."""
    import httpx

    client = await stack.enter_async_context(httpx.AsyncClient(timeout=None))  # noqa: S113 (512 tasks queue for its pool)

    async def call() -> object:
        response = await client.post(url, json=PAYLOAD, headers=HEADERS)
        return response.json()

    return call


async def transport_call(stack: AsyncExitStack, url: str) -> Call:
    """Our transport alone: body encoded, sent, decoded; no chain and no row."""
    import msgspec

    from zc_notebooks.records import HttpRequest
    from zc_notebooks.transport import AsyncTransport

    transport = AsyncTransport()
    stack.push_async_callback(transport.aclose)

    async def call() -> object:
        request = HttpRequest(method="POST", url=url, headers=HEADERS, body=msgspec.json.encode(PAYLOAD))
        response = await transport.send(request, connect_s=10, read_s=120)
        return msgspec.json.decode(response.body)

    return call
