"""Ollama's own chat: one JSON object a line, complete at ``"done": true`` (spec wire 3.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from zc_notebooks.chat import Answer, ChatRequest, Effort, ImagePart, Message, Reasoning, Text, WireEvent, WireFailure
from zc_notebooks.records import AnthropicCompletion, WireName
from zc_notebooks.stream_guard.completion import MAX_PAYLOAD, judge_finish
from zc_notebooks.stream_guard.ndjson import NdjsonFraming
from zc_notebooks.wire.assemble import AnswerBuilder, tool_call
from zc_notebooks.wire.base import Encoded, StreamDecoder, Target
from zc_notebooks.wire.call_ids import arguments_object, made_up_id
from zc_notebooks.wire.images import has_image_urls, inline_image
from zc_notebooks.wire.loose_json import as_dict, as_list, as_text
from zc_notebooks.wire.request import join_url, json_request, parameters
from zc_notebooks.wire.sse_stream import SseStream
from zc_notebooks.wire.usage import count, usage
from zc_notebooks.wire.whole_body import error_body, error_in, looks_like_error, open_object

_LEVELS: Final = re.compile(r"gpt-oss")
"""Models whose ``think`` is a level; for the others it is on or off."""
_THINKING: Final = re.compile(
    r"gpt-oss|qwen3|qwq|deepseek-(r1|v3\.|v4)|magistral|cogito|exaone-deep|reasoning|thinking|nemotron|glm-|kimi|minimax"
)
"""Models that think. Every other one answers ``think`` with a 400, so there it is left out."""

_LINES: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{[^\n]*\}\s*\n\s*\{")
"""A body of several objects, one a line."""


class OllamaWire:
    """See :class:`~zc_notebooks.wire.base.Wire`."""

    name: WireName = "ollama"

    def lacks(self, request: ChatRequest, target: Target) -> str | None:  # noqa: ARG002 (the protocol's)
        """Images travel as data only, and no call can be required."""
        if has_image_urls(request):
            return "images by URL"
        if request.tools and request.tool_choice not in (None, "auto", "none"):
            return "a required tool call"
        return None

    def encode(self, request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
        """The HTTP request, with notes on what was left out."""
        notes: list[str] = []
        names = {call.id: call.name for message in request.messages for call in message.tool_calls}
        body: dict[str, Any] = {
            "model": target.model,
            "messages": [_message(message, names) for message in request.messages],
            "stream": stream,
            **_think(request.reasoning_effort, target.model, notes),
        }
        if request.tools and request.tool_choice != "none":
            body["tools"] = [
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
        if request.response_format is not None:
            schema = request.response_format.schema
            body["format"] = "json" if dict(schema) == {"type": "object"} else schema
        options = _options(request)
        if options:
            body["options"] = options
        headers = {"accept": "application/x-ndjson"} if stream else None
        return json_request(target, _url(target.profile.base_url), body, stream=stream, notes=notes, headers=headers)

    def decode(self, body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
        """Reads a whole body; a stream that nobody asked for is read as what it is."""
        opened = open_object(body)
        if isinstance(opened, WireFailure):
            return _as_stream(body, headers) if _LINES.match(body) else opened
        if opened.get("done") is False:
            return _as_stream(body, headers)
        known = isinstance(opened.get("message"), dict) or isinstance(opened.get("response"), str)
        if error_in(opened) or (not known and looks_like_error(opened)):
            return error_body(opened, body)
        if not known:
            payload = body[:MAX_PAYLOAD].decode("utf-8", "replace")
            return WireFailure(kind="not_protocol", payload=payload, detail="the body has no message")
        builder = AnswerBuilder(headers)
        absorb(opened, builder, [], as_text(opened.get("created_at")))
        return judge_finish(builder) or builder.answer()

    def decoder(self, headers: Mapping[str, str], *, anthropic_completion: AnthropicCompletion) -> StreamDecoder:  # noqa: ARG002 (the protocol's)
        """A decoder for one stream."""
        return OllamaStream(headers)


def _as_stream(body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
    stream = OllamaStream(headers)
    stream.feed(body)
    end = stream.finish()
    return end.failure or end.answer


def _url(base_url: str) -> str:
    """Address of the chat for a base URL that names the server, its ``/api`` or its OpenAI-compatible ``/v1``."""
    parts = urlsplit(base_url)
    parts = parts._replace(path=parts.path.rstrip("/").removesuffix("/v1"))
    return join_url(parts.geturl(), "/chat" if parts.path.endswith("/api") else "/api/chat")


def _message(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    done: dict[str, Any] = {"role": message.role, "content": message.text}
    inline = [inline_image(part) for part in message.parts if isinstance(part, ImagePart)]
    if inline:
        done["images"] = [image[1] for image in inline if image is not None]
    if message.role == "assistant" and message.reasoning:
        done["thinking"] = message.reasoning
    if message.tool_calls:
        done["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": arguments_object(call)}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        call_id = message.tool_call_id or ""
        done |= {"tool_call_id": call_id, "tool_name": message.name or names.get(call_id, "")}
    return done


def _options(request: ChatRequest) -> dict[str, Any]:
    options = {
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        "seed": request.seed,
    }
    return {name: value for name, value in options.items() if value is not None}


def _think(effort: Effort | None, model: str, notes: list[str]) -> dict[str, Any]:
    if effort is None:
        return {}
    if not _THINKING.search(model):
        notes.append("dropped reasoning_effort")
        return {}
    if not _LEVELS.search(model):
        if effort not in ("none", "high"):
            notes.append(f"reasoning_effort {effort}: this model's thinking is only on or off, set to on")
        return {"think": effort != "none"}
    if effort in ("none", "minimal"):
        notes.append(f"reasoning_effort {effort}: this model always thinks, set to low")
    return {"think": "low" if effort in ("none", "minimal") else effort}


class OllamaStream(SseStream):
    """One stream of lines. What it shares with the SSE wires is everything but the framing."""

    awaited: ClassVar[str] = '"done": true'

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__(headers, framing=NdjsonFraming())
        self._seed = ""

    def on_object(self, value: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        """One line: an error, or a piece of the answer."""
        if error_in(value):
            self.error(data, "error line")
            return
        self._seed = self._seed or as_text(value.get("created_at"))
        word = absorb(value, self.builder, events, self._seed)
        if word is not None:
            self.judge.complete(word)


def absorb(line: dict[str, Any], builder: AnswerBuilder, events: list[WireEvent], seed: str) -> str | None:
    """Adds one line (of ``/api/chat`` or ``/api/generate``); the word of evidence when it ends the answer."""
    builder.identify(model=line.get("model"))
    message = as_dict(line.get("message"))
    thought = as_text(message.get("thinking")) or as_text(line.get("thinking"))
    if thought:
        builder.reasoning.append(thought)
        events.append(Reasoning(text=thought))
    text = as_text(message.get("content")) or as_text(line.get("response"))
    if text:
        builder.text.append(text)
        events.append(Text(text=text))
    for call in as_list(message.get("tool_calls")):
        _call(as_dict(call), builder, events, seed)
    if line.get("done") is not True:
        return None
    tokens = usage(count(line.get("prompt_eval_count")), count(line.get("eval_count")), None, None)
    if tokens is not None:
        builder.usage = tokens
        events.append(tokens)
    reason = line.get("done_reason")
    return f"done_reason={reason}" if builder.finish(reason) else "done=true"


def _call(call: dict[str, Any], builder: AnswerBuilder, events: list[WireEvent], seed: str) -> None:
    """A call is whole in one line; its arguments are an object."""
    function = as_dict(call.get("function"))
    name = as_text(function.get("name"))
    if not name:
        return
    call_id = as_text(call.get("id")) or made_up_id(seed, len(builder.tools))
    arguments = function.get("arguments")
    made = tool_call(name, {} if arguments is None else arguments, id=call_id)
    builder.take_whole(made, events)


WIRE: Final = OllamaWire()
