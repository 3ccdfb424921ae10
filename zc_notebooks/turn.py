"""One user-visible call with a stream: opening, commit boundary, recovery, cancel (spec 8).

A turn never shows anything twice. Whatever reached an append-only sink is immutable: from there on nobody is asked
again. Before that, one stream and at most one recovery walk may be made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Final, Protocol

import msgspec

from zc_notebooks.chat import Answer, Notice, PreExecutedTool, Reasoning, Text, ToolCall, Usage
from zc_notebooks.errors import (
    CallError,
    PreExecutedToolsWithoutAnswer,
    StreamCancelledAfterOutput,
    StreamInterruptedAfterOutput,
    TransportFailure,
    TurnCancelled,
    variant_name,
)
from zc_notebooks.records import HttpRequest, HttpResponse, Record, Variant
from zc_notebooks.reliability.attempt import (
    Judged,
    accepted,
    failed_body,
    failed_transport,
    judge,
    wire_of,
)
from zc_notebooks.reliability.checks import sets_mark
from zc_notebooks.reliability.conditions import LiveConditions
from zc_notebooks.reliability.reliable import CANCELLED, CallRecord, Sends, drive
from zc_notebooks.reliability.rows import Timing
from zc_notebooks.reliability.selection import streaming_variant
from zc_notebooks.reliability.steps import Ended, Resume, SetMark, Succeeded, Try, WalkPolicy
from zc_notebooks.reliability.walk import walk
from zc_notebooks.result import Completion
from zc_notebooks.stream_guard.think import ThinkFilter
from zc_notebooks.wire.base import StreamDecoder

ERROR_BODY: Final = 64 * 1024
"""Bytes of an error response that are read."""


class Done(Record, frozen=True, kw_only=True, tag="final"):
    """The last event of a turn: the accepted answer."""

    completion: Completion


Event = Text | Reasoning | ToolCall | PreExecutedTool | Usage | Notice | Done


class OpenStream(Protocol):
    """A response whose body is read in pieces."""

    status: int
    headers: Any

    def chunks(self) -> AsyncIterator[bytes]:
        """Raw body bytes."""
        ...

    async def read_body(self, limit: int = ERROR_BODY) -> bytes:
        """The body, cut at ``limit``."""
        ...


class Streams(Sends, Protocol):
    """A transport that also streams."""

    def stream(self, request: HttpRequest, **limits: Any) -> AbstractAsyncContextManager[OpenStream]:
        """One request whose body is read in pieces."""
        ...


class Stopped(Exception):
    """Somebody pressed Stop."""


class Turn:
    """One turn. Iterate :meth:`events` once; :meth:`cancel` may be called from anywhere on its loop.

    Args:
        call: The rows and hops of the call.
        conditions: Borders, marks, deadline.
        variants: Candidates in order.
        policy: For the walks.
        transport: Sends and streams.
        finish: Makes the completion, or raises the one right exception.
        immutable: Whether what is yielded reaches an append-only sink (``False``: a draft that may be rewritten).
    """

    def __init__(
        self,
        call: CallRecord,
        conditions: LiveConditions,
        variants: Sequence[Variant],
        policy: WalkPolicy,
        transport: Streams,
        finish: Callable[[Ended], Completion],
        *,
        immutable: bool = True,
    ) -> None:
        self._call = call
        self._conditions = conditions
        self._variants = variants
        self._policy = policy
        self._transport = transport
        self._finish = finish
        self._immutable = immutable
        self._limit: Any = None
        self._recovery: asyncio.Task[Ended] | None = None
        self.cancelled = False
        self.forwarded = ""
        """Text handed out so far."""
        self.shown_reasoning = False
        self.pre_executed = False

    def cancel(self) -> None:
        """Ends the turn: the socket is closed, partial text is kept, nothing is tried again. Idempotent."""
        self.cancelled = True
        if self._limit is not None:
            self._limit.expire()
        if self._recovery is not None:
            self._recovery.cancel()

    async def events(self) -> AsyncGenerator[Event, None]:
        """The turn's events; the last one is the completion.

        Raises:
            StreamInterruptedAfterOutput: The stream failed after output.
            StreamCancelledAfterOutput: Cancelled after output (:class:`TurnCancelled`: before any).
            PreExecutedToolsWithoutAnswer: Tools ran on the provider's side and no answer came.
            CallError: Whatever a walk without a stream would raise.
        """
        try:
            variant = streaming_variant(self._variants, self._policy, self._conditions, self._call.request)
            if variant is None:
                async for event in self._walk(None):
                    yield event
                return
            attempt = _StreamAttempt(self, variant)
            async with aclosing(attempt.run()) as stream:
                async for event in stream:
                    yield event
            async for event in self._after(attempt):
                yield event
        finally:
            self._conditions.close()

    # -- after the stream -----------------------------------------------------------------------------------------------

    async def _after(self, attempt: _StreamAttempt) -> AsyncGenerator[Event, None]:
        judged = attempt.judged
        if judged.verdict is None:
            done = self._finish(Ended(kind="answered", variant=attempt.variant))
            yield Done(completion=done)
            return
        if self.cancelled:
            raise self._cancel_error()
        empty = judged.status == "empty"
        if self.pre_executed and empty:
            raise self._error(PreExecutedToolsWithoutAnswer, "tools ran on the provider's side and no answer came")
        visible = self._immutable and (self.forwarded or self.shown_reasoning)
        if not empty and (visible or self.pre_executed):
            raise self._interrupted(judged)
        resume = Resume(variant=attempt.variant, verdict=judged.verdict)
        async for event in self._walk(resume):
            yield event

    async def _walk(self, resume: Resume | None) -> AsyncGenerator[Event, None]:
        """A walk without a stream: the recovery after a failed one, or the whole call when nobody can stream."""
        if self.cancelled:
            raise self._cancel_error()
        if resume is not None:
            self._call.facts = msgspec.structs.replace(self._call.facts, mode="recovery")
            if not self._immutable and self.forwarded:
                self.forwarded = ""
                yield Notice(text="the stream broke off and is asked for again")
        steps = walk(self._variants, self._policy, self._conditions, resume=resume)
        self._recovery = asyncio.ensure_future(drive(steps, self._call, self._conditions, self._transport))
        try:
            ended = await self._recovery
        except asyncio.CancelledError:
            if self.cancelled and self._recovery.cancelled():
                raise self._cancel_error() from None
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
            raise
        done = self._finish(ended)
        if resume is not None:
            done = msgspec.structs.replace(done, reasoning=done.reasoning)
        if done.reasoning and not self.shown_reasoning:
            yield Reasoning(text=done.reasoning)
        self.forwarded = done.text
        if done.text:
            yield Text(text=done.text)
        for tool in done.tool_calls:
            yield tool
        if done.usage is not None:
            yield done.usage
        yield Done(completion=done)

    # -- errors ---------------------------------------------------------------------------------------------------------

    def _error(self, kind: type[CallError], words: str) -> CallError:
        return kind(words, self._call.failures, call_id=self._call.facts.call_id)

    def _interrupted(self, judged: Judged) -> CallError:
        verdict = judged.verdict
        words = verdict.text if verdict is not None else ""
        partial = self.forwarded if self._immutable else ""
        return StreamInterruptedAfterOutput(
            f"the stream ended after output had been shown and is not replayed: {words or judged.status}",
            self._call.failures,
            call_id=self._call.facts.call_id,
            partial_text=partial,
        )

    def _cancel_error(self) -> CallError:
        if self._immutable and self.forwarded:
            return StreamCancelledAfterOutput(
                "cancelled after output had been shown",
                self._call.failures,
                call_id=self._call.facts.call_id,
                partial_text=self.forwarded,
            )
        return self._error(TurnCancelled, "cancelled before anything was shown")

    # -- what an attempt uses -------------------------------------------------------------------------------------------

    @property
    def call(self) -> CallRecord:
        """The call's rows."""
        return self._call

    @property
    def conditions(self) -> LiveConditions:
        """Borders, marks, deadline."""
        return self._conditions

    @property
    def transport(self) -> Streams:
        """Sends and streams."""
        return self._transport

    def limit(self, seconds: float) -> Any:
        """A time limit that :meth:`cancel` makes strike at once."""
        self._limit = self._call.clock.timeout(max(seconds, 0.0))
        return self._limit


