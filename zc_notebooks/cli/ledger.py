"""``zc ledger``: query the attempts."""

from __future__ import annotations

import os
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import ALL_FAILED, OK, emit, report, say, show, table
from zc_notebooks.errors import LedgerError, ZcError

if TYPE_CHECKING:
    from polars import DataFrame

    from zc_notebooks.ledger.read import Ledger

app = typer.Typer(help="Query the attempt ledger.", no_args_is_help=True)
Since = Annotated[str | None, typer.Option(help='Begin: "24h", "7d", a date or an instant; all unless given.')]
Until = Annotated[str | None, typer.Option(help="End, not included; the same forms.")]
Folder = Annotated[Path | None, typer.Option("--ledger", help="Its folder; the configured one unless given.")]

_VIEWS: Final = {
    "calls": "One line per call: asked for, served, what it took, what it cost.",
    "exhaustion": "When which credential was out, how that ended, and how many calls it turned away.",
    "reachability": "Answered calls over asked ones by provider, model and hour.",
    "spend": "Money by provider, model and day; accepted and rejected.",
    "latency": "How long answers take: median, 95 %, first token.",
    "last_state": "How each candidate stood when it was last met.",
}
_SHOWN: Final = {
    "calls": "t requested_ref served_ref outcome reason attempts skips wait_s total_s cost_usd at_least",
    "exhaustion": "provider_ref credential_id model kind begin_at end_at ended_by out_s calls refused skipped",
    "reachability": "hour provider_ref model calls reached refused cancelled share accepted",
    "spend": "day provider_ref model attempts accepted accepted_usd rejected_usd cost_usd at_least",
    "latency": "provider_ref model answers p50_s p95_s first_p50_s first_p95_s failures failed_p50_s",
    "last_state": "provider_ref model credential_id state t status reason resets_at ok_at",
}
"""What people see of a view; ``--json`` has all columns."""


def open_ledger(folder: Path | None) -> Ledger:
    """The ledger at ``folder``, else the configured one, else the embedded lab's. Says what is wrong with it."""
    from zc_notebooks.ledger.read import Ledger

    opened = Ledger(folder_of(folder))
    for remark in (opened.damage, opened.advice):
        if remark is not None:
            say(f"zc: {remark}")
    return opened


def folder_of(folder: Path | None, *, new: bool = False) -> Path:
    """``folder``, else the configured ledger's, else the embedded lab's.

    Raises:
        LedgerError: ``folder`` is named and not there, though it may not be ``new``. The configured one may be.
    """
    from zc_notebooks.config.load import configured
    from zc_notebooks.places import ledger_folder

    if folder is None:
        return ledger_folder(configured(os.environ))
    if not new and not folder.expanduser().exists():
        raise LedgerError(f"there is no folder {folder}: name a ledger's folder with --ledger, or leave that out")
    return folder


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="SQL over the views: attempts, calls, hops, exhaustion, spend, …")],
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


def _command_of(view: str, words: str) -> None:
    def command(since: Since = None, until: Until = None, ledger: Folder = None, as_json: AsJson = False) -> None:
        try:
            frame = open_ledger(ledger).view(view, since, until)
        except ZcError as error:
            report(error, as_json=as_json)
        _show(frame if as_json else _for_people(frame.select(_SHOWN[view].split())), as_json=as_json)

    app.command(view.removeprefix("last_"), help=words)(command)


for _view, _words in _VIEWS.items():
    _command_of(_view, _words)


@app.command()
def check(ledger: Folder = None, as_json: AsJson = False) -> None:
    """Count files, rows, and lines that are no rows. Exit status 3 when some are not."""
    from zc_notebooks.ledger.read import Ledger

    try:
        found = Ledger(folder_of(ledger)).check()
    except ZcError as error:
        report(error, as_json=as_json)
    show(found, as_json=as_json)
    raise typer.Exit(OK if found.ok else ALL_FAILED)


def _show(frame: DataFrame, *, as_json: bool) -> None:
    if as_json:
        emit(frame.to_dicts())
        return
    table(frame.columns, [[_cell(value) for value in row] for row in frame.rows()])


def _for_people(frame: DataFrame) -> DataFrame:
    """A cost that is a lower bound says so itself."""
    import polars as pl

    if "at_least" not in frame.columns:
        return frame
    figures = [_cell(value) for value in frame["cost_usd"]]
    bounds = zip(figures, frame["at_least"], strict=True)
    said = [f"at least {figure}" if bound and figure != "-" else figure for figure, bound in bounds]
    return frame.drop("at_least").with_columns(pl.Series("cost_usd", said, dtype=pl.String))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
