"""Ollama's own wire in both directions: one JSON object a line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.asking import encode, say, target, tool_talk
from tests.wire.feeding import CUTS, STEADY, every, pieces, read
from zc_notebooks.chat import (
    Answer,
    ChatRequest,
    ImagePart,
    JsonSchema,
    Message,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    Usage,
    WireFailure,
)
from zc_notebooks.stream_guard.sse import MAX_EVENT
from zc_notebooks.wire.base import Target
from zc_notebooks.wire.registry import wire

OLLAMA = wire("ollama")
PICTURE = ImagePart(data=b"abc")
WEATHER = Tool(name="weather", description="d", parameters={"type": "object", "properties": {"city": {}}})


def box(model: str = "qwen3:8b", base_url: str = "http://127.0.0.1:11434", **profile: Any) -> Target:
    return target("ollama", family="ollama", base_url=base_url, model=model, **profile)


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "q", "created_at": "t", "message": {"role": "assistant", "content": text}, "done": False, **more}


END = {"model": "q", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
COUNTED = {**END, "prompt_eval_count": 7, "eval_count": 2}


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/api/chat"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/api/chat"),
        ("http://127.0.0.1:11434/api", "http://127.0.0.1:11434/api/chat"),
        ("http://127.0.0.1:11434/api/chat", "http://127.0.0.1:11434/api/chat"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/api/chat"),
        ("https://ollama.com/v1", "https://ollama.com/api/chat"),
        ("https://gate.example/ollama/v1", "https://gate.example/ollama/api/chat"),
        ("https://v1.example/v1", "https://v1.example/api/chat"),
    ],
)
def test_addresses(base_url: str, url: str) -> None:
    """The server, its ``/api`` and its ``/v1`` all lead to the chat."""
    assert encode(say(), box(base_url=base_url))[1].request.url == url


def test_the_key_is_a_bearer() -> None:
    """The cloud takes a bearer; the local server ignores it."""
    assert encode(say(), box())[1].request.headers["authorization"] == "Bearer key-of-the-test"


def test_a_conversation_with_tools() -> None:
    """Arguments are objects, a result names its tool, reasoning has a place of its own."""
    body, _ = encode(tool_talk(), box())
    assert body["messages"] == [
        {"role": "system", "content": "be short"},
        {"role": "user", "content": "weather and time?"},
        {
            "role": "assistant",
            "content": "looking",
            "thinking": "hm",
            "tool_calls": [
                {"id": "a", "function": {"name": "weather", "arguments": {"city": "Oslo"}}},
                {"id": "b", "function": {"name": "time", "arguments": {"raw": "{half"}}},
            ],
        },
        {"role": "tool", "content": "rain", "tool_call_id": "a", "tool_name": "weather"},
        {"role": "tool", "content": "12:00", "tool_call_id": "b", "tool_name": "time"},
        {"role": "user", "content": "thanks"},
    ]


def test_settings() -> None:
    """Sampling stands in ``options``; the operator's own options join them and win."""
    request = say(
        max_tokens=9,
        temperature=0.5,
        top_p=0.25,
        stop=("a",),
        seed=7,
        tools=(WEATHER,),
        response_format=JsonSchema(name="x", schema={"type": "object", "required": ["x"]}),
    )
    body, encoded = encode(request, box(provider_extra={"options": {"num_ctx": 8192, "seed": 8}}), stream=True)
    options = {"num_predict": 9, "temperature": 0.5, "top_p": 0.25, "stop": ["a"], "seed": 8, "num_ctx": 8192}
    function = {"name": "weather", "description": "d", "parameters": WEATHER.parameters}
    assert body == {
        "model": "qwen3:8b",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "options": options,
        "tools": [{"type": "function", "function": function}],
        "format": {"type": "object", "required": ["x"]},
    }
    assert encoded.notes == ()
    assert encoded.request.headers["accept"] == "application/x-ndjson"


def test_any_json_object_is_the_json_format() -> None:
    """The format that only says object is Ollama's own word for it."""
    request = say(response_format=JsonSchema(name="x", schema={"type": "object"}, strict=False))
    assert encode(request, box())[0]["format"] == "json"


@pytest.mark.parametrize(
    ("model", "effort", "think", "noted"),
    [
        ("qwen3:8b", "none", False, False),
        ("qwen3:8b", "high", True, False),
        ("qwen3:8b", "low", True, True),
        ("gpt-oss:20b", "medium", "medium", False),
        ("gpt-oss:20b", "none", "low", True),
        ("llama3.2", "high", None, True),
    ],
)
def test_reasoning_effort(model: str, effort: Any, think: Any, noted: bool) -> None:
    """A level where the model has levels, on or off where it thinks, a note where it does not."""
    body, encoded = encode(say(reasoning_effort=effort), box(model))
    assert body.get("think") == think
    assert bool(encoded.notes) is noted


def test_images_travel_as_base64() -> None:
    """Data, and data URLs, become base64 text beside the message's text."""
    message = Message(role="user", parts=(PICTURE, ImagePart(url="data:image/png;base64,YWJj")))
    body, _ = encode(ChatRequest(messages=(message,)), box())
    assert body["messages"] == [{"role": "user", "content": "", "images": ["YWJj", "YWJj"]}]


