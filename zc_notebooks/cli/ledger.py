"""``zc ledger``: query the attempts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import ALL_FAILED, OK, answer, emit, report, table
from zc_notebooks.errors import ZcError

if TYPE_CHECKING:
    from polars import DataFrame

    from zc_notebooks.config.schema import Config
    from zc_notebooks.ledger.read import Ledger

app = typer.Typer(help="Query the attempt ledger.", no_args_is_help=True)
Folder = Annotated[Path | None, typer.Option("--ledger", help="Its folder; the configured one unless given.")]


def open_ledger(folder: Path | None) -> Ledger:
    """The ledger at ``folder``, else the configured one, else the embedded lab's."""
    from zc_notebooks.ledger.read import Ledger

    return Ledger(folder_of(folder))


def folder_of(folder: Path | None) -> Path:
    """``folder``, else the configured ledger's, else the embedded lab's."""
    from zc_notebooks.places import ledger_folder

    return folder if folder is not None else ledger_folder(configured())


def configured() -> Config | None:
    """The configuration a command finds; ``None`` without one."""
    from zc_notebooks.config.load import find_config, load_config

    found = find_config(os.environ, Path.cwd())
    return None if found is None else load_config(found, environ=os.environ)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="SQL over the views attempts and attempts_short.")],
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Run one query on the ledger."""
    try:
        frame = open_ledger(ledger).sql(query)
    except ZcError as error:
        report(error, as_json=as_json)
    _show(frame, as_json=as_json)


@app.command()
def tail(
    lines: Annotated[int, typer.Option("-n", min=1, help="How many rows.")] = 10,
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest attempts."""
    try:
        frame = open_ledger(ledger).tail(lines)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        _show(frame, as_json=True)
        return
    columns = ["t", "provider_ref", "model", "kind", "status", "reason", "attempt", "failover", "secs", "cost_usd"]
    _show(frame.select(columns), as_json=False)


@app.command()
def check(ledger: Folder = None, as_json: AsJson = False) -> None:
    """Count files, rows, and lines that are no rows. Exit status 3 when some are not."""
    try:
        found = open_ledger(ledger).check()
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(found)
    else:
        answer(str(found))
    raise typer.Exit(OK if found.ok else ALL_FAILED)


def _show(frame: DataFrame, *, as_json: bool) -> None:
    if as_json:
        emit(frame.to_dicts())
        return
    table(frame.columns, [[_cell(value) for value in row] for row in frame.rows()])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:%Y-%m-%d %H:%M:%S}" if hasattr(value, "strftime") else str(value)
