"""Anthropic messages: reading streams and bodies, and what a request looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.wire.asking import encode, say, target, tool_talk
from tests.wire.feeding import every, read, told
from zc_notebooks.chat import (
    Answer,
    ChatRequest,
    ImagePart,
    JsonSchema,
    Message,
    PreExecutedTool,
    StreamEnd,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    WireFailure,
    text_message,
)
from zc_notebooks.records import AnthropicCompletion
from zc_notebooks.wire.anthropic_models import claude_version
from zc_notebooks.wire.registry import wire

CLAUDE = wire("anthropic_messages")


def event(kind: str, **fields: Any) -> bytes:
    """One named event; JSON is padded before its last brace, as recorded."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})[:-1]}   }}\n\n".encode()


def delta(index: int = 0, **fields: Any) -> bytes:
    return event("content_block_delta", index=index, delta=fields)


def block(index: int, **fields: Any) -> bytes:
    return event("content_block_start", index=index, content_block=fields)


def ends(stop_reason: str | None, **usage: int) -> bytes:
    return event("message_delta", delta={"stop_reason": stop_reason}, usage=usage or None)


def text(words: str) -> bytes:
    return delta(type="text_delta", text=words)


def stop(index: int) -> bytes:
    return event("content_block_stop", index=index)


USAGE = {"input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3, "output_tokens": 1}
START = event("message_start", message={"id": "msg_1", "model": "claude-x", "content": [], "usage": USAGE})
HI = [START, block(0, type="text", text=""), event("ping"), text("Hi"), stop(0)]
END = event("message_stop")


def end_of(*body: bytes, completion: AnthropicCompletion = "stop_reason", interrupted: str | None = None) -> StreamEnd:
    decoder = CLAUDE.decoder({}, anthropic_completion=completion)
    decoder.feed(b"".join(body))
    return decoder.finish(interrupted=interrupted)


def test_a_stream() -> None:
    """Text, finish word, model, id; the last usage replaces field by field and input includes both cache counts."""
    end = end_of(*HI, ends("end_turn", output_tokens=5), END)
    assert end.failure is None
    assert end.answer == Answer(
        text="Hi",
        finish_reason="stop",
        finish_raw="end_turn",
        usage=Usage(input_tokens=17, output_tokens=5, cached_tokens=4),
        model_reported="claude-x",
        request_id="msg_1",
    )
    assert end.evidence == ("stop_reason=end_turn", "message_stop")


@pytest.mark.parametrize(
    ("completion", "tail", "complete", "awaited"),
    [
        ("stop_reason", [ends("end_turn")], True, "stop_reason"),
        ("message_stop", [ends("end_turn")], False, "message_stop"),
        ("message_stop", [ends("end_turn"), END], True, "message_stop"),
        ("stop_reason", [ends(None)], False, "stop_reason"),
        ("stop_reason", [ends("")], False, "stop_reason"),
        ("stop_reason", [], False, "stop_reason"),
        ("message_stop", [], False, "message_stop"),
        ("stop_reason", [b"data: [DONE]\n\n"], False, "stop_reason"),
    ],
)
def test_what_completes(completion: AnthropicCompletion, tail: list[bytes], complete: bool, awaited: str) -> None:
    """Behaviours 118 and 120: the signal depends on the setting; ``[DONE]`` is none here."""
    end = end_of(*HI, *tail, completion=completion)
    assert end.answer.text == "Hi"
    if complete:
        assert end.failure is None
    else:
        assert end.failure is not None
        assert end.failure.detail == f"stream closed before {awaited}: response truncated"


def test_idle_after_the_stop_reason_is_complete() -> None:
    """Spec 8.2, by default and not under ``message_stop``."""
    assert end_of(*HI, ends("end_turn"), interrupted="idle").failure is None
    assert end_of(*HI, ends("end_turn"), completion="message_stop", interrupted="idle").failure is not None


@pytest.mark.parametrize(
    "before", [[], [START], HI, [*HI, ends("end_turn")]], ids=["1st", "2nd", "text", "stop_reason"]
)
@pytest.mark.parametrize("size", [1, 10_000])
def test_error_events(before: list[bytes], size: int) -> None:
    """Behaviour 121: an error event is an error wherever it comes; usage and text so far are kept."""
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    _, end = read(CLAUDE, every(b"".join([*before, error]), size))
    assert end.failure is not None
    assert end.failure.kind == "error_body"
    assert json.loads(end.failure.payload)["error"]["type"] == "overloaded_error"
    assert end.failure.answer.text == ("Hi" if len(before) > 1 else "")


@pytest.mark.parametrize(
    ("word", "reason"), [("refusal", "content_filter"), ("model_context_window_exceeded", "context_window")]
)
def test_stop_reasons_that_are_failures(word: str, reason: str) -> None:
    """Spec 8.2: a refusal and a full window are failures with their reason, in a stream and in a body."""
    whole = CLAUDE.decode(json.dumps({"content": [], "stop_reason": word, "usage": USAGE}).encode(), {})
    for failure in (end_of(*HI, ends(word), END).failure, whole):
        assert isinstance(failure, WireFailure)
        assert (failure.kind, failure.reason) == ("finish", reason)
        assert failure.answer.usage is not None


def test_reasoning() -> None:
    """Thinking is reasoning; signatures and citations are neither text nor an error."""
    events, end = read(
        CLAUDE,
        [
            b"".join(
                [
                    START,
                    block(0, type="thinking", thinking="a"),
                    delta(type="thinking_delta", thinking="b"),
                    delta(type="signature_delta", signature="xyz"),
                    stop(0),
                    block(1, type="redacted_thinking", data="xyz"),
                    stop(1),
                    block(2, type="text", text="H"),
                    delta(2, type="citations_delta", citation={"url": "u"}),
                    delta(2, type="text_delta", text="i"),
                    stop(2),
                    ends("end_turn"),
                    END,
                ]
            )
        ],
    )
    assert told(events)[:2] == (end.answer.text, end.answer.reasoning) == ("Hi", "ab")


def call(index: int, *pieces: str, name: str = "f", **fields: Any) -> list[bytes]:
    """A tool call of several pieces."""
    start = block(index, type="tool_use", id=f"toolu_{index}", name=name, **{"input": {}, **fields})
    return [start, *(delta(index, type="input_json_delta", partial_json=piece) for piece in pieces), stop(index)]


@pytest.mark.parametrize(
    ("parts", "arguments"),
    [
        ([*call(0, "", '{"x":', " 1}")], [{"x": 1}]),
        ([*call(0, "")], [{}]),
        ([*call(0, input={"x": 1})], [{"x": 1}]),
        ([*call(0, '{"x": 1}'), *call(1, '{"y": 2}')], [{"x": 1}, {"y": 2}]),
        ([*call(0), *call(1, '{"y": 2}')], [{}, {"y": 2}]),
        ([*call(0, '{"x": 1}'), *call(1, '{"odd": }')], [{"x": 1}, None]),
    ],
)
def test_tool_calls(parts: list[bytes], arguments: list[Any]) -> None:
    """Arguments come in pieces, whole, or not at all; calls keep their order."""
    events, end = read(CLAUDE, [b"".join([START, *parts, ends("tool_use"), END])])
    assert [one.arguments for one in end.answer.tool_calls] == arguments
    assert [one.id for one in end.answer.tool_calls] == [f"toolu_{index}" for index in range(len(arguments))]
    assert tuple(told(events)[2]) == end.answer.tool_calls


def test_a_call_cut_by_the_token_limit_is_dropped() -> None:
    """Behaviour 124: the whole call stays, the half one goes, and no event announces it."""
    events, end = read(CLAUDE, [b"".join([START, *call(0, '{"x":1}'), *call(1, '{"y":'), ends("max_tokens"), END])])
    assert (end.failure, end.answer.finish_reason) == (None, "length")
    assert [one.arguments for one in end.answer.tool_calls] == [{"x": 1}]
    assert len(told(events)[2]) == 1


def test_a_cut_call_is_dropped() -> None:
    """Behaviour 124: an end of file inside the arguments."""
    end = end_of(START, *call(0, '{"x":')[:-1])
    assert end.failure is not None
    assert end.answer.tool_calls == ()


def test_tools_of_the_provider() -> None:
    """A server tool is announced when it begins, keeps its arguments in the answer, and is no call of ours."""
    body = [
        START,
        block(0, type="server_tool_use", id="s1", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json='{"query":"x"}'),
        stop(0),
        block(1, type="web_search_tool_result", tool_use_id="s1", content=[]),
        stop(1),
        ends("end_turn"),
    ]
    events, end = read(CLAUDE, body)
    assert [one for one in events if isinstance(one, PreExecutedTool)] == [
        PreExecutedTool(phase="call", name="web_search", id="s1"),
        PreExecutedTool(phase="result", name="web_search", id="s1"),
    ]
    assert end.answer.tool_calls == ()
    assert [(one.phase, one.raw) for one in end.answer.pre_executed] == [("call", '{"query":"x"}'), ("result", "")]


def test_a_whole_body() -> None:
    """The same content, not streamed."""
    message = {
        "type": "message",
        "id": "msg_1",
        "model": "claude-x",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": USAGE,
    }
    got = CLAUDE.decode(json.dumps(message).encode(), {"request-id": "req_1"})
    assert isinstance(got, Answer)
    assert (got.text, got.reasoning, got.finish_reason, got.request_id) == ("Hi", "hm", "tool_calls", "req_1")
    assert got.tool_calls == (ToolCall(id="t1", name="f", arguments={"x": 1}, raw='{"x":1}'),)
    _, streamed = read(CLAUDE, [json.dumps(message).encode()])
    assert (streamed.failure, streamed.answer.text) == (None, "Hi")


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"type":"error","error":{"type":"overloaded_error"}}', "error_body"),
        (b'{"message":"no"}', "error_body"),
        (b'{"content":null}', "not_protocol"),
        (b"<html>", "not_protocol"),
        (b"", "empty_body"),
        (b'{"content":[{"type":"te', "cut"),
    ],
)
def test_bodies_that_are_no_answer(raw: bytes, kind: str) -> None:
    """A 2xx that is no message is a failure of the right kind."""
    got = CLAUDE.decode(raw, {})
    assert isinstance(got, WireFailure)
    assert got.kind == kind


