"""The shell around the walk: sends requests, sleeps, writes rows and marks. One async driver, one sync driver."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from zc_notebooks.budget.guard import CallBudget
from zc_notebooks.chat import Answer, ChatRequest, Hop
from zc_notebooks.clock import Clock
from zc_notebooks.errors import CandidateFailure, TransportFailure, variant_name
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import HttpRequest, HttpResponse, Profile, Variant, Verdict
from zc_notebooks.redact import short
from zc_notebooks.reliability.attempt import Judged, failed_transport, judge, prepare, token_limit
from zc_notebooks.reliability.checks import sets_mark
from zc_notebooks.reliability.deadline import CallTime, in_time
from zc_notebooks.reliability.rows import CallFacts, Timing, attempt_row, mark_text, skip_row
from zc_notebooks.reliability.steps import (
    AwaitProbe,
    Ended,
    Failed,
    Moved,
    Outcome,
    OutOfTime,
    SetMark,
    Skip,
    Sleep,
    Step,
    Succeeded,
    Try,
)
from zc_notebooks.wire.base import Encoded

CANCELLED: Final = Judged(status="cancelled", verdict=Verdict(reason="network", text="cancelled"), phase="request")

OnAttempt = Callable[[AttemptRow], None]
OnFailover = Callable[[Variant, Variant, str], None]
Walk = Generator[Step, Outcome | None, Ended]


class Board(CallTime, Protocol):
    """The part of the call's conditions that is acted upon."""

    def set_mark(self, step: SetMark) -> None:
        """Writes the mark."""
        ...

    def succeeded(self, variant: Variant, started_at: datetime, headers: Any) -> None:
        """Deletes older marks that cover the variant and keeps the headroom the response stated."""
        ...

    async def await_probe(self, variant: Variant) -> None:
        """Returns when another caller's probe of the variant is decided, or at the deadline."""
        ...


class Sends(Protocol):
    """An async transport."""

    async def send(self, request: HttpRequest, **limits: Any) -> HttpResponse:
        """One request, whole response."""
        ...


class CallRecord:
    """Everything one call has done so far. Rows go out as they happen; nothing is kept back."""

    def __init__(
        self,
        facts: CallFacts,
        request: ChatRequest,
        *,
        clock: Clock,
        write: Callable[[AttemptRow], object],
        shortened: Callable[[ChatRequest], ChatRequest],
        on_attempt: OnAttempt | None = None,
        on_failover: OnFailover | None = None,
        several: frozenset[str] = frozenset(),
        budget: CallBudget | None = None,
    ) -> None:
        self.facts = facts
        self.request = request
        self.clock = clock
        self.rows: list[AttemptRow] = []
        self.failures: list[CandidateFailure] = []
        self.hops: list[Hop] = []
        self.answer: Answer | None = None
        self.served: Variant | None = None
        self.context_truncated = False
        self.max_tokens: int | None = None
        """Limit of the answer in the attempt made last."""
        self._write = write
        self._shortened = shortened
        self._on_attempt = on_attempt
        self._on_failover = on_failover
        self._several = several
        self._budget = budget

    # -- one attempt --------------------------------------------------------------------------------------------------

    def begin(self, step: Try, *, stream: bool = False) -> Encoded:
        """What to send for ``step``."""
        request = self.request
        if step.shortened:
            self.context_truncated = True
            request = self._shortened(request)
        self.max_tokens = token_limit(step.variant, request, step.max_tokens)
        encoded = prepare(step.variant, request, stream=stream, max_tokens=step.max_tokens)
        if self._budget is not None:
            self._budget.sending()
        return encoded

    def finish(self, step: Try, judged: Judged, timing: Timing, notes: Sequence[str] = ()) -> Outcome:
        """Writes the row and says what the walk is told."""
        row = attempt_row(self.facts, len(self.rows), step, judged, timing, "; ".join(notes))
        self._add(row)
        if judged.verdict is None:
            self.answer, self.served = judged.answer, step.variant
            return Succeeded()
        self.failures.append(
            CandidateFailure(
                row=row,
                verdict=judged.verdict,
                text=judged.verdict.text or judged.verdict.reason,
                back_at=row.resets_at if sets_mark(judged.verdict) else None,
                phase=judged.phase,
                several_credentials=step.variant.ref in self._several,
            )
        )
        return Failed(verdict=judged.verdict)

    # -- everything that is no attempt --------------------------------------------------------------------------------

    def skip(self, step: Skip) -> None:
        """The row of a candidate passed over."""
        row = skip_row(self.facts, len(self.rows), step, self.clock.now())
        self._add(row)
        mark = step.mark
        text = mark_text(mark) if mark else step.text or step.status.removeprefix("skipped_").replace("_", " ")
        self.failures.append(
            CandidateFailure(
                row=row,
                text=text,
                until=mark.until if mark else None,
                provenance=mark.provenance if mark else None,
                phase="cooldown" if step.status == "skipped_cooldown" else "config",
                several_credentials=step.variant.ref in self._several,
            )
        )

    def moved(self, step: Moved) -> None:
        """One hop, with the failed entry and its own reason."""
        full = step.verdict.text or step.verdict.reason
        reason = short(f"{_status_words(step)}{full}")
        hop = Hop(origin=variant_name(step.origin), to=variant_name(step.to), reason=reason, full_reason=full)
        self.hops.append(hop)
        if self._on_failover is not None:
            self._on_failover(step.origin, step.to, reason)

    def _add(self, row: AttemptRow) -> None:
        if self._budget is not None and row.kind == "attempt":
            self._budget.settle(row)
        self.rows.append(row)
        self._write(row)
        if self._on_attempt is not None:
            self._on_attempt(row)


