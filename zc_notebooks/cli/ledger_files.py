"""``zc ledger compact|import``: the files of a ledger folder, and what comes into it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.ledger import Folder, app, folder_of
from zc_notebooks.cli.output import ALL_FAILED, OK, answer, emit, report
from zc_notebooks.errors import ZcError

__all__ = ["app"]


@app.command("import")
def import_rows(
    file: Annotated[Path, typer.Argument(help="JSON lines: ledger rows, or a short usage log.")],
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Add the attempts of a file; a second time adds nothing. Exit status 3 when some lines are no rows."""
    from zc_notebooks.ledger.importing import import_file

    try:
        found = import_file(file, folder_of(ledger))
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(found)
    else:
        answer(str(found))
    raise typer.Exit(ALL_FAILED if found.refused else OK)


@app.command()
def compact(
    keep: Annotated[str | None, typer.Option(help="Drop rows older than this, such as 90d; none unless given.")] = None,
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Put sealed files together into Parquet, sorted by time. Safe at any moment; a second time changes nothing."""
    from zc_notebooks.ledger.compact import compact as compact_folder

    try:
        done = compact_folder(folder_of(ledger), keep=keep)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(done)
    else:
        answer(str(done))
