"""Cohere's v2 chat in both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.asking import encode, say, target, tool_talk
from tests.wire.feeding import CUTS, STEADY, every, pieces, read, told
from zc_notebooks.chat import (
    Answer,
    ChatRequest,
    ImagePart,
    JsonSchema,
    Message,
    Reasoning,
    Text,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    WireFailure,
)
from zc_notebooks.wire.base import Target
from zc_notebooks.wire.cohere import cohere_usage
from zc_notebooks.wire.registry import wire

COHERE = wire("cohere_v2")
BASE = "https://api.cohere.com/v2"
TOOLS = (Tool(name="weather", parameters={"type": "object", "properties": {"city": {}}}), Tool(name="time"))


def cohere(model: str = "command-a-03-2025", base_url: str = BASE, **profile: Any) -> Target:
    return target("cohere_v2", family="cohere", base_url=base_url, model=model, **profile)


def event(kind: str, index: int | None = None, **delta: Any) -> dict[str, Any]:
    return {"type": kind, **({} if index is None else {"index": index}), **({"delta": delta} if delta else {})}


def words(text: str, key: str = "text") -> dict[str, Any]:
    return event("content-delta", 0, message={"content": {key: text}})


def call(kind: str, index: int, **function: str) -> dict[str, Any]:
    made: dict[str, Any] = {"function": function}
    if kind == "start":
        made |= {"id": f"id{index}", "type": "function"}
    return event(f"tool-call-{kind}", index, message={"tool_calls": made})


def end(word: str | None = "COMPLETE", **more: Any) -> dict[str, Any]:
    return event("message-end", finish_reason=word, **more)


TOKENS = {"billed_units": {"input_tokens": 1, "output_tokens": 1}, "tokens": {"input_tokens": 50, "output_tokens": 4}}
SEEN = Usage(input_tokens=50, output_tokens=4, billed_input_tokens=1, billed_output_tokens=1)
START = {"id": "m1", **event("message-start", message={"role": "assistant", "content": [], "tool_calls": []})}


def sse(*events: dict[str, Any], done: bool = True) -> bytes:
    text = "".join(f"event: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in events)
    return (text + ("data: [DONE]\n\n" if done else "")).encode()


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (BASE, f"{BASE}/chat"),
        (BASE + "/chat", f"{BASE}/chat"),
        ("https://api.cohere.com", f"{BASE}/chat"),
        ("http://127.0.0.1:1/x/v2/", "http://127.0.0.1:1/x/v2/chat"),
    ],
)
def test_addresses(base_url: str, url: str) -> None:
    """A bare host gets the version."""
    encoded = encode(say(), cohere(base_url=base_url), stream=True)[1]
    assert encoded.request.url == url
    assert encoded.request.headers["authorization"] == "Bearer key-of-the-test"


def test_a_conversation_with_tools() -> None:
    """Arguments are JSON text of an object; results are tool messages."""
    body, _ = encode(tool_talk(), cohere())
    assert body["messages"] == [
        {"role": "system", "content": "be short"},
        {"role": "user", "content": "weather and time?"},
        {
            "role": "assistant",
            "content": "looking",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
                {"id": "b", "type": "function", "function": {"name": "time", "arguments": '{"raw":"{half"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
        {"role": "tool", "tool_call_id": "b", "content": "12:00"},
        {"role": "user", "content": "thanks"},
    ]


def test_settings() -> None:
    """``p`` is nucleus sampling here, stop sequences have their long name."""
    schema = {"type": "object", "properties": {"x": {}}}
    request = say(
        max_tokens=9,
        temperature=0.5,
        top_p=0.25,
        stop=("a",),
        seed=7,
        response_format=JsonSchema(name="x", schema=schema),
    )
    body, encoded = encode(request, cohere(provider_extra={"safety_mode": "OFF"}), stream=True)
    assert body == {
        "model": "command-a-03-2025",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "max_tokens": 9,
        "temperature": 0.5,
        "p": 0.25,
        "stop_sequences": ["a"],
        "seed": 7,
        "response_format": {"type": "json_object", "json_schema": schema},
        "safety_mode": "OFF",
    }
    assert encoded.notes == ()


def test_any_json_object_needs_no_schema() -> None:
    """The format that only says object is the type alone."""
    request = say(response_format=JsonSchema(name="x", schema={"type": "object"}, strict=False))
    assert encode(request, cohere())[0]["response_format"] == {"type": "json_object"}


def test_a_schema_beside_tools_is_asked_for_in_words() -> None:
    """The provider refuses the field beside tools."""
    request = say(tools=TOOLS, response_format=JsonSchema(name="x", schema={"type": "object", "required": ["x"]}))
    body, encoded = encode(request, cohere())
    assert "response_format" not in body
    assert '"required":["x"]' in body["messages"][0]["content"]
    assert len(encoded.notes) == 1


@pytest.mark.parametrize(
    ("settings", "sent", "note"),
    [
        ({"top_p": 1.0}, {"p": 0.99}, "top_p set to 0.99, the nearest this provider takes"),
        ({"top_p": 0.0}, {"p": 0.01}, "top_p set to 0.01, the nearest this provider takes"),
        ({"stop": tuple("abcdef")}, {"stop_sequences": list("abcde")}, "dropped stop sequences after the first 5"),
        ({"reasoning_effort": "low"}, {}, "dropped reasoning_effort"),
    ],
)
def test_settings_the_provider_has_no_word_for(settings: Any, sent: dict[str, Any], note: str) -> None:
    """What is changed or left out is said."""
    body, encoded = encode(say(**settings), cohere())
    assert {name: value for name, value in body.items() if name not in ("model", "messages", "stream")} == sent
    assert encoded.notes == (note,)


@pytest.mark.parametrize(
    ("effort", "thinking"),
    [
        ("none", {"type": "disabled"}),
        ("low", {"type": "enabled", "token_budget": 1024}),
        ("high", {"type": "enabled"}),
    ],
)
def test_reasoning_effort(effort: Any, thinking: dict[str, Any]) -> None:
    """Models that reason take a budget."""
    body, encoded = encode(say(reasoning_effort=effort), cohere("command-a-reasoning-08-2025"))
    assert body["thinking"] == thinking
    assert encoded.notes == ()


@pytest.mark.parametrize(
    ("choice", "sent", "offered"),
    [
        (None, None, 2),
        ("auto", None, 2),
        ("none", "NONE", 2),
        ("required", "REQUIRED", 2),
        ("time", "REQUIRED", 1),
    ],
)
def test_tool_choice(choice: str | None, sent: str | None, offered: int) -> None:
    """One certain tool is asked for by offering no other."""
    body, encoded = encode(say(tools=TOOLS, tool_choice=choice), cohere())
    assert body.get("tool_choice") == sent
    assert len(body["tools"]) == offered
    assert bool(encoded.notes) is (offered == 1)


def test_images() -> None:
    """Images stand in a list of parts, by URL or as data; a tool result cannot hold one."""
    picture, file = ImagePart(data=b"abc"), ImagePart(url="https://example.org/a.png")
    request = ChatRequest(messages=(Message(role="user", parts=(TextPart(text="see"), picture, file)),))
    assert COHERE.lacks(request, cohere()) is None
    assert encode(request, cohere())[0]["messages"][0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    result = ChatRequest(messages=(Message(role="tool", parts=(picture,), tool_call_id="a"),))
    assert COHERE.lacks(result, cohere()) == "images in tool results"


@pytest.mark.parametrize("size", [1, 5, 2000])
@pytest.mark.parametrize("done", [True, False])
def test_a_stream(size: int, done: bool) -> None:
    """Text, thinking, a plan and two calls; ``[DONE]`` may come or not; citations say nothing."""
    body = sse(
        START,
        words("hm ", "thinking"),
        event("tool-plan-delta", message={"tool_plan": "I will ask"}),
        words("Hé"),
        event("citation-start", 0, message={"citations": {"start": 0, "text": "Hé"}}),
        words("llo"),
        call("start", 0, name="weather", arguments=""),
        call("delta", 0, arguments='{"city":'),
        call("start", 1, name="time", arguments=""),
        call("delta", 0, arguments='"Oslo"}'),
        event("tool-call-end", 0),
        event("tool-call-end", 1),
        end("TOOL_CALL", usage={**TOKENS, "cached_tokens": 9}),
        done=done,
    )
    events, got = read(COHERE, every(body, size), {"content-type": "text/event-stream"})
    calls = (
        ToolCall(id="id0", name="weather", arguments={"city": "Oslo"}, raw='{"city":"Oslo"}'),
        ToolCall(id="id1", name="time", arguments={}, raw=""),
    )
    usage = Usage(input_tokens=50, output_tokens=4, cached_tokens=9, billed_input_tokens=1, billed_output_tokens=1)
    assert got.failure is None
    assert got.answer == Answer(
        text="Héllo",
        reasoning="hm I will ask",
        tool_calls=calls,
        finish_reason="tool_calls",
        finish_raw="TOOL_CALL",
        usage=usage,
        request_id="m1",
    )
    assert told(events) == ("Héllo", "hm I will ask", list(calls), usage)
    assert next(one for one in events if isinstance(one, Text | Reasoning)) == Reasoning(text="hm ")
    assert got.evidence == ("message-end TOOL_CALL", "[DONE]" if done else "eof")


@pytest.mark.parametrize("tail", ["", "data: [DONE]\n\n", 'event: content-end\ndata: {"type":"content-end"}\n\n'])
def test_an_end_before_message_end_is_a_truncation(tail: str) -> None:
    """Behaviours 118 and 124: the sentence names the signal; ``[DONE]`` alone is none; half calls are dropped."""
    body = sse(START, words("a"), call("start", 0, name="f", arguments='{"x"'), done=False) + tail.encode()
    _, got = read(COHERE, [body])
    assert got.failure is not None
    assert got.failure.detail == "stream closed before message-end: response truncated"
    assert (got.failure.reason, got.answer.text, got.answer.tool_calls) == ("stream_cut", "a", ())


def test_a_stalled_stream_after_message_end_is_complete() -> None:
    """Behaviour 119: the signal was seen, usage may be unknown."""
    _, got = read(COHERE, [sse(START, words("a"), end(), done=False)], interrupted="idle")
    assert got.failure is None
    assert got.answer.usage is None


@pytest.mark.parametrize(
    ("word", "reason"), [("ERROR", "server_error"), ("TIMEOUT", "server_error"), ("ERROR_LIMIT", "context_window")]
)
def test_finish_words_that_are_failures(word: str, reason: str) -> None:
    """A word alone decides, streamed or not."""
    whole = {"id": "x", "message": {"role": "assistant", "content": []}, "finish_reason": word}
    for got in (read(COHERE, [sse(START, end(word))])[1].failure, COHERE.decode(json.dumps(whole).encode(), {})):
        assert isinstance(got, WireFailure)
        assert (got.kind, got.reason, got.answer.finish_raw) == ("finish", reason, word)


def test_the_error_of_a_failed_end_is_kept() -> None:
    """The provider's own sentence travels with the failure, and so do text and usage."""
    body = sse(START, words("Sure"), end("ERROR", error="too many tokens", usage=TOKENS))
    _, got = read(COHERE, [body])
    assert got.failure is not None
    assert got.failure.kind == "error_body"
    assert json.loads(got.failure.payload) == {"finish_reason": "ERROR", "error": "too many tokens"}
    assert (got.answer.text, got.answer.finish_raw) == ("Sure", "ERROR")
    assert got.answer.usage == SEEN


