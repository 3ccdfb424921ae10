"""``zc plan``: which candidates a call would go through, without calling any."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import emit, report, say, table
from zc_notebooks.errors import ZcError
from zc_notebooks.records import Entry, Mark, Plan


def plan(
    start: Annotated[str | None, typer.Option(metavar="REF[/MODEL]", help="Candidate to start with.")] = None,
    hint: Annotated[str | None, typer.Option(help="Name of a route.")] = None,
    model: Annotated[str | None, typer.Option(help="Model to ask the start for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the candidates of a call in order, and everything left out with its code."""
    import zc_notebooks as zc

    try:
        with zc.open(quiet=as_json) as chain:
            made = chain.plan(start=start, hint=hint, model=model)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(plan_json(made))
        return
    table(
        ("", "candidate", "model", "pool", "tier", "window", "cooling until"),
        [_line(made, entry) for entry in made.entries],
    )
    for item in (*made.pruned, *made.warnings):
        say(f"{item.code}: {item.path} ({item.ref})")


def _line(made: Plan, entry: Entry) -> tuple[str, ...]:
    mark, window = made.mark_of(entry), entry.profile.window(entry.model)
    return (
        str(entry.index + 1),
        entry.ref,
        entry.model or f"{made.requested_model} (unpinned)",
        entry.profile.pool,
        entry.profile.tier,
        str(window or "-"),
        _until(mark),
    )


def _until(mark: Mark | None) -> str:
    return "-" if mark is None else f"{mark.until:%Y-%m-%d %H:%M:%S} UTC ({mark.provenance}, {mark.reason})"


def plan_json(made: Plan) -> dict[str, Any]:
    """The documented form of ``zc plan --json``."""
    entries = []
    for entry in made.entries:
        mark = made.mark_of(entry)
        entries.append(
            {
                "provider_ref": entry.ref,
                "model": entry.model,
                "pinned": entry.pinned,
                "billing_pool": entry.profile.pool,
                "tier": entry.profile.tier,
                "context_window": entry.profile.window(entry.model),
                "cooling_until": mark.until if mark else None,
            }
        )
    return {"entries": entries, "pruned": made.pruned, "warnings": made.warnings}
