"""``zc bench``: measure candidates by tasks with known answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import answer, emit, report, say, table
from zc_notebooks.errors import ZcError

if TYPE_CHECKING:
    from zc_notebooks.bench.check import Report
    from zc_notebooks.bench.tasks import Instance

UNSOUND: Final = 1
"""Exit status of a check that found a wrong grade."""

Tasks = Annotated[
    list[str] | None, typer.Option("--tasks", "-t", help="Id, kind, language or pattern (arith-*); several are added.")
]
TasksFrom = Annotated[Path | None, typer.Option("--from", help="A .toml file of tasks, or a folder of them.")]

app = typer.Typer(help="Measure candidates by tasks with known answers.", no_args_is_help=True)


@app.command("tasks")
def list_tasks(tasks: Tasks = None, source: TasksFrom = None, as_json: AsJson = False) -> None:
    """List the tasks there are."""
    from zc_notebooks.bench.tasks import TemplateTask, load_tasks

    try:
        found = load_tasks(source, tasks or ())
    except ZcError as error:
        report(error, as_json=as_json)
    rows = [(item.id, item.kind, item.level, item.language, isinstance(item, TemplateTask)) for item in found]
    if as_json:
        names = ("id", "kind", "level", "language", "template")
        emit([dict(zip(names, row, strict=True)) for row in rows])
        return
    table(
        ("task", "kind", "level", "language", "instances"),
        [(*map(str, row[:4]), "any number, by seed" if row[4] else "one") for row in rows],
    )


@app.command()
def check(
    tasks: Tasks = None,
    source: TasksFrom = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Instances of each template.")] = 3,
    judge: Annotated[str | None, typer.Option(help="family.alias/model that judges prose; asked for real.")] = None,
    as_json: AsJson = False,
) -> None:
    """Grade the graders: every known answer of every task must get the grade that is known.

    Ends with status 1 if one does not, and names the task and the answer.
    """
    from zc_notebooks.bench.tasks import instances, load_tasks

    try:
        chosen = instances(load_tasks(source, tasks or ()), range(seeds))
        found = _checked(chosen, judge, quiet=as_json)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit({"ok": found.ok, "summary": found.summary(), **_fields(found)})
    else:
        _tell(found)
    if not found.ok:
        raise typer.Exit(UNSOUND)


def _checked(chosen: Sequence[Instance], judge: str | None, *, quiet: bool) -> Report:
    from tqdm.auto import tqdm

    import zc_notebooks as zc
    from zc_notebooks.bench.check import check as check_all
    from zc_notebooks.bench.judge import chain_judge

    with (
        zc.open(quiet=quiet) if judge else nullcontext() as chain,
        tqdm(total=len(chosen), desc="known answers", unit="instance", disable=None, leave=False) as progress,
    ):
        judges = (chain_judge(chain, judge),) if chain is not None and judge else ()
        return asyncio.run(check_all(chosen, judges, lambda _: progress.update()))


def _fields(found: Report) -> dict[str, object]:
    return {
        "instances": found.instances,
        "answers": found.answers,
        "findings": found.findings,
        "unchecked": found.unchecked,
        "wall": found.wall,
    }


def _tell(found: Report) -> None:
    if found.findings:
        table(
            ("task", "answer", "should be", "is", "why", "text"),
            [
                (item.task, f"{item.sort} {item.place}", item.expected, item.mark, item.why, item.text)
                for item in found.findings
            ],
        )
    answer(found.summary())
    if found.wall == "audit hook":
        say(
            "no namespaces here: a model's code is held by an audit hook, which is no wall (zc_notebooks.bench.sandbox)"
        )
    if found.unchecked:
        say(f"judged by a model, so not checked: {', '.join(found.unchecked)}")