@pytest.mark.parametrize(
    ("request_", "lacking"),
    [
        (say(), None),
        (say(tools=(WEATHER,), tool_choice="auto"), None),
        (say(tools=(WEATHER,), tool_choice="none"), None),
        (say(tools=(WEATHER,), tool_choice="required"), "a required tool call"),
        (say(tools=(WEATHER,), tool_choice="weather"), "a required tool call"),
        (ChatRequest(messages=(Message(role="user", parts=(PICTURE,)),)), None),
        (ChatRequest(messages=(Message(role="user", parts=(ImagePart(url="http://x/y.png"),)),)), "images by URL"),
    ],
)
def test_what_the_wire_cannot_carry(request_: ChatRequest, lacking: str | None) -> None:
    """A needed capability that is missing is named before anything is sent."""
    assert OLLAMA.lacks(request_, box()) == lacking


def test_no_tools_are_offered_when_none_may_be_called() -> None:
    """``none`` has no word here: the tools stay at home."""
    assert "tools" not in encode(say(tools=(WEATHER,), tool_choice="none"), box())[0]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("last", [b"", b"\n", b"\r\n\n"])
def test_a_stream(size: int, last: bytes) -> None:
    """Text and thinking come line by line; the last line needs no line end."""
    thought = {"message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False}
    body = lines(thought, says("Hé"), says("llo"), COUNTED).rstrip(b"\n") + last
    events, end = read(OLLAMA, every(body, size))
    assert end.failure is None
    assert end.answer == Answer(
        text="Héllo",
        reasoning="hm",
        finish_reason="stop",
        finish_raw="stop",
        usage=Usage(input_tokens=7, output_tokens=2),
        model_reported="q",
    )
    assert events[:3] == [Reasoning(text="hm"), Text(text="Hé"), Text(text="llo")]
    assert end.evidence == ("done_reason=stop", "eof")


def test_the_older_generate_form_is_read() -> None:
    """``/api/generate`` puts text into ``response``; a cached prompt has no count."""
    body = lines({"response": "a", "done": False}, {"response": "b", "done": True, "eval_count": 2})
    _, end = read(OLLAMA, [body])
    assert end.failure is None
    assert (end.answer.text, end.answer.finish_raw) == ("ab", None)
    assert end.answer.usage == Usage(input_tokens=None, output_tokens=2)
    assert end.evidence == ("done=true", "eof")


def test_tool_calls_and_text_after_them() -> None:
    """Behaviour 131: text after a call goes on. The reason stays ``stop``; ids are made up where they are missing."""
    calls = [{"function": {"name": "f", "arguments": {"x": 1}}}, {"id": "own", "function": {"name": "g"}}]
    called = {**says(""), "message": {"role": "assistant", "content": "", "tool_calls": calls}}
    events, end = read(OLLAMA, [lines(called, says("and"), COUNTED)])
    made = end.answer.tool_calls
    assert made[0] == ToolCall(id=made[0].id, name="f", arguments={"x": 1}, raw='{"x":1}')
    assert made[1] == ToolCall(id="own", name="g", arguments={}, raw="{}")
    assert events[:3] == [*made, Text(text="and")]
    assert (end.answer.finish_reason, end.answer.finish_raw) == ("tool_calls", "stop")
    assert read(OLLAMA, [lines(called, COUNTED)])[1].answer.tool_calls == made


@pytest.mark.parametrize("rest", [b"", b'{"message":{"content":"x"', b'{"done":tr'])
def test_an_end_before_done_is_a_truncation(rest: bytes) -> None:
    """Behaviours 118 and 124: the sentence names the signal, calls that had come are not returned."""
    call = {**says("a"), "message": {"content": "a", "tool_calls": [{"function": {"name": "f"}}]}}
    _, end = read(OLLAMA, [lines(call) + rest])
    assert end.failure is not None
    assert end.failure.detail == 'stream closed before "done": true: response truncated'
    assert (end.failure.reason, end.answer.text, end.answer.tool_calls) == ("stream_cut", "a", ())


@pytest.mark.parametrize("before", [(), (says("a"),), (says("a"), COUNTED)])
@pytest.mark.parametrize("error", ["runner died", {"message": "no", "code": 500}])
@pytest.mark.parametrize("end_of_line", [True, False])
def test_in_band_errors(before: tuple[Any, ...], error: Any, end_of_line: bool) -> None:
    """Behaviour 121: an error line is an error, first, in the middle, and after the signal."""
    body = lines(*before, {"error": error})
    _, end = read(OLLAMA, [body if end_of_line else body[:-1]])
    assert end.failure is not None
    assert (end.failure.kind, json.loads(end.failure.payload)) == ("error_body", {"error": error})


def test_a_null_error_is_none() -> None:
    """Behaviour 121: ``error: null`` says nothing."""
    assert read(OLLAMA, [lines(says("a", error=None), {**COUNTED, "error": None})])[1].failure is None


def test_a_stalled_stream_after_done_is_complete() -> None:
    """Behaviour 119: nothing is missing once ``done`` was seen; the finish reason is never invented."""
    assert read(OLLAMA, [lines(says("a"), COUNTED)], interrupted="idle")[1].failure is None
    assert read(OLLAMA, [lines(says("a"))], interrupted="idle")[1].failure is not None


@pytest.mark.parametrize("word", ["length", "load", "unload"])
def test_other_reasons_are_complete(word: str) -> None:
    """A token limit ends the protocol whole; the other words are kept as they are."""
    answer = read(OLLAMA, [lines(says("a"), {**COUNTED, "done_reason": word})])[1].answer
    assert (answer.finish_reason, answer.finish_raw) == ("length" if word == "length" else None, word)


def test_whole_bodies() -> None:
    """A body is one line; a stream that nobody asked for is read too."""
    whole = {**COUNTED, "message": {"role": "assistant", "content": "ab", "thinking": "hm"}}
    for body in (lines(whole), lines(says("a"), {**COUNTED, "message": {"content": "b", "thinking": "hm"}})):
        got = OLLAMA.decode(body, {})
        assert isinstance(got, Answer)
        assert (got.text, got.reasoning, got.usage) == ("ab", "hm", Usage(input_tokens=7, output_tokens=2))
    pretty = OLLAMA.decode(json.dumps(whole, indent=2).encode(), {})
    assert isinstance(pretty, Answer)
    assert pretty.text == "ab"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty_body"),
        (b"<html>", "not_protocol"),
        (b"{}", "not_protocol"),
        (b"[]", "not_protocol"),
        (b'{"message":{"con', "cut"),
        (b'{"error":"model not found"}', "error_body"),
        (b'{\n "error": "model not found"\n}', "error_body"),
        (b'{"message":"no such thing"}', "error_body"),
        (lines(says("a")) * 2, "cut"),
        (lines(says("a"), {"error": "x"}), "error_body"),
    ],
)
def test_bodies_that_are_no_answer(body: bytes, kind: str) -> None:
    """Whatever else a 200 holds is a failure of its kind."""
    got = OLLAMA.decode(body, {})
    assert isinstance(got, WireFailure)
    assert got.kind == kind


