"""What Gemini's answers mean: server-sent events, one JSON array, bare errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.feeding import CUTS, STEADY, every, pieces, read, told
from zc_notebooks.chat import Answer, PreExecutedTool, Reasoning, Text, ToolCall, Usage, WireFailure
from zc_notebooks.stream_guard.sse import MAX_EVENT
from zc_notebooks.wire.gemini import gemini_usage
from zc_notebooks.wire.registry import wire

GEMINI = wire("gemini")
SSE = {"content-type": "text/event-stream"}


def element(
    *parts: dict[str, Any], finish: str | None = None, tokens: tuple[int, int] | None = None, **more: Any
) -> Any:
    """One ``GenerateContentResponse``."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    if tokens is not None:
        more["usageMetadata"] = {"promptTokenCount": tokens[0], "candidatesTokenCount": tokens[1]}
    return {"candidates": [candidate], "modelVersion": "gemini-x", "responseId": "r1", **more}


def sse(*elements: Any) -> bytes:
    return "".join(f"data: {json.dumps(one, ensure_ascii=False)}\r\n\r\n" for one in elements).encode()


def array(*elements: Any, closed: bool = True) -> bytes:
    inner = "\n,\r\n".join(json.dumps(one, indent=1, ensure_ascii=False) for one in elements)
    return f"[{inner}{']' if closed else ''}".encode()


HELLO = (element({"text": "Hé"}, tokens=(5, 1)), element({"text": "llo"}, finish="STOP", tokens=(5, 2)))


@pytest.mark.parametrize(
    "body", [sse(*HELLO), array(*HELLO), array(*HELLO, closed=False)], ids=["sse", "array", "open"]
)
@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", ""])
def test_the_first_byte_decides_the_framing(body: bytes, size: int, content_type: str) -> None:
    """Events and array are told apart whatever the content-type says; a missing last bracket does no harm."""
    events, end = read(GEMINI, every(body, size), {"content-type": content_type})
    assert end.failure is None
    assert end.answer == Answer(
        text="Héllo",
        finish_reason="stop",
        finish_raw="STOP",
        usage=Usage(input_tokens=5, output_tokens=2),
        model_reported="gemini-x",
        request_id="r1",
    )
    assert [event.text for event in events if isinstance(event, Text)] == ["Hé", "llo"]
    assert end.evidence == ("finishReason=STOP", "eof")


def test_elements_come_out_as_they_arrive() -> None:
    """No element waits for the next one, in either framing."""
    for body in (sse(*HELLO), array(*HELLO)):
        decoder = GEMINI.decoder(SSE, anthropic_completion="stop_reason")
        first = body.index("Hé".encode()) + 3
        assert decoder.feed(body[:first]) == []
        rest = decoder.feed(body[first : body.index(b"llo")])
        assert [event for event in rest if isinstance(event, Text)] == [Text(text="Hé")]
        assert not decoder.signalled
        decoder.feed(body[body.index(b"llo") :])
        assert decoder.signalled


@pytest.mark.parametrize("make", [sse, array])
def test_an_end_before_the_finish_reason_is_a_truncation(make: Any) -> None:
    """Behaviour 118: the sentence names the signal; a call that had come is not returned (124)."""
    call = {"functionCall": {"name": "f", "args": {}}}
    body = make(element({"text": "a"}), element(call, tokens=(1, 1)))
    for chunk in (body, body[:-3]):
        _, end = read(GEMINI, [chunk], SSE)
        assert end.failure is not None
        assert end.failure.detail == "stream closed before finishReason: response truncated"
        assert (end.failure.reason, end.answer.text, end.answer.tool_calls) == ("stream_cut", "a", ())


@pytest.mark.parametrize("interrupted", ["idle", "disconnect"])
def test_an_interruption_after_the_signal_is_complete(interrupted: str) -> None:
    """Behaviour 119: once the finish reason was seen nothing is missing; before it the stream is cut."""
    assert read(GEMINI, [sse(*HELLO)], SSE, interrupted=interrupted)[1].failure is None
    assert read(GEMINI, [sse(HELLO[0])], SSE, interrupted=interrupted)[1].failure is not None


ERROR = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(ERROR, indent=2).encode(),
        sse(ERROR),
        sse(HELLO[0], ERROR),
        sse(*HELLO, ERROR),
        array(HELLO[0], ERROR),
        array(*HELLO, ERROR),
        b"[" + json.dumps(ERROR).encode() + b"]",
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_in_band_errors(body: bytes, size: int) -> None:
    """Behaviour 121: an error object is an error wherever it stands, also bare and after the finish reason."""
    _, end = read(GEMINI, every(body, size), SSE)
    assert end.failure is not None
    assert end.failure.kind == "error_body"
    assert json.loads(end.failure.payload) == ERROR
    assert end.evidence[-1] == "error event"