@pytest.mark.parametrize(
    "error",
    [
        b'event: error\ndata: {"message":"no"}\n\n',
        b'data: {"type":"error","message":"no"}\n\n',
        b'data: {"error":{"message":"no"}}\n\n',
        b'data: {"id":"x","message":"no"}\n\n',
    ],
)
@pytest.mark.parametrize("before", [b"", sse(START, words("a"), done=False), sse(START, words("a"), end(), done=False)])
def test_in_band_errors(error: bytes, before: bytes) -> None:
    """Behaviour 121: an error is an error, first, in the middle and after the signal."""
    _, got = read(COHERE, [before + error])
    assert got.failure is not None
    assert got.failure.kind == "error_body"
    assert "no" in got.failure.payload


def test_a_bare_error_under_a_streams_content_type() -> None:
    """JSON without ``data:`` is read as the error it is."""
    _, got = read(COHERE, [b'{"id":"x",\n"message":"invalid api token"}'], {"content-type": "text/event-stream"})
    assert got.failure is not None
    assert got.failure.kind == "error_body"


def test_a_token_limit_drops_half_a_call() -> None:
    """Behaviour 124: the limit struck inside the arguments."""
    body = sse(START, call("start", 0, name="f", arguments='{"x"'), end("MAX_TOKENS"))
    _, got = read(COHERE, [body])
    assert got.failure is None
    assert (got.answer.finish_reason, got.answer.tool_calls) == ("length", ())


