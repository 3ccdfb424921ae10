"""Gemini: ``generateContent`` and ``streamGenerateContent`` (spec wire 3.4).

A stream is server-sent events or one JSON array, and an error under either content-type may be bare JSON; the first
byte decides. There is no end marker: ``candidates[0].finishReason`` in a complete element is the only signal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from zc_notebooks.chat import (
    Answer,
    ChatRequest,
    PreExecutedTool,
    Reasoning,
    Text,
    Usage,
    WireEvent,
    WireFailure,
)
from zc_notebooks.records import AnthropicCompletion, WireName
from zc_notebooks.reliability.finish_words import finish_failure
from zc_notebooks.stream_guard.completion import MAX_PAYLOAD, judge_finish
from zc_notebooks.wire import gemini_request
from zc_notebooks.wire.assemble import AnswerBuilder, tool_call
from zc_notebooks.wire.base import Encoded, StreamDecoder, Target
from zc_notebooks.wire.call_ids import made_up_id
from zc_notebooks.wire.loose_json import as_dict, as_list, as_text
from zc_notebooks.wire.sse_stream import SseStream
from zc_notebooks.wire.usage import add, count, usage
from zc_notebooks.wire.whole_body import error_body, error_in, is_event_stream, looks_like_error, open_object

_RESPONSE_KEYS: Final = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"})
_SERVER_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "executableCode": ("call", "code_execution"),
    "codeExecutionResult": ("result", "code_execution"),
    "toolCall": ("call", "tool"),
    "toolResponse": ("result", "tool"),
}


class GeminiWire:
    """See :class:`~zc_notebooks.wire.base.Wire`."""

    name: WireName = "gemini"

    def lacks(self, request: ChatRequest, target: Target) -> str | None:  # noqa: ARG002 (the protocol's)
        """Nothing: Gemini has a word for every capability a request can need."""
        return None

    def encode(self, request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
        """See :func:`zc_notebooks.wire.gemini_request.encode`."""
        return gemini_request.encode(request, target, stream=stream)

    def decode(self, body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
        """Reads a whole body; an event stream or an array that nobody asked for is read as what it is."""
        opened = open_object(body)
        if isinstance(opened, WireFailure):
            return _as_stream(body, headers) or opened
        if error_in(opened) or (not _RESPONSE_KEYS & opened.keys() and looks_like_error(opened)):
            return error_body(opened, body)
        if not _RESPONSE_KEYS & opened.keys():
            payload = body[:MAX_PAYLOAD].decode("utf-8", "replace")
            return WireFailure(kind="not_protocol", payload=payload, detail="the body is no Gemini response")
        builder = AnswerBuilder(headers)
        absorb(opened, builder, [])
        return judge_finish(builder) or builder.answer()

    def decoder(self, headers: Mapping[str, str], *, anthropic_completion: AnthropicCompletion) -> StreamDecoder:  # noqa: ARG002 (the protocol's)
        """A decoder for one stream."""
        return GeminiStream(headers)


def _as_stream(body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure | None:
    if not is_event_stream(body) and not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[{"):
        return None
    decoder = GeminiStream(headers)
    decoder.feed(body)
    end = decoder.finish()
    return end.failure or end.answer


class GeminiStream(SseStream):
    """One stream, in any of its framings."""

    awaited: ClassVar[str] = "finishReason"

    def on_object(self, value: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        """One element: an error, or a response of its own."""
        if error_in(value):
            self.error(data)
            return
        word = absorb(value, self.builder, events)
        if word is not None:
            self.judge.complete(word)


def absorb(response: dict[str, Any], builder: AnswerBuilder, events: list[WireEvent]) -> str | None:
    """Adds one ``GenerateContentResponse``; the word of evidence when it ends the answer."""
    builder.identify(model=response.get("modelVersion"), id=response.get("responseId"))
    candidates = as_list(response.get("candidates"))
    candidate = as_dict(candidates[0]) if candidates else {}
    for part in as_list(as_dict(candidate.get("content")).get("parts")):
        _part(as_dict(part), as_text(response.get("responseId")), builder, events)
    tokens = gemini_usage(response.get("usageMetadata"))
    if tokens is not None and tokens != builder.usage:
        builder.usage = tokens
        events.append(tokens)
    return _ending(response, candidate, builder)


def _ending(response: dict[str, Any], candidate: dict[str, Any], builder: AnswerBuilder) -> str | None:
    feedback = as_dict(response.get("promptFeedback"))
    blocked = as_text(feedback.get("blockReason"))
    if blocked:
        builder.finish(blocked)
        builder.refuse(as_text(feedback.get("blockReasonMessage")) or f"the prompt was blocked: {blocked}")
        return f"blockReason={blocked}"
    word = candidate.get("finishReason")
    if not builder.finish(word):
        return None
    if finish_failure(as_text(word)) is not None:
        builder.refuse(as_text(candidate.get("finishMessage")))
    return f"finishReason={word}"


def _part(part: dict[str, Any], response_id: str, builder: AnswerBuilder, events: list[WireEvent]) -> None:
    text = as_text(part.get("text"))
    if text and part.get("thought") is True:
        builder.reasoning.append(text)
        events.append(Reasoning(text=text))
    elif text:
        builder.text.append(text)
        events.append(Text(text=text))
    if len(part) == 1 and text:
        return
    call = part.get("functionCall")
    if isinstance(call, dict) and as_text(call.get("name")):
        _call(call, part, response_id, builder, events)
    for key, (phase, name) in _SERVER_TOOLS.items():
        ran = part.get(key)
        if isinstance(ran, dict):
            event = PreExecutedTool(
                phase="call" if phase == "call" else "result",
                name=as_text(ran.get("toolType")).lower() or name,
                id=as_text(ran.get("id")) or None,
            )
            builder.pre_executed.append(event)
            events.append(event)


def _call(
    call: dict[str, Any], part: dict[str, Any], response_id: str, builder: AnswerBuilder, events: list[WireEvent]
) -> None:
    """A call is whole in one part; its arguments are an object."""
    made = tool_call(
        call["name"],
        call.get("args") if call.get("args") is not None else {},
        id=as_text(call.get("id")) or made_up_id(response_id, len(builder.tools)),
        signature=as_text(part.get("thoughtSignature")) or None,
    )
    builder.take_whole(made, events)


def gemini_usage(raw: object) -> Usage | None:
    """``usageMetadata``: thoughts are not in ``candidatesTokenCount``; what is zero is left out on the wire."""
    known = as_dict(raw)
    prompt, thoughts = count(known.get("promptTokenCount")), count(known.get("thoughtsTokenCount"))
    output = add(count(known.get("candidatesTokenCount")), thoughts)
    if prompt is not None:
        prompt += count(known.get("toolUsePromptTokenCount")) or 0
        output = output or 0
    return usage(prompt, output, count(known.get("cachedContentTokenCount")), thoughts)


WIRE: Final = GeminiWire()
