"""``zc plan``: which candidates a call would go through, without calling any."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson, Hint, Model, Start
from zc_notebooks.cli.output import emit, fail, report, say, table
from zc_notebooks.errors import ZcError
from zc_notebooks.planning import COLUMNS, lines
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import Plan, Pruned


def plan(
    prompt: Annotated[str, typer.Argument(help="A prompt, where its effort or its length selects.")] = "",
    start: Start = None,
    hint: Hint = None,
    model: Model = None,
    source: Annotated[str | None, typer.Option(help="graph or chain, whatever the rule would choose.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the candidates of a call in order, how each stands now, and everything left out with its code."""
    import zc_notebooks as zc

    if source not in (None, "graph", "chain"):
        fail(f"--source {source!r} is neither graph nor chain")
    options = {"start": start, "hint": hint, "model": model, "source": source}
    try:
        with zc.open(quiet=as_json) as chain:
            made = chain.plan(prompt or None, **options)
    except (ZcError, InvalidRequest) as error:
        report(error, as_json=as_json)
    if as_json:
        emit(plan_json(made))
        return
    table(COLUMNS, lines(made))
    for item in (*made.pruned, *made.warnings):
        say(f"{item.code}: {item.path} ({item.ref})")


def plan_json(made: Plan) -> dict[str, Any]:
    """The documented form of ``zc plan --json``. ``pruned`` also holds the entries a call would pass over now."""
    entries, skipped = [], []
    for entry in made.entries:
        standing = made.standing(entry)
        entries.append(
            {
                "provider_ref": entry.ref,
                "model": entry.model,
                "pinned": entry.pinned,
                "billing_pool": entry.profile.pool,
                "tier": entry.profile.tier,
                "context_window": entry.profile.window(entry.model),
                "cooling_until": standing.mark.until if standing.mark else None,
            }
        )
        if standing.skip is not None:
            path = entry.declared or f"providers.{entry.ref}"
            skipped.append(Pruned(code=standing.skip, path=path, ref=entry.ref))
    return {"entries": entries, "pruned": [*made.pruned, *skipped], "warnings": made.warnings}
