"""``zc bench run``, ``report`` and ``order``: from a measurement to the order of the chain."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.bench import Tasks, TasksFrom
from zc_notebooks.cli.output import ALL_FAILED, answer, emit, fail, report, say, table
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    from zc_notebooks.bench.order import Proposal
    from zc_notebooks.bench.replay import Figures
    from zc_notebooks.bench.run import Measured, Settings
    from zc_notebooks.bench.statistics import Candidate, Statistics
    from zc_notebooks.bench.tasks import Instance
    from zc_notebooks.chain import Chain
    from zc_notebooks.config.schema import Config

ResultsFile = Annotated[Path, typer.Argument(help="File of results, as zc bench run writes it.")]
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


def _say_measured(done: Measured, out: Path) -> None:
    before = f" now, {done.before:,} before" if done.before else ""
    answer(f"{counted(done.done, 'cell')} measured{before}, of {done.cells:,}; results in {out}")
    if find_spec("scipy") is not None and out.exists():
        for item in _statistics(out, as_json=False).candidates:
            for words in _oddities(item):
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


# -- looking at results -----------------------------------------------------------------------------------------------


def show_report(
    file: ResultsFile, by_task: Annotated[bool, typer.Option("--by-task")] = False, as_json: AsJson = False
) -> None:
    """What may be said of a measurement: quality, reachability and cost apart, and who can be told from whom."""
    found = _statistics(file, as_json=as_json)
    if as_json:
        emit(found)
        return
    if not found.candidates:
        answer("nothing was measured")
        return
    table(
        (
            "candidate",
            "right, of answers",
            "reached, of calls",
            "cut off",
            "USD a right answer",
            "tokens out",
            "median s",
        ),
        [_figures(item) for item in found.candidates],
    )
    if by_task:
        table(
            ("task", "kind", "level", "right", "spread", "with the rest"),
            [
                (
                    item.task,
                    item.kind,
                    str(item.level),
                    f"{item.share:.0%}",
                    f"{item.spread:.0%}",
                    _number(item.item_rest),
                )
                for item in found.tasks
            ],
        )
    for item in found.candidates:
        for words in _oddities(item):
            answer(words)
    for sentence in found.sentences():
        answer(sentence)


def _oddities(item: Candidate) -> Iterator[str]:
    """What a figure alone does not tell."""
    if item.wrong_model:
        yield f"{item.candidate}: another model answered {counted(item.wrong_model, 'time')} than was asked for"
    if item.missed and not item.accuracy.of:
        yield f"{item.candidate} never answered: {item.missed}"


def _figures(item: Candidate) -> tuple[str, ...]:
    cost = (
        "-" if item.cost_per_correct is None else f"{'at least ' if item.at_least else ''}{item.cost_per_correct:.6f}"
    )
    return (
        item.candidate,
        str(item.accuracy),
        str(item.reachability),
        str(item.truncated),
        cost,
        _number(item.tokens_out, 0),
        _number(item.p50_s),
    )


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def order(
    file: ResultsFile,
    by: Annotated[str, typer.Option(help="quality, cost, or worth (with --worth).")] = "quality",
    worth: Annotated[float | None, typer.Option(help="Dollars a right answer is worth.")] = None,
    since: Annotated[str, typer.Option(help="Recorded calls to compare with: 24h, 7d, a date; none: do not.")] = "7d",
    write: Annotated[bool, typer.Option("--write", help="Write it into the zc.toml in force.")] = False,
    as_json: AsJson = False,
) -> None:
    """Propose the order of the chain, with the reason for each place. Ends with status 3 where nothing is decided."""
    from zc_notebooks.bench.order import CannotOrder, propose
    from zc_notebooks.bench.write_order import write_order
    from zc_notebooks.config.load import find_config

    try:
        _check_order(by, worth, since)
        found = _statistics(file, as_json=as_json)
        config = _config(quiet=as_json)
        proposal = propose(found, config, by=by, worth_usd=worth)  # type: ignore[arg-type]
        path = find_config(os.environ, Path.cwd())
        if write:
            if path is None or config.path is None:
                fail("there is no zc.toml of yours to write into: zc config init makes one")
            write_order(path, proposal)
    except CannotOrder as error:
        _cannot(error, as_json=as_json)
    except ZcError as error:
        report(error, as_json=as_json)
    compared = "" if since == "none" else _compared(proposal, config, since)
    if as_json:
        emit(
            {
                "by": proposal.by,
                "places": proposal.places,
                "remarks": proposal.remarks,
                "compared": compared,
                "written": write,
            }
        )
        return
    rows = [(str(place), item.candidate, item.pool, item.reason) for place, item in enumerate(proposal.places, start=1)]
    table(("", "candidate", "billing pool", "why here"), rows)
    for remark in (*proposal.remarks, *([compared] if compared else [])):
        answer(remark)
    if write:
        answer(f"written into {path}")


def _check_order(by: str, worth: float | None, since: str) -> None:
    from zc_notebooks.clock import SystemClock
    from zc_notebooks.ledger.period import period

    if by not in ("quality", "cost", "worth"):
        fail(f"--by {by!r} is none of quality, cost, worth")
    if worth is not None and by != "worth":
        fail("--worth goes with --by worth")
    if since != "none":
        period(since, None, now=SystemClock().now())


def _config(*, quiet: bool) -> Config:
    """The configuration in force; without one the embedded lab's."""
    from zc_notebooks.config.load import configured

    with ExitStack() as stack:
        return configured(os.environ) or _open(stack, quiet=quiet).config


def _compared(proposal: Proposal, config: Config, since: str) -> str:
    """What this order would have done with the recorded calls, in one sentence."""
    from zc_notebooks.bench.from_ledger import replay_ledger
    from zc_notebooks.cli.ledger import open_ledger

    try:
        found = replay_ledger(
            open_ledger(None), [place.candidate for place in proposal.places], since=since, config=config
        )
    except ZcError as error:
        return f"not compared with the present chain: {str(error).splitlines()[0]}"
    really, would, (low, high) = found.really, found.would_have, found.bounds.availability
    seen = found.coverage.share("observed")
    return (
        f"the {counted(really.calls, 'call')} of {since}: "
        f"really {really.availability:.0%} answered for {_usd(really)}; "
        f"in this order {would.availability:.0%} ({low:.0%} to {high:.0%}) for {_usd(would)}, {seen:.0%} of it observed"
    )


def _usd(figures: Figures) -> str:
    if figures.cost_usd is None:
        return "an unknown cost"
    return f"{'at least ' if figures.at_least else ''}${figures.cost_usd:.4f}"


def _cannot(error: ZcError, *, as_json: bool) -> NoReturn:
    if as_json:
        emit({"error": {"type": type(error).__name__, "message": str(error)}})
    else:
        say(f"zc: no order: {error}")
    raise typer.Exit(ALL_FAILED)


def _statistics(file: Path, *, as_json: bool) -> Statistics:
    from zc_notebooks.bench.results import Results, ResultsError
    from zc_notebooks.bench.statistics import statistics

    try:
        if not file.is_file():
            makes = "" if file.exists() else f": zc bench run -o {file} makes one"
            raise ResultsError(f"{file} is no file of results{makes}")
        found: Any = list(Results(file))
    except ZcError as error:
        report(error, as_json=as_json)
    try:
        return statistics(found)
    except ModuleNotFoundError as error:
        fail(f"statistics need {error.name}: pip install 'zc-notebooks[bench]'")
