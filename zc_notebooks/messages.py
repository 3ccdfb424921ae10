"""What people write as a prompt, made into one :class:`~zc_notebooks.chat.ChatRequest`.

A string, our own messages, and the common OpenAI dictionaries are taken as they are. Anything else is refused with one
sentence that says what, where and what to write instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from zc_notebooks import request_settings as settings
from zc_notebooks.chat import (
    ChatRequest,
    Effort,
    ImagePart,
    JsonSchema,
    Message,
    Role,
    Tool,
    ToolCall,
    to_json,
)
from zc_notebooks.prompt_parts import ImageSource, InvalidRequest, clean, clean_json, content, image, kind, text_at
from zc_notebooks.redact import short

MessageLike = Message | Mapping[str, Any]
Prompt = str | MessageLike | Sequence[MessageLike]

_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def as_request(  # noqa: PLR0913 (the settings of a request, all by keyword)
    prompt: Prompt,
    *,
    system: str | None = None,
    tools: Sequence[Tool | Mapping[str, Any]] = (),
    images: ImageSource | Sequence[ImageSource] = (),
    tool_choice: str | Mapping[str, Any] | None = None,
    response_format: JsonSchema | Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    stop: str | Sequence[str] = (),
    seed: int | None = None,
    reasoning_effort: Effort | None = None,
) -> ChatRequest:
    """The request that ``prompt`` and the settings mean.

    Args:
        prompt: A string, a message or a list of messages: :class:`~zc_notebooks.chat.Message` or OpenAI dictionaries.
        system: An instruction put before all messages.
        tools: :class:`~zc_notebooks.chat.Tool` or OpenAI tool dictionaries.
        images: Paths, bytes, ``data:`` or http URLs, added to the last user message.
        tool_choice: ``auto``, ``none``, ``required``, a tool's name, or OpenAI's dictionary.
        response_format: A JSON schema, plain or as OpenAI writes it.
        max_tokens: Limit of the answer in tokens.
        temperature: 0.0 to 2.0.
        top_p: Above 0.0, at most 1.0.
        stop: One or several stop sequences.
        seed: Integer.
        reasoning_effort: ``none``, ``minimal``, ``low``, ``medium`` or ``high``.

    Raises:
        InvalidRequest: Something cannot be sent; nothing was.
    """
    messages = _messages(prompt)
    if system is not None:
        messages.insert(0, Message(role="system", parts=content(text_at(system, "system"), "system")))
    _add_images(messages, images)
    messages = [message for message in messages if message.parts or message.tool_calls or message.role == "tool"]
    if not any(_says_something(message) for message in messages):
        raise InvalidRequest("the conversation has nothing to answer: write a prompt, or add a user message with text")
    offered = settings.tools(tools)
    return ChatRequest(
        messages=tuple(messages),
        tools=offered,
        tool_choice=settings.tool_choice(tool_choice, offered),
        response_format=settings.response_format(response_format),
        max_tokens=settings.whole(max_tokens, "max_tokens", 1),
        temperature=settings.number(temperature, "temperature", 0.0, 2.0),
        top_p=settings.number(top_p, "top_p", 0.0, 1.0),
        stop=settings.stop(stop),
        seed=settings.whole(seed, "seed", None),
        reasoning_effort=settings.effort(reasoning_effort),
    )


def _says_something(message: Message) -> bool:
    """Whether a message is more than an instruction or blank text."""
    if message.role == "system":
        return False
    images = any(isinstance(part, ImagePart) for part in message.parts)
    return images or bool(message.tool_calls) or message.role == "tool" or bool(message.text.strip())


class _Calls:
    """The tool calls of the conversation so far: one id for each call, a call and a name for each result."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        """(id as it was given, id in the request) of calls without a result."""

    def made(self, call: ToolCall) -> ToolCall:
        """Registers a call. One without an id, or with one used before, gets the next free ``call_N``."""
        given, number = call.id, len(self._names)
        while not call.id or call.id in self._names:
            call = msgspec.structs.replace(call, id=f"call_{number}")
            number += 1
        self._names[call.id] = call.name
        self._open.append((given, call.id))
        return call

    def answered(self, given: str | None, name: str | None, where: str) -> tuple[str, str | None]:
        """The id and name of the call that a result answers."""
        if given:
            fitting = [pair for pair in self._open if pair[0] == given]
        else:
            fitting = [pair for pair in self._open if name is None or self._names[pair[1]] == name]
            if not fitting or (name is None and len(fitting) > 1):
                raise InvalidRequest(f"{where}: the tool result names no call; set 'tool_call_id' to the call's id")
        if not fitting:  # a result whose call was cut off the conversation
            return given or "", name
        self._open.remove(fitting[0])
        call_id = fitting[0][1]
        return call_id, name or self._names[call_id]


def _messages(prompt: object) -> list[Message]:
    if isinstance(prompt, str):
        return [Message(role="user", parts=content(prompt, "prompt"))]
    if isinstance(prompt, Message | Mapping) or hasattr(prompt, "model_dump"):
        prompt = [prompt]
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes):
        raise InvalidRequest(f"the prompt is {kind(prompt)}; write text or a list of messages")
    calls = _Calls()
    return [_message(item, f"messages[{place}]", calls) for place, item in enumerate(prompt)]


def _message(item: Any, where: str, calls: _Calls) -> Message:
    if hasattr(item, "model_dump"):  # the message objects of the vendors' SDKs
        item = item.model_dump(exclude_none=True)
    if isinstance(item, Mapping):
        message = _from_dictionary(item, where)
    elif isinstance(item, Message):
        message = _cleaned(item, where)
    else:
        raise InvalidRequest(f"{where}: expected a message like {{'role': 'user', 'content': …}}, got {kind(item)}")
    if message.role == "user" and not message.parts:
        raise InvalidRequest(f"{where}.content: this user message is empty; write text or leave the message out")
    if message.role == "tool":
        call_id, name = calls.answered(message.tool_call_id, message.name, where)
        return msgspec.structs.replace(message, tool_call_id=call_id, name=name)
    made = tuple(calls.made(call) for call in message.tool_calls)
    return msgspec.structs.replace(message, tool_calls=made) if made else message


def _cleaned(message: Message, where: str) -> Message:
    """One of our own messages with clean text throughout."""
    return Message(
        role=message.role,
        parts=content(message.parts, f"{where}.parts"),
        tool_calls=tuple(
            _call(call.name, call.raw, call.id, f"{where}.tool_calls[{place}]", call.signature)
            for place, call in enumerate(message.tool_calls)
        ),
        tool_call_id=_optional(message.tool_call_id, f"{where}.tool_call_id"),
        name=_optional(message.name, f"{where}.name"),
        reasoning=_optional(message.reasoning, f"{where}.reasoning"),
    )


def _from_dictionary(item: Mapping[str, Any], where: str) -> Message:
    role = _ROLES.get(str(item.get("role")))
    if role is None:
        raise InvalidRequest(
            f"{where}.role: {short(repr(item.get('role')), 40)} is not a role; use system, user, assistant or tool"
        )
    return Message(
        role=role,
        parts=content(item.get("content"), f"{where}.content"),
        tool_calls=_calls(item, where) if role == "assistant" else (),
        tool_call_id=_optional(item.get("tool_call_id"), f"{where}.tool_call_id") if role == "tool" else None,
        name=_optional(item.get("name"), f"{where}.name") if role == "tool" else None,
        reasoning=_reasoning(item) if role == "assistant" else None,
    )


def _reasoning(item: Mapping[str, Any]) -> str | None:
    """What servers call ``reasoning_content`` or ``reasoning``; other forms of it are left out."""
    value = item.get("reasoning_content") or item.get("reasoning")
    return clean(value) if isinstance(value, str) else None


def _calls(item: Mapping[str, Any], where: str) -> tuple[ToolCall, ...]:
    """The calls of an assistant dictionary, the older ``function_call`` form included."""
    listed = item.get("tool_calls") or ()
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InvalidRequest(f"{where}.tool_calls: expected a list of calls, got {kind(listed)}")
    calls = [_listed_call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(listed)]
    legacy = item.get("function_call")
    if isinstance(legacy, Mapping):
        calls.append(_call(legacy.get("name"), legacy.get("arguments"), "", f"{where}.function_call"))
    return tuple(calls)


def _listed_call(call: object, where: str) -> ToolCall:
    if isinstance(call, ToolCall):
        return _call(call.name, call.raw, call.id, where, call.signature)
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise InvalidRequest(
            f"{where}: expected {{'id': …, 'type': 'function', 'function': {{'name': …, 'arguments': …}}}}"
        )
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    signature = google.get("thought_signature") if isinstance(google, Mapping) else None
    return _call(function.get("name"), function.get("arguments"), call.get("id") or "", where, signature)


def _call(name: object, arguments: object, call_id: object, where: str, signature: object = None) -> ToolCall:
    if not name:
        raise InvalidRequest(f"{where}: the call has no function name; set it to the tool's name")
    if isinstance(arguments, Mapping):
        raw = to_json(clean_json(arguments, f"{where}.arguments"))
    else:
        raw = text_at(arguments or "{}", f"{where}.arguments").strip() or "{}"
    try:
        parsed = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        parsed = None
    return ToolCall(
        id=text_at(call_id, f"{where}.id"),
        name=text_at(name, f"{where}.name"),
        arguments=clean_json(parsed, where) if isinstance(parsed, dict) else None,
        raw=raw,
        signature=_optional(signature, f"{where}.signature"),
    )


def _optional(value: object, where: str) -> str | None:
    return None if value is None else text_at(value, where)


def _add_images(messages: list[Message], images: ImageSource | Sequence[ImageSource]) -> None:
    """Puts the images of the call behind the last user message's text."""
    single = isinstance(images, str | bytes | ImagePart) or not isinstance(images, Sequence)
    listed = cast("Sequence[ImageSource]", [images] if single else images)
    if not listed:
        return
    parts = tuple(image(source, f"images[{place}]") for place, source in enumerate(listed))
    for place in reversed(range(len(messages))):
        if messages[place].role == "user":
            messages[place] = msgspec.structs.replace(messages[place], parts=messages[place].parts + parts)
            return
    raise InvalidRequest("images: there is no user message to put them into; add a prompt")
