"""A call that answered and one that did not: every attempt with its own reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.errors import AllCandidatesFailed, CallError
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import Sheet, counted
from zc_notebooks.redact import short
from zc_notebooks.result import Completion

_OUTCOME: Final = {"ok": "✓ answered", "empty": "✗ empty answer"}


def completion_sheet(done: Completion) -> Sheet:
    """The answer, who served it, and what was tried before."""
    served, asked = done.served, done.requested
    title = f"Answer from {served.provider_ref}/{served.model}"
    notes = [summary(done)]
    if (served.provider_ref, served.model) != (asked.provider_ref, asked.model):
        notes.append(f"Asked for {asked.provider_ref}/{asked.model}.")
    if served.mismatch:
        notes.append(f"Of the model: {served.mismatch}.")
    return Sheet(
        title=title,
        lines=(done.said,) if done.said else (),
        columns=("candidate", "outcome", "reason", "seconds", "tokens in / out"),
        rows=tuple(_attempt(row) for row in done.attempts),
        notes=(*notes, *([done.notice] if done.notice else [])),
    )


def summary(done: Completion) -> str:
    """Attempts, time and cost in one line, and that the token limit cut the answer."""
    tried = sum(row.kind == "attempt" for row in done.attempts)
    cost = (
        "cost unknown"
        if done.cost_usd is None
        else f"cost {'at least ' if done.at_least else ''}{dollars(done.cost_usd)}"
    )
    steps = counted(tried, "attempt"), counted(len(done.hops), "hop")
    return ", ".join([*steps, f"{done.secs:.2f} s", cost, *([done.cut] if done.cut else [])])


def _attempt(row: AttemptRow) -> tuple[str, ...]:
    outcome = _OUTCOME.get(row.status) or ("– " if row.kind == "skip" else "✗ ") + row.status.replace("_", " ")
    tokens = "-" if row.input_tokens is None else f"{row.input_tokens} / {row.output_tokens}"
    secs = "-" if row.secs is None else f"{row.secs:.2f}"
    return f"{row.provider_ref}/{row.model}", outcome, (row.reason or "").replace("_", " "), secs, tokens


def error_sheet(error: CallError) -> Sheet:
    """One row for each attempt and skip of a call that gave no answer."""
    rows = tuple(
        (
            failure.name,
            failure.row.status.replace("_", " "),
            (failure.row.reason or "").replace("_", " "),
            f"{end:%Y-%m-%d %H:%M:%S} UTC" if (end := failure.until or failure.back_at) else "-",
            short(failure.text),
        )
        for failure in error.attempts
    )
    notes: Sequence[str] = ()
    if isinstance(error, AllCandidatesFailed) and error.earliest_reset is not None:
        notes = (f"The earliest comes back at {error.earliest_reset:%Y-%m-%d %H:%M:%S} UTC.",)
    title = {"AllCandidatesFailed": "All candidates failed"}.get(type(error).__name__, type(error).__name__)
    return Sheet(
        title=title,
        lines=() if isinstance(error, AllCandidatesFailed) else (str(error),),
        columns=("candidate", "status", "reason", "back at", "its own words"),
        rows=rows,
        notes=tuple(notes),
    )