@pytest.mark.parametrize("body", [b"<html>busy</html>\n", b"nonsense\n", b"[1]\n", b"", b"\n\n"])
def test_streams_of_something_else(body: bytes) -> None:
    """What is no stream of objects is no success."""
    assert read(OLLAMA, [body])[1].failure is not None


def test_a_line_above_the_limit_is_refused() -> None:
    """A huge line is refused with a verdict and not swallowed."""
    decoder = OLLAMA.decoder({}, anthropic_completion="stop_reason")
    for _ in range(MAX_EVENT // 2**20 + 1):
        decoder.feed(b"x" * 2**20)
    assert decoder.closed
    failure = decoder.finish().failure
    assert failure is not None
    assert failure.kind == "not_protocol"


KEYS = ["message", "content", "thinking", "tool_calls", "function", "name", "arguments", "done", "done_reason", "error"]
JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "stop", "f", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


@STEADY
@given(st.lists(JSONISH, max_size=3), CUTS)
def test_no_json_raises(values: list[Any], cuts: list[int]) -> None:
    """Whatever types stand where, the decoder gives an end and the body a verdict."""
    body = "".join(json.dumps(value) + "\n" for value in values).encode()
    assert read(OLLAMA, [body])[1] == read(OLLAMA, pieces(body, cuts))[1]
    OLLAMA.decode(body, {})


@STEADY
@given(st.binary(max_size=300), CUTS)
def test_no_bytes_raise(body: bytes, cuts: list[int]) -> None:
    """Rubbish is a failure, never an exception and never a success."""
    assert read(OLLAMA, pieces(body, cuts))[1].failure is not None
    assert isinstance(OLLAMA.decode(body, {}), WireFailure)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(json.dumps({**COUNTED, "message": {"content": "Hi"}}, indent=1).encode(), id="on several lines"),
        pytest.param(b"data: " + lines(says("Hi")) + b"\ndata: " + lines(COUNTED) + b"\n", id="as events"),
        pytest.param(json.dumps([says("Hi"), COUNTED]).encode(), id="as an array"),
        pytest.param(lines(says("Hi"), COUNTED).replace(b"\n", b"\r"), id="CR alone"),
        pytest.param(lines(says("Hi"), COUNTED).replace(b"\n", b""), id="nothing between"),
    ],
)
def test_other_framings_of_a_stream(body: bytes) -> None:
    """What a server in between makes of the lines is read by what comes first, however it is cut."""
    for size in (1, 7, 1000):
        end = read(OLLAMA, every(body, size))[1]
        assert (end.failure, end.answer.text) == (None, "Hi")


@pytest.mark.parametrize("body", [b"<html>sign in</html>", b"\n <!doctype html>"])
def test_a_page_in_place_of_a_stream(body: bytes) -> None:
    """A page with status 200 is not a cut stream: it is no stream at all."""
    for size in (1, 1000):
        failure = read(OLLAMA, every(body, size))[1].failure
        assert failure is not None
        assert (failure.kind, "HTML" in failure.detail) == ("not_protocol", True)
