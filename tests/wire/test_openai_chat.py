"""Reading OpenAI chat completions: every deviation of spec wire 3.1, on fixtures of our own."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from tests.wire.feeding import every, read, told
from zc_notebooks.chat import Answer, StreamEnd, Text, ToolCall, Usage, WireEvent, WireFailure
from zc_notebooks.wire.registry import wire

CHAT = wire("openai_chat")
DONE = b"data: [DONE]\n\n"


def event(value: Any, name: str = "") -> bytes:
    """One SSE event of a JSON value."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """A chunk with one choice."""
    return event(
        {"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}]} | more
    )


def say(text: str) -> bytes:
    return chunk({"content": text})


def tool(arguments: Any = "{}", **call: Any) -> dict[str, Any]:
    """A tool call delta."""
    name = call.pop("name", None)
    return {**call, "function": {"arguments": arguments} | ({"name": name} if name else {})}


def end_of(*body: bytes, interrupted: str | None = None) -> StreamEnd:
    return read(CHAT, [b"".join(body)], interrupted=interrupted)[1]


def usage(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


HI = say("Hi")
STOP = chunk(finish="stop")


# -- how a stream ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "evidence"),
    [
        pytest.param([HI, STOP, DONE], ("finish_reason=stop", "[DONE]"), id="both signals"),
        pytest.param([HI, STOP], ("finish_reason=stop", "eof"), id="119: no [DONE]"),
        pytest.param([HI, DONE], ("[DONE]",), id="119: no finish_reason"),
        pytest.param([HI, chunk(finish=""), DONE], ("[DONE]",), id="122: an empty finish_reason is none"),
        pytest.param([HI, STOP, chunk(error=None), DONE], ("finish_reason=stop", "[DONE]"), id="121: error null"),
        pytest.param([HI, STOP, b'data: {"usa'], ("finish_reason=stop", "half event", "eof"), id="cut before usage"),
        pytest.param([HI, STOP, event(7)], ("finish_reason=stop", "malformed data", "eof"), id="junk after the signal"),
        pytest.param([HI, STOP, b"data: [DONE]"], ("finish_reason=stop", "[DONE]"), id="no line end"),
        pytest.param([HI, STOP, STOP, DONE], ("finish_reason=stop", "[DONE]"), id="twice"),
    ],
)
def test_complete(body: list[bytes], evidence: tuple[str, ...]) -> None:
    """Behaviours 118, 119, 121, 122: a signal without an error completes the stream."""
    end = end_of(*body)
    assert end.failure is None
    assert (end.answer.text, end.evidence) == ("Hi", evidence)


@pytest.mark.parametrize("body", [[], [b": keep-alive\n\n"], [DONE], [HI], [HI, b"data: {"], [HI, chunk(finish="")]])
@pytest.mark.parametrize(("interrupted", "how"), [(None, "closed"), ("idle", "stalled"), ("disconnect", "broke off")])
def test_truncated(body: list[bytes], interrupted: str | None, how: str) -> None:
    """Behaviour 118: an end without the signal is a truncation that names it; ``[DONE]`` alone is none."""
    end = end_of(*body, interrupted=interrupted)
    assert end.failure is not None
    how = "closed" if body == [DONE] and interrupted is None else how
    assert (end.failure.kind, end.failure.reason) == ("cut", "stream_cut")
    assert end.failure.detail == f"stream {how} before finish_reason: response truncated"


def test_an_idle_limit_after_the_signal_ends_the_stream_as_complete() -> None:
    """Spec 8.2: an idle limit after the signal is no failure."""
    end = end_of(HI, STOP, interrupted="idle")
    assert (end.failure, end.evidence) == (None, ("finish_reason=stop", "idle"))


ERROR = {"message": "no more", "code": 503}


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(event({"error": ERROR}), id="top level"),
        pytest.param(chunk(error=ERROR, finish="error"), id="in a chunk"),
        pytest.param(event({"error": ERROR}, "error"), id="error event"),
        pytest.param(event(ERROR, "error"), id="flat error event"),
        pytest.param(b"event: error\ndata: no more\n\n", id="error event of plain text"),
        pytest.param(b'error: {"message":"no more"}\n\n', id="error field"),
        pytest.param(event({"object": "error", **ERROR}), id="object error"),
        pytest.param(event({"message": "no more", "code": 1}), id="flat"),
        pytest.param(event({"choices": [{"index": 0, "delta": {}, "error": ERROR}]}), id="in a choice"),
        pytest.param(event({"choices": [], "x_groq": {"error": "no more"}}), id="x_groq"),
        pytest.param(event({"choices": [], "base_resp": {"status_code": 1, "status_msg": "no more"}}), id="base_resp"),
    ],
)
@pytest.mark.parametrize(
    "before", [[], [event({"choices": []})], [HI], [HI, STOP]], ids=["1st", "2nd", "text", "finish"]
)
@pytest.mark.parametrize("after", [[], [DONE], [HI, STOP, DONE]], ids=["eof", "done", "more"])
def test_in_band_errors(error: bytes, before: list[bytes], after: list[bytes]) -> None:
    """Behaviour 121: an error object anywhere is an error, with the provider's text, whatever follows."""
    decoder = CHAT.decoder({}, anthropic_completion="stop_reason")
    decoder.feed(b"".join([*before, error]))
    assert (decoder.closed, decoder.signalled) == (True, False)
    assert decoder.feed(b"".join(after)) == []
    failure = decoder.finish().failure
    assert failure is not None
    assert failure.kind == "error_body"
    assert "no more" in failure.payload
    assert failure.answer.text == ("Hi" if HI in before else "")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("error", "server_error"),
        ("network_error", "server_error"),
        ("insufficient_system_resource", "capacity"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("model_context_window_exceeded", "context_window"),
        ("MALFORMED_FUNCTION_CALL", "bad_request"),
    ],
)
def test_finish_words_that_are_failures(word: str, reason: str) -> None:
    """Behaviour 122: such a word fails a stream and a whole body alike; what had come and its usage are kept."""
    streamed = end_of(HI, chunk(finish=word, usage=usage(3, 1)), DONE).failure
    whole = CHAT.decode(body({"content": "Hi"}, word, usage=usage(3, 1)), {})
    for failure in (streamed, whole):
        assert isinstance(failure, WireFailure)
        assert (failure.kind, failure.reason) == ("finish", reason)
        assert (failure.answer.text, failure.answer.finish_raw) == ("Hi", word)
        assert failure.answer.usage == Usage(input_tokens=3, output_tokens=1)


