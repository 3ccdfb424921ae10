"""Workloads on the lab: many calls over simulated days, through one order or another, from the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import zc_notebooks as zc
from zc_notebooks.bench.replay import Figures, Replay, replay
from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.lab import Lab
from zc_notebooks.lab.clock import LabClock
from zc_notebooks.lab.scenario import Link, Scenario, load_scenario
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Profile, Reliability
from zc_notebooks.reliability.cooldown import Marks

START = datetime(2026, 10, 5, 3, 0, tzinfo=UTC)


class Ran:
    """What a workload came to."""

    def __init__(self, rows: list[AttemptRow], profiles: dict[str, Profile], reliability: Reliability) -> None:
        self.rows = rows
        self.profiles = profiles
        self.reliability = reliability
        self.chain = tuple(dict.fromkeys(f"{row.provider_ref}/{row.model}" for row in rows))

    def predict(self, chain: Sequence[str], **options: Any) -> Replay:
        """The replay with another order."""
        return replay(self.rows, chain, profiles=self.profiles, reliability=self.reliability, **options)

    @property
    def figures(self) -> Figures:
        """What really happened."""
        return replay(self.rows, reliability=self.reliability, profiles=self.profiles).really


def run(
    scenario: str | Scenario,
    folder: Path,
    *,
    gaps_s: Sequence[float],
    order: Sequence[str] | None = None,
    seed: int = 7,
    prompt: str = "What is 17 * {n}? Please explain the steps.",
) -> Ran:
    """Asks once after each of ``gaps_s`` through the providers named in ``order``, on a clock moved by hand."""
    spec = load_scenario(scenario)
    if order is not None:
        spec = replace(spec, chain=tuple(Link(provider=name) for name in order))
    clock = LabClock(START, frozen=True)
    rows: list[AttemptRow] = []
    with Lab(spec, clock=clock, seed=seed, latency=0.0) as lab:
        config = parse_config(lab.config_text(), base_dir=folder, source="zc.toml")
        chain = Chain(
            config,
            clock=clock,
            ledger=folder / f"ledger-{len(list(folder.iterdir()))}",
            marks=Marks(None, clock=clock),
            random=lambda: 0.0,
            environ=dict(lab.environ()),
            on_attempt=rows.append,
        )
        with chain:
            for number, gap in enumerate(gaps_s):
                clock.advance(gap)
                with suppress(zc.CallError):
                    chain.ask_sync(prompt.format(n=number), max_tokens=400)
    return Ran(rows, dict(config.profiles), config.reliability)


def hours(count: float, every_s: float) -> list[float]:
    """A call every so many seconds."""
    return [every_s] * int(count * 3600 / every_s)


def bursts(count: int, size: int, pause_s: float, within_s: float = 2.0) -> list[float]:
    """Bursts of ``size`` calls with a pause before each."""
    return [pause_s if place == 0 else within_s for _ in range(count) for place in range(size)]


OUTAGES = """
name = "outages"
title = "Three providers with outages of their own"
[[chain]]
provider = "first"
[[chain]]
provider = "second"
[[chain]]
provider = "third"
[reliability]
provider_backoff_ms = 50

[[provider]]
name = "first"
family = "groq"
alias = "free"
tier = "free"
outages = [{ failure = "capacity", every_s = 18000, for_s = 2700, offset_s = 3600 }]
[[provider.model]]
id = "openai/gpt-oss-120b"
[[provider.quota]]
counts = "requests"
per = "day"
limit = 120
reset = "utc_midnight"

[[provider]]
name = "second"
family = "mistral"
alias = "metered"
tier = "metered"
outages = [{ failure = "server_error", every_s = 25200, for_s = 5400, offset_s = 1800 }]
[[provider.model]]
id = "mistral-small-latest"
price_in = 0.15
price_out = 0.60

[[provider]]
name = "third"
family = "deepseek"
alias = "prepaid"
tier = "prepaid"
outages = [{ failure = "capacity", every_s = 18000, for_s = 1800, offset_s = 4500 }]
[[provider.model]]
id = "deepseek-v4-flash"
price_in = 0.30
price_out = 1.20
"""
"""Outages that overlap now and then, so that a call can find nobody."""
