"""The wire ``openai_responses``: OpenAI's Responses API and servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from zc_notebooks.chat import Answer, ChatRequest, ImagePart, Message, TextPart, WireFailure
from zc_notebooks.records import AnthropicCompletion, WireName
from zc_notebooks.wire.answer_schema import described
from zc_notebooks.wire.base import Encoded, StreamDecoder, Target
from zc_notebooks.wire.call_ids import OPENAI_IDS, arguments_text, fitting_id
from zc_notebooks.wire.images import has_image_urls, has_tool_images, image_url
from zc_notebooks.wire.openai_chat_families import NO_IMAGE_URLS, refused_settings
from zc_notebooks.wire.openai_responses_read import ResponsesStream, read_response
from zc_notebooks.wire.request import join_url, json_request, parameters
from zc_notebooks.wire.whole_body import is_event_stream, open_object

_OPENAI: Final = frozenset({"openai", "azure"})
_MIN_OUTPUT_TOKENS: Final = 16
"""OpenAI refuses a smaller limit."""


class OpenAIResponses:
    """See :class:`~zc_notebooks.wire.base.Wire`."""

    name: WireName = "openai_responses"

    def lacks(self, request: ChatRequest, target: Target) -> str | None:
        """Images in tool results where not OpenAI serves; images by URL where the server fetches none."""
        family = target.profile.family
        if family not in _OPENAI and has_tool_images(request):
            return "images in a tool result"
        if family in NO_IMAGE_URLS and has_image_urls(request):
            return "images by URL"
        return None

    def encode(self, request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
        """The HTTP request of one attempt. Nothing is kept at the provider (``store`` false)."""
        notes: list[str] = []
        items = [item for message in request.messages for item in _items(message)]
        body: dict[str, Any] = {"model": target.model, "input": items, "store": False}
        body |= _settings(request, target, notes) | _tools(request)
        if request.response_format is not None:
            body["text"] = {"format": {"type": "json_schema", **described(request.response_format, notes)}}
        if stream:
            body["stream"] = True
        return json_request(target, _url(target), body, stream=stream, notes=notes)

    def decode(self, body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
        """Reads a whole 2xx body; one that is a stream although none was asked for is read as such."""
        if is_event_stream(body):
            decoder = ResponsesStream(headers)
            decoder.feed(body)
            end = decoder.finish()
            return end.failure or end.answer
        value = open_object(body)
        return value if isinstance(value, WireFailure) else read_response(value, body, headers)

    def decoder(self, headers: Mapping[str, str], *, anthropic_completion: AnthropicCompletion) -> StreamDecoder:  # noqa: ARG002 (another wire's setting)
        """A decoder for one 2xx streamed response."""
        return ResponsesStream(headers)


def _url(target: Target) -> str:
    base = target.profile.base_url
    if target.profile.family == "azure" and "/openai" not in urlsplit(base).path:
        base = join_url(base, "/openai/v1")
    return join_url(base, "/responses")


def _settings(request: ChatRequest, target: Target, notes: list[str]) -> dict[str, Any]:
    refused = refused_settings(target)
    fields: dict[str, Any] = {}
    for name, value in (("temperature", request.temperature), ("top_p", request.top_p)):
        if value is None:
            continue
        if name in refused:
            notes.append(f"dropped {name}")
        else:
            fields[name] = value
    if request.max_tokens is not None:
        least = _MIN_OUTPUT_TOKENS if target.profile.family in _OPENAI else 1
        fields["max_output_tokens"] = max(request.max_tokens, least)
        if request.max_tokens < least:
            notes.append(f"max_tokens raised to {least}")
    if request.reasoning_effort is not None:
        if target.profile.capabilities.think:
            fields["reasoning"] = {"effort": request.reasoning_effort}
        else:
            notes.append("dropped reasoning_effort")
    if request.stop:
        notes.append("dropped stop")
    if request.seed is not None:
        notes.append("dropped seed")
    return fields


def _tools(request: ChatRequest) -> dict[str, Any]:
    if not request.tools:
        return {}
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters(tool.parameters),
            "strict": False,
        }
        for tool in request.tools
    ]
    choice = request.tool_choice
    if choice is None:
        return {"tools": tools}
    if choice in ("auto", "none", "required"):
        return {"tools": tools, "tool_choice": choice}
    return {"tools": tools, "tool_choice": {"type": "function", "name": choice}}


def _items(message: Message) -> list[dict[str, Any]]:
    """The input items of one message: calls and results stand beside messages, not inside them."""
    if message.role == "tool":
        id_ = fitting_id(message.tool_call_id or "", OPENAI_IDS)
        return [{"type": "function_call_output", "call_id": id_, "output": _content(message)}]
    if message.role != "assistant":
        return [{"role": message.role, "content": _content(message)}]
    calls = [
        {
            "type": "function_call",
            "call_id": fitting_id(call.id, OPENAI_IDS),
            "name": call.name,
            "arguments": arguments_text(call),
        }
        for call in message.tool_calls
    ]
    said = {"type": "message", "role": "assistant", "content": message.text}  # llama.cpp needs the type
    return [said, *calls] if message.text or not calls else calls


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, ImagePart) for part in message.parts):
        return message.text
    return [_part(part) for part in message.parts]


def _part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "image_url": image_url(part), "detail": "auto"}


WIRE = OpenAIResponses()
