"""``python -m tests.perf calls``: what a call costs beside a raw ``httpx.AsyncClient.post``, in one interleaved run."""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from tests.perf.measure import Call, Candidate, Targets, Timing, at, interleaved, table
from tests.perf.server import serving
from tests.perf.setting import open_chain, transport_call, yardstick

RAW, TRANSPORT, ASK = "httpx.AsyncClient.post", "transport alone", "chain.ask, ledger on"
HOP, HOP_MARK, COOLING = "chain.ask over a 402", "chain.ask over a 429, mark set", "chain.ask over 20 cooling"


def run(arguments: list[str]) -> int:
    """Prints the tables and the targets. ``--check``: a missed target is the exit code; ``--quick``: a short run."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf calls", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--quick", action="store_true", help="fewer calls, without the slow 512 tasks")
    options = parser.parse_args(arguments)
    targets = Targets()
    with tempfile.TemporaryDirectory() as folder, serving() as base:
        os.environ["ZC_STATE_DIR"] = folder
        asyncio.run(_all(Path(folder), base, targets, quick=options.quick))
        _rows(Path(folder), targets)
    return targets.show(check=options.check)


async def _all(folder: Path, base: str, targets: Targets, *, quick: bool) -> None:
    scale = 1 if quick else 4
    one = await _measure(folder, base, tasks=1, calls=100, rounds=2 * scale)
    targets.at_most("one call, p50 / raw", _p50(one, ASK), 0.80)
    sixteen = await _measure(folder, base, tasks=16, calls=20, rounds=scale)
    targets.at_least("16 tasks, calls a second / raw", sixteen[ASK].per_s / sixteen[RAW].per_s, 2.2)
    targets.at_most("16 tasks, p99 / raw", sixteen[ASK].at(0.99) / sixteen[RAW].at(0.99), 0.15)
    await _measure(folder, base, tasks=128, calls=4, rounds=1 if quick else 2)
    if not quick:
        slow = await _measure(folder, base, tasks=512, calls=2, rounds=1, order="delay-300")
        targets.at_least("512 tasks at 300 ms, calls a second / raw", slow[ASK].per_s / slow[RAW].per_s, 8.0)
    await _hops(folder, base, targets, rounds=2 * scale)


def _p50(timings: Mapping[str, Timing], name: str) -> float:
    return timings[name].at(0.5) / timings[RAW].at(0.5)


async def _measure(
    folder: Path, base: str, *, tasks: int, calls: int, rounds: int, order: str = ""
) -> dict[str, Timing]:
    async with AsyncExitStack() as stack:
        url = f"{base}/{order}/v1/chat/completions" if order else f"{base}/v1/chat/completions"
        chain = await open_chain(stack, folder, base, order)
        candidates: dict[str, Call] = {
            RAW: await yardstick(stack, url),
            TRANSPORT: await transport_call(stack, url),
            ASK: lambda: chain.ask("Why is the sky blue?"),
        }
        timings = await interleaved(candidates, tasks=tasks, calls=calls, rounds=rounds)
    table(f"{tasks} task(s){', the server takes 300 ms' if order else ''}", timings, base=RAW)
    return timings


async def _hops(folder: Path, base: str, targets: Targets, *, rounds: int) -> None:
    """What leaving a candidate adds to a call, and what passing over 20 cooling ones adds."""
    async with AsyncExitStack() as stack:
        plain = await open_chain(stack, folder, base, "", name="plain")
        poor = await open_chain(stack, folder, base, "status-402", "", name="poor")
        spent = await open_chain(stack, folder, base, "status-429", "", name="spent")
        benched = await open_chain(stack, folder, base, *["status-429"] * 20, "", name="benched")
        await benched.ask("sets twenty marks")
        candidates = {
            RAW: await yardstick(stack, f"{base}/v1/chat/completions"),
            ASK: lambda: plain.ask("Why?"),
            HOP: lambda: poor.ask("Why?"),
            HOP_MARK: Candidate(lambda: spent.ask("Why?"), after=lambda: spent.clear(pool="spent0")),
            COOLING: lambda: benched.ask("Why?"),
        }
        timings = await interleaved(candidates, tasks=1, calls=50, rounds=rounds)
    table("leaving a candidate (one task)", timings, base=RAW)
    targets.at_most("a hop over an instant 402, added p50 / raw", _p50(timings, HOP) - _p50(timings, ASK), 0.75)
    targets.at_most("20 cooling candidates, added ms", (timings[COOLING].at(0.5) - timings[ASK].at(0.5)) * 1e3, 1.0)


def _rows(folder: Path, targets: Targets, count: int = 5000) -> None:
    """One appended row."""
    from datetime import UTC, datetime

    from zc_notebooks.ledger.append import LedgerWriter
    from zc_notebooks.ledger.row import AttemptRow

    row = AttemptRow(
        call_id="0123456789abcdef",
        ordinal=0,
        t=datetime.now(UTC),
        provider_ref="custom.p0",
        model="bench",
        kind="attempt",
        mode="chat",
        status="ok",
        input_tokens=21,
        output_tokens=48,
        secs=0.3,
    )
    writer, took = LedgerWriter(folder / "rows"), []
    for _ in range(count):
        start = time.perf_counter()
        writer.write(row)
        took.append(time.perf_counter() - start)
    writer.close()
    print(f"\none row appended: p50 {at(took, 0.5) * 1e6:.1f} µs, p99 {at(took, 0.99) * 1e6:.1f} µs")
    targets.at_most("one row appended, p50 µs", at(took, 0.5) * 1e6, 10.0)
