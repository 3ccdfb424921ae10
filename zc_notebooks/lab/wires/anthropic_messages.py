"""Anthropic messages, from the server's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zc_notebooks.chat import ChatRequest, ImagePart, JsonSchema, Message, Part, TextPart, Tool, ToolCall
from zc_notebooks.lab.conversation import Conversation, Unreadable, dump
from zc_notebooks.lab.reply import Frame, FrameKind, Reply, Telling
from zc_notebooks.lab.tokens import pieces
from zc_notebooks.lab.wires import reading

_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_PIECE = 12
"""Characters of arguments in one event."""
_EMPTY: Mapping[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
_SIGNATURE = "bGFiIHNpZ25hdHVyZQ=="


def decode(path: str, body: dict[str, Any]) -> Conversation:
    """Reads a request to ``/v1/messages`` or ``/v1/messages/count_tokens``."""
    counting = path.partition("?")[0].endswith("/count_tokens")
    stream = bool(body.get("stream")) and not counting
    if not counting and reading.optional(body, "max_tokens", int) is None:
        raise Unreadable("max_tokens: Field required", "max_tokens")
    return Conversation(
        wire="anthropic_messages",
        model=reading.want(body, "model", str),
        operation="count_tokens" if counting else "chat",
        stream=stream,
        framing="sse" if stream else "none",
        request=ChatRequest(
            messages=_messages(body),
            tools=tuple(_tool(item) for item in reading.objects(body, "tools")),
            tool_choice=_tool_choice(body),
            response_format=_format(body),
            max_tokens=reading.optional(body, "max_tokens", int),
            temperature=reading.optional(body, "temperature", float),
            top_p=reading.optional(body, "top_p", float),
            stop=reading.strings(body, "stop_sequences"),
            reasoning_effort=_effort(body),
        ),
    )


def whole(reply: Reply, telling: Telling) -> dict[str, Any]:
    """A ``message`` object, or a token count."""
    if telling.conversation.operation == "count_tokens":
        return {"input_tokens": reply.input_tokens}
    body = _message_head(reply, telling)
    body["content"] = _blocks(reply)
    body["stop_reason"] = _STOP[reply.finish] if telling.finish else None
    if telling.usage == "none":
        del body["usage"]
    else:
        body["usage"]["output_tokens"] = reply.output_tokens
    return body


def frames(reply: Reply, telling: Telling) -> Iterator[Frame]:
    """Events from ``message_start`` to ``message_stop``."""
    head = _message_head(reply, telling)
    if telling.usage == "none":
        head.pop("usage")
    yield _event("open", "message_start", message=head)
    yield _event("comment", "ping")
    for index, block in enumerate(_blocks(reply)):
        yield from _block(index, block)
    usage: dict[str, Any] = {"output_tokens": reply.output_tokens}
    if telling.finish:
        delta = {"stop_reason": _STOP[reply.finish], "stop_sequence": None}
        told = {} if telling.usage == "none" else {"usage": usage}
        if telling.usage == "thrice":
            yield _event("usage", "message_delta", delta={"stop_reason": None, "stop_sequence": None}, **told)
        yield _event("finish", "message_delta", delta=delta, **told)
    yield _event("done", "message_stop")


def raw(text: str, conversation: Conversation) -> bytes:  # noqa: ARG001 (one framing)
    """One SSE event."""
    return f"event: content_block_delta\ndata: {text}\n\n".encode()


def error(payload: object, conversation: Conversation) -> bytes:  # noqa: ARG001
    """An ``error`` event."""
    inner = payload.get("error", payload) if isinstance(payload, Mapping) else payload
    return f"event: error\ndata: {dump({'type': 'error', 'error': inner})}\n\n".encode()


def _event(kind: FrameKind, name: str, **fields: Any) -> Frame:
    """One event; the JSON is padded before its last brace, as the vendor does."""
    text = dump({"type": name, **fields})
    return Frame(kind=kind, data=f"event: {name}\ndata: {text[:-1]}{' ' * (len(text) % 9)}}}\n\n".encode())


def _block(index: int, block: dict[str, Any]) -> Iterator[Frame]:
    kind = block["type"]
    yield _event("open", "content_block_start", index=index, content_block={**block, **_EMPTY[kind]})
    if kind == "text":
        for piece in pieces(block["text"]):
            yield _delta("text", index, {"type": "text_delta", "text": piece})
    elif kind == "thinking":
        for piece in pieces(block["thinking"]):
            yield _delta("reasoning", index, {"type": "thinking_delta", "thinking": piece})
        yield _delta("reasoning", index, {"type": "signature_delta", "signature": block["signature"]})
    else:
        arguments = dump(block["input"])
        yield _delta("tool", index, {"type": "input_json_delta", "partial_json": ""})
        for start in range(0, len(arguments), _PIECE):
            piece = arguments[start : start + _PIECE]
            yield _delta("tool", index, {"type": "input_json_delta", "partial_json": piece})
    yield _event("open", "content_block_stop", index=index)


def _delta(kind: FrameKind, index: int, delta: dict[str, Any]) -> Frame:
    return _event(kind, "content_block_delta", index=index, delta=delta)


def _message_head(reply: Reply, telling: Telling) -> dict[str, Any]:
    usage = {
        "input_tokens": reply.input_tokens - reply.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": reply.cached_tokens,
        "output_tokens": 1,
        "service_tier": "standard",
    }
    return {
        "id": f"msg_{telling.id}",
        "type": "message",
        "role": "assistant",
        "model": telling.reported,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": _SIGNATURE})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    calls = ({"id": call.id, "name": call.name, "input": dict(call.arguments or {})} for call in reply.tool_calls)
    return [*blocks, *({"type": "tool_use", **call} for call in calls)]


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    messages: list[Message] = []
    system = body.get("system")
    if system:
        text = system if isinstance(system, str) else "".join(part.get("text", "") for part in system)
        messages.append(Message(role="system", parts=(TextPart(text=text),)))
    items = reading.objects(body, "messages")
    if not items:
        raise Unreadable("messages: at least one message is required", "messages")
    names: dict[str, str] = {}
    for place, item in enumerate(items):
        messages.extend(_turn(item, f"messages.{place}", names))
    return tuple(messages)


def _turn(item: Mapping[str, Any], where: str, names: dict[str, str]) -> Iterator[Message]:
    """One item; a user's item with tool results becomes a tool message for each, then the rest."""
    role = reading.want(item, "role", str)
    if role not in ("user", "assistant"):
        raise Unreadable(f"{where}.role: Input should be 'user' or 'assistant'", where)
    content = item.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else reading.objects(item, "content")
    if not blocks:
        raise Unreadable(f"{where}: all messages must have non-empty content", where)
    parts: list[Part] = []
    calls: list[ToolCall] = []
    thoughts = ""
    for block in blocks:
        kind = block.get("type")
        if kind == "tool_result":
            yield _tool_result(block, where, names)
        elif kind == "tool_use":
            call = reading.call_from_object(
                reading.want(block, "id", str), reading.want(block, "name", str), reading.want(block, "input", dict)
            )
            names[call.id] = call.name
            calls.append(call)
        elif kind == "thinking":
            thoughts += reading.want(block, "thinking", str)
        else:
            parts.append(_part(block, where))
    if parts or calls or role == "assistant":
        yield Message(
            role="user" if role == "user" else "assistant",
            parts=tuple(parts),
            tool_calls=tuple(calls),
            reasoning=thoughts or None,
        )