def test_a_malformed_line_is_a_failure() -> None:
    """A data line that is no JSON ends the stream as not the protocol, with the line as payload."""
    decoder = CHAT.decoder({}, anthropic_completion="stop_reason")
    decoder.feed(HI + b"data: {broken\n\n" + STOP)
    assert decoder.closed
    failure = decoder.finish().failure
    assert failure is not None
    assert (failure.kind, failure.payload.strip(), failure.answer.text) == ("not_protocol", "{broken", "Hi")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error":{"message":"bad key"}}', "error_body"),
        (b'[{"error":{"message":"bad key"}}]', "error_body"),
        (b"<html>bad key</html>", "not_protocol"),
        (b'"bad key"', "not_protocol"),
        (b'{"error":{"message":"bad k', "cut"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_failure_under_a_streams_content_type(body: bytes, kind: str, size: int) -> None:
    """Spec wire 3.0: bare JSON or HTML in place of a stream is what its first byte says."""
    _, end = read(CHAT, every(body, size), {"content-type": "text/event-stream"})
    assert end.failure is not None
    assert end.failure.kind == kind
    assert kind == "cut" or "bad key" in end.failure.payload


def test_a_whole_completion_in_place_of_a_stream() -> None:
    """A server that ignores ``stream`` is read all the same, with events."""
    events, end = read(CHAT, [body({"content": "Hi"}, "stop")])
    assert (end.failure, end.answer.text) == (None, "Hi")
    assert events == [Text(text="Hi")]


# -- text, reasoning, usage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delta", "text", "reasoning"),
    [
        ({"content": None, "role": "assistant"}, "", ""),
        ({"reasoning_content": "r"}, "", "r"),
        ({"reasoning": "r"}, "", "r"),
        ({"reasoning": "r", "reasoning_content": "r"}, "", "r"),
        ({"reasoning": "r", "reasoning_details": [{"type": "reasoning.text", "text": "r"}]}, "", "r"),
        ({"reasoning_details": [{"type": "reasoning.summary", "summary": "s"}, {"text": "t"}]}, "", "st"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "r"}]}]}, "", "r"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "reference"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": 5, "reasoning": {"odd": 1}}, "", ""),
        ({"content": "a", "tool_calls": "odd"}, "a", ""),
    ],
)
def test_text_and_reasoning(delta: dict[str, Any], text: str, reasoning: str) -> None:
    """Every place where text and reasoning are found, the same for a chunk and a whole message."""
    events, end = read(CHAT, [chunk(delta, "stop")])
    assert (end.answer.text, end.answer.reasoning) == told(events)[:2] == (text, reasoning)
    whole = CHAT.decode(body(delta, "stop"), {})
    assert isinstance(whole, Answer)
    assert (whole.text, whole.reasoning) == (text, reasoning)