def test_a_null_error_is_none() -> None:
    """Behaviour 121: ``error: null`` says nothing."""
    assert read(GEMINI, [sse(element({"text": "a"}, finish="STOP", error=None))], SSE)[1].failure is None


def test_the_last_usage_counts_once() -> None:
    """Behaviour 123: snapshots replace each other; thoughts are added to the output."""
    body = sse(
        element({"text": "a"}, tokens=(5, 1)),
        element({"text": "b"}, tokens=(5, 2)),
        element({"text": "c"}, finish="STOP", usageMetadata={"promptTokenCount": 5, "thoughtsTokenCount": 7}),
    )
    events, end = read(GEMINI, [body], SSE)
    assert end.answer.usage == Usage(input_tokens=5, output_tokens=7, reasoning_tokens=7)
    assert told(events)[3] == end.answer.usage


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"promptTokenCount": 9}, Usage(input_tokens=9, output_tokens=0)),
        (
            {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "cachedContentTokenCount": 8},
            Usage(input_tokens=9, output_tokens=7, cached_tokens=8, reasoning_tokens=3),
        ),
        ({"promptTokenCount": 9, "toolUsePromptTokenCount": 2}, Usage(input_tokens=11, output_tokens=0)),
        ({"trafficType": "ON_DEMAND"}, None),
        ({"promptTokenCount": "9"}, None),
        (None, None),
    ],
)
def test_usage(raw: Any, usage: Usage | None) -> None:
    """Zero counts are left out on the wire; what says nothing of tokens is unknown."""
    assert gemini_usage(raw) == usage


def test_thoughts_calls_and_code() -> None:
    """Behaviour 131: text after a call goes on; thoughts are reasoning, code that ran is reported, signatures stay."""
    body = sse(
        element({"text": "hm", "thought": True}),
        element({"executableCode": {"id": "e1", "language": "PYTHON", "code": "1"}}),
        element({"codeExecutionResult": {"id": "e1", "outcome": "OUTCOME_OK"}}),
        element({"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "sig"}),
        element({"functionCall": {"id": "own", "name": "g"}}, {"text": "and"}),
        element({"text": "", "thoughtSignature": "other"}, finish="STOP"),
    )
    events, end = read(GEMINI, [body], SSE)
    calls = end.answer.tool_calls
    assert calls[0] == ToolCall(id=calls[0].id, name="f", arguments={"x": 1}, raw='{"x":1}', signature="sig")
    assert calls[1] == ToolCall(id="own", name="g", arguments={}, raw="{}")
    assert events == [
        Reasoning(text="hm"),
        PreExecutedTool(phase="call", name="code_execution", id="e1"),
        PreExecutedTool(phase="result", name="code_execution", id="e1"),
        *calls,
        Text(text="and"),
    ]
    assert (end.answer.reasoning, end.answer.text, end.answer.finish_reason) == ("hm", "and", "tool_calls")
    assert len(end.answer.pre_executed) == 2


def test_made_up_ids_are_the_same_each_time_and_differ_between_answers() -> None:
    """Gemini matches calls by name, the other wires by id: one response gives the same ids whenever it is read."""

    def ids(response_id: str) -> list[str]:
        call = {"functionCall": {"name": "f", "args": {}}}
        body = sse(element(call, call, finish="STOP", responseId=response_id))
        return [made.id for made in read(GEMINI, [body], SSE)[1].answer.tool_calls]

    assert ids("r1") == ids("r1")
    assert len({*ids("r1"), *ids("r2")}) == 4


@pytest.mark.parametrize(
    ("word", "reason", "code"),
    [
        ("SAFETY", "content_filter", None),
        ("RECITATION", "content_filter", None),
        ("PROHIBITED_CONTENT", "content_filter", None),
        ("SPII", "content_filter", None),
        ("BLOCKLIST", "content_filter", None),
        ("MALFORMED_FUNCTION_CALL", "bad_request", "tool_schema"),
        ("UNEXPECTED_TOOL_CALL", "bad_request", "tool_schema"),
    ],
)
def test_finish_words_that_are_failures(word: str, reason: str, code: str | None) -> None:
    """A blocked answer and an invalid call are failures, with the message that came along, streamed or not."""
    one = element({"text": "a"}, finish=word, tokens=(3, 1))
    one["candidates"][0]["finishMessage"] = "because"
    for got in (GEMINI.decode(json.dumps(one).encode(), {}), read(GEMINI, [sse(one)], SSE)[1].failure):
        assert isinstance(got, WireFailure)
        assert (got.kind, got.reason, got.code, got.payload) == ("finish", reason, code, "because")
        assert got.answer.finish_raw == word
        assert got.answer.usage == Usage(input_tokens=3, output_tokens=1)


@pytest.mark.parametrize("word", ["SAFETY", "OTHER", "MODEL_ARMOR", "BLOCK_REASON_OF_TOMORROW"])
def test_a_blocked_prompt_is_a_content_filter(word: str) -> None:
    """A 200 without candidates and with a block reason, streamed or not."""
    one = {"promptFeedback": {"blockReason": word}, "usageMetadata": {"promptTokenCount": 4}}
    for got in (GEMINI.decode(json.dumps(one).encode(), {}), read(GEMINI, [sse(one)], SSE)[1].failure):
        assert isinstance(got, WireFailure)
        assert got.reason == "content_filter"
        assert got.answer.finish_raw == word
        assert got.answer.usage == Usage(input_tokens=4, output_tokens=0)


@pytest.mark.parametrize(("word", "reason"), [("MAX_TOKENS", "length"), ("STOP", "stop"), ("OTHER", None)])
def test_an_answer_without_parts_is_an_answer(word: str, reason: str | None) -> None:
    """Emptiness is judged elsewhere; the wire says what finished."""
    one = {"candidates": [{"content": {"role": "model"}, "finishReason": word}]}
    got = GEMINI.decode(json.dumps(one).encode(), {"x-request-id": "q"})
    assert got == Answer(finish_reason=reason, finish_raw=word, request_id="q")  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [sse(*HELLO), array(*HELLO)])
def test_a_stream_that_nobody_asked_for_is_read(body: bytes) -> None:
    """A whole body that is a stream gives the same answer."""
    got = GEMINI.decode(body, SSE)
    assert isinstance(got, Answer)
    assert got.text == "Héllo"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty_body"),
        (b" \r\n", "empty_body"),
        (b"<html>", "not_protocol"),
        (b"{}", "not_protocol"),
        (b'{"choices":[]}', "not_protocol"),
        (b"[1]", "not_protocol"),
        (b'{"candidates":[{"content":', "cut"),
        (b'{"error":{"code":429}}', "error_body"),
        (b'[{"error":{"code":429}}]', "error_body"),
        (b'{"code":7,"message":"no"}', "error_body"),
    ],
)
def test_bodies_that_are_no_answer(body: bytes, kind: str) -> None:
    """Whatever else a 200 holds is a failure of its kind."""
    got = GEMINI.decode(body, {})
    assert isinstance(got, WireFailure)
    assert got.kind == kind


