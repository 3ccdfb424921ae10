"""What must never come of a fault, whatever else happens: each check is one sentence about a call that did harm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import counted
from zc_notebooks.wall.seen import STRANGER, Run, Seen
from zc_notebooks.wall.trial import ANSWER

HANGS_AFTER_S: Final = 10.0
"""Real seconds. The stage's waits cost none, its time limits at most a second or two."""

_ROUNDING_USD: Final = 1e-9
_ROUNDING_S: Final = 0.01


def harm(run: Run) -> str | None:
    """The first harm that was done, in one sentence, or ``None``."""
    return next((said for check in _CHECKS for said in check(run)), None)


def _crashed(run: Run) -> Iterator[str]:
    for seen in run.calls:
        failed = seen.told.failed
        if failed is not None and not failed.ours:
            yield f"the call crashed with {failed.name}: {failed.text[:100]}"
        if failed is None and seen.told.completion is None:
            yield "the call ended with neither an answer nor an error"


def _hung(run: Run) -> Iterator[str]:
    for seen in run.calls:
        if seen.told.took_s > HANGS_AFTER_S:
            yield f"the call took {seen.told.took_s:.1f} s"


def _nobody_else_is_asked(run: Run) -> Iterator[str]:
    for seen in run.calls:
        for request in seen.asked:
            if run.role(request) == STRANGER:
                yield f"{request.provider}/{request.model} was asked, who is not in the chain"
    if run.strays:
        yield f"{counted(run.strays, 'request belongs', 'requests belong')} to no call"


def _requests_are_attempts(run: Run) -> Iterator[str]:
    for seen in run.calls:
        asked = Counter(run.role(request) for request in seen.asked)
        noted = Counter(run.role(row) for row in seen.told.rows if row.kind == "attempt")
        for role in sorted(asked | noted):
            if asked[role] != noted[role]:
                found = counted(noted[role], "attempt is", "attempts are")
                yield f"{counted(asked[role], 'request')} reached {role}, {found} on the record"


def _rows_are_kept(run: Run) -> Iterator[str]:
    told = sorted((row for seen in run.calls for row in seen.told.rows), key=_key)
    if sorted(run.written, key=_key) != told:
        yield f"the ledger's files hold {counted(len(run.written), 'row')}, {counted(len(told), 'was', 'were')} told"
    for seen in run.calls:
        if [row.ordinal for row in seen.told.rows] != list(range(len(seen.told.rows))):
            yield "the rows of a call are not numbered 0, 1, 2, …"


def _answers_are_whole(run: Run) -> Iterator[str]:
    for seen in run.calls:
        done, shown = seen.told.completion, seen.told.shown
        if done is None:
            continue
        if done.text != ANSWER:
            yield f"an answer of {len(done.text)} of {len(ANSWER)} characters passed as whole"
        elif run.mode != "chat" and shown != done.text:
            yield f"the reader saw {counted(len(shown), 'character')} of an answer of {len(done.text)}"


def _nothing_shown_is_asked_again(run: Run) -> Iterator[str]:
    for seen in run.calls:
        if run.mode == "stream" and seen.told.failed is not None and seen.told.shown and len(seen.asked) > 1:
            yield "somebody was asked again after text had been shown"
        if seen.told.reasoning.count(run.trial.thinks or "\0") > 1:
            yield "the same reasoning was shown twice"


def _stated_times_are_kept(run: Run) -> Iterator[str]:
    """Whether somebody who said when was asked before, by the lab's own clock."""
    for seen in run.calls:
        until: dict[str, datetime] = {}
        for request in seen.asked:
            role = run.role(request)
            early = (until[role] - request.at).total_seconds() if role in until else 0.0
            if early > _ROUNDING_S:
                yield f"{role} was asked {early:.1f} s before the time it had stated"
            if request.retry_after_s is not None:
                until[role] = request.at + timedelta(seconds=request.retry_after_s)


def _partials_are_exact(run: Run) -> Iterator[str]:
    for seen in run.calls:
        failed = seen.told.failed
        if failed is not None and run.mode == "stream" and failed.partial != seen.told.shown:
            yield "the error's partial text is not what was shown"
        if failed is not None and not ANSWER.startswith(seen.told.shown):
            yield "the reader saw text that nobody said"


def _accepted_once(run: Run) -> Iterator[str]:
    for seen in run.calls:
        accepted = [row for row in seen.told.rows if row.accepted]
        if len(accepted) != (seen.told.completion is not None):
            yield f"{counted(len(accepted), 'row is', 'rows are')} accepted"


def _served_is_who_answered(run: Run) -> Iterator[str]:
    first = next(iter(run.actors))
    for seen in run.calls:
        done = seen.told.completion
        if done is None or not seen.asked:
            continue
        actor = run.actors[run.role(seen.asked[-1])]
        if (done.served.provider_ref, done.served.model) != (actor.ref, actor.model.id):
            yield f"{actor.ref} answered and {done.served.provider_ref} has the credit"
        if (done.fallback is not None) != (actor is not run.actors[first]):
            yield "the fallback record is wrong about who served"


def _money_adds_up(run: Run) -> Iterator[str]:
    for seen in run.calls:
        done = seen.told.completion
        if done is None:
            continue
        attempts = [row for row in seen.told.rows if row.kind == "attempt"]
        known = sum((Decimal(repr(row.cost_usd)) for row in attempts if row.cost_usd is not None), Decimal(0))
        if abs(float(known - (done.cost_usd or 0))) > _ROUNDING_USD:
            yield f"the call says {done.cost_usd} USD and its rows {known}"
        if done.at_least != any(row.cost_usd is None for row in attempts):
            yield "an unknown cost passed as known" if not done.at_least else "a known cost passed as unknown"
        yield from _priced(run, seen)


def _priced(run: Run, seen: Seen) -> Iterator[str]:
    """The accepted row's cost, from the prices of whoever answered."""
    for row in seen.told.rows:
        if not row.accepted or row.input_tokens is None or row.output_tokens is None:
            continue
        model = run.actors[run.role(row)].model
        right = (row.input_tokens * model.price_in + row.output_tokens * model.price_out) / 1e6
        if row.cost_usd is None or abs(row.cost_usd - right) > _ROUNDING_USD:
            yield f"{run.role(row)}'s answer cost {right:.6f} USD, the row says {row.cost_usd}"


def _key(row: AttemptRow) -> tuple[str, int]:
    return row.call_id, row.ordinal


_CHECKS: Final[tuple[Callable[[Run], Iterator[str]], ...]] = (
    _crashed,
    _hung,
    _answers_are_whole,
    _nothing_shown_is_asked_again,
    _stated_times_are_kept,
    _nobody_else_is_asked,
    _requests_are_attempts,
    _rows_are_kept,
    _partials_are_exact,
    _accepted_once,
    _served_is_who_answered,
    _money_adds_up,
)
