"""``zc bench report`` and ``order``: what a measurement tells, and the order of the chain by it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import ALL_FAILED, answer, emit, fail, report, say, table
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    from zc_notebooks.bench.order import Proposal
    from zc_notebooks.bench.replay import Figures
    from zc_notebooks.bench.statistics import Candidate, Statistics
    from zc_notebooks.config.schema import Config

ResultsFile = Annotated[Path, typer.Argument(help="File of results, as zc bench run writes it.")]


def show_report(
    file: ResultsFile, by_task: Annotated[bool, typer.Option("--by-task")] = False, as_json: AsJson = False
) -> None:
    """What may be said of a measurement: quality, reachability and cost apart, and who can be told from whom."""
    found = statistics_of(file, as_json=as_json)
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
            "unparsed",
            "cut off",
            "USD a right answer",
            "USD a task",
            "tokens out",
            "median s",
            "p95 s",
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
        for words in oddities(item):
            answer(words)
    for sentence in found.sentences():
        answer(sentence)


def oddities(item: Candidate) -> Iterator[str]:
    """What a figure alone does not tell."""
    if item.wrong_model:
        yield f"{item.candidate}: another model answered {counted(item.wrong_model, 'time')} than was asked for"
    if item.missed and not item.accuracy.of:
        yield f"{item.candidate} never answered: {item.missed}"


def _figures(item: Candidate) -> tuple[str, ...]:
    return (
        item.candidate,
        str(item.accuracy),
        str(item.reachability),
        _number(item.outcomes["unparsed"], 0),
        str(item.truncated),
        _usd_of(item.cost_per_correct, item),
        _usd_of(item.cost_per_task, item),
        _number(item.tokens_out, 0),
        _number(item.p50_s),
        _number(item.p95_s),
    )


def _usd_of(cost: float | None, item: Candidate) -> str:
    return "-" if cost is None else f"{'at least ' if item.at_least else ''}{cost:.6f}"


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
        found = statistics_of(file, as_json=as_json)
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
    import zc_notebooks as zc
    from zc_notebooks.config.load import configured

    found = configured(os.environ)
    if found is not None:
        return found
    with zc.open(quiet=quiet) as chain:
        return chain.config


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


def statistics_of(file: Path, *, as_json: bool) -> Statistics:
    """The figures of a file, or the end of the command."""
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
