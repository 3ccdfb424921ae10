"""Gemini ``generateContent``, from the server's side: whole, SSE, and a JSON array without ``alt=sse``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from zc_notebooks.chat import ChatRequest, ImagePart, JsonSchema, Message, Part, TextPart, Tool, ToolCall
from zc_notebooks.lab.conversation import Conversation, Unreadable, dump
from zc_notebooks.lab.reply import Frame, FrameKind, Reply, Telling
from zc_notebooks.lab.tokens import estimate, pieces
from zc_notebooks.lab.wires import reading

_PATH = re.compile(r"/models/(?P<model>.+):(?P<method>generateContent|streamGenerateContent|countTokens)$")
_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}
_SIGNATURE = "bGFiIHNpZ25hdHVyZQ=="
_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of "
    "the function call turn."
)


def decode(path: str, body: dict[str, Any]) -> Conversation:
    """Reads a request; model, method and framing stand in the path."""
    bare, _, query = path.partition("?")
    found = _PATH.search(unquote(bare))
    if found is None:
        raise Unreadable("the path names no model and method")
    stream = found["method"] == "streamGenerateContent"
    sse = parse_qs(query).get("alt") == ["sse"]
    inner = body.get("generateContentRequest", body)
    config = _any(inner, "generationConfig", dict) or {}
    thinking = _any(config, "thinkingConfig", dict) or {}
    return Conversation(
        wire="gemini",
        model=found["model"],
        operation="count_tokens" if found["method"] == "countTokens" else "chat",
        stream=stream,
        framing=("sse" if sse else "json_array") if stream else "none",
        json_mode=_any(config, "responseMimeType", str) == "application/json",
        request=ChatRequest(
            messages=_messages(inner),
            tools=tuple(_tools(inner)),
            tool_choice=_tool_choice(inner),
            response_format=_schema(config),
            max_tokens=_any(config, "maxOutputTokens", int),
            temperature=_any(config, "temperature", float),
            top_p=_any(config, "topP", float),
            stop=tuple(_any(config, "stopSequences", list) or ()),
            seed=_any(config, "seed", int),
            reasoning_effort=_effort(thinking),
        ),
    )


def whole(reply: Reply, telling: Telling) -> dict[str, Any]:
    """A ``GenerateContentResponse``, or a token count."""
    if telling.conversation.operation == "count_tokens":
        return {"totalTokens": reply.input_tokens}
    parts = [*_thought(reply.reasoning), *_text(reply.text), *_calls(reply)]
    return _response(telling, parts, finish=reply, output=reply.visible_tokens, reply=reply)


def frames(reply: Reply, telling: Telling) -> Iterator[Frame]:
    """Partial responses; the last one has the finish reason."""
    join = _Joiner(telling.conversation)
    yield join.frame("open", _response(telling, [{"text": ""}], reply=reply))
    for piece in pieces(reply.reasoning):
        yield join.frame("reasoning", _response(telling, _thought(piece), reply=reply))
    said = 0
    for piece in pieces(reply.text):
        said += estimate(piece)
        yield join.frame("text", _response(telling, _text(piece), output=said, reply=reply))
    for part in _calls(reply):
        yield join.frame("tool", _response(telling, [part], output=reply.visible_tokens, reply=reply))
    if telling.finish:
        last = _response(telling, [{"text": ""}], finish=reply, output=reply.visible_tokens, reply=reply)
        yield join.frame("finish", last)
    if telling.conversation.framing == "json_array":
        yield Frame(kind="done", data=b"\n]")


def raw(text: str, conversation: Conversation) -> bytes:
    """One SSE event with CRLF, or one more element of the array."""
    if conversation.framing == "json_array":
        return f"\n,\r\n{text}".encode()
    return f"data: {text}\r\n\r\n".encode()


def error(payload: object, conversation: Conversation) -> bytes:
    """An element that holds an error."""
    if not (isinstance(payload, Mapping) and isinstance(payload.get("error"), Mapping)):
        payload = {"error": {"code": 503, "message": str(payload), "status": "UNAVAILABLE"}}
    return raw(dump(payload), conversation)


class _Joiner:
    """Frames each response; the first element of an array opens it."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._first = True

    def frame(self, kind: FrameKind, response: dict[str, Any]) -> Frame:
        """The next response."""
        first, self._first = self._first, False
        if first and self._conversation.framing == "json_array":
            return Frame(kind=kind, data=b"[" + dump(response).encode())
        return Frame(kind=kind, data=raw(dump(response), self._conversation))


def _response(
    telling: Telling, parts: list[dict[str, Any]], *, reply: Reply, finish: Reply | None = None, output: int = 0
) -> dict[str, Any]:
    content: dict[str, Any] = {"role": "model"}
    if parts:
        content["parts"] = parts
    candidate: dict[str, Any] = {"content": content, "index": 0}
    if finish is not None and telling.finish:
        candidate["finishReason"] = _FINISH[finish.finish]
    told: dict[str, Any] = {"candidates": [candidate], "modelVersion": telling.reported, "responseId": telling.id}
    if telling.usage != "none":
        usage = {"promptTokenCount": reply.input_tokens, "candidatesTokenCount": output}
        if reply.reasoning_tokens:
            usage["thoughtsTokenCount"] = reply.reasoning_tokens
        if reply.cached_tokens:
            usage["cachedContentTokenCount"] = reply.cached_tokens
        told["usageMetadata"] = {**usage, "totalTokenCount": reply.input_tokens + output + reply.reasoning_tokens}
    return told


def _thought(text: str) -> list[dict[str, Any]]:
    return [{"text": text, "thought": True}] if text else []


