"""``zc ledger cost``: what answers really cost."""

from __future__ import annotations

from typing import Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.ledger import Folder, open_ledger
from zc_notebooks.cli.output import answer, emit, report
from zc_notebooks.errors import ZcError

Since = Annotated[str | None, typer.Option(help="Begin: 24h, 7d, a date or an instant.")]
Until = Annotated[str | None, typer.Option(help="End, not included.")]


def add_to(app: typer.Typer) -> None:
    """Puts these commands among the ledger's."""
    app.command("cost")(cost)


def cost(since: Since = None, until: Until = None, ledger: Folder = None, as_json: AsJson = False) -> None:
    """Cost per answered call, rejected attempts included."""
    from msgspec.structs import asdict

    from zc_notebooks.ledger.effective import effective_cost

    try:
        found = effective_cost(open_ledger(ledger), since, until)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit({**asdict(found), "at_least": found.at_least, "per_answer_usd": found.per_answer_usd})
    else:
        answer(str(found))
