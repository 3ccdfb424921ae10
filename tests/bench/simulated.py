"""Simulated measurements with a known truth: the walk itself on a scripted transport and a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from tests.bench.test_run import Sum
from tests.fleet import profile
from zc_notebooks.bench.results import Results
from zc_notebooks.bench.run import Settings, measure
from zc_notebooks.bench.statistics import Statistics, statistics
from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.records import HttpRequest, HttpResponse, Record
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import ManualClock, chat_answer, chat_error

TASKS, REPS = 30, 3
KEYS = {f"KEY_{name}": f"key-of-{name}-0123456789" for name in "ABC"}


class World:
    """Answers by chance: each task has a difficulty of its own, each candidate an ability and a reachability."""

    def __init__(
        self, abilities: Mapping[str, float], reached: Mapping[str, float], seed: int, tasks: int = TASKS
    ) -> None:
        self._chance = Random(seed)  # noqa: S311 (a simulation)
        self._abilities = abilities
        self._reached = reached
        self.tasks = tasks
        self._shift = {f"t{place}": self._chance.uniform(-0.25, 0.25) for place in range(tasks)}

    async def send(self, request: HttpRequest, **_: Any) -> HttpResponse:
        """One answer of the candidate at that host to the task named in the prompt."""
        name = request.url.split("//")[1].split(".")[0]
        if self._chance.random() > self._reached[name]:
            return chat_error(503, "full")
        task = request.body.decode().split("task ")[1].split(" ")[0]
        able = min(max(self._abilities[name] + self._shift[task], 0.0), 1.0)
        return chat_answer("42" if self._chance.random() < able else "41")

    @asynccontextmanager
    async def stream(self, *_: Any, **__: Any) -> Any:
        """Nobody streams here."""
        raise NotImplementedError
        yield

    @property
    def truths(self) -> dict[str, float]:
        """:meth:`truth` by candidate."""
        return {f"custom.{name}/m": self.truth(name) for name in self._abilities}

    def truth(self, name: str) -> float:
        """What the accuracy would be over all tasks like these."""
        return self._abilities[name]


class Claims(Record, frozen=True, kw_only=True):
    """What one measurement claims of its pairs, beside the truth."""

    told: int
    """Pairs of which one is called better."""
    false: int
    """Of these, how many are equal in truth, or the other way round."""
    missed: int
    """Pairs that differ in truth and are not told apart."""

    @property
    def whole(self) -> bool:
        """Whether the true ranking came out: each pair that differs is told as it is, and nothing else is."""
        return not self.false and not self.missed


def claims(found: Statistics, truths: Mapping[str, float]) -> Claims:
    """Every pair of a measurement held against the truth of its candidates."""
    told = false = missed = 0
    for one, other in combinations(truths, 2):
        said = found.pair(one, other).told
        truth = truths[one] - truths[other]
        right = "better" if truth > 0 else "worse" if truth < 0 else ""
        told += said in ("better", "worse")
        false += said in ("better", "worse") and said != right
        missed += bool(right) and said not in ("better", "worse")
    return Claims(told=told, false=false, missed=missed)


def simulated(world: World, abilities: Mapping[str, float], folder: Path) -> Statistics:
    """One whole measurement."""
    toml = 'default_provider = "custom.a"\n' + "".join(profile(name, pricing="{ m = 1.0 }") for name in abilities)
    clock = ManualClock()
    chain = Chain(
        parse_config(toml, base_dir=folder, source="zc.toml"),
        transport=world,
        clock=clock,
        ledger=folder / "ledger",
        marks=Marks(None, clock=clock),
        random=lambda: 0.0,
        environ=KEYS,
    )
    items = [Sum(task=f"t{place}", prompt=f"task t{place} is 40 + 2") for place in range(world.tasks)]
    results = Results(folder / "results.jsonl")
    refs = [f"custom.{name}" for name in abilities]
    with chain:
        asyncio.run(measure(chain, items, refs, results, Settings(reps=REPS)))
        found = statistics(results)
    results.path.unlink()
    return found