def _text(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text else []


def _calls(reply: Reply) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": call.name, "args": dict(call.arguments or {})}} for call in reply.tool_calls
    ]
    if parts:
        parts[0]["thoughtSignature"] = _SIGNATURE
    return parts


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _any(body: Mapping[str, Any], key: str, kind: type[Any]) -> Any:
    """A field under its camelCase or snake_case name, as the vendor accepts both."""
    return reading.optional(body, key if key in body else _snake(key), kind)


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    messages: list[Message] = []
    system = _any(body, "systemInstruction", dict)
    if system:
        text = "".join(part.get("text", "") for part in reading.objects(system, "parts"))
        messages.append(Message(role="system", parts=(TextPart(text=text),)))
    contents = reading.objects(body, "contents")
    if not contents:
        raise Unreadable("* GenerateContentRequest.contents: contents is not specified", "contents")
    calls = _OpenCalls()
    made = 0
    for content in contents:
        parts = reading.objects(content, "parts")
        results = sum(_any(part, "functionResponse", dict) is not None for part in parts)
        if results and results != made:
            raise Unreadable(_UNEQUAL)
        made = sum(_any(part, "functionCall", dict) is not None for part in parts)
        messages.extend(_turn(content, calls))
    return tuple(messages)


class _OpenCalls:
    """Gives calls without an id one, and finds the call a result answers by its id or name."""

    def __init__(self) -> None:
        self._count = 0
        self._open: list[tuple[str, str]] = []

    def add(self, given: str | None, name: str) -> str:
        """The id of a call."""
        call_id = given or f"call_{self._count}"
        self._count += 1
        self._open.append((call_id, name))
        return call_id

    def answered(self, given: str | None, name: str) -> str:
        """The id of the oldest open call a result answers.

        Raises:
            Unreadable: there is none.
        """
        for place, (call_id, known) in enumerate(self._open):
            if given == call_id or (given is None and known == name):
                del self._open[place]
                return call_id
        raise Unreadable(_UNEQUAL)


def _turn(content: Mapping[str, Any], calls: _OpenCalls) -> Iterator[Message]:
    role = reading.optional(content, "role", str) or "user"
    if role not in ("user", "model", "function"):
        raise Unreadable("Please use a valid role: user, model.", "contents.role")
    parts: list[Part] = []
    made: list[ToolCall] = []
    thoughts = ""
    for part in reading.objects(content, "parts"):
        call, result = _any(part, "functionCall", dict), _any(part, "functionResponse", dict)
        if call is not None:
            made.append(_call(call, _any(part, "thoughtSignature", str), calls))
        elif result is not None:
            yield _result(result, calls)
        elif part.get("thought"):
            thoughts += part.get("text", "")
        else:
            parts.append(_part(part))
    if parts or made or role == "model":
        yield Message(
            role="assistant" if role == "model" else "user",
            parts=tuple(parts),
            tool_calls=tuple(made),
            reasoning=thoughts or None,
        )


def _call(call: Mapping[str, Any], signature: str | None, calls: _OpenCalls) -> ToolCall:
    name = reading.want(call, "name", str)
    call_id = calls.add(reading.optional(call, "id", str), name)
    return reading.call_from_object(call_id, name, reading.optional(call, "args", dict) or {}, signature=signature)


def _result(result: Mapping[str, Any], calls: _OpenCalls) -> Message:
    name = reading.want(result, "name", str)
    response = reading.want(result, "response", dict)
    only = next(iter(response.values())) if len(response) == 1 else None
    plain = isinstance(only, str) and next(iter(response)) in ("result", "output", "content", "error")
    text = str(only) if plain else dump(response)
    call_id = calls.answered(reading.optional(result, "id", str), name)
    return Message(role="tool", parts=(TextPart(text=text),) if text else (), tool_call_id=call_id, name=name)


def _part(part: Mapping[str, Any]) -> Part:
    inline, file = _any(part, "inlineData", dict), _any(part, "fileData", dict)
    if inline is not None:
        return reading.inline_image(
            reading.want(inline, "data", str), _any(inline, "mimeType", str) or "", "inlineData"
        )
    if file is not None:
        return ImagePart(url=_any(file, "fileUri", str), media_type=_any(file, "mimeType", str) or "")
    return TextPart(text=reading.want(part, "text", str))


def _tools(body: Mapping[str, Any]) -> Iterator[Tool]:
    for group in reading.objects(body, "tools"):
        for item in _any(group, "functionDeclarations", list) or []:
            schema = _any(item, "parametersJsonSchema", dict) or _any(item, "parameters", dict) or {}
            description = reading.optional(item, "description", str) or ""
            yield Tool(name=reading.want(item, "name", str), description=description, parameters=schema)


def _tool_choice(body: Mapping[str, Any]) -> str | None:
    config = _any(_any(body, "toolConfig", dict) or {}, "functionCallingConfig", dict) or {}
    mode = str(config.get("mode", "")).upper()
    allowed = _any(config, "allowedFunctionNames", list) or []
    if mode == "ANY":
        return str(allowed[0]) if len(allowed) == 1 else "required"
    return {"AUTO": "auto", "NONE": "none"}.get(mode)


def _schema(config: Mapping[str, Any]) -> JsonSchema | None:
    schema = _any(config, "responseJsonSchema", dict) or _any(config, "responseSchema", dict)
    return None if schema is None else JsonSchema(name="output", schema=schema)


def _effort(thinking: Mapping[str, Any]) -> Any:
    if _any(thinking, "thinkingBudget", int) == 0:
        return "none"
    return reading.effort(str(_any(thinking, "thinkingLevel", str) or "").lower())
