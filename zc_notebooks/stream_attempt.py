"""The one stream of a turn: opened once, read within its limits, judged by its evidence, one row (spec 8.1 to 8.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec

from zc_notebooks.chat import Answer, PreExecutedTool, Reasoning, StreamEnd, Text, ToolCall, Usage
from zc_notebooks.errors import TransportFailure
from zc_notebooks.events import Event
from zc_notebooks.records import HttpRequest, HttpResponse, Variant
from zc_notebooks.reliability.attempt import Judged, accepted, failed_body, failed_transport, judge, wire_of
from zc_notebooks.reliability.checks import sets_mark
from zc_notebooks.reliability.conditions import LiveConditions
from zc_notebooks.reliability.deadline import in_time
from zc_notebooks.reliability.reliable import CANCELLED, CallRecord, Sends
from zc_notebooks.reliability.rows import Timing
from zc_notebooks.reliability.steps import SetMark, Succeeded, Try
from zc_notebooks.stream_guard.think import ThinkFilter
from zc_notebooks.stream_limits import TIME, StreamLimits
from zc_notebooks.stream_shown import Opening, Shown, Stopped
from zc_notebooks.wire.base import StreamDecoder

ERROR_BODY: Final = 64 * 1024
"""Bytes of an error response that are read."""


class OpenStream(Protocol):
    """A response whose body is read in pieces."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Lower-case names."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Raw body bytes; closed by who reads them."""
        ...

    async def read_body(self, limit: int = ERROR_BODY) -> bytes:
        """The body, cut at ``limit``."""
        ...


class Streams(Sends, Protocol):
    """A transport that also streams."""

    def stream(self, request: HttpRequest, **limits: Any) -> AbstractAsyncContextManager[OpenStream]:
        """One request whose body is read in pieces."""
        ...


class StreamAttempt:
    """One opened stream. Afterwards :attr:`judged` says how it ended; its row is written whatever happens."""

    def __init__(self, call: CallRecord, conditions: LiveConditions, transport: Streams, shown: Shown) -> None:
        self.judged = CANCELLED
        self._call = call
        self._conditions = conditions
        self._transport = transport
        self._shown = shown
        self._think = ThinkFilter()
        self._headers: Mapping[str, str] = {}
        self._first_token_s: float | None = None
        self._usage: Usage | None = None
        self._lost: TransportFailure | None = None
        self._opening = Opening()
        self._read_text = 0
        self._read_reasoning = 0
        self._t0 = 0.0

    async def run(self, variant: Variant) -> AsyncGenerator[Event, None]:
        """Opens the stream of ``variant`` and forwards its events. Errors of the provider end in :attr:`judged`."""
        self._variant, self._profile = variant, variant.entry.profile
        clock = self._call.clock
        self._call.facts = self._call.facts.become("stream")
        step = Try(variant=variant, attempt=0)
        encoded = self._call.begin(step, stream=True)
        started, self._t0 = clock.now(), clock.monotonic()
        self._limits = StreamLimits(self._profile, self._conditions, clock, self._t0)
        try:
            async with aclosing(self._exchange(encoded.request)) as events:
                async for event in events:
                    yield event
        except Stopped:
            self.judged = self._as_cancelled("stop")
        except BaseException:
            self.judged = self._as_cancelled("dropped")
            raise
        finally:
            self._settle(step, started, encoded.notes)

    def _settle(self, step: Try, started: datetime, notes: Sequence[str]) -> None:
        """The row, the marks and the lease."""
        timing = Timing(t=started, secs=self._call.clock.monotonic() - self._t0, first_token_s=self._first_token_s)
        outcome = self._call.finish(step, self.judged, timing, notes)
        verdict = self.judged.verdict
        if isinstance(outcome, Succeeded):
            self._conditions.succeeded(self._variant, started, self._headers)
        elif verdict is not None and self.judged.status != "cancelled" and sets_mark(verdict):
            self._conditions.set_mark(SetMark(variant=self._variant, verdict=verdict))
        self._conditions.release(self._variant, success=isinstance(outcome, Succeeded))

    def _as_cancelled(self, word: str) -> Judged:
        partial = None if self._usage is None else Answer(usage=self._usage)
        return msgspec.structs.replace(CANCELLED, answer=partial, phase="stream", evidence=(word,))

    # -- the exchange -------------------------------------------------------------------------------------------------

    async def _exchange(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        try:
            async with AsyncExitStack() as stack:
                async with self._shown.limit(self._conditions.remaining_s()):  # Stop strikes here as well
                    response = await stack.enter_async_context(self._open(request))
                self._headers = response.headers
                if not 200 <= response.status < 300:  # noqa: PLR2004 (the HTTP success range)
                    await self._refused(response)
                    return
                async with aclosing(self._read(response)) as events:
                    async for event in events:
                        yield event
        except TransportFailure as failure:
            self._shown.look()
            self.judged = failed_transport(in_time(failure, self._conditions))
        except TimeoutError:
            self._shown.look()
            words = f"no complete answer within {self._profile.read_timeout_s:g} s"
            late = TransportFailure(words, kind="timeout", sent=True)
            self.judged = failed_transport(in_time(late, self._conditions))

    def _open(self, request: HttpRequest) -> AbstractAsyncContextManager[OpenStream]:
        remaining = max(self._conditions.remaining_s(), 0.0)
        return self._transport.stream(
            request,
            connect_s=min(self._profile.connect_timeout_s, remaining),
            first_byte_s=min(self._profile.first_token_timeout_s, remaining),
            sent=self._limits.sent,
            allow_plain_http=self._profile.allow_plain_http,
        )

    async def _refused(self, response: OpenStream) -> None:
        async with self._shown.limit(min(self._profile.read_timeout_s, self._conditions.remaining_s())):
            body = await response.read_body(ERROR_BODY)
        whole = HttpResponse(status=response.status, headers=response.headers, body=body)
        self.judged = judge(whole, self._variant, self._call.clock.now())

    async def _read(self, response: OpenStream) -> AsyncGenerator[Event, None]:
        """Feeds the decoder until it has seen the last event, the body ends, or a limit strikes."""
        decoder = wire_of(self._variant).decoder(
            response.headers, anthropic_completion=self._profile.anthropic_completion
        )
        interrupted: str | None = None
        try:
            async with aclosing(response.chunks()) as chunks:  # left to the collector, it would be a task of its own
                while not decoder.closed:
                    chunk = await self._next(chunks, decoder)
                    if chunk is None:
                        break
                    events = decoder.feed(chunk)
                    if events:
                        self._limits.heard()
                    for event in events:
                        for shown in self._forwarded(event):
                            yield shown
                            self._shown.look()
                            if not decoder.signalled:
                                self._limits.look()
        except TimeoutError:
            self._shown.look()
            interrupted = self._limits.struck
        except TransportFailure as failure:
            self._shown.look()
            interrupted, self._lost = "disconnect", failure
        end = decoder.finish(interrupted=interrupted)
        self._shown.look()
        for shown in self._rest(end):
            yield shown
            self._shown.look()
        self.judged = self._judge(end, response, interrupted)

    async def _next(self, chunks: AsyncIterator[bytes], decoder: StreamDecoder) -> bytes | None:
        """The next piece of the body, within the limit that holds now; ``None`` at its end."""
        self._shown.look()
        async with self._shown.limit(self._limits.next_s(said=decoder.said, ended=decoder.signalled)):
            return await anext(chunks, None)

    def _judge(self, end: StreamEnd, response: OpenStream, interrupted: str | None) -> Judged:
        if end.failure is None:
            return accepted(end.answer, evidence=end.evidence)
        head = HttpResponse(status=response.status, headers=response.headers)
        failure, late = end.failure, interrupted in TIME and end.failure.kind == "cut"
        if late:  # spec 4.2: any time limit is the network
            failure = msgspec.structs.replace(failure, reason="network", detail=self._limits.words)
        elif failure.kind == "cut" and self._lost is not None and self._lost.kind == "too_large":
            failure = msgspec.structs.replace(failure, kind="not_protocol", reason=None, detail=str(self._lost))
        judged = failed_body(failure, head, self._variant, self._call.clock.now())
        status = "timeout" if late else judged.status.replace("body_error", "stream_error")
        return msgspec.structs.replace(judged, status=status, phase="stream", evidence=end.evidence)

    # -- what goes out ------------------------------------------------------------------------------------------------

    def _rest(self, end: StreamEnd) -> Iterator[Event]:
        """What only the end of the body completed: an event without its empty line, text held back for a tag."""
        whole = end.answer if end.failure is None else None
        if whole is not None:
            yield from self._mark("", whole.reasoning[self._read_reasoning :])
            yield from self._mark(*self._think.feed(whole.text[self._read_text :]))
        yield from self._mark(*self._think.finish())
        if whole is not None and whole.tool_calls:  # of a failed stream none is told
            yield from self._said(self._opening.rest())  # beside them, blanks are an answer all the same
            yield from whole.tool_calls

    def _forwarded(self, event: Event) -> Iterable[Event]:
        """The event as it goes out: text loses its thinking spans, what stood inside is reasoning."""
        if isinstance(event, Text):
            self._read_text += len(event.text)
            return self._mark(*self._think.feed(event.text))
        if isinstance(event, Reasoning):
            self._read_reasoning += len(event.text)
            return self._mark("", event.text)
        if isinstance(event, ToolCall):
            return ()  # whoever runs it must not run it again: it waits until the stream is judged
        if isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, PreExecutedTool):
            self._shown.pre_executed = True
        return (event,)

    def _mark(self, visible: str, thought: str) -> Iterator[Event]:
        """Notes what is handed out right before it is: delivery is unknown, hence it counts."""
        if thought:
            self._shown.reasoning = True
            self._first_token()
            yield Reasoning(text=thought)
        yield from self._said(visible if self._shown.spoken else self._opening.feed(visible))

    def _said(self, text: str) -> Iterator[Event]:
        if text:
            self._shown.say(text)
            self._first_token()
            yield Text(text=text)

    def _first_token(self) -> None:
        if self._first_token_s is None:
            self._first_token_s = self._call.clock.monotonic() - self._t0
