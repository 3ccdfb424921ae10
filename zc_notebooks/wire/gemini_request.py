"""A request as Gemini's ``generateContent`` takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from zc_notebooks.chat import ChatRequest, Effort, ImagePart, JsonSchema, Message, Part, TextPart, Tool
from zc_notebooks.wire.base import Encoded, Target
from zc_notebooks.wire.call_ids import arguments_object
from zc_notebooks.wire.gemini_schema import GeminiSchema
from zc_notebooks.wire.images import inline_image
from zc_notebooks.wire.request import join_url, json_request

NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""What Google's documentation gives for a call that another model made: Gemini 3 refuses calls without a signature."""

_MAX_STOPS: Final = 5
_VERSION: Final = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_BUDGETS: Final[Mapping[Effort, int]] = {"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576}
"""Gemini 2.5 takes thinking tokens where later ones take a level; the values of Google's OpenAI-compatible server."""
_SMALLEST_PRO_BUDGET: Final = 128
_MODES: Final[Mapping[str, str]] = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def encode(request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
    """The HTTP request, with notes on what was left out."""
    notes: list[str] = []
    model = target.model.removeprefix("models/")
    body: dict[str, Any] = {"contents": _contents(request, model)}
    system = "\n\n".join(message.text for message in request.messages if message.role == "system")
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": _declarations(request.tools, notes)}]
        if request.tool_choice is not None:
            body["toolConfig"] = {"functionCallingConfig": _calling(request.tool_choice)}
    config = _config(request, model, notes)
    if config:
        body["generationConfig"] = config
    return json_request(target, _url(target.profile.base_url, model, stream=stream), body, stream=stream, notes=notes)


def _url(base_url: str, model: str, *, stream: bool) -> str:
    """Address of a model. A bare host gets ``/v1beta``; the OpenAI-compatible address is led back to the native one."""
    base_url = base_url.rstrip("/").removesuffix("/openai")
    if not urlsplit(base_url).path.strip("/"):
        base_url = join_url(base_url, "/v1beta")
    path = quote(model, safe="/-._~@") if "/" in model else f"models/{quote(model, safe='-._~@')}"
    url = join_url(base_url, f"/{path}:{'streamGenerateContent' if stream else 'generateContent'}")
    return url if not stream else f"{url}{'&' if '?' in url else '?'}alt=sse"


def _contents(request: ChatRequest, model: str) -> list[dict[str, Any]]:
    """The turns. Results of one turn's calls stand together, because Gemini counts them against the calls."""
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    contents: list[dict[str, Any]] = []
    after_result = False
    for message in request.messages:
        if message.role == "system":
            continue
        if message.role == "tool":
            parts = _result(message, names)
        else:
            parts = [_part(part) for part in message.parts] + _calls(message, model)
        if message.role == "tool" and after_result:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
        after_result = message.role == "tool"
    return contents


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    inline = inline_image(part)
    if inline is None:
        return {"fileData": {"mimeType": part.media_type, "fileUri": part.url}}
    return {"inlineData": {"mimeType": inline[0], "data": inline[1]}}


def _calls(message: Message, model: str) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for call in message.tool_calls:
        part: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": arguments_object(call)}}
        signature = call.signature or (NO_SIGNATURE if not parts and _version(model) >= (3, 0) else None)
        if signature:
            part["thoughtSignature"] = signature
        parts.append(part)
    return parts


def _result(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    call_id = message.tool_call_id or ""
    name = message.name or names.get(call_id) or call_id or "tool"
    response = {"id": call_id, "name": name, "response": {"result": message.text}}
    images = [_part(part) for part in message.parts if isinstance(part, ImagePart)]
    return [{"functionResponse": response}, *images]


def _declarations(tools: tuple[Tool, ...], notes: list[str]) -> list[dict[str, Any]]:
    schema = GeminiSchema()
    declarations = []
    for tool in tools:
        declaration: dict[str, Any] = {"name": tool.name, "description": tool.description}
        parameters = schema.parameters(tool.parameters)
        if parameters is not None:
            declaration["parameters"] = parameters
        declarations.append(declaration)
    if schema.dropped:
        notes.append(f"dropped from tool schemas: {', '.join(sorted(schema.dropped))}")
    return declarations


def _calling(choice: str) -> dict[str, Any]:
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _config(request: ChatRequest, model: str, notes: list[str]) -> dict[str, Any]:
    settings = {
        "maxOutputTokens": request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "seed": request.seed,
        "stopSequences": list(request.stop[:_MAX_STOPS]) or None,
        "thinkingConfig": _thinking(request.reasoning_effort, model, notes),
        **_format(request.response_format),
    }
    if len(request.stop) > _MAX_STOPS:
        notes.append(f"dropped stop sequences after the first {_MAX_STOPS}")
    return {name: value for name, value in settings.items() if value is not None}


def _format(form: JsonSchema | None) -> dict[str, Any]:
    if form is None:
        return {}
    schema = {key: value for key, value in form.schema.items() if key != "$schema"}
    plain = schema == {"type": "object"}
    return {"responseMimeType": "application/json", **({} if plain else {"responseJsonSchema": schema})}


def _version(model: str) -> tuple[int, int]:
    """Version in the model's name; ``(0, 0)`` without one."""
    match = _VERSION.search(model)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _thinking(effort: Effort | None, model: str, notes: list[str]) -> dict[str, Any] | None:
    if effort is None:
        return None
    version = _version(model)
    latest = model.startswith("gemini-") and version == (0, 0)
    if not latest and version < (2, 5):
        notes.append("dropped reasoning_effort")
        return None
    config = _budget(effort, model) if version == (2, 5) else _level(effort, model, version)
    if effort == "none" and config.get("thinkingBudget") != 0:
        notes.append("reasoning_effort none: this model always thinks, set to its least")
    if effort != "none":
        config["includeThoughts"] = True
    return config


def _budget(effort: Effort, model: str) -> dict[str, Any]:
    least = _SMALLEST_PRO_BUDGET if "pro" in model else 0
    return {"thinkingBudget": max(_BUDGETS[effort], least)}


def _level(effort: Effort, model: str, version: tuple[int, int]) -> dict[str, Any]:
    if "pro" in model:
        if version == (3, 0) and effort == "medium":
            return {"thinkingLevel": "high"}
        return {"thinkingLevel": "low" if effort in ("none", "minimal") else effort}
    return {"thinkingLevel": "minimal" if effort == "none" else effort}