class _StreamAttempt:
    """The one stream of a turn: opened once, judged by its evidence, one row."""

    def __init__(self, turn: Turn, variant: Variant) -> None:
        self.turn = turn
        self.variant = variant
        self.profile = variant.entry.profile
        self.judged = CANCELLED
        self._think = ThinkFilter()
        self._first_token_s: float | None = None
        self._struck: str | None = None
        self._settled = False

    async def run(self) -> AsyncGenerator[Event, None]:
        """Forwards the stream's events; afterwards :attr:`judged` says how it ended and the row is written."""
        call, clock = self.turn.call, self.turn.call.clock
        call.facts = msgspec.structs.replace(call.facts, mode="stream")
        step = Try(variant=self.variant, attempt=0)
        encoded = call.begin(step, stream=True)
        started, self._t0 = clock.now(), clock.monotonic()
        self._headers: Any = {}
        try:
            async with aclosing(self._exchange(encoded.request)) as events:
                async for event in events:
                    yield event
        except (Stopped, GeneratorExit, asyncio.CancelledError):
            self.judged = self._as_cancelled()
            self._row(step, started, encoded.notes)
            if self.turn.cancelled:
                return
            raise
        except BaseException:
            self.judged = self._as_cancelled()
            self._row(step, started, encoded.notes)
            raise
        self._row(step, started, encoded.notes)

    def _row(self, step: Try, started: Any, notes: Sequence[str]) -> None:
        turn, clock = self.turn, self.turn.call.clock
        timing = Timing(t=started, secs=clock.monotonic() - self._t0, first_token_s=self._first_token_s)
        outcome = turn.call.finish(step, self.judged, timing, notes)
        if isinstance(outcome, Succeeded):
            turn.conditions.succeeded(self.variant, started, self._headers)
            turn.conditions.release(self.variant, success=True)
            return
        verdict = self.judged.verdict
        if verdict is not None and self.judged.status != "cancelled" and sets_mark(verdict):
            turn.conditions.set_mark(SetMark(variant=self.variant, verdict=verdict))
        turn.conditions.release(self.variant, success=False)

    async def _exchange(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        """Opens the stream and reads it to its end, within the limits."""
        try:
            async with self._open(request) as response:
                self._headers = response.headers
                if not 200 <= response.status < 300:  # noqa: PLR2004 (the HTTP success range)
                    await self._refused(response)
                    return
                async with aclosing(self._read(response)) as events:
                    async for event in events:
                        yield event
        except TransportFailure as failure:
            self.judged = failed_transport(failure)
        except TimeoutError:
            if self.turn.cancelled:
                raise Stopped from None
            self.judged = failed_transport(TransportFailure("no response in time", kind="timeout", sent=True))

    def _open(self, request: HttpRequest) -> Any:
        remaining = self.turn.conditions.remaining_s()
        return self.turn.transport.stream(
            request,
            connect_s=min(self.profile.connect_timeout_s, remaining),
            first_byte_s=min(self.profile.first_token_timeout_s, remaining),
            allow_plain_http=self.profile.allow_plain_http,
        )

    async def _refused(self, response: OpenStream) -> None:
        async with self.turn.limit(min(self.profile.read_timeout_s, self.turn.conditions.remaining_s())):
            body = await response.read_body(ERROR_BODY)
        whole = HttpResponse(status=response.status, headers=response.headers, body=body)
        self.judged = judge(whole, self.variant, self.turn.call.clock.now())

    async def _read(self, response: OpenStream) -> AsyncGenerator[Event, None]:
        decoder = wire_of(self.variant).decoder(
            response.headers, anthropic_completion=self.profile.anthropic_completion
        )
        chunks = response.chunks()
        interrupted: str | None = None
        try:
            while not decoder.closed:
                chunk = await self._next(chunks, decoder)
                if chunk is None:
                    break
                for event in decoder.feed(chunk):
                    for shown in self._shown(event):
                        yield shown
                        self._look_for_cancel()
        except TimeoutError:
            self._look_for_cancel()
            interrupted = self._struck or "idle"
        except TransportFailure:
            self._look_for_cancel()
            interrupted = "disconnect"
        for shown in self._tail():
            yield shown
        end = decoder.finish(interrupted=interrupted)
        self._judge(end, response, interrupted)

    async def _next(self, chunks: AsyncIterator[bytes], decoder: StreamDecoder) -> bytes | None:
        """The next piece of the body, within the limit that holds now; ``None`` at its end."""
        self._look_for_cancel()
        clock, remaining = self.turn.call.clock, self.turn.conditions.remaining_s()
        if decoder.started:
            limit, self._struck = self.profile.idle_timeout_s, "idle"
        else:
            limit = self._t0 + self.profile.first_token_timeout_s - clock.monotonic()
            self._struck = "first token"
        if remaining < limit:
            limit, self._struck = remaining, "deadline"
        async with self.turn.limit(limit):
            return await anext(chunks, None)

    def _judge(self, end: Any, response: OpenStream, interrupted: str | None) -> None:
        if end.failure is None:
            judged = accepted(end.answer, evidence=end.evidence)
        else:
            head = HttpResponse(status=response.status, headers=response.headers)
            now = self.turn.call.clock.now()
            judged = failed_body(end.failure, head, self.variant, now)
            status = "timeout" if interrupted in ("idle", "first token", "deadline") else judged.status
            status = "stream_error" if status == "body_error" else status
            judged = msgspec.structs.replace(judged, status=status, phase="stream", evidence=end.evidence)
        self.judged = judged

    def _look_for_cancel(self) -> None:
        if self.turn.cancelled:
            raise Stopped

    def _as_cancelled(self) -> Judged:
        return msgspec.structs.replace(CANCELLED, answer=self._partial, phase="stream")

    _usage: Usage | None = None

    @property
    def _partial(self) -> Answer | None:
        return None if self._usage is None else Answer(usage=self._usage)

    # -- what goes out ----------------------------------------------------------------------------------------------------

    def _shown(self, event: Event) -> list[Event]:
        """The event as it is forwarded: text loses its thinking spans, what stood inside is reasoning."""
        if isinstance(event, Text):
            visible, thought = self._think.feed(event.text)
            return self._mark(visible, thought)
        if isinstance(event, Reasoning):
            return self._mark("", event.text)
        if isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, PreExecutedTool):
            self.turn.pre_executed = True
        return [event]

    def _tail(self) -> list[Event]:
        return self._mark(*self._think.finish())

    def _mark(self, visible: str, thought: str) -> list[Event]:
        """Notes what becomes immutable before it is handed out: delivery is unknown, hence it counts."""
        out: list[Event] = []
        if thought:
            self.turn.shown_reasoning = True
            out.append(Reasoning(text=thought))
        if visible:
            self.turn.forwarded += visible
            out.append(Text(text=visible))
        if out and self._first_token_s is None:
            self._first_token_s = self.turn.call.clock.monotonic() - self._t0
        return out


def interruption(variant: Variant) -> str:
    """The line that marks saved partial text."""
    return f"[interrupted: the stream of {variant_name(variant)} broke off]"
