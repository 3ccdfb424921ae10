"""The lab's fleet ``bench`` measured by the shipped tasks, and what its scenario says of its models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from zc_notebooks.bench.lab_book import taught
from zc_notebooks.bench.order import Proposal, propose
from zc_notebooks.bench.put import put
from zc_notebooks.bench.results import Results
from zc_notebooks.bench.run import Settings, measure
from zc_notebooks.bench.statistics import Statistics, statistics
from zc_notebooks.bench.tasks import instances, load_tasks
from zc_notebooks.chain import Chain
from zc_notebooks.clock import SystemClock
from zc_notebooks.config.load import parse_config
from zc_notebooks.lab import Lab
from zc_notebooks.records import Record
from zc_notebooks.reliability.cooldown import Marks

TRUTHS = {
    "openrouter.credit/openai/gpt-oss-120b": 0.97,
    "groq.free/openai/gpt-oss-120b": 0.97,
    "openai.prepaid/gpt-5-mini": 0.86,
    "mistral.metered/mistral-small-latest": 0.62,
    "google.free/gemini-3.5-flash": 0.45,
    "deepseek.thinker/deepseek-v4-flash": 0.32,
}
"""Chances of a right answer, from ``data/lab/bench.toml``, best first; the thinker: 0.95 of the third not cut."""


class Ranked(Record, frozen=True, kw_only=True):
    """One measurement."""

    figures: Statistics
    order: Proposal


def measured(seed: int, folder: Path, kinds: Sequence[str] = ()) -> Ranked:
    """One measurement of the whole fleet, three repetitions, by the tasks that need neither a sandbox nor a judge."""
    tasks = [item for item in instances(load_tasks(None, kinds)) if item.kind != "code"]
    with Lab("bench", seed=seed, latency=0.0) as lab, taught(tasks):
        config = parse_config(lab.config_text(), base_dir=folder, source="the lab")
        chain = Chain(config, ledger=folder / f"ledger-{seed}", marks=Marks(None, clock=SystemClock()))
        results = Results(folder / f"{seed}.jsonl")
        with chain:
            asyncio.run(measure(chain, put(tasks), list(TRUTHS), results, Settings(concurrency=1, max_wait_s=0)))
    figures = statistics(results)
    return Ranked(figures=figures, order=propose(figures, config))