def test_odd_types_are_no_error() -> None:
    """Numbers for ids, a list for a model, a float index: the text still comes."""
    odd = {
        "id": 7,
        "model": ["m"],
        "created": "x",
        "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": 3}],
    }
    end = end_of(event(odd), event({"id": "c2", "model": "m-2", "choices": []}), DONE)
    assert (end.failure, end.answer.text, end.answer.model_reported, end.answer.request_id) == (None, "Hi", "m-2", "c2")


def test_only_choice_0_counts() -> None:
    """Other choices are neither text nor signal."""
    other = event({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]})
    end = end_of(HI, other)
    assert end.failure is not None
    assert end.answer.text == "Hi"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([chunk(finish="stop", usage=usage(1, 2)), event({"choices": [], "usage": usage(9, 4)})], (9, 4, None, None)),
        (
            [chunk(finish="stop"), event({"choices": [], "usage": usage(9, 4)}), event({"choices": [], "usage": None})],
            (9, 4, None, None),
        ),
        ([chunk(finish="stop", x_groq={"usage": usage(9, 4)})], (9, 4, None, None)),
        ([chunk(finish="stop", usage=usage(9, 4, prompt_tokens_details={"cached_tokens": 5}))], (9, 4, 5, None)),
        ([chunk(finish="stop", usage=usage(9, 4, prompt_cache_hit_tokens=5))], (9, 4, 5, None)),
        ([chunk(finish="stop", usage=usage(9, 4, cached_tokens=5))], (9, 4, 5, None)),
        (
            [
                chunk(
                    finish="stop", usage=usage(9, 4, total_tokens=13, completion_tokens_details={"reasoning_tokens": 3})
                )
            ],
            (9, 4, None, 3),
        ),
        (
            [
                chunk(
                    finish="stop", usage=usage(9, 4, total_tokens=16, completion_tokens_details={"reasoning_tokens": 3})
                )
            ],
            (9, 7, None, 3),
        ),
    ],
)
def test_usage(parts: list[bytes], expected: tuple[int | None, ...]) -> None:
    """Behaviour 123: the last snapshot counts; input includes cached, output includes reasoning (xAI leaves it out)."""
    events, end = read(CHAT, [b"".join(parts) + DONE])
    got = end.answer.usage
    assert got is not None
    assert (got.input_tokens, got.output_tokens, got.cached_tokens, got.reasoning_tokens) == expected
    assert told(events)[3] == got


@pytest.mark.parametrize("raw", [None, {}, {"total_tokens": 0}, {"prompt_tokens": -1}, {"prompt_tokens": "9"}, [1], 5])
def test_unknown_usage_is_none(raw: Any) -> None:
    """Unknown is not zero."""
    end = end_of(HI, chunk(finish="stop", usage=raw), DONE)
    assert (end.failure, end.answer.usage) == (None, None)


