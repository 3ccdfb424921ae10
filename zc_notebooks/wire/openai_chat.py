"""The wire ``openai_chat``: OpenAI's chat completions and everything that speaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from zc_notebooks.chat import Answer, ChatRequest, ImagePart, Message, TextPart, ToolCall, WireFailure
from zc_notebooks.records import AnthropicCompletion, WireName
from zc_notebooks.wire import openai_chat_families as families
from zc_notebooks.wire.answer_schema import described, json_mode
from zc_notebooks.wire.base import Encoded, StreamDecoder, Target
from zc_notebooks.wire.call_ids import MISTRAL_IDS, OPENAI_IDS, arguments_text, fitting_id
from zc_notebooks.wire.images import has_image_urls, has_tool_images, image_url
from zc_notebooks.wire.openai_chat_read import ChatStream, read_completion, read_usual
from zc_notebooks.wire.request import join_url, json_request, parameters, schema_instruction
from zc_notebooks.wire.whole_body import is_event_stream, open_object

_PATH = "/chat/completions"


class OpenAIChat:
    """See :class:`~zc_notebooks.wire.base.Wire`."""

    name: WireName = "openai_chat"

    def lacks(self, request: ChatRequest, target: Target) -> str | None:
        """Images in tool results on every server; images by URL where the server fetches none."""
        if has_tool_images(request):
            return "images in a tool result"
        if target.profile.family in families.NO_IMAGE_URLS and has_image_urls(request):
            return "images by URL"
        return None

    def encode(self, request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
        """The HTTP request of one attempt."""
        notes: list[str] = []
        messages = _messages(request, target.profile.family)
        body: dict[str, Any] = {"model": target.model, "messages": messages}
        body |= _limits(request, target, stream=stream) | families.sampling_fields(request, target, notes)
        body |= _tools(request) | _response_format(request, target.profile.family, messages, notes)
        if request.reasoning_effort is not None:
            if target.profile.capabilities.think:
                body |= families.effort_fields(target.profile.family, request.reasoning_effort)
            else:
                notes.append("dropped reasoning_effort")
        if target.profile.chat_template_kwargs:
            body["chat_template_kwargs"] = target.profile.chat_template_kwargs
        return json_request(target, chat_url(target), body, stream=stream, notes=notes)

    def decode(self, body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
        """Reads a whole 2xx body; one that is a stream although none was asked for is read as such."""
        if is_event_stream(body):
            decoder = ChatStream(headers)
            decoder.feed(body)
            end = decoder.finish()
            return end.failure or end.answer
        usual = read_usual(body, headers)
        if usual is not None:
            return usual
        value = open_object(body)
        return value if isinstance(value, WireFailure) else read_completion(value, body, headers)

    def decoder(self, headers: Mapping[str, str], *, anthropic_completion: AnthropicCompletion) -> StreamDecoder:  # noqa: ARG002 (another wire's setting)
        """A decoder for one 2xx streamed response."""
        return ChatStream(headers)


def chat_url(target: Target) -> str:
    """Where to send: ``{base}/chat/completions``; Azure's older form when its base URL names an ``api-version``."""
    base = target.profile.base_url
    parts = urlsplit(base)
    if target.profile.family != "azure" or "/openai/" in parts.path or parts.path.endswith(_PATH):
        return join_url(base, _PATH)
    if "api-version=" in parts.query:
        path = f"{parts.path.rstrip('/')}/openai/deployments/{quote(target.model, safe='')}"
        return join_url(urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), _PATH)
    return join_url(join_url(base, "/openai/v1"), _PATH)


def _limits(request: ChatRequest, target: Target, *, stream: bool) -> dict[str, Any]:
    family = target.profile.family
    fields: dict[str, Any] = {}
    if request.max_tokens is not None:
        name = "max_completion_tokens" if family in families.COMPLETION_TOKENS else "max_tokens"
        fields[name] = request.max_tokens
    if stream:
        fields["stream"] = True
        if family not in families.NO_STREAM_OPTIONS:
            fields["stream_options"] = {"include_usage": True}
    return fields


def _tools(request: ChatRequest) -> dict[str, Any]:
    if not request.tools:
        return {}
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": parameters(tool.parameters),
            },
        }
        for tool in request.tools
    ]
    choice = request.tool_choice
    if choice is None:
        return {"tools": tools}
    if choice in ("auto", "none", "required"):
        return {"tools": tools, "tool_choice": choice}
    return {"tools": tools, "tool_choice": {"type": "function", "function": {"name": choice}}}


def _response_format(request: ChatRequest, family: str, messages: list[Any], notes: list[str]) -> dict[str, Any]:
    schema = request.response_format
    if schema is None:
        return {}
    if family in families.JSON_OBJECT_ONLY:
        messages.insert(0, {"role": "system", "content": schema_instruction(schema)})
        notes.append("schema in the prompt")
        return {"response_format": {"type": "json_object"}}
    if json_mode(schema) and family not in families.JSON_SCHEMA_ONLY:
        if not any("json" in message.text.lower() for message in request.messages):  # a 400 without the word
            messages.insert(0, {"role": "system", "content": schema_instruction(schema)})
        return {"response_format": {"type": "json_object"}}
    return {"response_format": {"type": "json_schema", "json_schema": described(schema, notes)}}


def _messages(request: ChatRequest, family: str) -> list[dict[str, Any]]:
    return [_message(message, family) for message in request.messages]


def _message(message: Message, family: str) -> dict[str, Any]:
    if message.role == "assistant":
        return _assistant(message, family)
    if message.role == "tool":
        id_ = _call_id(message.tool_call_id or "", family)
        return {"role": "tool", "tool_call_id": id_, "content": message.text}
    if any(isinstance(part, ImagePart) for part in message.parts):
        return {"role": message.role, "content": [_part(part) for part in message.parts]}
    return {"role": message.role, "content": message.text}


def _part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": image_url(part)}}


def _assistant(message: Message, family: str) -> dict[str, Any]:
    if not message.tool_calls:
        return {"role": "assistant", "content": message.text}
    told: dict[str, Any] = {
        "role": "assistant",
        "content": message.text or None,
        "tool_calls": [_tool_call(call, family) for call in message.tool_calls],
    }
    if message.reasoning and family in families.KEEPS_REASONING:
        told["reasoning_content"] = message.reasoning
    return told


def _tool_call(call: ToolCall, family: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": _call_id(call.id, family),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call)},
    }
    if call.signature and family == "google":
        told["extra_content"] = {"google": {"thought_signature": call.signature}}
    return told


def _call_id(call_id: str, family: str) -> str:
    return fitting_id(call_id, MISTRAL_IDS if family == "mistral" else OPENAI_IDS)


WIRE = OpenAIChat()
