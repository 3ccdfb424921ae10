"""Cohere v2 chat, from the server's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zc_notebooks.chat import ChatRequest, JsonSchema, Message, Part, Role, TextPart, Tool, ToolCall
from zc_notebooks.lab.conversation import Conversation, Unreadable, dump
from zc_notebooks.lab.reply import Frame, FrameKind, Reply, Telling
from zc_notebooks.lab.tokens import pieces
from zc_notebooks.lab.wires import reading

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_FINISH = {"stop": "COMPLETE", "length": "MAX_TOKENS", "tool_calls": "TOOL_CALL", "content_filter": "ERROR"}
_PLAN = "I will use the tools that were offered."
_PIECE = 8


def decode(path: str, body: dict[str, Any]) -> Conversation:  # noqa: ARG001 (the path says nothing here)
    """Reads a request to ``/v2/chat``."""
    stream = bool(body.get("stream"))
    spec = reading.optional(body, "response_format", dict) or {}
    schema = spec.get("json_schema") or spec.get("schema")
    thinking = reading.optional(body, "thinking", dict) or {}
    return Conversation(
        wire="cohere_v2",
        model=reading.want(body, "model", str),
        stream=stream,
        framing="sse" if stream else "none",
        json_mode=spec.get("type") == "json_object",
        request=ChatRequest(
            messages=_messages(body),
            tools=tuple(_tool(item) for item in reading.objects(body, "tools")),
            tool_choice=_tool_choice(body),
            response_format=JsonSchema(name="output", schema=schema) if isinstance(schema, dict) else None,
            max_tokens=reading.optional(body, "max_tokens", int),
            temperature=reading.optional(body, "temperature", float),
            top_p=reading.optional(body, "p", float),
            stop=reading.strings(body, "stop_sequences"),
            seed=reading.optional(body, "seed", int),
            reasoning_effort="none" if thinking.get("type") == "disabled" else None,
        ),
    )


def whole(reply: Reply, telling: Telling) -> dict[str, Any]:
    """One chat response."""
    message: dict[str, Any] = {"role": "assistant"}
    content: list[dict[str, Any]] = []
    if reply.reasoning:
        content.append({"type": "thinking", "thinking": reply.reasoning})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    if content:
        message["content"] = content
    if reply.tool_calls:
        message["tool_plan"] = _PLAN
        message["tool_calls"] = [_said_call(call) for call in reply.tool_calls]
    told: dict[str, Any] = {"id": _id(telling), "message": message}
    if telling.finish:
        told["finish_reason"] = _FINISH[reply.finish]
    return told if telling.usage == "none" else {**told, "usage": _usage(reply)}


def frames(reply: Reply, telling: Telling) -> Iterator[Frame]:
    """Events from ``message-start`` to ``message-end`` and ``[DONE]``."""
    start = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield _event("open", "message-start", id=_id(telling), delta={"message": start})
    place = 0
    for kind, field, text in (("reasoning", "thinking", reply.reasoning), ("text", "text", reply.text)):
        if text:
            yield from _content("text" if kind == "text" else "reasoning", field, text, place)
            place += 1
    if reply.tool_calls:
        for piece in pieces(_PLAN):
            yield _event("reasoning", "tool-plan-delta", delta={"message": {"tool_plan": piece}})
        for index, call in enumerate(reply.tool_calls):
            yield from _call(index, call)
    if telling.finish:
        ending: dict[str, Any] = {"finish_reason": _FINISH[reply.finish]}
        if telling.usage != "none":
            ending["usage"] = _usage(reply)
        yield _event("finish", "message-end", id=_id(telling), delta=ending)
    yield Frame(kind="done", data=b"data: [DONE]\n\n")


def raw(text: str, conversation: Conversation) -> bytes:  # noqa: ARG001 (one framing)
    """One SSE event."""
    return f"event: content-delta\ndata: {text}\n\n".encode()


def error(payload: object, conversation: Conversation) -> bytes:  # noqa: ARG001
    """A ``message-end`` that says what went wrong."""
    words = payload.get("message", payload) if isinstance(payload, Mapping) else payload
    return _event("error", "message-end", delta={"finish_reason": "ERROR", "error": str(words)}).data


def _event(frame: FrameKind, name: str, /, **fields: Any) -> Frame:
    return Frame(kind=frame, data=f"event: {name}\ndata: {dump({'type': name, **fields})}\n\n".encode())


def _content(kind: FrameKind, field: str, text: str, place: int) -> Iterator[Frame]:
    yield _event("open", "content-start", index=place, delta={"message": {"content": {"type": field, field: ""}}})
    for piece in pieces(text):
        yield _event(kind, "content-delta", index=place, delta={"message": {"content": {field: piece}}})
    yield _event("open", "content-end", index=place)


def _call(index: int, call: ToolCall) -> Iterator[Frame]:
    said = _said_call(call)
    said["function"] = {"name": call.name, "arguments": ""}
    yield _event("tool", "tool-call-start", index=index, delta={"message": {"tool_calls": said}})
    for start in range(0, len(call.raw), _PIECE):
        function = {"arguments": call.raw[start : start + _PIECE]}
        delta = {"message": {"tool_calls": {"function": function}}}
        yield _event("tool", "tool-call-delta", index=index, delta=delta)
    yield _event("tool", "tool-call-end", index=index)


def _id(telling: Telling) -> str:
    digits = (telling.id * 2)[:32]
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _usage(reply: Reply) -> dict[str, Any]:
    """Money counts the prompt's own words only, tokens count the template around them too."""
    billed = {"input_tokens": max(reply.input_tokens - 7, 1), "output_tokens": reply.output_tokens}
    tokens = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens}
    return {"billed_units": billed, "tokens": tokens, "cached_tokens": reply.cached_tokens}