def _status_words(step: Moved) -> str:
    status = step.verdict.status
    if status is None or 200 <= status < 300 or step.verdict.text.startswith(str(status)):  # noqa: PLR2004 (HTTP success)
        return ""
    return f"{status} "


# -- the two drivers ------------------------------------------------------------------------------------------------


async def drive(walk: Walk, call: CallRecord, board: Board, transport: Sends) -> Ended:
    """Runs the walk to its end. A cancel closes the running attempt or wait, is recorded, and ends it."""
    reply: Outcome | None = None
    while not isinstance(step := _after(walk, reply), Ended):
        reply = None
        if isinstance(step, Try):
            reply = await _attempt(step, call, board, transport)
        elif isinstance(step, Sleep):
            await call.clock.sleep(step.seconds)
        elif isinstance(step, AwaitProbe):
            await board.await_probe(step.variant)
        else:
            note(step, call, board)
    return step


def drive_sync(
    walk: Walk,
    call: CallRecord,
    board: Board,
    send: Callable[[HttpRequest], HttpResponse],
    sleep: Callable[[float], object],
) -> Ended:
    """The same walk for synchronous code. Waiting for another caller's probe is a plain short sleep."""
    reply: Outcome | None = None
    while not isinstance(step := _after(walk, reply), Ended):
        reply = None
        if isinstance(step, Try):
            reply = _attempt_sync(step, call, board, send)
        elif isinstance(step, Sleep):
            sleep(step.seconds)
        elif isinstance(step, AwaitProbe):
            sleep(min(PROBE_POLL_S, max(board.remaining_s(), 0.0)))
        else:
            note(step, call, board)
    return step


def _after(walk: Walk, reply: Outcome | None) -> Step | Ended:
    """What the walk wants once it is told ``reply``, or how it ended."""
    try:
        return walk.send(reply)
    except StopIteration as stop:
        ended: Ended = stop.value
        return ended


PROBE_POLL_S = 0.05
"""How often synchronous code looks whether another caller's probe was decided."""


def note(step: Step, call: CallRecord, board: Board) -> None:
    """The steps that only leave a trace."""
    if isinstance(step, Skip):
        call.skip(step)
    elif isinstance(step, Moved):
        call.moved(step)
    elif isinstance(step, SetMark):
        board.set_mark(step)


async def _attempt(step: Try, call: CallRecord, board: Board, transport: Sends) -> Outcome:
    if board.remaining_s() <= 0:  # spec 5.5: no attempt starts after the deadline
        return OutOfTime()
    encoded, profile = call.begin(step), step.variant.entry.profile
    started, t0 = call.clock.now(), call.clock.monotonic()
    try:
        response = await send_in_time(encoded.request, profile, call.clock, board, transport)
    except TransportFailure as failure:
        return _settle(step, call, board, encoded, failure, started, t0)
    except BaseException:
        timing = Timing(t=started, secs=call.clock.monotonic() - t0)
        call.finish(step, CANCELLED, timing, encoded.notes)
        raise
    return _settle(step, call, board, encoded, response, started, t0)


async def send_in_time(
    request: HttpRequest, profile: Profile, clock: Clock, time: CallTime, transport: Sends
) -> HttpResponse:
    """One request within the limits of its profile and the time the call has left.

    Raises:
        TransportFailure: No whole answer.
    """
    left = max(time.remaining_s(), 0.0)
    try:
        async with clock.timeout(left):  # connecting, waiting for it and reading, in sum
            return await transport.send(
                request,
                connect_s=min(profile.connect_timeout_s, left),
                read_s=min(profile.read_timeout_s, left),
                allow_plain_http=profile.allow_plain_http,
            )
    except TimeoutError:
        raise TransportFailure("no answer", kind="timeout", sent=True) from None


def _attempt_sync(step: Try, call: CallRecord, board: Board, send: Callable[[HttpRequest], HttpResponse]) -> Outcome:
    if board.remaining_s() <= 0:
        return OutOfTime()
    encoded = call.begin(step)
    started, t0 = call.clock.now(), call.clock.monotonic()
    try:
        response = send(encoded.request)
    except TransportFailure as failure:
        return _settle(step, call, board, encoded, failure, started, t0)
    except Exception as error:  # noqa: BLE001 (a caller's own transport: whatever it raises is "no status")
        lost = TransportFailure(f"{type(error).__name__}: {error}", kind="read", sent=True)
        return _settle(step, call, board, encoded, lost, started, t0)
    except BaseException:
        call.finish(step, CANCELLED, Timing(t=started, secs=call.clock.monotonic() - t0), encoded.notes)
        raise
    return _settle(step, call, board, encoded, response, started, t0)


def _settle(
    step: Try,
    call: CallRecord,
    board: Board,
    encoded: Encoded,
    result: HttpResponse | TransportFailure,
    started: datetime,
    t0: float,
) -> Outcome:
    timing = Timing(t=started, secs=call.clock.monotonic() - t0)
    if isinstance(result, TransportFailure):
        result = in_time(result, board)
        judged = failed_transport(result)
    else:
        judged = judge(result, step.variant, call.clock.now())
    outcome = call.finish(step, judged, timing, encoded.notes)
    if isinstance(outcome, Succeeded) and isinstance(result, HttpResponse):
        board.succeeded(step.variant, started, result.headers)
    elif isinstance(result, TransportFailure) and result.kind == "timeout" and board.remaining_s() <= 0:
        return OutOfTime()
    return outcome
