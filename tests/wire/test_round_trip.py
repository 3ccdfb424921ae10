"""A conversation encoded for a wire and read back by the lab, which shares no code with the encoders, is the same one.

What a wire has no word for is left out of the comparison and named where that is done.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.asking import target
from tests.wire.feeding import STEADY
from zc_notebooks.chat import ChatRequest, ImagePart, Message, Part, TextPart, Tool, ToolCall, text_message
from zc_notebooks.lab.conversation import Conversation, decode_request
from zc_notebooks.records import WireName
from zc_notebooks.wire.registry import wire

WIRES: list[tuple[WireName, str]] = [
    ("openai_chat", "custom"),
    ("openai_chat", "mistral"),  # ids of nine letters and digits
    ("openai_chat", "google"),  # signatures travel beside the call
    ("openai_responses", "openai"),
    ("anthropic_messages", "anthropic"),
    ("gemini", "google"),
    ("ollama", "ollama"),
    ("cohere_v2", "cohere"),
]

# -- conversations -----------------------------------------------------------------------------------------------------

_plain = st.characters(exclude_categories=["Cs"])
texts = st.text(_plain, min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
names = st.sampled_from(["get_weather", "getTime", "f", "x_1", "look_up_everything_there_is_to_know"])
ids = st.sampled_from(["call_{}", "toolu_01{}", "{}", "a.b:{}", "ひとつ {}\n", "{:a>45}", "{:x>70}"])
"""Forms of ids: what providers give, and what they refuse (another alphabet, too long)."""
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(_plain),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(_plain, max_size=8), inner, max_size=3),
    max_leaves=4,
)
objects = st.dictionaries(st.text(_plain, max_size=8), values, max_size=4)
images = st.builds(ImagePart, data=st.binary(max_size=20).map(b"\x89PNG".__add__))
"""Only images with the signature of their type: Ollama is told the data alone."""


@st.composite
def calls(draw: st.DrawFn, id_: str) -> ToolCall:
    """A call, now and then with arguments that are no JSON object."""
    name = draw(names)
    signature = draw(st.sampled_from([None, "c2lnbmF0dXJl", "QUJD"]))
    if draw(st.integers(0, 9)) == 0:
        raw = draw(st.sampled_from(["{half", "[1]", "no JSON", '"text"', ""]))
        return ToolCall(id=id_, name=name, arguments=None, raw=raw, signature=signature)
    arguments = draw(objects)
    raw = json.dumps(arguments, indent=draw(st.none() | st.just(2)), ensure_ascii=draw(st.booleans()))
    return ToolCall(id=id_, name=name, arguments=arguments, raw=raw, signature=signature)


@st.composite
def rounds(draw: st.DrawFn, count: Iterator[int]) -> list[Message]:
    """A person's message, calls with their results in any order, and an answer."""
    parts = draw(st.lists(texts.map(lambda text: TextPart(text=text)) | images, min_size=1, max_size=3))
    turns = [Message(role="user", parts=tuple(parts))]
    for _ in range(draw(st.integers(0, 2))):
        made = tuple(draw(calls(draw(ids).format(next(count)))) for _ in range(draw(st.integers(1, 3))))
        spoken = draw(st.lists(texts, max_size=1))
        turns.append(Message(role="assistant", parts=tuple(TextPart(text=text) for text in spoken), tool_calls=made))
        for call in draw(st.permutations(made)):
            result = draw(st.lists(st.text(_plain, max_size=20), max_size=1))
            named = draw(st.sampled_from([call.name, None]))
            parts_of = tuple(TextPart(text=text) for text in result)
            turns.append(Message(role="tool", parts=parts_of, tool_call_id=call.id, name=named))
    if draw(st.booleans()):
        turns.append(Message(role="assistant", parts=(TextPart(text=draw(texts)),), reasoning="hm"))
    return turns


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """An instruction or none, and one or two rounds. No two calls have the same id."""
    turns = [text_message("system", draw(texts))] if draw(st.booleans()) else []
    count = itertools.count()
    for _ in range(draw(st.integers(1, 2))):
        turns += draw(rounds(count))
    return tuple(turns)


