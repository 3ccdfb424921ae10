"""Reading OpenAI chat completions: one whole body or a stream of chunks (spec wire 3.1).

A chunk is decoded into typed structs first (one microsecond); what does not fit the types is read again loosely, so
a list of content parts, an odd id or a broken character costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from zc_notebooks.chat import Answer, Reasoning, Text, Usage, WireEvent, WireFailure
from zc_notebooks.stream_guard.completion import judge_finish
from zc_notebooks.wire.assemble import AnswerBuilder, ToolCallAssembler, finish_reason
from zc_notebooks.wire.cloudflare_native import as_chunk
from zc_notebooks.wire.loose_json import as_dict, as_list, as_text, to_text
from zc_notebooks.wire.sse_stream import SseStream
from zc_notebooks.wire.usage import openai_chat_usage
from zc_notebooks.wire.whole_body import error_body, error_in, failing_base_resp, looks_like_error


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _ToolDelta(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: dict[str, Any] | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolDelta] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None
    index: int | None = 0
    text: str | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


class _Groq(msgspec.Struct, gc=False):
    usage: dict[str, Any] | None = None
    error: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One event of a stream, or a whole completion: only what is read of it."""

    choices: list[_Choice] | None = None
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    x_groq: _Groq | None = None
    error: Any = None
    object: str | None = None
    type: Any = None
    base_resp: dict[str, Any] | None = None


_decode: Final = msgspec.json.Decoder(Chunk).decode
_NO_ERROR: Final = (None, "", False)


def loose_chunk(value: dict[str, Any]) -> Chunk:
    """The same from untyped JSON: every field of a wrong type counts as absent, content parts are joined."""
    choices = value.get("choices")
    return Chunk(
        choices=[_loose_choice(as_dict(choice)) for choice in choices] if isinstance(choices, list) else None,
        id=as_text(value.get("id")) or None,
        model=as_text(value.get("model")) or None,
        usage=as_dict(value.get("usage")) or None,
        x_groq=_Groq(usage=as_dict(as_dict(value.get("x_groq")).get("usage")) or None),
        error=value.get("error"),
        object=as_text(value.get("object")),
        base_resp=as_dict(value.get("base_resp")) or None,
    )


def _loose_choice(choice: dict[str, Any]) -> _Choice:
    index = choice.get("index")
    return _Choice(
        delta=_loose_delta(choice.get("delta")),
        message=_loose_delta(choice.get("message")),
        finish_reason=as_text(choice.get("finish_reason")) or None,
        index=index if isinstance(index, int) else 0,
        text=as_text(choice.get("text")) or None,
        usage=as_dict(choice.get("usage")) or None,
        error=choice.get("error"),
    )


def _loose_delta(delta: object) -> _Delta | None:
    if not isinstance(delta, dict):
        return None
    content, thinking = _content(delta.get("content"))
    calls = [_loose_tool(as_dict(call)) for call in as_list(delta.get("tool_calls"))]
    return _Delta(
        content=content or None,
        reasoning_content=thinking or as_text(delta.get("reasoning_content")) or None,
        reasoning=as_text(delta.get("reasoning")) or None,
        reasoning_details=as_list(delta.get("reasoning_details")) or None,
        refusal=as_text(delta.get("refusal")) or None,
        tool_calls=calls or None,
        function_call=_loose_function(delta.get("function_call")),
    )


def _loose_tool(call: dict[str, Any]) -> _ToolDelta:
    index, id_ = call.get("index"), call.get("id")
    return _ToolDelta(
        index=index if isinstance(index, int) else None,
        id=str(id_) if isinstance(id_, str | int) else None,
        function=_loose_function(call.get("function")),
        extra_content=as_dict(call.get("extra_content")) or None,
    )


def _loose_function(function: object) -> _Function | None:
    if not isinstance(function, dict):
        return None
    arguments = function.get("arguments")
    if not isinstance(arguments, str | dict | None):
        arguments = to_text(arguments)
    return _Function(name=as_text(function.get("name")) or None, arguments=arguments)


