"""What the decoders of all SSE wires share: framing in, judged end out; a wire adds what one event means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol

from zc_notebooks.chat import PreExecutedTool, Reasoning, StreamEnd, Text, ToolCall, WireEvent
from zc_notebooks.stream_guard.completion import MAX_ANSWER, StreamJudge
from zc_notebooks.stream_guard.sse import MAX_EVENT, Event, SseFraming
from zc_notebooks.wire.assemble import CALL_SIZE, AnswerBuilder
from zc_notebooks.wire.loose_json import BROKEN, parse
from zc_notebooks.wire.whole_body import error_without_object

DONE: Final = b"[DONE]"
"""The data of the event after the last one."""


class Framing(Protocol):
    """What cuts bytes into events: :class:`~zc_notebooks.stream_guard.sse.SseFraming`, or lines of JSON."""

    overflow: bool

    @property
    def foreign(self) -> bytearray | None:
        """The beginning of a body that is no stream."""
        ...

    @property
    def pending(self) -> bool:
        """An object has begun and not ended."""
        ...

    def feed(self, chunk: bytes) -> list[Event]:
        """The events completed by ``chunk``."""
        ...

    def finish(self) -> list[Event]:
        """The event that the end of the input completed."""
        ...


class SseStream:
    """A :class:`~zc_notebooks.wire.base.StreamDecoder` over SSE. Subclasses define :meth:`on_object`.

    ``framing``: another way to cut the bytes, for a wire whose stream is no SSE.
    """

    awaited: ClassVar[str] = "its end"
    """The completion signal, for the sentence of a truncated stream."""
    done_completes: ClassVar[bool] = False
    """Whether ``[DONE]`` is a completion signal of the wire, or only its last event."""
    error_is_last: ClassVar[bool] = True
    """Whether nothing of interest follows an error event."""

    def __init__(self, headers: Mapping[str, str], *, limit: int = MAX_EVENT, framing: Framing | None = None) -> None:
        self._framing: Framing = SseFraming(limit) if framing is None else framing
        self._limit = limit
        self._ending = False
        self._size = 0
        self._said = False
        self.judge = StreamJudge(self.awaited)
        self.builder = AnswerBuilder(headers)

    @property
    def closed(self) -> bool:
        """See :class:`~zc_notebooks.wire.base.StreamDecoder`."""
        return self.judge.closed

    @property
    def said(self) -> bool:
        """See :class:`~zc_notebooks.wire.base.StreamDecoder`."""
        return self._said or self.builder.hidden > 0 or self.judge.signal

    @property
    def signalled(self) -> bool:
        """See :class:`~zc_notebooks.wire.base.StreamDecoder`."""
        return self.judge.signalled

    def feed(self, chunk: bytes) -> list[WireEvent]:
        """Events completed by ``chunk``, in order."""
        judge = self.judge
        if judge.closed:
            return []
        events: list[WireEvent] = []
        for name, data in self._framing.feed(chunk):
            self.on_event(name, data, events)
            if self.judge.closed:
                break
        if self._framing.overflow and not self.judge.closed:
            judge.refuse(f"one event is larger than {self._limit} bytes: refused", "event too large")
            judge.closed = True
        self._measure(events)
        return events

    def _measure(self, events: list[WireEvent]) -> None:
        """Looks at what came out of a chunk: whether it says anything, and whether all of it is too much to keep."""
        for event in events:
            if isinstance(event, Text | Reasoning):
                self._size += len(event.text)
                self._said = self._said or not event.text.isspace()
            elif isinstance(event, PreExecutedTool):
                self._size += CALL_SIZE + len(event.raw)
                self._said = True
            elif isinstance(event, ToolCall):  # its size was counted as it came
                self._said = True
        if self._size + self.builder.hidden > MAX_ANSWER and not self.judge.closed:
            self.judge.refuse(
                f"the answer is larger than {MAX_ANSWER:,} characters: refused", "answer too large", last=True
            )

    def finish(self, *, interrupted: str | None = None) -> StreamEnd:
        """Judges the end. An event pending at end of file counts; its text is in the answer, not in an event."""
        events: list[WireEvent] = []
        self._ending = True
        if not self.judge.closed:
            for name, data in self._framing.finish():
                self.on_event(name, data, events)
            self._judge_framing()
        self.on_end(events)
        return self.judge.end(self.builder, interrupted)

    def on_event(self, name: bytes, data: bytes, events: list[WireEvent]) -> None:
        """One framed event. Wires with a fast path override this and fall back to it."""
        value = BROKEN if data.strip() == DONE else parse(data)
        if name == b"error":
            self.on_error_event(value, data)
        elif isinstance(value, dict):
            self.judge.started = True
            self.on_object(value, data, events)
        elif value is BROKEN and isinstance(parse(data.partition(b"\n")[0]), dict):
            self._on_lines(data, events)
        else:
            self.on_no_object(value, data)

    def _on_lines(self, data: bytes, events: list[WireEvent]) -> None:
        """Several events as one: a server, or one in between, left the blank lines out."""
        for line in data.split(b"\n"):
            if not self.judge.closed:
                self.on_event(b"", line, events)

    def on_object(self, value: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        """What one JSON object of the stream means."""
        raise NotImplementedError

    def on_end(self, events: list[WireEvent]) -> None:
        """Last chance before the judgement, after the last event."""

    def on_error_event(self, _value: object, data: bytes) -> None:
        """An event named ``error``, whatever its data."""
        self.error(data)

    def on_no_object(self, value: object, data: bytes) -> None:
        """``[DONE]``, blank data, or something that is not the protocol."""
        text = data.strip()
        if text == DONE:
            if self.done_completes:
                self.judge.done()
            else:
                self.judge.note("[DONE]")
                self.judge.closed = True
        elif self._ending and value is BROKEN:
            self.judge.note("half event")
        elif error_without_object(value):
            self.error(data)
        elif text and value is not None:
            sentence = "a data line is no JSON object" if value is not BROKEN else "a data line is no JSON"
            self.judge.refuse(f"{sentence}: not the protocol", "malformed data", data)

    def error(self, payload: bytes | str, word: str = "error event") -> None:
        """Records an in-band error with the provider's own text."""
        text = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else payload
        self.judge.error(text.strip(), word, last=self.error_is_last)

    def _judge_framing(self) -> None:
        foreign = self._framing.foreign
        if foreign is not None:
            html = foreign.lstrip().startswith(b"<")
            self.judge.refuse(f"the body is {'HTML' if html else 'text'}, not a stream", "not a stream", bytes(foreign))
        elif self._framing.pending:
            self.judge.note("half object")
