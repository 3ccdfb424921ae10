"""Cohere v2 chat (spec wire 3.6): ``message-end`` is the completion signal, ``tokens`` are the usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from zc_notebooks.chat import Answer, ChatRequest, Reasoning, Text, Usage, WireEvent, WireFailure
from zc_notebooks.records import AnthropicCompletion, WireName
from zc_notebooks.stream_guard.completion import MAX_PAYLOAD, judge_finish
from zc_notebooks.wire import cohere_request
from zc_notebooks.wire.assemble import AnswerBuilder, ToolCallAssembler, finish_reason
from zc_notebooks.wire.base import Encoded, StreamDecoder, Target
from zc_notebooks.wire.images import has_tool_images
from zc_notebooks.wire.loose_json import as_dict, as_list, as_text, to_text
from zc_notebooks.wire.sse_stream import SseStream
from zc_notebooks.wire.usage import count, usage
from zc_notebooks.wire.whole_body import error_body, error_in, is_event_stream, looks_like_error, open_object


class CohereWire:
    """See :class:`~zc_notebooks.wire.base.Wire`."""

    name: WireName = "cohere_v2"

    def lacks(self, request: ChatRequest, target: Target) -> str | None:  # noqa: ARG002 (the protocol's)
        """Tool results are text here."""
        return "images in tool results" if has_tool_images(request) else None

    def encode(self, request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
        """See :func:`zc_notebooks.wire.cohere_request.encode`."""
        return cohere_request.encode(request, target, stream=stream)

    def decode(self, body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
        """Reads a whole body; an event stream that nobody asked for is read as what it is."""
        if is_event_stream(body):
            stream = CohereStream(headers)
            stream.feed(body)
            end = stream.finish()
            return end.failure or end.answer
        opened = open_object(body)
        if isinstance(opened, WireFailure):
            return opened
        message = opened.get("message")
        builder = AnswerBuilder(headers)
        if isinstance(message, dict):
            _read(opened, message, builder, [])
        if error_in(opened) or (not isinstance(message, dict) and looks_like_error(opened)):
            return error_body(opened, body, builder.answer(whole=False))
        if not isinstance(message, dict):
            payload = body[:MAX_PAYLOAD].decode("utf-8", "replace")
            return WireFailure(kind="not_protocol", payload=payload, detail="the body has no message")
        return judge_finish(builder) or builder.answer()

    def decoder(self, headers: Mapping[str, str], *, anthropic_completion: AnthropicCompletion) -> StreamDecoder:  # noqa: ARG002 (the protocol's)
        """A decoder for one stream."""
        return CohereStream(headers)


def _read(body: dict[str, Any], message: dict[str, Any], builder: AnswerBuilder, events: list[WireEvent]) -> None:
    """Applies a whole message."""
    builder.identify(id=body.get("id"))
    builder.finish(body.get("finish_reason"))
    content = message.get("content")
    _content([{"text": content}] if isinstance(content, str) else as_list(content), builder, events)
    _reasoning(message.get("tool_plan"), builder, events)  # after the thinking, as in a stream
    calls = ToolCallAssembler()
    for place, call in enumerate(as_list(message.get("tool_calls"))):
        _call_delta(calls, place, as_dict(call))
    builder.take(calls.calls(truncated=finish_reason(builder.finish_raw) == "length"), events)
    _usage(body.get("usage"), builder, events)


class CohereStream(SseStream):
    """One stream of typed events."""

    awaited: ClassVar[str] = "message-end"

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__(headers)
        self._calls = ToolCallAssembler()

    def on_object(self, value: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        """One event; citations and starts and ends of blocks say nothing."""
        kind = as_text(value.get("type"))
        whole = value.get("message") if not kind else None  # in place of a stream
        if isinstance(whole, dict):
            _read(value, whole, self.builder, events)
        if error_in(value) or (not kind and not isinstance(whole, dict) and looks_like_error(value)):
            self.error(data)
            return
        if isinstance(whole, dict):
            self.judge.complete("whole message", last=True)
            return
        delta = as_dict(value.get("delta"))
        if kind == "message-end":
            self._end(delta, events)
            return
        message = as_dict(delta.get("message"))
        self.builder.identify(id=value.get("id"))
        if kind.startswith("content-"):
            content = message.get("content")
            _content(content if isinstance(content, list) else [content], self.builder, events)
        elif kind == "tool-plan-delta":
            _reasoning(message.get("tool_plan"), self.builder, events)
        elif kind.startswith("tool-call-"):
            calls = message.get("tool_calls")
            for call in calls if isinstance(calls, list) else [calls]:
                self.builder.hidden += _call_delta(self._calls, value.get("index"), as_dict(call))

    def _end(self, delta: dict[str, Any], events: list[WireEvent]) -> None:
        word = delta.get("finish_reason")
        self.builder.finish(word)
        self.judge.complete(f"message-end {word}" if isinstance(word, str) else "message-end")
        calls = self._calls.calls(truncated=finish_reason(self.builder.finish_raw) == "length")
        if not self.builder.tools:
            self.builder.take(calls, events)
        _usage(delta.get("usage"), self.builder, events)
        if error_in(delta):
            self.error(to_text({name: delta[name] for name in ("finish_reason", "error") if name in delta}))


def _content(parts: list[Any], builder: AnswerBuilder, events: list[WireEvent]) -> None:
    for part in parts:
        text = as_text(as_dict(part).get("text"))
        if text:
            builder.text.append(text)
            events.append(Text(text=text))
        _reasoning(as_dict(part).get("thinking"), builder, events)


def _reasoning(text: object, builder: AnswerBuilder, events: list[WireEvent]) -> None:
    if isinstance(text, str) and text:
        builder.reasoning.append(text)
        events.append(Reasoning(text=text))


def _usage(raw: object, builder: AnswerBuilder, events: list[WireEvent]) -> None:
    tokens = cohere_usage(raw)
    if tokens is not None:
        builder.usage = tokens
        events.append(tokens)


def _call_delta(calls: ToolCallAssembler, index: object, call: dict[str, Any]) -> int:
    function = as_dict(call.get("function"))
    if not call:
        return 0
    return calls.delta(index=index, id=call.get("id"), name=function.get("name"), arguments=function.get("arguments"))


def cohere_usage(raw: object) -> Usage | None:
    """``usage.tokens``: what the model saw and wrote. ``billed_units`` is money, far below or (pictures) above."""
    known = as_dict(raw)
    tokens = as_dict(known.get("tokens"))
    reasoning = count(tokens.get("reasoning_tokens")) or None
    seen = usage(
        count(tokens.get("input_tokens")),
        count(tokens.get("output_tokens")),
        count(known.get("cached_tokens")),
        reasoning,
    )
    billed = as_dict(known.get("billed_units"))
    into, out = count(billed.get("input_tokens")), count(billed.get("output_tokens"))
    if seen is None or into is None or out is None:
        return seen
    return replace(seen, billed_input_tokens=into, billed_output_tokens=out)


WIRE: Final = CohereWire()
