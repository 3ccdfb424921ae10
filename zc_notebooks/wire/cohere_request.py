"""A request as Cohere's v2 chat takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from zc_notebooks.chat import ChatRequest, Effort, ImagePart, JsonSchema, Message, TextPart, Tool
from zc_notebooks.wire.base import Encoded, Target
from zc_notebooks.wire.call_ids import arguments_text
from zc_notebooks.wire.images import image_url
from zc_notebooks.wire.request import join_url, json_request, parameters, schema_instruction

_MAX_STOPS: Final = 5
_LEAST_P, _MOST_P = 0.01, 0.99
_THINKING_MODELS: Final = re.compile(r"reasoning|command-a-plus")
_BUDGETS: Final[Mapping[Effort, int]] = {"minimal": 512, "low": 1024, "medium": 8192}
"""Thinking tokens; ``high`` is the model's own limit."""


def encode(request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
    """The HTTP request, with notes on what was left out."""
    notes: list[str] = []
    body: dict[str, Any] = {
        "model": target.model,
        "messages": [_message(message) for message in request.messages],
        "stream": stream,
        **_tools(request, notes),
        **_settings(request, notes),
        **_thinking(request.reasoning_effort, target.model, notes),
    }
    if request.response_format is not None:
        _response_format(request.response_format, body, notes)
    return json_request(target, _url(target.profile.base_url), body, stream=stream, notes=notes)


def _url(base_url: str) -> str:
    """Address of the chat; a bare host gets ``/v2``."""
    return join_url(base_url, "/chat" if urlsplit(base_url).path.strip("/") else "/v2/chat")


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text}
    done: dict[str, Any] = {"role": message.role}
    if any(isinstance(part, ImagePart) for part in message.parts):
        done["content"] = [_part(part) for part in message.parts]
    elif message.parts or not message.tool_calls:
        done["content"] = message.text
    if message.tool_calls:
        done["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}
            for call in message.tool_calls
        ]
    return done


def _part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": image_url(part)}}


def _tools(request: ChatRequest, notes: list[str]) -> dict[str, Any]:
    """The tools. There is no word for one certain tool, so that tool alone is offered and a call required."""
    if not request.tools:
        return {}
    choice, offered = request.tool_choice, request.tools
    if choice not in (None, "auto", "none", "required"):
        offered = tuple(tool for tool in offered if tool.name == choice)
        notes.append(f"offered only the tool {choice}, which the request asks for")
        choice = "required"
    body: dict[str, Any] = {"tools": [_tool(tool) for tool in offered]}
    if choice in ("none", "required"):
        body["tool_choice"] = choice.upper()
    return body


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": parameters(tool.parameters)}
    return {"type": "function", "function": function}


def _settings(request: ChatRequest, notes: list[str]) -> dict[str, Any]:
    p = request.top_p
    if p is not None and not _LEAST_P <= p <= _MOST_P:
        p = min(max(p, _LEAST_P), _MOST_P)
        notes.append(f"top_p set to {p}, the nearest this provider takes")
    if len(request.stop) > _MAX_STOPS:
        notes.append(f"dropped stop sequences after the first {_MAX_STOPS}")
    settings = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "p": p,
        "stop_sequences": list(request.stop[:_MAX_STOPS]) or None,
        "seed": request.seed,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _thinking(effort: Effort | None, model: str, notes: list[str]) -> dict[str, Any]:
    if effort is None:
        return {}
    if not _THINKING_MODELS.search(model):
        notes.append("dropped reasoning_effort")
        return {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    budget = _BUDGETS.get(effort)
    return {"thinking": {"type": "enabled", **({} if budget is None else {"token_budget": budget})}}


def _response_format(form: JsonSchema, body: dict[str, Any], notes: list[str]) -> None:
    """The field for it, which is refused beside tools; there the schema is asked for in words."""
    if "tools" in body:
        body["messages"].insert(0, {"role": "system", "content": schema_instruction(form)})
        notes.append("response_format asked for in words: this provider refuses it beside tools")
        return
    plain = dict(form.schema) == {"type": "object"}
    body["response_format"] = {"type": "json_object", **({} if plain else {"json_schema": form.schema})}
