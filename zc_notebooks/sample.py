"""Writes the sample ledger: three days of an hourly batch on the lab, in which nothing fails and the bill grows.

On the second morning somebody sends three times the context. The first free tier, which lasted all day, runs out
soon after one o'clock, and what comes back of it goes at once; the second one is out by evening; the credit behind them
is gone the next afternoon; a minute limit lets two in three requests through, and the dearest model answers the rest.
No call fails, so nobody notices until an operator asks, a day and a half after the change, whether the first and the
third are back.

The rows are those of real calls: the chain's own walk over the lab's wires on loopback, on a clock that is moved by
hand. The same seed writes the same rows but for their random call ids and the lab's ports.
"""

from __future__ import annotations

import asyncio
import secrets
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.errors import CallError, ConfigError, LedgerError
from zc_notebooks.lab import Lab, LabClock, Scenario, load_scenario
from zc_notebooks.ledger.append import LedgerWarning
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.transport import AsyncTransport

DAYS: Final = 3
CHANGED_AT: Final = timedelta(days=1, hours=9)
"""When the context is tripled."""
NOTICED_AT: Final = timedelta(days=2, hours=21, minutes=40)
"""When somebody asks whether the first free tier and the credit are back: two probes, 20 seconds apart."""

_HOURS: Final = (2, 2, 2, 1, 1, 1, 2, 4, 7, 9, 9, 8, 6, 8, 9, 9, 8, 6, 4, 3, 3, 2, 2, 2)
"""Calls of the batch by hour of the day."""
_WORDS: Final = ("lighthouse", "harbour", "keeper", "signal", "fog", "lamp", "reef", "chart", "tide", "log")


def write_sample(
    folder: Path, *, days: int = DAYS, seed: int = 1, told: Callable[[int, int], object] | None = None
) -> int:
    """Writes the rows as a ledger into ``folder`` and returns how many calls they are.

    Args:
        folder: A new or empty folder.
        days: How many of the three days.
        seed: Of everything random but the call ids.
        told: Called with (calls made, calls in all).

    Raises:
        ConfigError: The folder holds something, or cannot be read.
        LedgerError: A row could not be written (a full disk, a folder that is not ours): no sample has gaps.
    """
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as problem:
        raise ConfigError(f"{folder} cannot be read ({problem.strerror}): name a new folder") from None
    if taken:
        raise ConfigError(f"{folder} holds something already: name a new folder for the sample ledger")
    scenario = load_scenario("outage")
    clock = LabClock(scenario.start, frozen=True)
    with Lab(scenario, clock=clock, seed=seed, latency=0.0) as lab, warnings.catch_warnings():
        warnings.simplefilter("ignore", LedgerWarning)  # the first lost row ends it with an error
        return asyncio.run(_Story(lab, clock, scenario, folder, seed, told).tell(days))


class _Story:
    """The three days."""

    def __init__(
        self,
        lab: Lab,
        clock: LabClock,
        scenario: Scenario,
        folder: Path,
        seed: int,
        told: Callable[[int, int], object] | None,
    ) -> None:
        self._clock = clock
        self._chance = Random(seed)  # noqa: S311 (a story, not a secret)
        self._told = told
        if scenario.start is None:
            raise ValueError("the sample's scenario has a start")
        self._start = scenario.start
        config = parse_config(lab.config_text(), base_dir=folder, source="the lab's configuration")
        self._chain = Chain(
            config,
            transport=_Timed(AsyncTransport(), lab, clock, self._chance),
            clock=clock,
            ledger=folder,
            marks=Marks(None, clock=clock),
            random=self._chance.random,
            environ={},
        )

    async def tell(self, days: int) -> int:
        """All calls in order of time; returns how many."""
        moments = self._moments(days)
        steps: list[tuple[timedelta, Callable[[], Awaitable[Any]]]] = [(at, self._call) for at in moments]
        if timedelta(days=days) > NOTICED_AT:
            steps += [(NOTICED_AT, partial(self._look, ref)) for ref in ("groq.free", "openrouter.credit")]
        try:
            for place, (at, act) in enumerate(sorted(steps, key=lambda step: step[0]), start=1):
                ahead = (self._start + at - self._clock.now()).total_seconds()
                if ahead > 0:
                    self._clock.advance(ahead)
                with suppress(CallError):
                    await act()
                self._written()
                if self._told is not None:
                    self._told(place, len(steps))
        finally:
            await self._chain.aclose()
        return len(steps)

    def _written(self) -> None:
        writer = self._chain.writer
        if writer.lost:
            raise LedgerError(f"the sample ledger could not be written to {writer.folder}: {writer.trouble}")

    def _moments(self, days: int) -> list[timedelta]:
        """When the batch asks: in the first ten minutes of each hour, a little more each day."""
        found: list[timedelta] = []
        for day in range(days):
            for hour, calls in enumerate(_HOURS):
                seconds = (self._chance.uniform(0, 600) for _ in range(3 * calls + day))
                found += [timedelta(days=day, hours=hour, seconds=second) for second in seconds]
        return found

    async def _call(self) -> None:
        late = self._clock.now() >= self._start + CHANGED_AT
        words = self._chance.randint(250, 650) * (3 if late else 1)
        answer = self._chance.randint(80, 200)
        text = " ".join(self._chance.choice(_WORDS) for _ in range(words))
        await self._chain.ask(f"In {answer} words, say what this log is about: {text}", turn_id=secrets.token_hex(4))

    async def _look(self, ref: str) -> None:
        await self._chain.probe(ref)
        self._clock.advance(20)


class _Timed:
    """The transport with simulated seconds: each answer moves the clock as far as its provider takes."""

    def __init__(self, inner: AsyncTransport, lab: Lab, clock: LabClock, chance: Random) -> None:
        self._inner = inner
        self._clock = clock
        self._chance = chance
        self._specs = {lab.base_url(spec.name).split("/")[2]: spec for spec in lab.scenario.providers}

    async def send(self, request: HttpRequest, **limits: Any) -> HttpResponse:
        """One request; the clock moves by its provider's latency and 8 ms a token of its answer."""
        response = await self._inner.send(request, **limits)
        spec = self._specs[request.url.split("/")[2]]
        refused = response.status >= 400  # noqa: PLR2004 (HTTP)
        seconds = (spec.refusal_ms if refused else spec.latency_ms + len(response.body) * 1.6) / 1000
        self._clock.advance(seconds * self._chance.lognormvariate(0.0, 0.25))
        return response

    def stream(self, request: HttpRequest, **limits: Any) -> Any:
        """Streams take no simulated time; the story has none."""
        return self._inner.stream(request, **limits)

    async def aclose(self) -> None:
        """Closes what sends."""
        await self._inner.aclose()