# -- tool calls -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(
            [
                [tool("", index=0, id="a", type="function", name="f")],
                [tool('{"x":', index=0)],
                [tool("1}", index=0)],
                [tool("", index=1, id="b", name="g")],
                [tool("{}", index=1)],
            ],
            id="by index",
        ),
        pytest.param([[tool('{"x":1}', id="a", name="f")], [tool("{}", id="b", name="g")]], id="whole, without index"),
        pytest.param([[tool('{"x":1}', id="a", name="f"), tool("{}", id="b", name="g")]], id="two whole in one"),
        pytest.param(
            [[tool('{"x":1}', index=0, id="a", name="f")], [tool("{}", index=0, id="b", name="g")]], id="all at index 0"
        ),
        pytest.param([[tool('{"x":', id="a", name="f")], [tool("1}")], [tool("{}", id="b", name="g")]], id="no index"),
        pytest.param(
            [[tool('{"x":', id="a", name="f"), tool("{", id="b", name="g")], [tool("1}"), tool("}")]], id="by place"
        ),
        pytest.param(
            [
                [tool('{"x":', index=0, id="a", name="f"), tool("{", index=1, id="b", name="g")],
                [tool("}", index=1, id="b", name="g"), tool("1}", index=0, id="a", name="f")],
            ],
            id="ids and names repeated, interleaved",
        ),
        pytest.param([[tool({"x": 1}, index=0, id="a", name="f"), tool({}, index=1, id="b", name="g")]], id="objects"),
    ],
)
def test_tool_calls(parts: list[list[dict[str, Any]]]) -> None:
    """Calls are put together whatever keys a server forgets, and come out once, at the signal."""
    stream = [chunk({"tool_calls": part}) for part in parts]
    decoder = CHAT.decoder({}, anthropic_completion="stop_reason")
    assert decoder.feed(b"".join(stream)) == []
    events = decoder.feed(chunk(finish="tool_calls") + DONE)
    calls = decoder.finish().answer.tool_calls
    assert tuple(events) == calls
    assert [(call.id, call.name, call.arguments) for call in calls] == [("a", "f", {"x": 1}), ("b", "g", {})]


def test_text_after_a_tool_call_is_forwarded() -> None:
    """Behaviour 131."""
    events, end = read(
        CHAT, [chunk({"tool_calls": [tool(index=0, id="a", name="f")]}, "tool_calls") + say("more") + DONE]
    )
    assert [type(one) for one in events] == [ToolCall, Text]
    assert end.answer.text == "more"


@pytest.mark.parametrize(
    ("last", "kept"),
    [
        pytest.param(b"", None, id="124: cut"),
        pytest.param(event({"error": ERROR}), None, id="error"),
        pytest.param(chunk(finish="length"), [], id="token limit"),
        pytest.param(chunk(finish="tool_calls"), None, id="124: cut, and called whole"),
        pytest.param(chunk({"tool_calls": [tool("}", index=0)]}, "tool_calls"), [None], id="broken but whole"),
    ],
)
def test_half_tool_calls(last: bytes, kept: list[None] | None) -> None:
    """Behaviour 124: a half call is never returned; one that is whole and no JSON is, with its raw text."""
    events, end = read(CHAT, [chunk({"tool_calls": [tool('{"x":', index=0, id="a", name="f")]}) + last])
    calls = [call.arguments for call in end.answer.tool_calls]
    assert calls == (kept or [])
    assert len([one for one in events if isinstance(one, ToolCall)]) == len(calls)
    assert (end.failure is not None) == (kept is None)


def test_tool_calls_without_a_finish_reason() -> None:
    """Recorded at one router: ``[DONE]`` alone completes a call."""
    events, end = read(CHAT, [chunk({"tool_calls": [tool("{}", index=0, id="a", name="f")]}) + DONE])
    assert [call.name for call in end.answer.tool_calls] == ["f"]
    assert list(events) == list(end.answer.tool_calls)


def test_calls_with_finish_reason_stop_are_tool_calls() -> None:
    """One vocabulary: ``stop`` beside calls is ``tool_calls``; the provider's word is kept."""
    answer = end_of(chunk({"tool_calls": [tool(index=0, id="a", name="f")]}, "stop")).answer
    assert (answer.finish_reason, answer.finish_raw) == ("tool_calls", "stop")


def test_the_old_function_call() -> None:
    """``function_call`` of before 2024 is a tool call with an id of our own."""
    whole = CHAT.decode(
        body({"content": None, "function_call": {"name": "f", "arguments": '{"x":1}'}}, "function_call"), {}
    )
    assert isinstance(whole, Answer)
    assert [(call.name, call.arguments, bool(call.id)) for call in whole.tool_calls] == [("f", {"x": 1}, True)]


def test_googles_thought_signature_travels_with_the_call() -> None:
    """The OpenAI-compatible endpoint of Gemini hides it in ``extra_content``."""
    call = tool(index=0, id="a", name="f") | {"extra_content": {"google": {"thought_signature": "s"}}}
    assert end_of(chunk({"tool_calls": [call]}, "tool_calls")).answer.tool_calls[0].signature == "s"


