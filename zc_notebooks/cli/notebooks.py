"""``zc notebooks``: what comes with the package, and copies to work with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import answer, emit, report, table
from zc_notebooks.errors import ZcError

app = typer.Typer(help="List the notebooks that come with the package, or copy them.", no_args_is_help=True)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the notebooks: name, title, and the parameters each takes."""
    from zc_notebooks.notebook.shipped import shipped

    found = shipped()
    if as_json:
        emit([item.to_dict() for item in found])
        return
    table(("notebook", "title", "parameters"), [(i.name, i.title, ", ".join(i.parameters)) for i in found])
    answer("zc notebooks copy DIR puts them into a folder of yours")


@app.command()
def copy(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; made where it is missing.")],
    force: Annotated[bool, typer.Option("--force", help="Replace notebooks of the same names.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the notebooks into a folder. Overwrites nothing unless told to; the copies need nothing beside them."""
    from zc_notebooks.notebook.shipped import copy_to

    try:
        copies = copy_to(folder, force=force)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit([str(path) for path in copies])
        return
    for path in copies:
        answer(str(path))
