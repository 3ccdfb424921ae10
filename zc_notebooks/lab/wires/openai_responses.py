"""OpenAI Responses, from the server's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from zc_notebooks.chat import ChatRequest, JsonSchema, Message, Part, Role, TextPart, Tool, ToolCall
from zc_notebooks.lab.conversation import Conversation, Unreadable, dump
from zc_notebooks.lab.reply import Frame, FrameKind, Reply, Telling, spans
from zc_notebooks.lab.tokens import pieces
from zc_notebooks.lab.wires import reading

_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_PIECE = 12
"""Characters of arguments in one event."""


def decode(path: str, body: dict[str, Any]) -> Conversation:  # noqa: ARG001 (the path says nothing here)
    """Reads a request to ``/responses``."""
    schema, json_mode = _text_format(body)
    stream = bool(body.get("stream"))
    reasoning = reading.optional(body, "reasoning", dict) or {}
    return Conversation(
        wire="openai_responses",
        model=reading.want(body, "model", str),
        stream=stream,
        framing="sse" if stream else "none",
        json_mode=json_mode,
        request=ChatRequest(
            messages=_messages(body),
            tools=tuple(_tool(item) for item in reading.objects(body, "tools") if item.get("type") == "function"),
            tool_choice=_tool_choice(body.get("tool_choice")),
            response_format=schema,
            max_tokens=reading.optional(body, "max_output_tokens", int),
            temperature=reading.optional(body, "temperature", float),
            top_p=reading.optional(body, "top_p", float),
            reasoning_effort=reading.effort(reasoning.get("effort")),
        ),
    )


def whole(reply: Reply, telling: Telling) -> dict[str, Any]:
    """A ``response`` object."""
    return _response(reply, telling, _items(reply, telling), done=True)


def frames(reply: Reply, telling: Telling) -> Iterator[Frame]:
    """Events from ``response.created`` to ``response.completed`` or ``response.incomplete``."""
    if not telling.dialect.sse_events:
        yield Frame(kind="comment", data=b": \n\n")
    events = _Events(telling)
    started = _response(reply, telling, [], done=False)
    yield events.event("open", "response.created", response=started)
    yield events.event("open", "response.in_progress", response=started)
    items = _items(reply, telling)
    for place, item in enumerate(items):
        yield from _item(events, place, item)
    ending = "response.incomplete" if reply.finish == "length" else "response.completed"
    if telling.finish:
        yield events.event("finish", ending, response=_response(reply, telling, items, done=True))
    if telling.dialect.responses_done:
        yield Frame(kind="done", data=b"data: [DONE]\n\n")


def raw(text: str, conversation: Conversation) -> bytes:  # noqa: ARG001 (one framing)
    """One SSE event."""
    return f"data: {text}\n\n".encode()


def error(payload: object, conversation: Conversation) -> bytes:
    """An ``error`` event, nested form."""
    inner = payload.get("error", payload) if isinstance(payload, Mapping) else payload
    told = dump({"type": "error", "sequence_number": 99, "error": inner})
    return b"event: error\n" + raw(told, conversation)


class _Events:
    """Numbers events and gives them their ``event:`` line where the family has one."""

    def __init__(self, telling: Telling) -> None:
        self._named = telling.dialect.sse_events
        self._number = -1

    def event(self, kind: FrameKind, kind_of_event: str, /, **fields: Any) -> Frame:
        """The next event."""
        self._number += 1
        data = dump({"type": kind_of_event, "sequence_number": self._number, **fields})
        head = f"event: {kind_of_event}\n" if self._named else ""
        return Frame(kind=kind, data=f"{head}data: {data}\n\n".encode())


def _item(events: _Events, place: int, item: dict[str, Any]) -> Iterator[Frame]:
    """All events of one output item."""
    kind: FrameKind = {"reasoning": "reasoning", "function_call": "tool"}.get(item["type"], "text")  # type: ignore[assignment]
    yield events.event("open", "response.output_item.added", output_index=place, item=_begun(item))
    where = {"item_id": item["id"], "output_index": place}
    if item["type"] == "function_call":
        name = "response.function_call_arguments"
        for start in range(0, len(item["arguments"]), _PIECE):
            yield events.event("tool", f"{name}.delta", **where, delta=item["arguments"][start : start + _PIECE])
        yield events.event("tool", f"{name}.done", **where, arguments=item["arguments"], name=item["name"])
    elif item["type"] == "reasoning":
        yield from _part(events, kind, "response.reasoning_summary", {**where, "summary_index": 0}, item["summary"][0])
    else:
        yield from _part(events, kind, "response", {**where, "content_index": 0}, item["content"][0])
    yield events.event(kind, "response.output_item.done", output_index=place, item=item)


def _part(
    events: _Events, kind: FrameKind, prefix: str, where: dict[str, Any], part: dict[str, Any]
) -> Iterator[Frame]:
    """A text part, piece by piece."""
    is_text = kind == "text"
    holder = f"{prefix}.content_part" if is_text else f"{prefix}_part"
    text = f"{prefix}.output_text" if is_text else f"{prefix}_text"
    extra: dict[str, Any] = {"logprobs": []} if is_text else {}
    yield events.event("open", f"{holder}.added", **where, part={**part, "text": ""})
    for piece in spans(pieces(part["text"]), 1):
        yield events.event(kind, f"{text}.delta", **where, delta=piece, **extra)
    yield events.event(kind, f"{text}.done", **where, text=part["text"], **extra)
    yield events.event(kind, f"{holder}.done", **where, part=part)


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empties: dict[str, dict[str, Any]] = {"reasoning": {"summary": []}, "function_call": {"arguments": ""}}
    empty = empties.get(item["type"], {"content": []})
    return {**item, **empty, **({"status": "in_progress"} if "status" in item else {})}


def _items(reply: Reply, telling: Telling) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"id": f"rs_{telling.id}", "type": "reasoning", "summary": summary})
    status = "incomplete" if reply.finish == "length" else "completed"
    if reply.text or not reply.tool_calls:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        content = [part] if reply.text else []
        message = {"id": f"msg_{telling.id}", "type": "message", "status": status, "role": "assistant"}
        if content:
            items.append({**message, "content": content})
    for place, call in enumerate(reply.tool_calls):
        items.append(
            {
                "id": f"fc_{telling.id}{place}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.raw,
            }
        )
    return items


def _response(reply: Reply, telling: Telling, items: list[dict[str, Any]], *, done: bool) -> dict[str, Any]:
    request = telling.conversation.request
    cut = reply.finish == "length"
    status = ("incomplete" if cut else "completed") if done else "in_progress"
    return {
        "id": f"resp_{telling.id}",
        "object": "response",
        "created_at": telling.created,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if done and cut else None,
        "instructions": None,
        "max_output_tokens": request.max_tokens,
        "model": telling.reported,
        "output": items,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": request.reasoning_effort, "summary": None},
        "store": False,
        "temperature": request.temperature,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": request.top_p,
        "truncation": "disabled",
        "usage": _usage(reply, telling) if done and telling.usage != "none" else None,
        "metadata": {},
    }


def _usage(reply: Reply, telling: Telling) -> dict[str, Any]:
    told: dict[str, Any] = {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": reply.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }
    if telling.dialect.cost == "usage":
        told["cost"] = round(telling.cost_usd, 10)
    elif telling.dialect.cost == "ticks":
        told["cost_in_usd_ticks"] = round(telling.cost_usd * 1e10)
    return told


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    messages: list[Message] = []
    instructions = reading.optional(body, "instructions", str)
    if instructions:
        messages.append(Message(role="system", parts=(TextPart(text=instructions),)))
    given = body.get("input")
    if isinstance(given, str):
        messages.append(Message(role="user", parts=(TextPart(text=given),)))
        return tuple(messages)
    names: dict[str, str] = {}
    for place, item in enumerate(reading.objects(body, "input")):
        _add(messages, item, f"input[{place}]", names)
    if not any(message.role != "system" for message in messages):
        raise Unreadable("Missing required parameter: 'input'.", "input")
    return tuple(messages)


def _add(messages: list[Message], item: Mapping[str, Any], where: str, names: dict[str, str]) -> None:
    """Adds one input item; calls and reasoning join the assistant's turn before them."""
    kind = item.get("type", "message")
    if kind == "message":
        message = _message(item, where)
        before = messages[-1] if messages else None
        if message.role == "assistant" and before is not None and before.role == "assistant" and not before.parts:
            messages[-1] = msgspec.structs.replace(before, parts=message.parts)
        else:
            messages.append(message)
    elif kind == "function_call":
        call = reading.call_from_text(
            reading.want(item, "call_id", str), reading.want(item, "name", str), reading.want(item, "arguments", str)
        )
        names[call.id] = call.name
        _to_assistant(messages, calls=(call,))
    elif kind == "function_call_output":
        call_id = reading.want(item, "call_id", str)
        if call_id not in names:
            raise Unreadable(f"No tool call found for function call output with call_id {call_id}.", where)
        text = item.get("output")
        output = text if isinstance(text, str) else "".join(part.get("text", "") for part in text or [])
        parts = (TextPart(text=output),) if output else ()
        messages.append(Message(role="tool", parts=parts, tool_call_id=call_id, name=names[call_id]))
    elif kind == "reasoning":
        summary = item.get("summary") or item.get("content") or []
        _to_assistant(messages, reasoning="".join(part.get("text", "") for part in summary))
    else:
        raise Unreadable(f"Invalid value: '{kind}'.", f"{where}.type")