def _content(content: object) -> tuple[str, str]:
    """(text, thinking) of ``content``, which Mistral's reasoning models send as a list of parts."""
    if isinstance(content, str):
        return content, ""
    text: list[str] = []
    thinking: list[str] = []
    for item in [content] if isinstance(content, dict) else as_list(content):
        part = as_dict(item)
        if "thinking" in part:
            thought = part["thinking"]
            thinking += (
                [thought] if isinstance(thought, str) else [as_text(as_dict(t).get("text")) for t in thought or ()]
            )
        else:
            text.append(item if isinstance(item, str) else as_text(part.get("text")))
    return "".join(text), "".join(thinking)


def _details(details: list[Any]) -> str:
    """Reasoning of OpenRouter's ``reasoning_details``, used only where it is nowhere else."""
    return "".join(as_text(as_dict(one).get("text")) or as_text(as_dict(one).get("summary")) for one in details)


class ChatReader:
    """Applies chunks to an answer under construction; the same for streams and whole bodies."""

    __slots__ = ("_builder", "_tools")

    def __init__(self, builder: AnswerBuilder) -> None:
        self._builder = builder
        self._tools = ToolCallAssembler()

    def apply(self, chunk: Chunk, events: list[WireEvent]) -> bool:
        """Adds a chunk and its events; whether it holds a finish word in choice 0."""
        builder = self._builder
        finished = False
        for choice in chunk.choices or ():
            if choice.index:
                continue
            if choice.delta is not None:
                self._delta(choice.delta, events)
            elif choice.message is not None:
                self._message(choice.message, events)
            elif choice.text:
                builder.text.append(choice.text)
                events.append(Text(text=choice.text))
            if choice.finish_reason and builder.finish(choice.finish_reason):
                finished = True
            if choice.usage is not None and chunk.usage is None:  # Moonshot
                self._count(openai_chat_usage(choice.usage), events)
        if builder.model is None or builder.request_id is None:
            builder.identify(model=chunk.model, id=chunk.id)
        if chunk.usage is not None or chunk.x_groq is not None:
            self._usage(chunk, events)
        return finished

    def _message(self, message: _Delta, events: list[WireEvent]) -> None:
        """A whole message: what a body has, and what some servers say once more at the end of a stream.

        What came in pieces before is not read again.
        """
        builder = self._builder
        if builder.text:
            message.content = None
        if len(self._tools):
            message.tool_calls = message.function_call = None
        if builder.refusal:
            message.refusal = None
        if builder.reasoning:
            message.reasoning_content = message.reasoning = message.reasoning_details = None
        self._delta(message, events, whole=True)

    def _delta(self, delta: _Delta, events: list[WireEvent], *, whole: bool = False) -> None:
        builder = self._builder
        thought = delta.reasoning_content or delta.reasoning
        if not thought and delta.reasoning_details:
            thought = _details(delta.reasoning_details)
            builder.hidden += not thought  # encrypted: it thinks, unseen
        if thought:
            builder.reasoning.append(thought)
            events.append(Reasoning(text=thought))
        text = delta.content
        if text:
            builder.text.append(text)
            events.append(Text(text=text))
        if delta.refusal:
            builder.refuse(delta.refusal)
        if delta.tool_calls:
            self._tool_calls(delta.tool_calls, whole=whole)
        if delta.function_call is not None:
            call = delta.function_call
            builder.hidden += self._tools.delta(index=-1, name=call.name, arguments=call.arguments)

    def _tool_calls(self, calls: list[_ToolDelta], *, whole: bool) -> None:
        several = len(calls) > 1
        for place, call in enumerate(calls):
            function = call.function or _Function()
            google = as_dict((call.extra_content or {}).get("google"))
            self._builder.hidden += self._tools.delta(
                index=("whole", place) if whole else call.index,
                id=call.id,
                name=function.name,
                arguments=function.arguments,
                place=place if several else None,
                signature=as_text(google.get("thought_signature")) or None,
            )

    def _usage(self, chunk: Chunk, events: list[WireEvent]) -> None:
        groq = chunk.x_groq.usage if chunk.x_groq is not None else None
        self._count(openai_chat_usage(chunk.usage) or openai_chat_usage(groq), events)

    def _count(self, usage: Usage | None, events: list[WireEvent]) -> None:
        if usage is not None and usage != self._builder.usage:
            self._builder.usage = usage
            events.append(usage)

    def release(self, events: list[WireEvent]) -> None:
        """Completes the tool calls; the events are of those that were not complete before."""
        builder = self._builder
        if len(self._tools):
            calls = self._tools.calls(truncated=finish_reason(builder.finish_raw) == "length")
            builder.half = None  # more of it may have come after the finish word
            builder.take(calls[len(builder.tools) :], events)


