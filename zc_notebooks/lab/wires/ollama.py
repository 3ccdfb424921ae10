"""Ollama's native API, from the server's side: ``/api/chat`` and ``/api/generate``, NDJSON unless told not to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zc_notebooks.chat import ChatRequest, JsonSchema, Message, Part, Role, TextPart, Tool, ToolCall
from zc_notebooks.lab.conversation import Conversation, Unreadable, dump
from zc_notebooks.lab.reply import Frame, FrameKind, Reply, Telling
from zc_notebooks.lab.tokens import pieces
from zc_notebooks.lab.wires import reading

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def decode(path: str, body: dict[str, Any]) -> Conversation:
    """Reads a request. It is streamed unless ``stream`` is false."""
    generate = path.partition("?")[0].endswith("/generate")
    stream = body.get("stream") is not False
    options = reading.optional(body, "options", dict) or {}
    limit = reading.optional(options, "num_predict", int)
    wanted = body.get("format")
    return Conversation(
        wire="ollama",
        model=reading.want(body, "model", str),
        operation="generate" if generate else "chat",
        stream=stream,
        framing="ndjson" if stream else "none",
        json_mode=bool(wanted),
        request=ChatRequest(
            messages=_prompt(body) if generate else _messages(body),
            tools=tuple(_tool(item) for item in reading.objects(body, "tools")),
            response_format=JsonSchema(name="output", schema=wanted) if isinstance(wanted, dict) else None,
            max_tokens=limit if limit is not None and limit > 0 else None,
            temperature=reading.optional(options, "temperature", float),
            top_p=reading.optional(options, "top_p", float),
            stop=reading.strings(options, "stop"),
            seed=reading.optional(options, "seed", int),
            reasoning_effort="none" if body.get("think") is False else reading.effort(body.get("think")),
        ),
    )


def whole(reply: Reply, telling: Telling) -> dict[str, Any]:
    """One object with everything."""
    calls = [_said_call(call) for call in reply.tool_calls]
    line = _line(telling, reply.text, reply.reasoning, calls, done=telling.finish)
    return {**line, **_ending(reply, telling)} if telling.finish else line


def frames(reply: Reply, telling: Telling) -> Iterator[Frame]:
    """One object a line, the last one ``done``."""
    for piece in pieces(reply.reasoning):
        yield _frame("reasoning", _line(telling, "", piece))
    for piece in pieces(reply.text):
        yield _frame("text", _line(telling, piece))
    for call in reply.tool_calls:
        yield _frame("tool", _line(telling, "", calls=[_said_call(call)]))
    if telling.finish:
        yield _frame("finish", {**_line(telling, "", done=True), **_ending(reply, telling)})


def raw(text: str, conversation: Conversation) -> bytes:  # noqa: ARG001 (one framing)
    """One line."""
    return f"{text}\n".encode()


def error(payload: object, conversation: Conversation) -> bytes:
    """A line with an error."""
    inner = payload.get("error", payload) if isinstance(payload, Mapping) else payload
    if isinstance(inner, Mapping):
        inner = inner.get("message", "error")
    return raw(dump({"error": str(inner)}), conversation)


def _frame(kind: FrameKind, line: dict[str, Any]) -> Frame:
    return Frame(kind=kind, data=dump(line).encode() + b"\n")


def _line(
    telling: Telling, text: str, thinking: str = "", calls: list[dict[str, Any]] | None = None, *, done: bool = False
) -> dict[str, Any]:
    told: dict[str, Any] = {"model": telling.reported, "created_at": f"{telling.now:%Y-%m-%dT%H:%M:%S.%f}000Z"}
    if telling.conversation.operation == "generate":
        told["response"] = text
        if thinking:
            told["thinking"] = thinking
    else:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if thinking:
            message["thinking"] = thinking
        if calls:
            message["tool_calls"] = calls
        told["message"] = message
    return {**told, "done": done}


def _ending(reply: Reply, telling: Telling) -> dict[str, Any]:
    told: dict[str, Any] = {
        "done_reason": "length" if reply.finish == "length" else "stop",
        "total_duration": 412_000_000,
        "load_duration": 21_000_000,
        "prompt_eval_duration": 12_000_000,
        "eval_duration": 350_000_000,
    }
    if telling.usage != "none":
        told |= {"prompt_eval_count": reply.input_tokens, "eval_count": reply.output_tokens}
    return told


def _said_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "function": {"index": 0, "name": call.name, "arguments": dict(call.arguments or {})}}


def _prompt(body: Mapping[str, Any]) -> tuple[Message, ...]:
    system = reading.optional(body, "system", str)
    before = (Message(role="system", parts=(TextPart(text=system),)),) if system else ()
    return (*before, Message(role="user", parts=_parts(reading.want(body, "prompt", str), body)))


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    messages: list[Message] = []
    open_calls: list[ToolCall] = []
    count = 0
    for item in reading.objects(body, "messages"):
        role = _ROLES.get(reading.want(item, "role", str))
        if role is None:
            raise Unreadable(f"invalid role {item['role']!r}", "messages")
        calls = tuple(_read_call(call, count + place) for place, call in enumerate(reading.objects(item, "tool_calls")))
        count += len(calls)
        open_calls.extend(calls)
        answered = _answered(item, open_calls) if role == "tool" else None
        messages.append(
            Message(
                role=role,
                parts=_parts(reading.optional(item, "content", str) or "", item),
                tool_calls=calls,
                tool_call_id=None if answered is None else answered.id,
                name=None if answered is None else answered.name,
                reasoning=reading.optional(item, "thinking", str),
            )
        )
    return tuple(messages)


def _answered(item: Mapping[str, Any], open_calls: list[ToolCall]) -> ToolCall:
    """The open call a result answers: by its id, by its tool's name, or simply the oldest."""
    given, name = item.get("tool_call_id"), item.get("tool_name") or item.get("name")
    for place, call in enumerate(open_calls):
        if (given is not None and call.id == given) or (given is None and name in (None, call.name)):
            return open_calls.pop(place)
    raise Unreadable("a tool result answers no tool call", "messages")


def _parts(text: str, item: Mapping[str, Any]) -> tuple[Part, ...]:
    parts: list[Part] = [TextPart(text=text)] if text else []
    for data in reading.strings(item, "images"):
        image = reading.inline_image(data, "", "images")
        kind = next((kind for magic, kind in _MAGIC.items() if (image.data or b"").startswith(magic)), "")
        parts.append(reading.inline_image(data, kind, "images"))
    return tuple(parts)


def _read_call(item: Mapping[str, Any], place: int) -> ToolCall:
    function = reading.want(item, "function", dict)
    call_id = reading.optional(item, "id", str) or f"call_{place}"
    return reading.call_from_object(
        call_id, reading.want(function, "name", str), reading.want(function, "arguments", dict)
    )


def _tool(item: Mapping[str, Any]) -> Tool:
    function = reading.want(item, "function", dict)
    return Tool(
        name=reading.want(function, "name", str),
        description=reading.optional(function, "description", str) or "",
        parameters=reading.optional(function, "parameters", dict) or {},
    )