def _to_assistant(messages: list[Message], *, calls: tuple[ToolCall, ...] = (), reasoning: str = "") -> None:
    if not messages or messages[-1].role != "assistant":
        messages.append(Message(role="assistant"))
    last = messages[-1]
    messages[-1] = msgspec.structs.replace(
        last, tool_calls=last.tool_calls + calls, reasoning=(last.reasoning or "") + reasoning or None
    )


def _message(item: Mapping[str, Any], where: str) -> Message:
    role = _ROLES.get(reading.want(item, "role", str))
    if role is None:
        raise Unreadable(f"Invalid value: '{item['role']}'.", f"{where}.role")
    content = item.get("content")
    if isinstance(content, str):
        return Message(role=role, parts=(TextPart(text=content),) if content else ())
    parts: list[Part] = []
    for part in reading.objects(item, "content"):
        kind = part.get("type")
        if kind in ("input_text", "output_text", "text"):
            parts.append(TextPart(text=reading.want(part, "text", str)))
        elif kind == "input_image":
            parts.append(reading.image(reading.want(part, "image_url", str), where))
        else:
            raise Unreadable(f"Invalid value: '{kind}'.", f"{where}.content.type")
    return Message(role=role, parts=tuple(parts))


def _tool(item: Mapping[str, Any]) -> Tool:
    return Tool(
        name=reading.want(item, "name", str),
        description=reading.optional(item, "description", str) or "",
        parameters=reading.optional(item, "parameters", dict) or {},
    )


def _tool_choice(value: object) -> str | None:
    if isinstance(value, dict):
        return reading.want(value, "name", str)
    return value if isinstance(value, str) else None


def _text_format(body: Mapping[str, Any]) -> tuple[JsonSchema | None, bool]:
    text = reading.optional(body, "text", dict) or {}
    spec = text.get("format") or {}
    if spec.get("type") == "json_schema":
        return reading.json_schema(spec), True
    return None, spec.get("type") == "json_object"