def _tool_result(block: Mapping[str, Any], where: str, names: Mapping[str, str]) -> Message:
    call_id = reading.want(block, "tool_use_id", str)
    if call_id not in names:
        raise Unreadable(
            f"{where}.content: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` "
            "block must have a corresponding `tool_use` block in the previous message.",
            where,
        )
    content = block.get("content") or ""
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    parts = (TextPart(text=text),) if text else ()
    return Message(role="tool", parts=parts, tool_call_id=call_id, name=names[call_id])


def _part(block: Mapping[str, Any], where: str) -> Part:
    kind = block.get("type")
    if kind == "text":
        text = reading.want(block, "text", str)
        if not text:
            raise Unreadable(f"{where}: text content blocks must be non-empty", where)
        return TextPart(text=text)
    if kind == "image":
        source = reading.want(block, "source", dict)
        if source.get("type") == "url":
            return ImagePart(url=reading.want(source, "url", str), media_type="")
        return reading.inline_image(reading.want(source, "data", str), reading.want(source, "media_type", str), where)
    raise Unreadable(
        f"{where}.content: Input tag '{kind}' found using 'type' does not match any of the expected tags", where
    )


def _tool(item: Mapping[str, Any]) -> Tool:
    return Tool(
        name=reading.want(item, "name", str),
        description=reading.optional(item, "description", str) or "",
        parameters=reading.want(item, "input_schema", dict),
    )


def _tool_choice(body: Mapping[str, Any]) -> str | None:
    choice = reading.optional(body, "tool_choice", dict) or {}
    kind = choice.get("type")
    if kind == "tool":
        return reading.want(choice, "name", str)
    return {"any": "required", "auto": "auto", "none": "none"}.get(str(kind))


def _format(body: Mapping[str, Any]) -> JsonSchema | None:
    config = reading.optional(body, "output_config", dict) or {}
    spec = config.get("format") or body.get("output_format") or {}
    if spec.get("type") != "json_schema":
        return None
    return JsonSchema(name="output", schema=reading.want(spec, "schema", dict))


def _effort(body: Mapping[str, Any]) -> Any:
    config = reading.optional(body, "output_config", dict) or {}
    told = reading.effort(config.get("effort"))
    if told is None and (reading.optional(body, "thinking", dict) or {}).get("type") == "disabled":
        return "none"
    return told
