"""Pass, safe or fail, from what both sides saw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, get_args

from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import counted
from zc_notebooks.records import Record
from zc_notebooks.wall.harm import harm
from zc_notebooks.wall.seen import Run, Seen
from zc_notebooks.wall.trial import PIECES, ExpectedRow, Mode, Trial, Way

Result = Literal["pass", "safe", "fail"]
"""``pass``: exactly what the specification says. ``safe``: another way, but nobody was deceived and nobody was asked
oftener than allowed. ``fail``: harm."""
RESULTS: Final[tuple[Result, ...]] = get_args(Result)
"""The worst last."""


class Score(Record, frozen=True, kw_only=True):
    """One fault in one mode."""

    fault: str
    mode: Mode
    result: Result
    reason: str
    """What happened, in one sentence."""
    requests: dict[str, int]
    """By role, from the lab's own log."""
    secs: float
    """Real seconds."""


def judge(run: Run) -> Score:
    """The score of one trial in one mode."""
    result, reason = _judged(run)
    return Score(
        fault=run.trial.fault,
        mode=run.mode,
        result=result,
        reason=reason,
        requests=run.requests(),
        secs=round(sum(seen.told.took_s for seen in run.calls), 3),
    )


def hung(trial: Trial, mode: Mode, seconds: float) -> Score:
    """The score of one that does not end."""
    reason = f"it had not ended after {seconds:g} s"
    return Score(fault=trial.fault, mode=mode, result="fail", reason=reason, requests={}, secs=seconds)


def _judged(run: Run) -> tuple[Result, str]:
    hurt, differs = harm(run), difference(run)
    if hurt is not None:
        return "fail", hurt
    if differs is None:
        return "pass", story(run)
    return "safe" if _within(run) else "fail", differs


def difference(run: Run) -> str | None:
    """The first thing that is not as the specification says, or ``None``."""
    way = run.trial.ways[run.mode]
    return next((said for check in _CHECKS for said in check(run, way)), None)


def _rows(run: Run, way: Way) -> Iterator[str]:
    for number, (seen, expected) in enumerate(zip(run.calls, way.calls, strict=True), start=1):
        got = [_row(run, row) for row in seen.told.rows]
        if len(got) != len(expected) or any(not _same(a, b) for a, b in zip(got, expected, strict=True)):
            which = f"call {number}: " if len(run.calls) > 1 else ""
            yield f"{which}{_words(got)} instead of {_words(expected)}"


def _ending(run: Run, way: Way) -> Iterator[str]:
    for seen in run.calls:
        name = seen.told.failed.name if seen.told.failed is not None else None
        if name != way.raises:
            yield f"ended with {name or 'an answer'} instead of {way.raises or 'an answer'}"


def _shown(run: Run, way: Way) -> Iterator[str]:
    told = run.calls[0].told
    if way.raises and told.shown != "".join(PIECES[: way.keeps]):
        kept = counted(len(told.shown), "character was", "characters were")
        yield f"{kept} kept, not those of {counted(way.keeps, 'token')}"
    if told.redrafts != way.redrafts:
        yield f"the text was taken back {counted(told.redrafts, 'time')} instead of {way.redrafts}"
    if run.mode != "chat" and run.trial.thinks and run.trial.thinks.strip() not in told.reasoning:
        yield "the reasoning was not shown"


def _mark(run: Run, way: Way) -> Iterator[str]:
    if way.cooldown is None:
        return
    if len(run.marks) != 1:
        yield f"{len(run.marks)} cooldowns stand instead of one"
        return
    (mark,), (seconds, provenance) = run.marks, way.cooldown
    lasts = (mark.until - mark.set_at).total_seconds()
    if abs(lasts - seconds) > 1 or mark.provenance != provenance:
        yield f"a cooldown of {lasts:.0f} s, {mark.provenance}, instead of {seconds:.0f} s, {provenance}"


def _reported(run: Run, _: Way) -> Iterator[str]:
    done = run.calls[0].told.completion
    if run.trial.reports is not None and (done is None or done.served.model_reported != run.trial.reports):
        yield f"that the response names {run.trial.reports} is not on the answer"


def _shorter(run: Run, _: Way) -> Iterator[str]:
    asked = [request for request in run.calls[0].asked if run.role(request) == "primary"]
    wanted = run.trial.then_max_tokens
    if wanted is not None and len(asked) > 1 and asked[1].max_tokens != wanted:
        yield f"asked for {asked[1].max_tokens} tokens where {wanted} could be afforded"


_CHECKS: Final[tuple[Callable[[Run, Way], Iterator[str]], ...]] = (
    _rows,
    _ending,
    _shown,
    _mark,
    _reported,
    _shorter,
)


def _within(run: Run) -> bool:
    """Whether nobody was asked oftener than the specification allows."""
    allowed: dict[str, int] = dict.fromkeys(run.actors, 0)
    for call in run.trial.ways[run.mode].calls:
        for row in call:
            allowed[row.role] += row.attempt
    return all(count <= allowed[role] for role, count in run.requests().items())


def story(run: Run) -> str:
    """What happened: who was asked how often, who served, how it ended."""
    return "; then ".join(dict.fromkeys(_call(run, seen) for seen in run.calls))


def _call(run: Run, seen: Seen) -> str:
    steps: list[tuple[str, int]] = []
    for row in seen.told.rows:
        step = f"{run.role(row)} {row.status.removeprefix('skipped_')}"
        if not steps or steps[-1][0] != step:
            steps.append((step, 1))
        else:
            steps[-1] = (step, steps[-1][1] + 1)
    told = ", ".join(step if times == 1 else f"{step} x{times}" for step, times in steps)
    failed = seen.told.failed
    return told if failed is None else f"{told}: {failed.name}"


def _row(run: Run, row: AttemptRow) -> ExpectedRow:
    return ExpectedRow(role=run.role(row), status=row.status, reason=row.reason, wait_s=row.wait_s or 0.0)


def _same(got: ExpectedRow, expected: ExpectedRow) -> bool:
    return (
        (got.role, got.status) == (expected.role, expected.status)
        and expected.reason in (None, got.reason)
        and math.isclose(got.wait_s, expected.wait_s, abs_tol=0.01)
    )


def _words(rows: Sequence[ExpectedRow]) -> str:
    return "; ".join(
        f"{f'+{row.wait_s:g} ' if row.wait_s else ''}{row.role} {row.status}{f' {row.reason}' if row.reason else ''}"
        for row in rows
    )