# -- requests -----------------------------------------------------------------------------------------------------


def claude(family: str = "anthropic", **more: Any) -> Any:
    return target(
        "anthropic_messages", family=family, **{"base_url": "https://h.test/v1", "model": "claude-sonnet-4-5", **more}
    )


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://h.test/v1", "https://h.test/v1/messages"),
        ("https://h.test", "https://h.test/v1/messages"),
        ("https://h.test/anthropic/", "https://h.test/anthropic/v1/messages"),
        ("https://h.test/v1/messages", "https://h.test/v1/messages"),
    ],
)
def test_url(base_url: str, url: str) -> None:
    """A base URL with or without its version."""
    assert encode(say(), claude(base_url=base_url))[1].request.url == url


def test_headers() -> None:
    """The vendor's own header for the key, a bearer where the family says so, and the API version."""
    headers = encode(say(), claude())[1].request.headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("key-of-the-test", "2023-06-01")
    assert "authorization" not in headers
    assert encode(say(), claude("openrouter"))[1].request.headers["authorization"] == "Bearer key-of-the-test"


def test_the_limit_is_mandatory() -> None:
    """4096 tokens with a note when nobody said one."""
    body, encoded = encode(say(), claude())
    assert (body["max_tokens"], encoded.notes) == (4096, ("max_tokens 4096 by default",))
    assert encode(say(max_tokens=7), claude())[0]["max_tokens"] == 7


