"""OpenAI chat completions, from the server's side, with every family's deviations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from zc_notebooks.chat import ChatRequest, JsonSchema, Message, Part, Role, TextPart, Tool, ToolCall
from zc_notebooks.lab.conversation import Conversation, Unreadable, dump
from zc_notebooks.lab.reply import Frame, FrameKind, Reply, Telling, spans
from zc_notebooks.lab.tokens import pieces
from zc_notebooks.lab.wires import reading

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def decode(path: str, body: dict[str, Any]) -> Conversation:  # noqa: ARG001 (the path says nothing here)
    """Reads a chat completion request."""
    options = reading.optional(body, "stream_options", dict) or {}
    schema, json_mode = _response_format(body)
    stream = bool(body.get("stream"))
    limit = reading.optional(body, "max_completion_tokens", int)
    return Conversation(
        wire="openai_chat",
        model=reading.want(body, "model", str),
        stream=stream,
        framing="sse" if stream else "none",
        include_usage=bool(options.get("include_usage")),
        json_mode=json_mode,
        request=ChatRequest(
            messages=_messages(body),
            tools=tuple(_tool(item) for item in reading.objects(body, "tools")),
            tool_choice=_tool_choice(body.get("tool_choice")),
            response_format=schema,
            max_tokens=reading.optional(body, "max_tokens", int) if limit is None else limit,
            temperature=reading.optional(body, "temperature", float),
            top_p=reading.optional(body, "top_p", float),
            stop=reading.strings(body, "stop"),
            seed=reading.optional(body, "seed", int),
            reasoning_effort=reading.effort(body.get("reasoning_effort")),
        ),
    )


def whole(reply: Reply, telling: Telling) -> dict[str, Any]:
    """A ``chat.completion`` object."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or (None if reply.tool_calls else "")}
    if reply.reasoning and telling.dialect.reasoning != "hidden":
        message.update(_reasoning(reply.reasoning, telling, whole_text=reply.text))
    if reply.tool_calls:
        message["tool_calls"] = [_tool_call(call) for call in reply.tool_calls]
    choice: dict[str, Any] = {"index": 0, "message": message, "logprobs": None}
    choice["finish_reason"] = reply.finish if telling.finish and telling.dialect.finish else None
    body = _envelope(telling, "chat.completion", [choice])
    if telling.usage != "none":
        body["usage"] = usage(reply, telling)
        if telling.dialect.x_groq:
            body["x_groq"] = {"id": f"req_{telling.id}"}
    return body


def frames(reply: Reply, telling: Telling) -> Iterator[Frame]:
    """Chunks: role, reasoning, text, tool calls, finish, usage, ``[DONE]``."""
    dialect = telling.dialect
    if dialect.comment:
        yield Frame(kind="comment", data=f": {dialect.comment}\n\n".encode())
    if dialect.prompt_filter:
        first = _envelope(telling, "chat.completion.chunk", [])
        first["prompt_filter_results"] = [{"prompt_index": 0, "content_filter_results": _SAFE}]
        yield _event("open", first)
    if telling.usage == "thrice":
        yield _event("open", _chunk(telling, {"role": "assistant", "content": ""}, usage=usage(reply, telling)))
    else:
        yield _event("open", _chunk(telling, {"role": "assistant", "content": ""}))
    for text in pieces("" if dialect.reasoning == "hidden" else reply.reasoning):
        yield _event("reasoning", _chunk(telling, _reasoning(text, telling)))
    for text in spans(pieces(reply.text), dialect.chunk_tokens):
        yield _event("text", _chunk(telling, {"content": text}, text=text))
    for place, call in enumerate(reply.tool_calls):
        for delta in _tool_deltas(place, call, telling):
            yield _event("tool", _chunk(telling, {"tool_calls": [delta]}))
    yield from _ending(reply, telling)


def raw(text: str, conversation: Conversation) -> bytes:  # noqa: ARG001 (one framing)
    """One SSE event."""
    return f"data: {text}\n\n".encode()


def error(payload: object, conversation: Conversation) -> bytes:
    """An error object as an event."""
    return raw(dump(payload), conversation)


def usage(reply: Reply, telling: Telling) -> dict[str, Any]:
    """The family's usage object."""
    output = reply.visible_tokens if telling.dialect.completion_without_reasoning else reply.output_tokens
    told: dict[str, Any] = {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": output,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
    }
    if telling.dialect.cost == "usage":
        told["cost"] = round(telling.cost_usd, 10)
    elif telling.dialect.cost == "ticks":
        told["cost_in_usd_ticks"] = round(telling.cost_usd * 1e10)
    return told


def _ending(reply: Reply, telling: Telling) -> Iterator[Frame]:
    dialect = telling.dialect
    told = None if telling.usage == "none" else usage(reply, telling)
    in_finish = told if dialect.usage == "finish" or telling.usage == "thrice" else None
    if telling.finish and dialect.finish:
        chunk = _chunk(telling, {}, finish=reply.finish, usage=in_finish)
        if dialect.x_groq and told is not None:
            chunk["x_groq"] = {"id": f"req_{telling.id}", "usage": told}
        yield _event("finish", chunk)
        if dialect.finish_twice:
            yield _event("finish", _chunk(telling, {"content": ""}, finish=reply.finish))
    elif in_finish is not None:
        yield _event("usage", _chunk(telling, {}, usage=in_finish))
    asked = dialect.usage == "asked" and telling.conversation.include_usage
    if told is not None and (asked or telling.usage == "thrice"):
        yield _event("usage", {**_envelope(telling, "chat.completion.chunk", []), "usage": told})
    if dialect.moderation:
        judged = {**_envelope(telling, "chat.completion.chunk", []), "usage": None, "moderation": {"flagged": False}}
        yield _event("usage", judged)
    if dialect.done:
        yield Frame(kind="done", data=b"data: [DONE]\n\n")


