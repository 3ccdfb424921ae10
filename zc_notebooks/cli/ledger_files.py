"""``zc ledger compact|import|export``: the files of a ledger folder, what comes into it, what leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.ledger import Folder, Since, Until, app, folder_of, open_ledger
from zc_notebooks.cli.output import ALL_FAILED, OK, answer, emit, fail, report, show
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted

__all__ = ["app"]


@app.command("import")
def import_rows(
    file: Annotated[
        Path,
        typer.Argument(help="JSON lines: ledger rows, a short log, LiteLLM's spend log, OpenTelemetry spans."),
    ],
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Add the attempts of a file; a second time adds nothing. Exit status 3 when some lines are no rows."""
    from zc_notebooks.ledger.importing import import_file

    try:
        found = import_file(file, folder_of(ledger, new=True))
    except ZcError as error:
        report(error, as_json=as_json)
    show(found, as_json=as_json)
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
    show(done, as_json=as_json)


@app.command()
def export(
    file: Annotated[Path | None, typer.Argument(help="A new .parquet, .csv or .duckdb file of the attempts.")] = None,
    otel: Annotated[Path | None, typer.Option(help="Write OpenTelemetry spans to it, as OTLP JSON lines.")] = None,
    otlp: Annotated[bool, typer.Option("--otlp", help="Send them to OTEL_EXPORTER_OTLP_ENDPOINT.")] = False,
    since: Since = None,
    until: Until = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE when it is there.")] = False,
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Take the attempts of a period out of the ledger as a file, or its calls as OpenTelemetry spans."""
    from zc_notebooks.ledger import otel as spans
    from zc_notebooks.ledger.otel_send import send

    if [file is not None, otel is not None, otlp].count(True) != 1:
        fail("say where the attempts go: a FILE that ends in .parquet, .csv or .duckdb, or --otel FILE, or --otlp")
    to = file or otel
    try:
        source = open_ledger(ledger)
        if file is not None:
            word, number = "row", source.export(file, since=since, until=until, force=force)
        elif otel is not None:
            word, number = "call", spans.export(source, otel, since=since, until=until, force=force)
        else:
            word, number = "span", send(source, since=since, until=until)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(({} if to is None else {"file": str(to)}) | {f"{word}s": number})
    else:
        answer(f"{counted(number, word)} {'sent' if to is None else f'written to {to}'}")
