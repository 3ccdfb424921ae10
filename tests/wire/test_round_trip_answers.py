"""What the lab says on a wire, with every family's deviations, is what the client reads: whole and streamed."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.feeding import STEADY, every, read, told
from tests.wire.test_round_trip import objects
from zc_notebooks.chat import Answer, ChatRequest, ToolCall, Usage, text_message
from zc_notebooks.lab.conversation import Conversation
from zc_notebooks.lab.dialect import FAMILIES, dialect
from zc_notebooks.lab.reply import Reply, Telling
from zc_notebooks.lab.wires import codec
from zc_notebooks.records import WireName
from zc_notebooks.wire.registry import wire

SPOKEN: list[tuple[str, WireName]] = list(
    {
        (repr(dialect(family)), name): (family, name) for family, known in FAMILIES.items() for name in known.paths
    }.values()
)
"""A family for each dialect of each wire: several speak alike."""
PLAN = "I will use the tools that were offered."
"""What Cohere says before its calls; it is shown as reasoning."""

_letters = st.characters(exclude_categories=["Cs"])
_texts = st.text(_letters, max_size=40).filter(lambda text: "<" not in text and (not text or bool(text.strip())))
_names = st.sampled_from(["get_weather", "getTime", "f"])


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """A text or tool calls, with reasoning before it or without."""
    reasoning, text = draw(_texts), draw(_texts)
    calls = []
    for place in range(draw(st.integers(0, 3))):
        arguments = draw(objects)
        raw = msgspec.json.encode(arguments).decode()
        calls.append(ToolCall(id=f"call_{place}", name=draw(_names), arguments=arguments, raw=raw))
    thought, visible = draw(st.integers(0, 50)) if reasoning else 0, draw(st.integers(1, 50))
    return Reply(
        text=text if text or calls else "x",
        reasoning=reasoning,
        tool_calls=tuple(calls),
        finish="tool_calls" if calls else draw(st.sampled_from(["stop", "length"])),
        input_tokens=draw(st.integers(1, 500)),
        output_tokens=thought + visible,
        reasoning_tokens=thought,
    )


def telling(family: str, name: WireName, *, stream: bool, framing: str) -> Telling:
    """What the lab's encoder needs to answer a plain question."""
    asked = Conversation(
        wire=name,
        model="m",
        request=ChatRequest(messages=(text_message("user", "hello"),)),
        stream=stream,
        framing=framing,  # type: ignore[arg-type]
        include_usage=True,
    )
    now = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
    spoken = dialect(family)
    return Telling(conversation=asked, dialect=spoken, reported="m", now=now, id="ab" * 12, family=family)


def check(answer: Answer, reply: Reply, family: str, name: WireName) -> None:
    """The answer is the reply, as far as the family says it."""
    assert answer.text == reply.text
    assert answer.reasoning == _reasoning(reply, family, name)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [
        (call.name, call.arguments) for call in reply.tool_calls
    ]
    if name != "gemini":  # which gives none
        assert [call.id for call in answer.tool_calls] == [call.id for call in reply.tool_calls]
    silent = name == "openai_chat" and not dialect(family).finish
    assert answer.finish_reason == (None if silent else reply.finish)
    assert answer.usage is not None
    usage = (answer.usage.input_tokens, answer.usage.output_tokens)
    assert usage == (reply.input_tokens, reply.output_tokens)


def _reasoning(reply: Reply, family: str, name: WireName) -> str:
    if name == "openai_chat" and dialect(family).reasoning == "hidden":
        return ""
    return reply.reasoning + (PLAN if name == "cohere_v2" and reply.tool_calls else "")


@pytest.mark.parametrize(("family", "name"), SPOKEN)
@settings(STEADY, max_examples=25)
@given(reply=replies())
def test_a_whole_answer(family: str, name: WireName, reply: Reply) -> None:
    """Text, reasoning, calls, finish reason and usage are those of the reply."""
    body = codec(name).whole(reply, telling(family, name, stream=False, framing="none"))
    answer = wire(name).decode(msgspec.json.encode(body), {})
    assert isinstance(answer, Answer)
    check(answer, reply, family, name)


FRAMINGS: list[tuple[str, WireName, str]] = [
    *((family, name, "ndjson" if name == "ollama" else "sse") for family, name in SPOKEN),
    ("google", "gemini", "json_array"),
]


@pytest.mark.parametrize(("family", "name", "framing"), FRAMINGS)
@settings(STEADY, max_examples=25)
@given(reply=replies(), size=st.sampled_from([1, 7, 64, 100_000]))
def test_a_streamed_answer(family: str, name: WireName, framing: str, reply: Reply, size: int) -> None:
    """The same, in whatever pieces the stream arrives; its events say what its answer says."""
    frames = codec(name).frames(reply, telling(family, name, stream=True, framing=framing))
    body = b"".join(frame.data for frame in frames)
    events, end = read(wire(name), every(body, size))
    assert end.failure is None
    check(end.answer, reply, family, name)
    text, reasoning, calls, usage = told(events)
    assert (text, reasoning, tuple(calls)) == (end.answer.text, end.answer.reasoning, end.answer.tool_calls)
    assert isinstance(usage, Usage)
    assert usage == end.answer.usage
