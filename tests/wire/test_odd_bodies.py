"""Whatever a server sends, a wire gives an answer or a failure: it never raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.wire.feeding import CUTS, STEADY, pieces, read
from zc_notebooks.chat import Answer, StreamEnd, WireFailure
from zc_notebooks.wire.registry import MODULES, wire

KEY_WORDS = (
    "choices delta message content text reasoning reasoning_content reasoning_details tool_calls function name "
    "arguments index id type finish_reason usage prompt_tokens completion_tokens total_tokens error object base_resp "
    "status_code response output item status incomplete_details reason summary content_block partial_json thinking "
    "stop_reason input_tokens output_tokens candidates parts finishReason usageMetadata done done_reason x_groq "
    "prompt_eval_count refusal code detail model input tool_use_id functionCall args"
)
KEYS = st.sampled_from(KEY_WORDS.split())
VALUE_WORDS = (
    "text tool_use thinking server_tool_use content_block_delta content_block_start content_block_stop message_start "
    "message_delta message_stop message error response response.completed response.output_item.done function_call "
    "response.output_text.delta response.failed web_search_call text_delta input_json_delta stop length tool_calls "
    "content_filter completed incomplete failed message-end content-delta tool-call-start STOP MAX_TOKENS ping"
)
WORDS = st.sampled_from(VALUE_WORDS.split())
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
CHAT = wire("openai_chat")
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)
NAMES = st.sampled_from(["", "event: error\n", "event: content_block_delta\n", "event: response.output_text.delta\n"])
EVENTS = st.lists(st.tuples(NAMES, OBJECTS), max_size=6)
ODD = [
    b"",
    b"\0",
    b"null",
    b"[]",
    b"[[]]",
    b'"x"',
    b"1",
    b"{}",
    b"\xff\xfe",
    b"<html>",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"choices":[{"message":{"content":"\xff"}}]}',
    b'{"choices":[{"message":{"content":"\\ud83d"}}]}',
    b'{"choices":[{"message":{"content":"a\0b"}}]}',
    b'{"usage":{"prompt_tokens":1e999,"completion_tokens":-1}}',
]


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_odd_bodies(name: Any, body: bytes) -> None:
    """A strange body is an answer or a failure, whole, as a stream, and as the data of an event."""
    assert isinstance(wire(name).decode(body, {}), Answer | WireFailure)
    for stream in (body, b"data: " + body + b"\n\n", b"event: error\ndata: " + body + b"\n\n"):
        _, end = read(wire(name), [stream])
        assert isinstance(end, StreamEnd)


@pytest.mark.parametrize("name", MODULES)
def test_any_object_whole(name: Any) -> None:
    """Any JSON object of the protocols' own words is an answer or a failure with a sentence."""

    @settings(STEADY, max_examples=50)
    @given(OBJECTS)
    def any_object(value: dict[str, Any]) -> None:
        got = wire(name).decode(dumped(value), {})
        assert isinstance(got, Answer) or got.detail

    any_object()


@pytest.mark.parametrize("name", MODULES)
def test_any_events(name: Any) -> None:
    """Any events of the protocols' own words have an end, the same for every cut."""

    @settings(STEADY, max_examples=50)
    @given(EVENTS, CUTS)
    def any_events(events: list[tuple[str, dict[str, Any]]], cuts: list[int]) -> None:
        body = b"".join(head.encode() + b"data: " + dumped(value) + b"\n\n" for head, value in events)
        _, cut = read(wire(name), pieces(body, cuts))
        _, whole = read(wire(name), [body])
        assert (cut.answer.text, cut.evidence) == (whole.answer.text, whole.evidence)
        assert (cut.failure is None) == (whole.failure is None)

    any_events()


MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "content": st.none() | st.text(max_size=5),
        "reasoning": st.none() | st.text(max_size=5),
        "reasoning_content": st.none() | st.text(max_size=5),
        "refusal": st.none() | st.text(max_size=5),
        "tool_calls": st.none() | st.lists(st.fixed_dictionaries({"id": st.text(max_size=3), "function": OBJECTS})),
        "function_call": st.none() | OBJECTS,
    },
)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(-1, 2),
        "message": st.none() | MESSAGES,
        "delta": st.none() | MESSAGES,
        "text": st.none() | st.text(max_size=5),
        "finish_reason": st.none() | WORDS,
        "error": st.sampled_from([None, "", False, "down", {"message": "down"}]),
    },
)
COMPLETIONS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, max_size=3)},
    optional={
        "id": st.none() | st.text(max_size=3),
        "model": st.none() | st.text(max_size=3),
        "usage": st.none() | st.dictionaries(KEYS, LEAVES, max_size=4),
        "x_groq": st.none() | OBJECTS,
        "error": st.sampled_from([None, "", False, "down", {"message": "down"}]),
        "type": st.none() | WORDS,
        "base_resp": st.none() | st.dictionaries(st.just("status_code"), st.sampled_from([None, 0, "0", 1008])),
    },
)


@given(COMPLETIONS)
@settings(STEADY, max_examples=200)
def test_completion_of_the_usual_types_reads_like_one_of_odd_types(value: dict[str, Any]) -> None:
    """The fast reader of whole bodies against the tolerant one, which a wrong type anywhere calls for."""
    fast, tolerant = (CHAT.decode(dumped(body), {}) for body in (value, {**value, "object": 1}))
    if isinstance(fast, WireFailure) and isinstance(tolerant, WireFailure):
        assert (fast.kind, fast.reason, fast.detail) == (tolerant.kind, tolerant.reason, tolerant.detail)
    else:
        assert isinstance(fast, Answer)
        assert isinstance(tolerant, Answer)
        assert without_new_ids(fast, value) == without_new_ids(tolerant, value)


def without_new_ids(answer: Answer, value: dict[str, Any]) -> Answer:
    """The answer without the ids that calls got because the body gave none."""
    sent = json.dumps(value)
    calls = [replace(call, id=call.id if json.dumps(call.id) in sent else "") for call in answer.tool_calls]
    return replace(answer, tool_calls=tuple(calls))
