"""``zc report``: a notebook run against a ledger, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.ledger import Folder, folder_of
from zc_notebooks.cli.output import answer, emit, say
from zc_notebooks.cli.output import report as failed
from zc_notebooks.errors import ZcError


def report(
    kind: Annotated[str, typer.Argument(help="outage, cost, or a notebook of your own.")],
    out: Annotated[Path | None, typer.Option("--output", "-o", help="The HTML file; report-KIND.html here.")] = None,
    since: Annotated[
        str, typer.Option(help="24h, 7d (to the last row), a date or an instant; everything unless given.")
    ] = "",
    until: Annotated[str, typer.Option(help="A date or an instant.")] = "",
    ledger: Folder = None,
    code: Annotated[bool, typer.Option("--code", help="Show the cells' code, folded.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the notebook of a report against the ledger; write one HTML file that needs nothing else."""
    from zc_notebooks.notebook.report import make_report

    given = {name: value for name, value in (("since", since), ("until", until)) if value}
    path = out or Path(f"report-{Path(kind).stem}.html")
    damage: list[str] = []
    try:
        folder = folder_of(ledger, new=True)  # the report says itself what is no ledger
        path = make_report(kind, path, ledger=folder, parameters=given, code=code, tell=damage.append)
    except ZcError as error:
        failed(error, as_json=as_json)
    for words in damage:
        say(f"zc: {words}")
    if as_json:
        emit({"kind": kind, "report": str(path), "ledger": str(folder), "damage": damage[0] if damage else None})
    else:
        answer(f"{path} ({path.stat().st_size // 1024} kB)")
