"""Tool calls that were cut: no wire returns one, and an answer that claims to be whole with one is a failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.feeding import read, told
from zc_notebooks.chat import Answer, WireFailure
from zc_notebooks.testing import CHAT_DONE, chat_chunk
from zc_notebooks.wire.half_calls import is_cut
from zc_notebooks.wire.registry import wire

HALF = '{"a": 1, "b'
ODD = "{'a': 1}"


@pytest.mark.parametrize(
    ("raw", "cut"),
    [
        (HALF, True),
        ('{"a": 1', True),
        ('{"a": [1, 2}', True),
        ('{"a": "}', True),
        ("{", True),
        ('[{"a": 1}', True),
        (r'"{\"a\": 1"', True),
        ('"abc', True),
        ("", False),
        ("{}", False),
        (ODD, False),
        ('{"a": 1,}', False),
        ('{"a": 1}}', False),
        ('{"a": 1} and more', False),
        ("print('it is {')", False),
        ("tru", False),
        (r'"{\"a\": 1}"', False),
    ],
)
def test_cut_or_merely_odd(raw: str, cut: bool) -> None:
    """A string, an object or an array that never ends is cut; text that is no JSON is what it is."""
    assert is_cut(raw) is cut


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers() | st.lists(st.text(max_size=3))), st.data()
)
def test_every_beginning_of_an_object_is_cut(value: dict[str, Any], data: st.DataObject) -> None:
    """And the whole of it never."""
    whole = json.dumps(value)
    assert not is_cut(whole)
    assert is_cut(whole[: data.draw(st.integers(1, len(whole) - 1))])


@given(st.text(alphabet='{}[]"\\ a,:\n', max_size=40))
def test_it_never_raises(raw: str) -> None:
    """Whatever a model writes."""
    assert is_cut(raw) in (True, False)


# -- on every wire ----------------------------------------------------------------------------------------------------


def named(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def chat(raw: str, word: str) -> tuple[bytes, bytes]:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": raw}}
    message = {"role": "assistant", "content": "let me see", "tool_calls": [call]}
    body = {"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": word}]}
    return b"".join((chat_chunk("let me see", tool_calls=[call]), chat_chunk(finish=word), CHAT_DONE)), dump(body)


def anthropic(raw: str, word: str) -> tuple[bytes, bytes]:
    reason = {"length": "max_tokens", "stop": "tool_use"}[word]
    block = {"type": "tool_use", "id": "t", "name": "f"}
    parts = [
        named("message_start", message={"id": "x", "model": "m"}),
        named("content_block_start", index=0, content_block={"type": "text", "text": "let me see"}),
        named("content_block_start", index=1, content_block={**block, "input": {}}),
        named("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": raw}),
        named("content_block_stop", index=1),
        named("message_delta", delta={"stop_reason": reason}),
        named("message_stop"),
    ]
    return b"".join(parts), b""


def responses(raw: str, word: str) -> tuple[bytes, bytes]:
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": raw, "status": "completed"}
    text = {"type": "message", "id": "t", "content": [{"type": "output_text", "text": "let me see"}]}
    status: dict[str, Any] = {"status": "completed"}
    if word == "length":
        status = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    body = {"object": "response", "id": "x", "model": "m", "output": [text, item], **status}
    parts = [named("response.output_item.done", item=item), named(f"response.{status['status']}", response=body)]
    return b"".join(parts), dump(body)


def ollama(raw: str, word: str) -> tuple[bytes, bytes]:
    message = {
        "role": "assistant",
        "content": "let me see",
        "tool_calls": [{"function": {"name": "f", "arguments": raw}}],
    }
    body = {"model": "m", "message": message, "done": True, "done_reason": word}
    return dump(body) + b"\n", dump(body)


def gemini(raw: str, word: str) -> tuple[bytes, bytes]:
    parts = [{"text": "let me see"}, {"functionCall": {"name": "f", "args": raw}}]
    reason = {"length": "MAX_TOKENS", "stop": "STOP"}[word]
    body = {"candidates": [{"content": {"parts": parts}, "finishReason": reason}], "modelVersion": "m"}
    return b"data: " + dump(body) + b"\n\n", dump(body)


def cohere(raw: str, word: str) -> tuple[bytes, bytes]:
    reason = {"length": "MAX_TOKENS", "stop": "TOOL_CALL"}[word]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": raw}}
    parts = [
        named("content-delta", index=0, delta={"message": {"content": {"text": "let me see"}}}),
        named("tool-call-start", index=0, delta={"message": {"tool_calls": call}}),
        named("message-end", delta={"finish_reason": reason}),
    ]
    content = [{"type": "text", "text": "let me see"}]
    return b"".join(parts), dump(
        {"id": "x", "message": {"content": content, "tool_calls": [call]}, "finish_reason": reason}
    )


def dump(body: object) -> bytes:
    return json.dumps(body).encode()


WIRES = {
    "openai_chat": chat,
    "anthropic_messages": anthropic,
    "openai_responses": responses,
    "ollama": ollama,
    "gemini": gemini,
    "cohere_v2": cohere,
}


@pytest.mark.parametrize("whole", [False, True], ids=["stream", "whole"])
@pytest.mark.parametrize("name", WIRES)
def test_124_a_cut_call_is_never_returned(name: Any, whole: bool) -> None:
    """124: a whole-looking answer with half a call is the model's malformed call; a token limit drops the half call."""
    for word, raw in (("stop", HALF), ("length", HALF), ("stop", ODD)):
        stream, body = WIRES[name](raw, word)
        if whole and not body:  # whose bodies hold objects
            continue
        events, found = [], wire(name).decode(body, {}) if whole else None
        if found is None:
            events, end = read(wire(name), [stream])
            found = end.failure or end.answer
        if (word, raw) == ("stop", HALF):
            assert isinstance(found, WireFailure)
            assert (found.kind, found.reason, found.code) == ("finish", "bad_request", "tool_schema")
            assert found.detail == "the answer ended with half a tool call: the arguments of f end early"
            assert (told(events)[2], found.answer.tool_calls) == ([], ())
            continue
        assert isinstance(found, Answer)
        assert found.text == "let me see"
        assert [call.raw for call in found.tool_calls] == ([] if word == "length" else [raw])
        assert all(call.arguments is None for call in found.tool_calls)


def test_a_call_that_goes_on_after_the_finish_word_is_whole() -> None:
    """Servers that say the finish word early: what came last decides."""
    pieces = [
        chat_chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}}], finish="stop"),
        chat_chunk(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
        CHAT_DONE,
    ]
    events, end = read(wire("openai_chat"), [b"".join(pieces)])
    assert end.failure is None
    assert [dict(call.arguments or {}) for call in end.answer.tool_calls] == [{"a": 1}]
    assert told(events)[2] == list(end.answer.tool_calls)


def test_one_cut_call_spoils_its_siblings() -> None:
    """An answer that fails gives none of its calls away."""
    calls = [
        {"index": place, "id": f"c{place}", "function": {"name": "f", "arguments": raw}}
        for place, raw in enumerate(("{}", HALF))
    ]
    events, end = read(wire("openai_chat"), [chat_chunk(tool_calls=calls), chat_chunk(finish="tool_calls"), CHAT_DONE])
    assert end.failure is not None
    assert told(events)[2] == []
