"""``zc config``: check a ``zc.toml``, write a first one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import OK, USAGE, answer, emit, report, say, table
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted

app = typer.Typer(help="Check a zc.toml, or write a first one.", no_args_is_help=True)

FilePath = Annotated[Path | None, typer.Argument(help="The file; zc.toml where it is looked for unless given.")]


@app.command()
def check(path: FilePath = None, as_json: AsJson = False) -> None:
    """Report every problem and warning of a configuration, and which keys it finds."""
    from zc_notebooks.config.check import ConfigReport, check_file
    from zc_notebooks.config.load import find_config

    try:
        found = path or find_config(os.environ, Path.cwd())
        if found is None:
            if as_json:
                emit(ConfigReport(ok=True).to_dict())
            else:
                answer("no zc.toml here: calls are answered by the embedded lab (zc config init writes a first one)")
            return
        report_ = check_file(found, os.environ)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(report_.to_dict())
    else:
        _print(report_)
    raise typer.Exit(USAGE if report_.problems else OK)


def _print(checked: object) -> None:
    problems, warnings, profiles = (getattr(checked, name) for name in ("problems", "warnings", "profiles"))
    for problem in problems:
        say(f"error   {problem}")
    for warning in warnings:
        say(f"warning {warning}")
    if profiles:
        rows = [(item.ref, item.tier, item.wire, item.pool, item.keys_text) for item in profiles]
        table(("profile", "tier", "wire", "billing pool", "key"), rows)
    told = say if problems else answer
    found = ((problems, "problem"), (warnings, "warning"), (profiles, "profile"))
    told(", ".join(counted(len(items), word) for items, word in found))
    if not problems and not profiles:
        answer("it names no provider, so calls are answered by the embedded lab")


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("zc.toml"), as_json: AsJson = False
) -> None:
    """Write a commented zc.toml for the keys found in the environment. Never overwrites, never writes a key."""
    from zc_notebooks.config.starter import write_starter

    try:
        written = write_starter(path, os.environ)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit({"path": str(written)})
    else:
        answer(f"wrote {written}: look it over, then run `zc config check` and `zc ask`")
