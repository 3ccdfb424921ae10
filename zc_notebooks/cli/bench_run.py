"""``zc bench run``: the measurement."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.bench import Tasks, TasksFrom
from zc_notebooks.cli.bench_report import oddities, statistics_of
from zc_notebooks.cli.output import answer, emit, fail, report, say
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    from zc_notebooks.bench.run import Measured, Settings
    from zc_notebooks.bench.tasks import Instance
    from zc_notebooks.chain import Chain

STOPPED = 1
"""Exit status of a run that left cells: its budget or a border forbade them."""


def run(
    models: Annotated[
        list[str] | None,
        typer.Option("--models", "-m", help="family.alias[/model], several or with commas; the chain."),
    ] = None,
    reps: Annotated[int, typer.Option(min=1, max=1000, help="Repetitions of each instance.")] = 3,
    tasks: Tasks = None,
    source: TasksFrom = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Instances of each template.")] = 1,
    first_seed: Annotated[int, typer.Option(help="Seed of the first instance.")] = 0,
    out: Annotated[Path, typer.Option("--output", "-o", help="File of results.")] = Path("bench.jsonl"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the file: only what is not measured yet.")
    ] = False,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, help="What the measured calls may cost; a judge is paid besides.")
    ] = None,
    max_wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the limits of one cell.")] = 120.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Of an answer, its reasoning included.")] = 1024,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Calls at a time to one billing pool.")] = 2,
    judge: Annotated[str | None, typer.Option(help="family.alias/model that judges prose.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Of every request.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Stream, to time the first token.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure models on tasks, without fallback. Refuses to start while a grader is unsound."""
    from zc_notebooks.bench.run import Settings

    _check_file(out, resume=resume)
    if budget_usd is not None and not math.isfinite(budget_usd):
        fail("--budget-usd: write dollars, or leave it out for no limit")
    settings = Settings(
        reps=reps,
        request={} if temperature is None else {"temperature": temperature},
        max_wait_s=max_wait,
        concurrency=concurrency,
        budget_usd=budget_usd,
        stream=stream,
    )
    names = [name.strip() for given in models or () for name in given.split(",") if name.strip()]
    if models and not names:
        fail("--models names nobody: write family.alias or family.alias/model, or leave it out for the chain")
    try:
        with ExitStack() as stack:
            chain = _open(stack, quiet=as_json)
            made = _instances(tasks, source, range(first_seed, first_seed + seeds), stack, chain)
            done = asyncio.run(_measure(chain, made, names, out, settings, judge, max_tokens))
    except KeyboardInterrupt:
        if out.exists():
            say(f"{out} keeps what is measured: --resume goes on with it")
        raise
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit({"file": str(out), "cells": done.cells, "before": done.before, "done": done.done, "stopped": done.stopped})
    else:
        _say_measured(done, out)
    if done.stopped:
        raise typer.Exit(STOPPED)


def _check_file(out: Path, *, resume: bool) -> None:
    if out.is_dir():
        fail(f"{out} is a folder: name a file (-o)")
    if out.exists() and not resume:
        fail(f"{out} exists: --resume goes on with it, or name another file (-o)")
    folder = next(parent for parent in out.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        why = "nothing can be made in it" if folder.is_dir() else "it is a file"
        fail(f"{out} cannot be written, because of {folder}: {why}; name another file (-o)")


def _say_measured(done: Measured, out: Path) -> None:
    before = f" now, {done.before:,} before" if done.before else ""
    answer(f"{counted(done.done, 'cell')} measured{before}, of {done.cells:,}; results in {out}")
    if find_spec("scipy") is not None and out.exists():
        for item in statistics_of(out, as_json=False).candidates:
            for words in oddities(item):
                say(words)
    if done.stopped:
        say(f"zc: stopped: {done.stopped}")


def _open(stack: ExitStack, *, quiet: bool) -> Chain:
    import zc_notebooks as zc

    return stack.enter_context(zc.open(quiet=quiet))


def _instances(
    tasks: list[str] | None, source: Path | None, seeds: Sequence[int], stack: ExitStack, chain: Chain
) -> tuple[Instance, ...]:
    from zc_notebooks.bench.lab_book import taught
    from zc_notebooks.bench.tasks import instances, load_tasks

    made = instances(load_tasks(source, tasks or ()), seeds)
    if chain.lab is not None:
        stack.enter_context(taught(made))
    return made


async def _measure(
    chain: Chain,
    made: Sequence[Instance],
    names: list[str],
    out: Path,
    settings: Settings,
    judge: str | None,
    max_tokens: int,
) -> Measured:
    from tqdm.auto import tqdm

    from zc_notebooks.bench.check import require_sound
    from zc_notebooks.bench.judge import chain_judge
    from zc_notebooks.bench.put import put
    from zc_notebooks.bench.results import Result, Results
    from zc_notebooks.bench.run import cells, measure, named

    judges = (chain_judge(chain, judge),) if judge else ()
    found = await require_sound(made, judges)
    if found.unchecked:
        say(f"left out, because a model must judge them (--judge): {', '.join(found.unchecked)}")
    items = put(made, judges, max_tokens)
    given = names or [f"{link.provider}/{link.model}" for link in chain.config.chain] or _default(chain)
    candidates = named(chain, given)
    results = Results(out)
    every, before = cells(items, candidates, settings), results.done()
    counts = {"correct": 0, "unreachable": 0}
    known = sum(cell.key in before for cell, _ in every)
    with tqdm(total=len(every), initial=known, desc="cells", unit="cell", disable=None, leave=False) as progress:

        def told(result: Result) -> None:
            counts[result.outcome] = counts.get(result.outcome, 0) + 1
            progress.set_postfix_str(", ".join(f"{count} {name}" for name, count in counts.items() if count))
            progress.update()

        return await measure(chain, items, candidates, results, settings, told=told)


def _default(chain: Chain) -> list[str]:
    if chain.config.default_provider is None:
        _say_models()
    return [chain.config.default_provider]


def _say_models() -> NoReturn:
    fail("which models? name them (--models family.alias/model), or add a [[chain]]")