# -- whole bodies -----------------------------------------------------------------------------------------------------


def body(message: dict[str, Any] | None, finish: str | None, **more: Any) -> bytes:
    """A whole completion."""
    choice = {"index": 0, "finish_reason": finish} | ({} if message is None else {"message": message})
    return json.dumps({"id": "c1", "model": "m-1", "choices": [choice]} | more).encode()


def test_a_whole_completion() -> None:
    """Text, model, finish word and the request id of the header."""
    got = CHAT.decode(b"\n\n \r\n" + body({"content": "Hi"}, "stop", usage=usage(3, 1)), {"x-request-id": "r1"})
    assert got == Answer(
        text="Hi",
        finish_reason="stop",
        finish_raw="stop",
        usage=Usage(input_tokens=3, output_tokens=1),
        model_reported="m-1",
        request_id="r1",
    )


@pytest.mark.parametrize(
    ("raw", "kind", "reason"),
    [
        (b"", "empty_body", "stream_cut"),
        (b"\n \r\n", "empty_body", "stream_cut"),
        (b"<html>sign in</html>", "not_protocol", None),
        (b"upstream sent too big header", "not_protocol", None),
        (b"[]", "not_protocol", None),
        (b"{}", "not_protocol", None),
        (b'{"choices":null}', "not_protocol", None),
        (b'{"choices":[{"mess', "cut", "stream_cut"),
        (b'{"error":{"message":"x"}}', "error_body", None),
        (b'{"error":"x","choices":[]}', "error_body", None),
        (b'[{"error":{"message":"x"}}]', "error_body", None),
        (b'"Too many requests"', "error_body", None),
        (b'{"object":"error","message":"x"}', "error_body", None),
        (b'{"detail":"x"}', "error_body", None),
        (b'{"errors":[{"message":"x"}],"success":false}', "error_body", None),
        (b'{"choices":null,"base_resp":{"status_code":1008,"status_msg":"x"}}', "error_body", None),
        (b'{"choices":[{"error":{"message":"x"},"finish_reason":"error"}]}', "error_body", None),
    ],
)
def test_bodies_that_are_no_answer(raw: bytes, kind: str, reason: str | None) -> None:
    """A 2xx that is no completion is a failure of the right kind with one sentence."""
    got = CHAT.decode(raw, {})
    assert isinstance(got, WireFailure)
    assert (got.kind, got.reason) == (kind, reason)
    assert got.detail


def test_a_good_base_resp_is_no_error() -> None:
    """MiniMax sends ``status_code`` 0 with every answer."""
    got = CHAT.decode(body({"content": "Hi"}, "stop", base_resp={"status_code": 0, "status_msg": ""}), {})
    assert isinstance(got, Answer)


def test_a_refusal_is_a_content_filter() -> None:
    """``refusal`` without text fails; its words are the payload and never the sentence."""
    for got in (
        CHAT.decode(body({"refusal": "I can't."}, "stop"), {}),
        end_of(chunk({"refusal": "I can't."}, "stop")).failure,
    ):
        assert isinstance(got, WireFailure)
        assert (got.reason, got.code, got.payload) == ("content_filter", "refusal", "I can't.")
        assert "can't" not in got.detail


# -- size -------------------------------------------------------------------------------------------------------------


def test_30_000_chunks_in_constant_memory() -> None:
    """What a long stream holds is its text: no chunk and no event stays behind."""

    def held(chunks: int) -> int:
        decoder = CHAT.decoder({}, anthropic_completion="stop_reason")
        tracemalloc.start()
        for _ in range(chunks):
            decoder.feed(HI)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(decoder.finish(interrupted="idle").answer.text) == 2 * chunks
        return size

    assert held(30_000) - held(300) < 30_000 * 70  # a short string and its place in a list, for each chunk


def test_events_are_those_of_the_chunk() -> None:
    """Deltas are forwarded as they came, thinking marks too."""
    decoder = CHAT.decoder({}, anthropic_completion="stop_reason")
    got: list[list[WireEvent]] = [decoder.feed(one) for one in (say("<think>a"), b": x\n\n", say("</think>b"), STOP)]
    assert got == [[Text(text="<think>a")], [], [Text(text="</think>b")], []]


