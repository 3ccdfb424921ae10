"""How providers stand: marks, probes, the status of all, and what may still be spent."""

from __future__ import annotations

from collections.abc import Sequence

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.budget.report import BUDGET_COLUMNS, Budget
from zc_notebooks.markup import Sheet, counted
from zc_notebooks.probe import ProbeResult
from zc_notebooks.records import Mark
from zc_notebooks.status import STATUS_COLUMNS, Status


def mark_sheet(mark: Mark) -> Sheet:
    """One mark as a table of one row."""
    return marks_sheet((mark,))


def marks_sheet(marks: Sequence[Mark]) -> Sheet:
    """Marks with their end and who stated it."""
    if not marks:
        return Sheet(title="No marks: every candidate may be asked")
    return Sheet(
        title=f"{counted(len(marks), 'mark')}: do not use until",
        columns=("set by", "billing pool", "model", "until", "stated by", "reason"),
        rows=tuple((mark.provider_ref or "-", *mark_row(mark)) for mark in marks),
    )


def mark_row(mark: Mark) -> tuple[str, ...]:
    """One mark as table cells."""
    who = {"stated": "the provider", "inferred": "its known reset rule", "guessed": "nobody (a guess)"}
    until = f"{mark.until:%Y-%m-%d %H:%M:%S} UTC"
    return mark.key.pool, mark.key.model or "all", until, who[mark.provenance], mark.reason.replace("_", " ")


def probe_sheet(result: ProbeResult) -> Sheet:
    """One probe as a table of one row."""
    return probes((result,))


def probes(results: Sequence[ProbeResult]) -> Sheet:
    """One table of several probes."""
    return Sheet(
        title="Probe"
        if len(results) == 1
        else f"Probes: {sum(r.reachable for r in results)} of {len(results)} reachable",
        columns=("candidate", "state", "until", "ms", "asked by", "its own words"),
        rows=tuple(
            (
                f"{item.ref}/{item.model}",
                ("✓ " if item.reachable else "✗ ") + item.state,
                f"{item.until:%Y-%m-%d %H:%M:%S} UTC ({item.provenance})" if item.until else "-",
                f"{item.ms:.1f}",
                item.how,
                item.text,
            )
            for item in results
        ),
    )


def status_sheet(now: Status) -> Sheet:
    """Every profile: how it stands, what is left, its last outcome."""
    return Sheet(
        title=repr(now).removeprefix("Status(").removesuffix(")"),
        columns=STATUS_COLUMNS,
        rows=now.rows(),
    )


def budget_sheet(now: Budget) -> Sheet:
    """Day and month: limit, spent, reserved, left."""
    notes = [] if now.call_usd is None else [f"One call may cost up to {dollars(now.call_usd)}."]
    return Sheet(
        title="Budget" if now.periods or now.call_usd is not None else "No budget is set",
        lines=(f"Nothing that costs is asked: {now.problem}",) if now.problem else (),
        columns=BUDGET_COLUMNS if now.periods else (),
        rows=now.rows(),
        notes=tuple(notes),
    )