def _envelope(telling: Telling, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": f"chatcmpl-{telling.id}",
        "object": kind,
        "created": telling.created,
        "model": telling.reported,
        "choices": choices,
        "system_fingerprint": f"fp_{telling.dialect.server}",
    }
    if telling.dialect.finish_twice:
        body["provider"] = "Lab"
    return body


def _chunk(
    telling: Telling,
    delta: dict[str, Any],
    *,
    finish: str | None = None,
    usage: dict[str, Any] | None = None,
    text: str | None = None,
) -> dict[str, Any]:
    dialect = telling.dialect
    if dialect.role_everywhere:
        delta = {"role": "assistant", "content": "", **delta}
    choice: dict[str, Any] = {"index": 0, "delta": delta, "logprobs": None}
    choice["finish_reason"] = finish if finish or not dialect.empty_finish else ""
    if dialect.finish_twice:
        choice["native_finish_reason"] = finish
    if dialect.text_copy and text is not None:
        choice["text"] = text
    chunk = _envelope(telling, "chat.completion.chunk", [choice])
    if usage is not None:
        chunk["usage"] = usage
    return chunk


def _event(kind: FrameKind, chunk: dict[str, Any]) -> Frame:
    return Frame(kind=kind, data=b"data: " + dump(chunk).encode() + b"\n\n")


def _reasoning(text: str, telling: Telling, *, whole_text: str | None = None) -> dict[str, Any]:
    """Reasoning where the family puts it; ``whole_text`` is the answer beside it in a whole message."""
    dialect = telling.dialect
    if dialect.reasoning == "parts":
        parts: list[dict[str, Any]] = [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]
        if whole_text:
            parts.append({"type": "text", "text": whole_text})
        return {"content": parts}
    told: dict[str, Any] = {dialect.reasoning: text}
    if dialect.reasoning_details:
        told["reasoning_details"] = [{"type": "reasoning.text", "text": text, "index": 0}]
    return told


def _tool_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}


def _tool_deltas(place: int, call: ToolCall, telling: Telling) -> Iterator[dict[str, Any]]:
    dialect = telling.dialect
    head = {"index": place, **_tool_call(call)}
    if not dialect.tool_index:
        head = {"id": call.id, "function": head["function"]}
    if dialect.whole_tool:
        yield head
        return
    head["function"] = {"name": call.name, "arguments": ""}
    yield head
    for start in range(0, len(call.raw), 6):
        yield {"index": place, "function": {"arguments": call.raw[start : start + 6]}}


_SAFE = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    items = reading.objects(body, "messages")
    if not items:
        raise Unreadable("[] is too short - 'messages'", "messages")
    open_calls: dict[str, str] = {}
    messages = []
    for place, item in enumerate(items):
        message = _message(item, f"messages[{place}]")
        if message.role == "tool":
            name = open_calls.get(message.tool_call_id or "")
            if name is None:
                raise Unreadable(
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
                    f"messages.[{place}].role",
                )
            message = msgspec.structs.replace(message, name=message.name or name)
        elif message.role == "assistant":
            open_calls = {call.id: call.name for call in message.tool_calls}
        messages.append(message)
    return tuple(messages)


def _message(item: Mapping[str, Any], where: str) -> Message:
    role = _ROLES.get(reading.want(item, "role", str))
    if role is None:
        raise Unreadable(
            f"Invalid value: '{item['role']}'. Supported values are: {', '.join(_ROLES)}.", f"{where}.role"
        )
    parts, thoughts = _content(item.get("content"), f"{where}.content")
    reasoning = item.get("reasoning_content") or item.get("reasoning") or thoughts
    return Message(
        role=role,
        parts=parts,
        tool_calls=tuple(_read_call(call) for call in reading.objects(item, "tool_calls")),
        tool_call_id=reading.optional(item, "tool_call_id", str),
        name=reading.optional(item, "name", str),
        reasoning=reasoning or None,
    )


def _content(content: object, where: str) -> tuple[tuple[Part, ...], str]:
    """Parts of a message, and thinking that stood among them (Mistral)."""
    if content is None or content == "":
        return (), ""
    if isinstance(content, str):
        return (TextPart(text=content),), ""
    if not isinstance(content, list):
        raise Unreadable(f"Invalid type for '{where}': expected a string or a list of parts.", where)
    parts: list[Part] = []
    thoughts = ""
    for item in content:
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "text":
            parts.append(TextPart(text=reading.want(item, "text", str)))
        elif kind == "image_url":
            url = item.get("image_url")
            url = url.get("url") if isinstance(url, dict) else url
            if not isinstance(url, str):
                raise Unreadable("Missing required parameter: 'image_url.url'.", where)
            parts.append(reading.image(url, where))
        elif kind == "thinking":
            thoughts += "".join(part.get("text", "") for part in item.get("thinking", []))
        else:
            raise Unreadable(f"Invalid value: '{kind}'. Supported values are: 'text', 'image_url'.", f"{where}.type")
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


def _tool_choice(value: object) -> str | None:
    if isinstance(value, dict):
        function = value.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str):
            raise Unreadable("Invalid value for 'tool_choice'.", "tool_choice")
        return name
    if value == "any":
        return "required"
    if value is None or (isinstance(value, str) and value in ("auto", "none", "required")):
        return value
    raise Unreadable("Invalid value for 'tool_choice'.", "tool_choice")


def _response_format(body: Mapping[str, Any]) -> tuple[JsonSchema | None, bool]:
    spec = reading.optional(body, "response_format", dict) or {}
    if spec.get("type") == "json_schema":
        return reading.json_schema(reading.want(spec, "json_schema", dict)), True
    return None, spec.get("type") == "json_object"