# -- what servers forget ----------------------------------------------------------------------------------------------

ONE, TWO = '{"n":1}', '{"n":2}'


@pytest.mark.parametrize("ids", [("a", "b"), ("a", "a"), ("", ""), (None, None)])
@pytest.mark.parametrize("index", [None, 0])
@pytest.mark.parametrize("names", [("f", "f"), ("f", "g")])
def test_whole_calls_stay_apart(ids: tuple[Any, Any], index: int | None, names: tuple[str, str]) -> None:
    """Calls that come whole are as many as were sent, whatever ids and places a server gives them (spec wire 3.1)."""
    calls = [tool(raw, id=id_, index=index, name=name) for id_, raw, name in zip(ids, (ONE, TWO), names, strict=True)]
    whole = CHAT.decode(body({"content": None, "tool_calls": calls}, "tool_calls"), {})
    apart = end_of(*(chunk({"tool_calls": [call]}) for call in calls), chunk(finish="tool_calls"), DONE).answer
    together = end_of(chunk({"tool_calls": calls}, "tool_calls"), DONE).answer
    for answer in (whole, apart, together):
        assert isinstance(answer, Answer)
        assert [(call.name, call.raw) for call in answer.tool_calls] == [*zip(names, (ONE, TWO), strict=True)]


def test_a_call_said_twice_is_one() -> None:
    """A server that repeats a whole call, and one that tells the whole message once more at its end (MiniMax)."""
    call = tool(ONE, id="a", index=0, name="f")
    message = {"index": 0, "message": {"content": "", "reasoning_content": "hm", "tool_calls": [call]}}
    ended = event({"choices": [message | {"finish_reason": "tool_calls"}]})
    thought = chunk({"reasoning_content": "hm"})
    for stream in ([chunk({"tool_calls": [call]}), chunk({"tool_calls": [call]}, "tool_calls")],
                   [thought, chunk({"tool_calls": [call]}), ended], [thought, ended]):  # fmt: skip
        answer = end_of(*stream).answer
        assert ([one.raw for one in answer.tool_calls], answer.reasoning) in (([ONE], ""), ([ONE], "hm"))


def test_what_only_the_message_at_the_end_has() -> None:
    """Text that came in pieces is not read again; a call that did not come before is."""
    message = {"content": "Hi", "refusal": None, "tool_calls": [tool(ONE, id="a", name="f")]}
    ended = event({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    answer = end_of(HI, ended).answer
    assert (answer.text, [call.raw for call in answer.tool_calls]) == ("Hi", [ONE])
    said = event({"choices": [{"index": 0, "message": {"refusal": "no"}, "finish_reason": "stop"}]})
    failure = end_of(chunk({"refusal": "no"}), said).failure
    assert failure is not None
    assert failure.payload == "no"


def test_a_refusal_that_was_cut_is_cut() -> None:
    """Spec 8.2: the end of file without a signal is a truncation, whatever came before it."""
    failure = end_of(chunk({"refusal": "I can"})).failure
    assert failure is not None
    assert (failure.kind, failure.reason) == ("cut", "stream_cut")


def test_usage_beside_an_error_of_a_whole_body() -> None:
    """What a failing body says of finish word, usage and text is kept, as in a stream."""
    known = {"usage": usage(5, 1)}
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "error"}
    for raw in ({"choices": [choice], "error": {"code": 502}}, {"choices": [choice | {"error": {"code": 502}}]}):
        got = CHAT.decode(json.dumps(raw | known).encode(), {})
        assert isinstance(got, WireFailure)
        answer = got.answer
        assert (got.kind, answer.text, answer.finish_raw) == ("error_body", "Hi", "error")
        assert answer.usage == Usage(input_tokens=5, output_tokens=1)


def test_every_cut_of_a_whole_body_is_a_cut() -> None:
    """Also where the last byte that came is a closing brace of something inside."""
    raw = body({"content": "a [1] {x}", "tool_calls": [tool(ONE, id="a", name="f")]}, "stop", usage=usage(1, 1))
    for stop in range(1, len(raw)):
        got = CHAT.decode(raw[:stop], {})
        assert isinstance(got, WireFailure)
        assert (got.kind, got.reason) == ("cut", "stream_cut")


@pytest.mark.parametrize("before", [b": keep-alive\n\n", b": one\n: two\n", b"\n: x\n\n\n"])
def test_comments_before_json(before: bytes) -> None:
    """Comments that keep a connection open come before a whole body, a whole body for a stream, and a bare error."""
    whole = before + body({"content": "Hi"}, "stop")
    got = CHAT.decode(whole, {})
    assert isinstance(got, Answer)
    assert (got.text, end_of(whole).answer.text) == ("Hi", "Hi")
    for start in (before, before + HI):
        failure = end_of(start, b'{"error": {"message": "overloaded"}}').failure
        assert failure is not None
        assert failure.kind == "error_body"


def test_usage_in_a_choice() -> None:
    """Moonshot counts inside the choice; a count beside the choices is the later one."""
    counted = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage(9, 4)}]})
    assert end_of(HI, counted, DONE).answer.usage == Usage(input_tokens=9, output_tokens=4)
    assert end_of(HI, counted, event({"choices": [], "usage": usage(9, 5)})).answer.usage == Usage(
        input_tokens=9, output_tokens=5
    )