def test_streams_of_something_else() -> None:
    """HTML and foreign JSON under a stream's content-type are no success."""
    for body in (b"<html>busy</html>", b'data: {"choices":[]}\n\n', b"data: nonsense\n\n", b""):
        failure = read(GEMINI, [body], SSE)[1].failure
        assert failure is not None


def test_an_element_above_the_limit_is_refused() -> None:
    """A huge element is refused with a verdict and not swallowed."""
    chunk = b"x" * 2**20
    decoder = GEMINI.decoder({}, anthropic_completion="stop_reason")
    decoder.feed(b'[{"candidates":[{"content":{"parts":[{"text":"')
    for _ in range(MAX_EVENT // len(chunk) + 1):
        decoder.feed(chunk)
    assert decoder.closed
    failure = decoder.finish().failure
    assert failure is not None
    assert failure.kind == "not_protocol"
    assert str(MAX_EVENT) in failure.detail


KEYS = ["candidates", "content", "parts", "text", "thought", "functionCall", "name", "args", "finishReason", "error"]
KEYS += ["usageMetadata", "promptTokenCount", "promptFeedback", "blockReason", "executableCode", "responseId"]
JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "STOP", "SAFETY", "f", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)


@STEADY
@given(st.lists(JSONISH, max_size=3), st.sampled_from(["sse", "array"]), CUTS)
def test_no_json_raises(values: list[Any], form: str, cuts: list[int]) -> None:
    """Whatever types stand where, the decoder gives an end and the body a verdict."""
    texts = [json.dumps(value) for value in values]
    body = (f"[{','.join(texts)}]" if form == "array" else "".join(f"data: {text}\n\n" for text in texts)).encode()
    whole, pieced = read(GEMINI, [body], SSE), read(GEMINI, pieces(body, cuts), SSE)
    assert whole[1] == pieced[1]
    GEMINI.decode(body, {})
    for value in values:
        GEMINI.decode(json.dumps(value).encode(), {})


@STEADY
@given(st.binary(max_size=300), CUTS)
def test_no_bytes_raise(body: bytes, cuts: list[int]) -> None:
    """Rubbish is a failure, never an exception and never a success."""
    assert read(GEMINI, pieces(body, cuts), SSE)[1].failure is not None
    assert isinstance(GEMINI.decode(body, {}), WireFailure)