@pytest.mark.parametrize(
    ("message", "text", "reasoning", "calls"),
    [
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]}, "a", "hm", 0),
        ({"content": "plain"}, "plain", "", 0),
        (
            {"tool_plan": "ask", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
            "",
            "ask",
            1,
        ),
        ({"tool_calls": [{"id": "1", "function": {"name": "f"}}, {"id": "2", "function": {"name": "g"}}]}, "", "", 2),
    ],
)
def test_whole_bodies(message: dict[str, Any], text: str, reasoning: str, calls: int) -> None:
    """Content in parts or as text, a plan, calls."""
    body = {"id": "m", "message": {"role": "assistant", **message}, "finish_reason": "COMPLETE", "usage": TOKENS}
    got = COHERE.decode(json.dumps(body).encode(), {})
    assert isinstance(got, Answer)
    assert (got.text, got.reasoning, len(got.tool_calls)) == (text, reasoning, calls)
    assert got.finish_reason == ("tool_calls" if calls else "stop")
    assert got.usage == SEEN


def test_a_stream_that_nobody_asked_for_is_read() -> None:
    """A whole body that is a stream gives the same answer."""
    got = COHERE.decode(sse(START, words("a"), end()), {})
    assert isinstance(got, Answer)
    assert got.text == "a"


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        (TOKENS, SEEN),
        (
            {"tokens": {"input_tokens": 5, "output_tokens": 4, "reasoning_tokens": 3}, "cached_tokens": 0},
            Usage(input_tokens=5, output_tokens=4, cached_tokens=0, reasoning_tokens=3),
        ),
        ({"billed_units": {"input_tokens": 1}}, None),
        (None, None),
    ],
)
def test_usage(raw: Any, usage: Usage | None) -> None:
    """Billed units stand beside the tokens: they are the money."""
    assert cohere_usage(raw) == usage


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty_body"),
        (b"<html>", "not_protocol"),
        (b"{}", "not_protocol"),
        (b"[]", "not_protocol"),
        (b'{"id":"x","message":{"con', "cut"),
        (b'{"id":"x","message":"invalid api token"}', "error_body"),
        (b'{"error":"x"}', "error_body"),
    ],
)
def test_bodies_that_are_no_answer(body: bytes, kind: str) -> None:
    """Whatever else a 200 holds is a failure of its kind."""
    got = COHERE.decode(body, {})
    assert isinstance(got, WireFailure)
    assert got.kind == kind