class ChatStream(SseStream):
    """Decoder of one chat stream. ``finish_reason`` or ``[DONE]`` completes it; reading goes on after the former."""

    awaited = "finish_reason"
    done_completes = True

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__(headers)
        self._reader = ChatReader(self.builder)

    def on_event(self, name: bytes, data: bytes, events: list[WireEvent]) -> None:
        """One framed event, by the fast path where it fits."""
        if name == b"error":
            self.error(data)
            return
        try:
            chunk = _decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            super().on_event(name, data, events)
            if self.judge.closed and self.judge.signalled:
                self._reader.release(events)
            return
        self._apply(chunk, data, events)

    def on_object(self, value: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        """A chunk whose types are not the usual ones."""
        self._apply(loose_chunk(value), data, events)

    def on_end(self, events: list[WireEvent]) -> None:
        """Tool calls of a stream that ended without saying so once more."""
        if self.judge.signalled:
            self._reader.release(events)

    def _apply(self, chunk: Chunk, data: bytes, events: list[WireEvent]) -> None:
        judge = self.judge
        judge.started = True
        if chunk.choices is None and (native := as_chunk(_untyped(data))) is not None:
            chunk = loose_chunk(native)
        if self._reader.apply(chunk, events):
            judge.complete(f"finish_reason={self.builder.finish_raw}")
            self._reader.release(events)
        if chunk.error is not None or chunk.choices is None or chunk.base_resp is not None or chunk.x_groq is not None:
            self._look_for_error(chunk, data)
        elif chunk.choices and chunk.choices[0].error not in _NO_ERROR:
            self.error(to_text({"error": chunk.choices[0].error}), "error in choice")

    def _look_for_error(self, chunk: Chunk, data: bytes) -> None:
        groq_error = chunk.x_groq.error if chunk.x_groq is not None else None
        if chunk.error not in _NO_ERROR or chunk.object == "error" or failing_base_resp(chunk.base_resp):
            self.error(data, "error object")
        elif groq_error not in _NO_ERROR:
            self.error(to_text({"error": groq_error}), "error object")
        elif chunk.choices is None and chunk.usage is None and looks_like_error(_untyped(data)):
            self.error(data, "error object")


def _untyped(data: bytes) -> dict[str, Any]:
    try:
        return as_dict(msgspec.json.decode(data))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


def read_usual(body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure | None:
    """The same as :func:`read_completion` for a body of the usual types, in a third of the time; else ``None``."""
    try:
        chunk = _decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if chunk.choices is None or chunk.error not in _NO_ERROR or "error" in (chunk.object, chunk.type):
        return None
    if failing_base_resp(chunk.base_resp) or any(choice.error not in _NO_ERROR for choice in chunk.choices):
        return None
    return _answer(chunk, headers)


def read_completion(value: dict[str, Any], body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
    """The answer in a whole completion, or the failure it hides."""
    value = as_chunk(value) or value
    choices = value.get("choices")
    if error_in(value) or (not isinstance(choices, list) and looks_like_error(value)):
        return error_body(value, body, _read(loose_chunk(value), headers).answer(whole=False))
    if not isinstance(choices, list):
        return WireFailure(
            kind="not_protocol", payload=body[:1024].decode("utf-8", "replace"), detail="the body has no choices"
        )
    chunk = loose_chunk(value)
    hidden = next((choice.error for choice in chunk.choices or () if choice.error not in _NO_ERROR), None)
    if hidden is not None:
        return WireFailure(
            kind="error_body",
            payload=to_text({"error": hidden}),
            detail="an error in a choice",
            answer=_read(chunk, headers).answer(whole=False),
        )
    return _answer(chunk, headers)


def _answer(chunk: Chunk, headers: Mapping[str, str]) -> Answer | WireFailure:
    builder = _read(chunk, headers)
    return judge_finish(builder) or builder.answer()


def _read(chunk: Chunk, headers: Mapping[str, str]) -> AnswerBuilder:
    builder = AnswerBuilder(headers)
    reader = ChatReader(builder)
    reader.apply(chunk, [])
    reader.release([])
    return builder