def test_a_conversation_with_tools() -> None:
    """The system text on top, neighbours merged: both results and the text after them are one user message."""
    body, _ = encode(tool_talk(), claude())
    assert body["system"] == "be short"
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "weather and time?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "looking"},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "b", "name": "time", "input": {"raw": "{half"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "rain"},
                {"type": "tool_result", "tool_use_id": "b", "content": "12:00"},
                {"type": "text", "text": "thanks"},
            ],
        },
    ]


def test_several_system_messages_and_blank_text() -> None:
    """Each system message is a block of its own; blank text, which the API refuses, is left out."""
    asked = ChatRequest(
        messages=tuple(text_message(r, t) for r, t in [("system", "a"), ("system", "b"), ("user", " "), ("user", "x")])
    )  # type: ignore[arg-type]
    body, _ = encode(asked, claude())
    assert body["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "x"}]}]


def test_ids_that_the_api_refuses() -> None:
    """Another wire's id becomes one of letters and digits, the same for call and result."""
    asked = ChatRequest(
        messages=(
            Message(role="assistant", tool_calls=(ToolCall(id="functions.f:0", name="f", arguments={}, raw="{}"),)),
            Message(role="tool", parts=(TextPart(text="x"),), tool_call_id="functions.f:0"),
        )
    )
    sent = encode(asked, claude())[0]["messages"]
    id_ = sent[0]["content"][0]["id"]
    assert id_.isalnum()
    assert sent[1]["content"][0]["tool_use_id"] == id_


def test_images() -> None:
    """Base64 for data and ``data:`` URLs, a URL for the rest, also in tool results."""
    parts = (ImagePart(data=b"x"), ImagePart(url="data:image/gif;base64,AA=="), ImagePart(url="https://h.test/i.png"))
    asked = ChatRequest(
        messages=(Message(role="user", parts=parts), Message(role="tool", parts=parts[:1], tool_call_id="a"))
    )
    sent = encode(asked, claude())[0]["messages"][0]["content"]
    assert [part["source"] for part in sent[:3]] == [
        {"type": "base64", "media_type": "image/png", "data": "eA=="},
        {"type": "base64", "media_type": "image/gif", "data": "AA=="},
        {"type": "url", "url": "https://h.test/i.png"},
    ]
    assert sent[3]["content"] == sent[:1]
    assert CLAUDE.lacks(asked, claude()) is None
    assert CLAUDE.lacks(asked, claude("ollama")) == "images by URL"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, None),
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("f", {"type": "tool", "name": "f"}),
    ],
)
def test_tools(choice: str | None, sent: Any) -> None:
    """Tools with their schema, and the choice in the API's words."""
    body, _ = encode(say(tools=(Tool(name="f", description="d"),), tool_choice=choice), claude())
    assert body["tools"] == [{"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}}]
    assert body.get("tool_choice") == sent


@pytest.mark.parametrize(
    ("model", "settings", "sent", "notes"),
    [
        ("claude-haiku-4-5", {"temperature": 0.5}, {"temperature": 0.5}, ()),
        ("claude-haiku-4-5", {"temperature": 1.5}, {"temperature": 1.0}, ("temperature lowered to 1",)),
        ("claude-haiku-4-5", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5}, ("dropped top_p",)),
        ("qwen", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}, ()),
        ("claude-opus-4-8", {"temperature": 0.5}, {}, ("dropped temperature",)),
        ("claude-sonnet-5", {"top_p": 0.5}, {}, ("dropped top_p",)),
        ("claude-haiku-4-5", {"stop": ("a",), "seed": 1}, {"stop_sequences": ["a"]}, ("dropped seed",)),
        (
            "claude-sonnet-4-5",
            {"reasoning_effort": "high", "max_tokens": 4000, "temperature": 0.0},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
            ("dropped temperature",),
        ),
        ("claude-sonnet-4-5", {"reasoning_effort": "high", "max_tokens": 100}, {}, ("dropped reasoning_effort",)),
        (
            "claude-opus-4-6",
            {"reasoning_effort": "minimal"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            (),
        ),
        ("claude-opus-4-8", {"reasoning_effort": "none"}, {}, ()),
        ("qwen", {"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}, ()),
    ],
)
def test_models_differ(model: str, settings: dict[str, Any], sent: dict[str, Any], notes: tuple[str, ...]) -> None:
    """Sampling and thinking as each generation takes them."""
    settings = {"max_tokens": 8000, **settings}
    body, encoded = encode(say(**settings), claude(model=model))
    assert {key: value for key, value in body.items() if key not in ("model", "messages", "max_tokens")} == sent
    assert encoded.notes == notes


def test_a_thinking_budget_comes_on_top_of_the_default_limit() -> None:
    """Without a limit of the caller's, the answer keeps its 4096 tokens."""
    body, _ = encode(say(reasoning_effort="medium"), claude())
    assert (body["thinking"]["budget_tokens"], body["max_tokens"]) == (4096, 8192)


def test_response_format() -> None:
    """``output_config`` where the model has it, beside an effort too; the schema in the prompt elsewhere."""
    city = {"type": "object", "properties": {"city": {"type": "string"}}}
    schema = JsonSchema(name="answer", schema=city)
    body, _ = encode(say(response_format=schema, reasoning_effort="low"), claude(model="claude-opus-4-8"))
    shut = {**city, "additionalProperties": False}
    assert body["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": shut}}
    body, encoded = encode(say(response_format=schema), claude(model="claude-3-5-haiku-20241022"))
    assert '{"type":"object","properties"' in body["system"]
    assert "schema in the prompt" in encoded.notes


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-3-5-haiku-20241022", (3, 5)),
        ("claude-opus-4-20250514", (4, 0)),
        ("claude-haiku-4-5-20251001", (4, 5)),
        ("anthropic/claude-opus-4.8", (4, 8)),
        ("claude-sonnet-5", (5, 0)),
        ("qwen3", None),
    ],
)
def test_claude_version(model: str, version: tuple[int, int] | None) -> None:
    """The version is read from the name; a date is no minor version."""
    assert claude_version(model) == version


