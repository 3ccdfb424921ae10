"""The wire ``anthropic_messages``: Anthropic's Messages API and servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from zc_notebooks.chat import Answer, ChatRequest, ImagePart, Message, TextPart, WireFailure
from zc_notebooks.records import AnthropicCompletion, WireName
from zc_notebooks.wire.answer_schema import for_claude
from zc_notebooks.wire.anthropic_models import (
    DEFAULT_MAX_TOKENS,
    knows_schemas,
    sampling_fields,
    thinking_fields,
)
from zc_notebooks.wire.anthropic_read import AnthropicStream, read_body
from zc_notebooks.wire.base import Encoded, StreamDecoder, Target
from zc_notebooks.wire.call_ids import ANTHROPIC_IDS, arguments_object, fitting_id
from zc_notebooks.wire.images import has_image_urls, inline_image
from zc_notebooks.wire.request import ends_in_version, join_url, json_request, parameters, schema_instruction
from zc_notebooks.wire.whole_body import is_event_stream, open_object

VERSION: Final = "2023-06-01"
_NO_IMAGE_URLS: Final = frozenset({"ollama", "lmstudio"})


class AnthropicMessages:
    """See :class:`~zc_notebooks.wire.base.Wire`."""

    name: WireName = "anthropic_messages"

    def lacks(self, request: ChatRequest, target: Target) -> str | None:
        """Images by URL where the server fetches none."""
        if target.profile.family in _NO_IMAGE_URLS and has_image_urls(request):
            return "images by URL"
        return None

    def encode(self, request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
        """The HTTP request of one attempt."""
        notes: list[str] = []
        thinking = self._thinking(request, target, notes)
        body: dict[str, Any] = {
            "model": target.model,
            "max_tokens": _max_tokens(request, thinking, notes),
            "messages": _merged(request),
        }
        system = [{"type": "text", "text": one.text} for one in request.messages if one.role == "system" and one.text]
        body |= thinking
        body |= sampling_fields(request, target.model, notes, thinking="thinking" in thinking)
        _response_format(request, target.model, body, system, notes)
        if system:
            body["system"] = system[0]["text"] if len(system) == 1 else system
        body |= _tools(request)
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if request.seed is not None:
            notes.append("dropped seed")
        if stream:
            body["stream"] = True
        headers = {"anthropic-version": VERSION}
        return json_request(target, _url(target), body, stream=stream, notes=notes, headers=headers)

    def decode(self, body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
        """Reads a whole 2xx body; one that is a stream although none was asked for is read as such."""
        if is_event_stream(body):
            decoder = AnthropicStream(headers, "stop_reason")
            decoder.feed(body)
            end = decoder.finish()
            return end.failure or end.answer
        value = open_object(body)
        return value if isinstance(value, WireFailure) else read_body(value, body, headers)

    def decoder(self, headers: Mapping[str, str], *, anthropic_completion: AnthropicCompletion) -> StreamDecoder:
        """A decoder for one 2xx streamed response."""
        return AnthropicStream(headers, anthropic_completion)

    @staticmethod
    def _thinking(request: ChatRequest, target: Target, notes: list[str]) -> dict[str, Any]:
        if target.profile.capabilities.think or request.reasoning_effort is None:
            return thinking_fields(request, target.model, notes)
        notes.append("dropped reasoning_effort")
        return {}


def _url(target: Target) -> str:
    """``{base}/messages``; a base that ends in no version gets ``/v1`` first, as the vendor's own clients do."""
    base = target.profile.base_url
    return join_url(base, "/messages" if ends_in_version(base) else "/v1/messages")


def _max_tokens(request: ChatRequest, thinking: Mapping[str, Any], notes: list[str]) -> int:
    if request.max_tokens is not None:
        return request.max_tokens
    budget = thinking.get("thinking", {}).get("budget_tokens", 0)
    notes.append(f"max_tokens {DEFAULT_MAX_TOKENS + budget} by default")
    return int(DEFAULT_MAX_TOKENS + budget)


def _response_format(
    request: ChatRequest, model: str, body: dict[str, Any], system: list[dict[str, Any]], notes: list[str]
) -> None:
    schema = request.response_format
    if schema is None:
        return
    taken = for_claude(schema) if knows_schemas(model) else None
    if taken is not None:
        body["output_config"] = {**body.get("output_config", {}), "format": {"type": "json_schema", "schema": taken}}
    else:
        system.append({"type": "text", "text": schema_instruction(schema)})
        notes.append("schema in the prompt")


def _tools(request: ChatRequest) -> dict[str, Any]:
    if not request.tools:
        return {}
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": parameters(tool.parameters)}
        for tool in request.tools
    ]
    choice = request.tool_choice
    if choice is None:
        return {"tools": tools}
    if choice in ("auto", "none"):
        return {"tools": tools, "tool_choice": {"type": choice}}
    if choice == "required":
        return {"tools": tools, "tool_choice": {"type": "any"}}
    return {"tools": tools, "tool_choice": {"type": "tool", "name": choice}}


def _merged(request: ChatRequest) -> list[dict[str, Any]]:
    """The turns: neighbours of one role become one, so several tool results are one user message."""
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        blocks = _blocks(message)
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    """Content blocks of one message; the API refuses blank text, so it is left out."""
    parts = [_part(part) for part in message.parts if isinstance(part, ImagePart) or part.text.strip()]
    if message.role == "tool":
        id_ = fitting_id(message.tool_call_id or "", ANTHROPIC_IDS)
        only_text = all(isinstance(part, TextPart) for part in message.parts)
        return [{"type": "tool_result", "tool_use_id": id_, "content": message.text if only_text else parts}]
    calls = [
        {
            "type": "tool_use",
            "id": fitting_id(call.id, ANTHROPIC_IDS),
            "name": call.name,
            "input": arguments_object(call),
        }
        for call in message.tool_calls
    ]
    return parts + calls


def _part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    inline = inline_image(part)
    if inline is None:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    media_type, data = inline
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


WIRE = AnthropicMessages()
