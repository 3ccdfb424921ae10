"""Timing shared by the benchmarks: rounds that alternate between candidates, so that machine noise hits all alike."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Candidate:
    """What is timed, and what is put right after each call, untimed."""

    call: Call
    after: Callable[[], object] | None = None


@dataclass
class Timing:
    """What one candidate took in all its rounds. Latencies in seconds."""

    latencies: list[float] = field(default_factory=list)
    busy_s: float = 0.0
    """Wall time of its rounds together."""

    def at(self, share: float) -> float:
        """The latency below which ``share`` of the calls lie."""
        return at(self.latencies, share)

    @property
    def per_s(self) -> float:
        """Calls a second."""
        return len(self.latencies) / self.busy_s


def at(values: list[float], share: float) -> float:
    """The value below which ``share`` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def _worker(candidate: Candidate, calls: int, into: list[float]) -> None:
    for _ in range(calls):
        start = time.perf_counter()
        await candidate.call()
        into.append(time.perf_counter() - start)
        if candidate.after is not None:
            candidate.after()


async def _round(candidate: Candidate, *, tasks: int, calls: int, into: Timing) -> None:
    """``tasks`` tasks make ``calls`` calls each, one after another."""
    gc.collect()
    start = time.perf_counter()
    await asyncio.gather(*(_worker(candidate, calls, into.latencies) for _ in range(tasks)))
    into.busy_s += time.perf_counter() - start


async def interleaved(
    candidates: Mapping[str, Call | Candidate], *, tasks: int, calls: int, rounds: int
) -> dict[str, Timing]:
    """All candidates in turn, ``rounds`` times; a first short round of each warms connections and is not counted."""
    timings = {name: Timing() for name in candidates}
    ready = {name: item if isinstance(item, Candidate) else Candidate(item) for name, item in candidates.items()}
    for candidate in ready.values():
        await _round(candidate, tasks=tasks, calls=2, into=Timing())
    for _ in range(rounds):
        for name, candidate in ready.items():
            await _round(candidate, tasks=tasks, calls=calls, into=timings[name])
    return timings


def table(title: str, timings: Mapping[str, Timing], *, base: str) -> None:
    """Prints p50, p99 and calls a second, each also as a ratio to ``base``."""
    first = timings[base]
    print(f"\n{title}")
    print(f"  {'':34}{'p50 ms':>10}{'ratio':>8}{'p99 ms':>10}{'ratio':>8}{'calls/s':>10}{'ratio':>8}")
    for name, timing in timings.items():
        cells = (
            f"{timing.at(0.5) * 1e3:10.3f}{timing.at(0.5) / first.at(0.5):8.2f}",
            f"{timing.at(0.99) * 1e3:10.2f}{timing.at(0.99) / first.at(0.99):8.2f}",
            f"{timing.per_s:10.0f}{timing.per_s / first.per_s:8.2f}",
        )
        print(f"  {name:34}" + "".join(cells), flush=True)


class Targets:
    """Collects what must hold and says at the end what did."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.missed = 0

    def at_most(self, what: str, value: float, limit: float) -> None:
        """``value`` should not be above ``limit``."""
        self._add(what, value, limit, "≤", holds=value <= limit)

    def at_least(self, what: str, value: float, limit: float) -> None:
        """``value`` should not be below ``limit``."""
        self._add(what, value, limit, "≥", holds=value >= limit)

    def _add(self, what: str, value: float, limit: float, sign: str, *, holds: bool) -> None:
        self.missed += not holds
        self._lines.append(f"  {'holds' if holds else 'MISSED':8}{what:56}{value:9.2f}  {sign} {limit:g}")

    def show(self, *, check: bool) -> int:
        """Prints the lines; the exit code is 1 only when asked to ``check``."""
        print("\ntargets")
        print("\n".join(self._lines), flush=True)
        return int(check and self.missed > 0)
