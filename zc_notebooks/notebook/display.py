"""What each object looks like in a notebook: one sheet (title, lines, table) that becomes HTML, Markdown or text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.budget.report import Budget
from zc_notebooks.chain import Chain
from zc_notebooks.errors import AllCandidatesFailed, CallError
from zc_notebooks.explanation import Explanation
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import Sheet
from zc_notebooks.planning import COLUMNS, lines
from zc_notebooks.probe import ProbeResult
from zc_notebooks.records import LiveMarks, Mark, Plan, Verdict
from zc_notebooks.redact import short
from zc_notebooks.result import Completion
from zc_notebooks.status import Status

_OUTCOME = {"ok": "✓ answered", "empty": "✗ empty answer"}


def sheet_of(shown: Any) -> Sheet:
    """The sheet of one of the package's objects. Raises :class:`TypeError` for anything else."""
    for kind, draw in _SHEETS:
        if isinstance(shown, kind):
            return draw(shown)
    raise TypeError(f"nothing is known about showing a {type(shown).__name__}")


def _completion(done: Completion) -> Sheet:
    served, asked = done.served, done.requested
    title = f"Answer from {served.provider_ref}/{served.model}"
    notes = [summary(done)]
    if (served.provider_ref, served.model) != (asked.provider_ref, asked.model):
        notes.append(f"Asked for {asked.provider_ref}/{asked.model}.")
    if served.mismatch:
        notes.append(f"Of the model: {served.mismatch}.")
    return Sheet(
        title=title,
        lines=(done.text,) if done.text else (),
        columns=("candidate", "outcome", "reason", "seconds", "tokens in / out"),
        rows=tuple(_attempt(row) for row in done.attempts),
        notes=(*notes, *([done.notice] if done.notice else [])),
    )


def summary(done: Completion) -> str:
    """Attempts, time and cost in one line."""
    tried = sum(row.kind == "attempt" for row in done.attempts)
    cost = (
        "cost unknown" if done.cost_usd is None else f"cost {'at least ' if done.at_least else ''}${done.cost_usd:.6f}"
    )
    return f"{tried} attempts, {len(done.hops)} hops, {done.secs:.2f} s, {cost}"


def _attempt(row: AttemptRow) -> tuple[str, ...]:
    outcome = _OUTCOME.get(row.status) or ("– " if row.kind == "skip" else "✗ ") + row.status.replace("_", " ")
    tokens = "-" if row.input_tokens is None else f"{row.input_tokens} / {row.output_tokens}"
    secs = "-" if row.secs is None else f"{row.secs:.2f}"
    return f"{row.provider_ref}/{row.model}", outcome, (row.reason or "").replace("_", " "), secs, tokens


def _plan(made: Plan) -> Sheet:
    of = f"hint {made.hint}" if made.hint is not None else f"the {made.source}"
    return Sheet(
        title=f"Plan: {len(made.entries)} candidates from {of}",
        columns=COLUMNS,
        rows=tuple(lines(made)),
        notes=tuple(f"{item.code}: {item.path} ({item.ref})" for item in (*made.pruned, *made.warnings)),
    )


def _chain(chain: Chain) -> Sheet:
    made = chain.plan()
    plan = _plan(made)
    where = "the embedded lab (simulated providers)" if chain.lab is not None else "zc.toml"
    problem = chain.config_problem
    broken = () if problem is None else (f"What was read before is in force, because: {problem}",)
    return Sheet(title=f"Chain from {where}", columns=plan.columns, rows=plan.rows, notes=(*broken, *plan.notes))


def _verdict(verdict: Verdict) -> Sheet:
    lines = [f"{verdict.reason.replace('_', ' ')} ({verdict.failure_class})"]
    if verdict.stated_wait_s is not None:
        lines.append(f"back in {verdict.stated_wait_s:g} s, as stated")
    if verdict.resets_at is not None:
        lines.append(f"back at {verdict.resets_at:%Y-%m-%d %H:%M:%S} UTC ({verdict.reset_source})")
    return Sheet(
        title="Verdict",
        lines=tuple(lines),
        columns=("where", "found", "means"),
        rows=tuple((item.where, item.value, item.means) for item in verdict.evidence),
        notes=(short(verdict.text),) if verdict.text else (),
    )


def _explanation(told: Explanation) -> Sheet:
    return Sheet(
        title=repr(told).removeprefix("Explanation(").removesuffix(")").replace("_", " "),
        lines=(f"Next: {told.action}.",),
        columns=("where", "found", "means"),
        rows=tuple((item.where, item.value, item.means) for item in told.evidence),
        notes=(short(told.verdict.text, 300),) if told.verdict and told.verdict.text else (),
    )


def _call_error(error: CallError) -> Sheet:
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


def _mark(mark: Mark) -> Sheet:
    return _marks((mark,))


def _marks(marks: Sequence[Mark]) -> Sheet:
    if not marks:
        return Sheet(title="No marks: every candidate may be asked")
    return Sheet(
        title=f"{len(marks)} marks: do not use until" if len(marks) != 1 else "Mark: do not use until",
        columns=("set by", "billing pool", "model", "until", "stated by", "reason"),
        rows=tuple((mark.provider_ref or "-", *mark_row(mark)) for mark in marks),
    )


def mark_row(mark: Mark) -> tuple[str, ...]:
    """One mark as table cells."""
    who = {"stated": "the provider", "inferred": "its known reset rule", "guessed": "nobody (a guess)"}
    until = f"{mark.until:%Y-%m-%d %H:%M:%S} UTC"
    return mark.key.pool, mark.key.model or "all", until, who[mark.provenance], mark.reason.replace("_", " ")


def _probe(result: ProbeResult) -> Sheet:
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
                f"{item.ms:.0f}",
                item.how,
                item.text,
            )
            for item in results
        ),
    )


def _status(now: Status) -> Sheet:
    return Sheet(
        title=repr(now).removeprefix("Status(").removesuffix(")"),
        columns=("profile", "tier", "state", "left", "last outcome"),
        rows=tuple(
            (
                item.ref,
                item.tier,
                item.words(now.at),
                item.left() or "-",
                "-" if item.last is None else f"{item.last.status} at {item.last.t:%m-%d %H:%M:%S} UTC",
            )
            for item in now.profiles
        ),
    )


def _budget(now: Budget) -> Sheet:
    notes = [] if now.call_usd is None else [f"One call may cost up to {dollars(now.call_usd)}."]
    return Sheet(
        title="Budget" if now.periods or now.call_usd is not None else "No budget is set",
        lines=(f"Nothing that costs is asked: {now.problem}",) if now.problem else (),
        columns=("period", "limit", "spent", "reserved", "left", "fresh at") if now.periods else (),
        rows=tuple(
            (
                item.period,
                "none" if item.limit_usd is None else dollars(item.limit_usd),
                item.spent(),
                dollars(item.reserved_usd),
                "-" if item.left_usd is None else dollars(item.left_usd),
                f"{item.fresh_at:%Y-%m-%d %H:%M} UTC",
            )
            for item in now.periods
        ),
        notes=tuple(notes),
    )


_SHEETS: list[tuple[type, Callable[[Any], Sheet]]] = [
    (Completion, _completion),
    (Plan, _plan),
    (Chain, _chain),
    (Verdict, _verdict),
    (Explanation, _explanation),
    (CallError, _call_error),
    (Mark, _mark),
    (LiveMarks, _marks),
    (ProbeResult, _probe),
    (Status, _status),
    (Budget, _budget),
]