def _said_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    messages: list[Message] = []
    names: dict[str, str] = {}
    for place, item in enumerate(reading.objects(body, "messages")):
        role = _ROLES.get(reading.want(item, "role", str))
        if role is None:
            raise Unreadable(f"invalid role in messages[{place}]", "messages")
        calls = tuple(_read_call(call) for call in reading.objects(item, "tool_calls"))
        names.update((call.id, call.name) for call in calls)
        answered = reading.want(item, "tool_call_id", str) if role == "tool" else None
        if answered is not None and answered not in names:
            raise Unreadable(f"invalid request: tool_call_id {answered!r} not found in previous tool calls", "messages")
        parts, thoughts = _content_of(item)
        messages.append(
            Message(
                role=role,
                parts=parts,
                tool_calls=calls,
                tool_call_id=answered,
                name=None if answered is None else names[answered],
                reasoning=thoughts or reading.optional(item, "tool_plan", str) or None,
            )
        )
    if not messages:
        raise Unreadable("invalid request: at least one message is required", "messages")
    return tuple(messages)


def _content_of(item: Mapping[str, Any]) -> tuple[tuple[Part, ...], str]:
    content = item.get("content")
    if isinstance(content, str):
        return ((TextPart(text=content),) if content else ()), ""
    parts: list[Part] = []
    thoughts = ""
    for part in reading.objects(item, "content"):
        kind = part.get("type")
        if kind == "text":
            parts.append(TextPart(text=reading.want(part, "text", str)))
        elif kind == "thinking":
            thoughts += reading.want(part, "thinking", str)
        elif kind == "image_url":
            url = reading.want(part, "image_url", dict)
            parts.append(reading.image(reading.want(url, "url", str), "image_url"))
        elif kind == "document":
            data = reading.want(part, "document", dict).get("data")
            parts.append(TextPart(text=data if isinstance(data, str) else dump(data)))
        else:
            raise Unreadable(f"invalid content type {kind!r}", "messages")
    return tuple(parts), thoughts


def _read_call(item: Mapping[str, Any]) -> ToolCall:
    function = reading.want(item, "function", dict)
    return reading.call_from_text(
        reading.want(item, "id", str), reading.want(function, "name", str), reading.want(function, "arguments", str)
    )


def _tool(item: Mapping[str, Any]) -> Tool:
    function = reading.want(item, "function", dict)
    return Tool(
        name=reading.want(function, "name", str),
        description=reading.optional(function, "description", str) or "",
        parameters=reading.optional(function, "parameters", dict) or {},
    )


def _tool_choice(body: Mapping[str, Any]) -> str | None:
    choice = reading.optional(body, "tool_choice", str)
    return None if choice is None else choice.lower()