KEYS = ["type", "index", "delta", "message", "content", "text", "thinking", "tool_calls", "function", "name", "error"]
KINDS = ["message-end", "content-delta", "tool-call-start", "tool-call-delta", "tool-plan-delta", "", "\ud800"]
JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


@STEADY
@given(st.lists(JSONISH, max_size=3), CUTS)
def test_no_json_raises(values: list[Any], cuts: list[int]) -> None:
    """Whatever types stand where, the decoder gives an end and the body a verdict."""
    body = "".join(f"data: {json.dumps(value)}\n\n" for value in values).encode()
    whole, pieced = read(COHERE, [body])[1], read(COHERE, pieces(body, cuts))[1]
    assert (whole.failure is None, whole.evidence) == (pieced.failure is None, pieced.evidence)
    COHERE.decode(body, {})
    for value in values:
        COHERE.decode(json.dumps(value).encode(), {})


@STEADY
@given(st.binary(max_size=300), CUTS)
def test_no_bytes_raise(body: bytes, cuts: list[int]) -> None:
    """Rubbish is a failure, never an exception and never a success."""
    assert read(COHERE, pieces(body, cuts))[1].failure is not None
    assert isinstance(COHERE.decode(body, {}), WireFailure)


def test_a_whole_message_in_place_of_a_stream() -> None:
    """A server that does not stream although it was asked to; its error is still an error."""
    message = {"content": [{"type": "text", "text": "Hi"}], "tool_plan": "look"}
    whole = {"id": "x", "message": message, "finish_reason": "COMPLETE", "usage": TOKENS}
    events, got = read(COHERE, [json.dumps(whole).encode()])
    assert got.failure is None
    assert told(events)[:2] == (got.answer.text, got.answer.reasoning) == ("Hi", "look")
    assert got.answer == COHERE.decode(json.dumps(whole).encode(), {})
    failed = json.dumps({**whole, "finish_reason": "ERROR", "error": "down"}).encode()
    ended, body = read(COHERE, [failed])[1].failure, COHERE.decode(failed, {})
    for failure in (ended, body):
        assert isinstance(failure, WireFailure)
        assert (failure.kind, failure.answer.finish_raw, failure.answer.text) == ("error_body", "ERROR", "Hi")