CALL = block(0, type="tool_use", id="t1", name="f", input={})


@pytest.mark.parametrize("body", [[CALL, delta(type="input_json_delta", partial_json='{"a":1}')]])
def test_a_call_whose_block_nobody_ended(body: list[bytes]) -> None:
    """The stop reason ends open blocks; under a token limit a half call in one is dropped."""
    events, end = read(CLAUDE, [START, *body, ends("tool_use"), END])
    assert end.failure is None
    assert [call.arguments for call in end.answer.tool_calls] == [{"a": 1}]
    assert told(events)[2] == list(end.answer.tool_calls)
    half = [*HI[:-1], CALL, delta(type="input_json_delta", partial_json='{"a":')]
    end = end_of(*half, ends("max_tokens"), END)
    assert (end.failure, end.answer.text, end.answer.tool_calls) == (None, "Hi", ())


@pytest.mark.parametrize("index", [b'"index": 0, ', b'"index": null, '])
def test_blocks_without_an_index(index: bytes) -> None:
    """A server that gives no index sends one block after the other."""
    body = [CALL, delta(type="input_json_delta", partial_json='{"a":1}'), stop(0)]
    odd = [one.replace(b'"index": 0, ', index if index != b'"index": 0, ' else b"") for one in body]
    odd = [one.replace(b', "index": 0', b"") for one in odd]
    end = end_of(START, *odd, ends("tool_use"), END)
    assert [call.arguments for call in end.answer.tool_calls] == [{"a": 1}]


@pytest.mark.parametrize("index", [b"[1]", b'{"a": 1}'])
def test_an_index_that_is_none(index: bytes) -> None:
    """An index of another type than a number raises nothing and counts as absent."""
    body = [CALL, delta(type="input_json_delta", partial_json='{"a":1}'), stop(0)]
    odd = [one.replace(b'"index": 0', b'"index": ' + index) for one in body]
    assert odd != body
    end = end_of(START, *odd, ends("tool_use"), END)
    assert [call.arguments for call in end.answer.tool_calls] == [{"a": 1}]


@pytest.mark.parametrize("content", [5, True])
def test_content_that_is_neither_text_nor_blocks(content: object) -> None:
    """A whole message in place of a stream whose content is of another type is an empty answer."""
    whole = json.dumps({"type": "message", "content": content, "stop_reason": "end_turn"}).encode()
    assert end_of(b"data: " + whole + b"\n\n").answer.text == ""


def test_content_that_is_text() -> None:
    """A whole message whose content is a text and no list of blocks."""
    got = CLAUDE.decode(json.dumps({"type": "message", "content": "Hi", "stop_reason": "end_turn"}).encode(), {})
    assert isinstance(got, Answer)
    assert got.text == "Hi"