tools = st.builds(
    Tool,
    name=names,
    description=st.text(_plain, max_size=20),
    parameters=st.just({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
)
requests = st.builds(
    ChatRequest,
    messages=conversations(),
    tools=st.lists(tools, max_size=3, unique_by=lambda tool: tool.name).map(tuple),
    max_tokens=st.none() | st.integers(16, 4096),
)

# -- what is the same about two conversations --------------------------------------------------------------------------


class Turn(NamedTuple):
    """One turn as plain data; calls and results are tied by the place of the call."""

    role: str
    said: tuple[Any, ...]
    calls: tuple[Any, ...]
    answers: int | None


def turns(messages: Sequence[Message], name: WireName, family: str) -> list[Turn]:
    """The turns of a conversation, with what the wire cannot tell apart made equal.

    Neighbouring texts are one, and neighbouring messages of one role are. Ids may be made anew where the wire refuses
    them, so a call is its place. Ollama has text and images apart; signatures are Gemini's; reasoning is nobody's.
    """
    places: dict[str, int] = {}
    told: list[Turn] = []
    for message in messages:
        for call in message.tool_calls:
            places[call.id] = len(places)
        answers = places[message.tool_call_id or ""] if message.role == "tool" else None
        made = tuple(_call(call, signed=name == "gemini") for call in message.tool_calls)
        turn = Turn(message.role, _said(message.parts, apart=name == "ollama"), made, answers)
        joins = told and turn.role == told[-1].role != "tool" and not told[-1].calls
        if joins and (name, family) == ("anthropic_messages", "anthropic"):
            turn = Turn(turn.role, _joined(told.pop().said + turn.said), turn.calls, None)
        told.append(turn)
    return told


def _call(call: ToolCall, *, signed: bool) -> tuple[Any, ...]:
    arguments = dict(call.arguments) if call.arguments is not None else {"raw": call.raw}
    return call.name, arguments, call.signature if signed else None


def _said(parts: Sequence[Part], *, apart: bool) -> tuple[Any, ...]:
    pieces = [part.text if isinstance(part, TextPart) else (part.media_type, part.data) for part in parts]
    if apart:
        pieces.sort(key=lambda piece: isinstance(piece, tuple))
    return _joined(pieces)


def _joined(pieces: Sequence[Any]) -> tuple[Any, ...]:
    joined: list[Any] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece:
            joined.append(piece)
    return tuple(joined)


def there_and_back(name: WireName, family: str, request: ChatRequest, *, stream: bool) -> Conversation:
    """The request as the lab reads what the wire sends."""
    encoded = wire(name).encode(request, target(name, family=family, model="model-1"), stream=stream).request
    address = urlsplit(encoded.url)
    return decode_request(name, f"{address.path}?{address.query}", encoded.body)


# -- properties --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "family"), WIRES)
@settings(STEADY, max_examples=40)
@given(request=requests, stream=st.booleans())
def test_a_conversation_comes_back_as_it_was(name: WireName, family: str, request: ChatRequest, stream: bool) -> None:
    """Turns, texts, images, calls, arguments and results are the same, whatever was said in them."""
    read = there_and_back(name, family, request, stream=stream)
    assert turns(read.request.messages, name, family) == turns(request.messages, name, family)
    assert (read.model, read.stream, read.request.max_tokens or None) == ("model-1", stream, _limit(name, request))


def _limit(name: WireName, request: ChatRequest) -> int | None:
    """Anthropic demands a limit and is told one."""
    return 4096 if name == "anthropic_messages" and request.max_tokens is None else request.max_tokens


@pytest.mark.parametrize(("name", "family"), WIRES)
@settings(STEADY, max_examples=25)
@given(request=requests)
def test_names_ids_and_tools(name: WireName, family: str, request: ChatRequest) -> None:
    """Each result names its tool, an id stays as it was where the provider takes it, and the tools are the same."""
    read = there_and_back(name, family, request, stream=False).request
    made = {call.id: call.name for message in request.messages for call in message.tool_calls}
    results = [message for message in request.messages if message.role == "tool"]
    assert [message.name for message in read.messages if message.role == "tool"] == [
        made[message.tool_call_id or ""] for message in results
    ]
    read_ids = [call.id for message in read.messages for call in message.tool_calls]
    assert len(set(read_ids)) == len(made)
    fitting = FITTING.get(family, re.compile(""))
    assert all(got == wanted for wanted, got in zip(made, read_ids, strict=True) if fitting.search(wanted))
    assert [_tool(tool) for tool in read.tools] == [_tool(tool) for tool in request.tools]


FITTING = {
    "custom": re.compile(r"(?s)\A.{1,40}\Z"),
    "google": re.compile(r"(?s)\A.{1,40}\Z"),
    "openai": re.compile(r"(?s)\A.{1,40}\Z"),
    "mistral": re.compile(r"\A[a-zA-Z0-9]{9}\Z"),
    "anthropic": re.compile(r"\A[a-zA-Z0-9_-]{1,64}\Z"),
}
"""Ids that need no other; Ollama and Cohere take any."""


def _tool(tool: Tool) -> tuple[str, str, str]:
    """A tool as plain data; Gemini has the types in capitals."""
    return tool.name, tool.description, json.dumps(tool.parameters).lower()