def test_an_error_event_without_a_word() -> None:
    """An empty error event is an error all the same, and no cut."""
    failure = end_of(HI, b"event: error\ndata:\n\n").failure
    assert failure is not None
    assert (failure.kind, failure.reason, bool(failure.payload)) == ("error_body", None, True)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_stream_without_blank_lines(end: bytes) -> None:
    """Events that only line ends part are told apart; a cut is a cut there too, and what came is kept."""
    body = b"".join(one.replace(b"\n\n", end) for one in (HI, say(" you"), STOP, DONE))
    for size in (1, 7, 1000):
        end_ = read(CHAT, every(body, size))[1]
        assert (end_.failure, end_.answer.text, end_.evidence) == (None, "Hi you", ("finish_reason=stop", "[DONE]"))
    cut = end_of(body.partition(b'"stop"')[0])
    assert (cut.failure is not None and cut.failure.kind, cut.answer.text) == ("cut", "Hi you")


def test_problem_json_in_a_stream() -> None:
    """A status in place of an error object (NVIDIA) is an error."""
    failure = end_of(event({"status": 429, "title": "Too Many Requests"})).failure
    assert failure is not None
    assert failure.kind == "error_body"


USED = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@pytest.mark.parametrize(
    ("result", "text", "calls"),
    [
        ({"response": "Hi", "tool_calls": [], "usage": USED}, "Hi", []),
        ({"response": {"a": 1}, "usage": USED}, '{"a":1}', []),
        ({"response": None, "tool_calls": [{"name": "f", "arguments": {"a": 1}}], "usage": USED}, "", ['{"a":1}']),
        ({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": USED}, "Hi", []),
    ],
)  # fmt: skip
def test_cloudflares_envelope(result: dict[str, Any], text: str, calls: list[str]) -> None:
    """What a model said natively is an answer, whichever form it has inside the envelope."""
    body = {"result": result, "success": True, "errors": [], "messages": []}
    got = CHAT.decode(json.dumps(body).encode(), {})
    assert isinstance(got, Answer)
    assert (got.text, [call.raw for call in got.tool_calls]) == (text, calls)
    assert got.usage == Usage(input_tokens=3, output_tokens=2)


def test_cloudflares_envelope_of_a_failure() -> None:
    """One that says it failed is none."""
    body = {"result": {}, "success": False, "errors": [{"code": 5007, "message": "No such model"}], "messages": []}
    assert isinstance(CHAT.decode(json.dumps(body).encode(), {}), WireFailure)


def test_cloudflares_own_stream() -> None:
    """Its events have the text in ``response``; ``[DONE]`` is the only signal, and without it the stream is cut."""
    parts = [event({"response": "H", "p": "abc"}), event({"response": "i"}), event({"response": "", "usage": USED})]
    events, end = read(CHAT, [*parts, DONE])
    assert (end.failure, end.answer.text, told(events)[0]) == (None, "Hi", "Hi")
    assert end.answer.usage == Usage(input_tokens=3, output_tokens=2)
    _, end = read(CHAT, parts[:2])
    assert end.failure is not None
    assert (end.failure.kind, end.answer.text) == ("cut", "Hi")
