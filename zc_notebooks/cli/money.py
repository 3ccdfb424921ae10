"""``zc ledger cost|reprice``: what answers really cost, and by which prices."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.ledger import Folder, Since, Until, folder_of, open_ledger
from zc_notebooks.cli.output import answer, emit, report, show
from zc_notebooks.errors import ZcError


def add_to(app: typer.Typer) -> None:
    """Puts these commands among the ledger's."""
    app.command("cost")(cost)
    app.command("reprice")(reprice)


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


def reprice(
    since: Since = None,
    until: Until = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Correct costs by today's prices: a new version beside the rows, which stay as they are."""
    from zc_notebooks.config.load import load_config
    from zc_notebooks.ledger.repricing import reprice as correct

    try:
        profiles = load_config(None, environ=os.environ).profiles
        done = correct(folder_of(ledger), profiles, since=since, until=until, dry_run=dry_run)
    except ZcError as error:
        report(error, as_json=as_json)
    show(done, as_json=as_json)
