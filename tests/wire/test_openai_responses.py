"""OpenAI Responses: reading streams and bodies, and what a request looks like."""

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
)
from zc_notebooks.records import Capabilities
from zc_notebooks.wire.registry import wire

RESPONSES = wire("openai_responses")
DONE = b"data: [DONE]\n\n"
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def nameless(kind: str, **fields: Any) -> bytes:
    """As OpenRouter sends it: no ``event`` line."""
    return event(kind, **fields).split(b"\n", 1)[1]


def response(status: str, **fields: Any) -> dict[str, Any]:
    return {
        "object": "response",
        "id": "resp_1",
        "model": "m-1",
        "status": status,
        "error": None,
        "output": [],
    } | fields


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": "i1", "role": "assistant", "content": list(content)}


def call(id_: str = "fc_1", **fields: Any) -> dict[str, Any]:
    known = {"type": "function_call", "id": id_, "call_id": f"call_{id_}", "name": "f", "arguments": '{"x":1}'}
    return {**known, "status": "completed", **fields}


def text(words: str) -> bytes:
    return event("response.output_text.delta", delta=words)


RAW_USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 5},
    "output_tokens": 4,
    "output_tokens_details": {"reasoning_tokens": 3},
}
USAGE = Usage(input_tokens=9, output_tokens=4, cached_tokens=5, reasoning_tokens=3)
CREATED = event("response.created", response=response("in_progress"))
TEXT_DONE = event("response.output_text.done", text="Hi")
HI = [CREATED, event("response.in_progress", response=response("in_progress")), text("Hi"), TEXT_DONE]


def ends(kind: str, status: str, **fields: Any) -> bytes:
    return event(f"response.{kind}", response=response(status, **fields))


def end_of(*body: bytes, interrupted: str | None = None) -> StreamEnd:
    return read(RESPONSES, [b"".join(body)], interrupted=interrupted)[1]


@pytest.mark.parametrize(
    ("tail", "finish", "raw", "evidence"),
    [
        ([ends("completed", "completed")], "stop", "completed", ("response.completed",)),
        ([ends("done", "completed")], "stop", "completed", ("response.done completed",)),
        ([event("response.done")], "stop", "completed", ("response.done completed",)),
        (
            [ends("incomplete", "incomplete", incomplete_details={"reason": "max_output_tokens"})],
            "length",
            "incomplete:max_output_tokens",
            ("response.incomplete incomplete:max_output_tokens",),
        ),
        ([DONE], None, None, ("[DONE]",)),
        ([ends("completed", "completed"), DONE], "stop", "completed", ("response.completed",)),
    ],
)
def test_complete(tail: list[bytes], finish: str | None, raw: str | None, evidence: tuple[str, ...]) -> None:
    """Behaviours 118 and 122: each terminal event, and ``[DONE]``."""
    end = end_of(*HI, *tail)
    assert end.failure is None
    assert (end.answer.text, end.answer.finish_reason, end.answer.finish_raw) == ("Hi", finish, raw)
    assert (end.answer.model_reported, end.answer.request_id) == ("m-1", "resp_1")
    assert end.evidence == evidence


@pytest.mark.parametrize("body", [[], [DONE], [CREATED], HI], ids=["nothing", "DONE alone", "created", "text done"])
def test_truncated(body: list[bytes]) -> None:
    """Behaviour 118: no terminal event is a truncation, also when the text is done."""
    end = end_of(*body)
    assert end.failure is not None
    assert end.failure.detail == "stream closed before response.completed: response truncated"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([event("error", error={"code": "no_money", "message": "x"})], id="nested"),
        pytest.param([event("error", code="no_money", message="x", param=None)], id="flat"),
        pytest.param([nameless("error", code="no_money", message="x")], id="nameless"),
        pytest.param([ends("failed", "failed", error={"code": "no_money", "message": "x"})], id="failed alone"),
        pytest.param(
            [event("error", error={"code": "no_money"}), ends("failed", "failed", error={"code": "other"})], id="both"
        ),
        pytest.param([event("error", error={"code": "no_money"}), DONE], id="before DONE"),
        pytest.param([b'data: {"error":{"code":"no_money"}}\n\n'], id="bare error object"),
    ],
)
@pytest.mark.parametrize("before", [[], HI], ids=["first", "after text"])
@pytest.mark.parametrize("size", [1, 10_000])
def test_errors(body: list[bytes], before: list[bytes], size: int) -> None:
    """Behaviour 121: both shapes of the error event and ``response.failed``; the first error counts."""
    _, end = read(RESPONSES, every(b"".join([*before, *body]), size))
    assert end.failure is not None
    assert end.failure.kind == "error_body"
    assert "no_money" in end.failure.payload
    assert end.failure.answer.text == ("Hi" if before else "")


def test_a_content_filter() -> None:
    """Behaviour 122: ``response.incomplete`` for a content filter is one, with its usage."""
    details = {"reason": "content_filter"}
    end = end_of(*HI, ends("incomplete", "incomplete", incomplete_details=details, usage=RAW_USAGE))
    assert end.failure is not None
    assert (end.failure.kind, end.failure.reason) == ("finish", "content_filter")
    assert end.failure.answer.usage == USAGE


@pytest.mark.parametrize("status", ["cancelled", "incomplete"])
def test_other_ends_are_failures(status: str) -> None:
    """A response cancelled, or incomplete for no known reason, is no answer."""
    assert end_of(*HI, ends("incomplete" if status == "incomplete" else "cancelled", status)).failure is not None
    assert isinstance(RESPONSES.decode(json.dumps(response(status)).encode(), {}), WireFailure)


@pytest.mark.parametrize("make", [event, nameless])
def test_reasoning_and_text(make: Any) -> None:
    """Both reasoning events are reasoning; the whole output in the last event is not taken twice."""
    output = [
        {"type": "reasoning", "id": "r1", "summary": [{"text": "ab"}]},
        message({"type": "output_text", "text": "Hi"}),
    ]
    body = [
        b": \n\n",
        make("response.created", response=response("in_progress")),
        make("response.reasoning_summary_text.delta", delta="a"),
        make("response.reasoning_text.delta", delta="b"),
        make("response.output_text.delta", delta="H"),
        make("response.output_text.delta", delta="i"),
        make("response.output_text.delta", delta=None),
        make("response.output_item.done", item=output[1]),
        make("response.completed", response=response("completed", output=output, usage=RAW_USAGE)),
    ]
    events, end = read(RESPONSES, body)
    assert end.failure is None
    assert told(events) == ("Hi", "ab", [], USAGE)
    assert (end.answer.text, end.answer.reasoning, end.answer.usage) == ("Hi", "ab", USAGE)


def test_output_that_came_in_no_delta() -> None:
    """A server that sends only the last event is read all the same, with events."""
    output = [
        {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "ab"}]},
        message({"type": "output_text", "text": "Hi"}),
        call(),
    ]
    events, end = read(RESPONSES, [ends("completed", "completed", output=output)])
    assert told(events)[:2] == ("Hi", "ab")
    assert end.answer.tool_calls == tuple(told(events)[2])


def test_a_refusal() -> None:
    """A refusal without text is a content filter, streamed or not."""
    part = message({"type": "refusal", "refusal": "I can't."})
    streamed = end_of(event("response.refusal.delta", delta="I can't."), ends("completed", "completed", output=[part]))
    whole = RESPONSES.decode(json.dumps(response("completed", output=[part])).encode(), {})
    for failure in (streamed.failure, whole):
        assert isinstance(failure, WireFailure)
        assert (failure.reason, failure.payload) == ("content_filter", "I can't.")


def test_tool_calls() -> None:
    """A call comes out once, when its item is done, with the id that its result must name."""
    body = [
        CREATED,
        event("response.output_item.added", item=call(arguments="", status="in_progress")),
        event("response.function_call_arguments.delta", item_id="fc_1", delta='{"x":1}'),
        event("response.function_call_arguments.done", item_id="fc_1", arguments='{"x":1}'),
        event("response.output_item.done", item=call()),
        ends("completed", "completed", output=[call()]),
    ]
    events, end = read(RESPONSES, body)
    known = ToolCall(id="call_fc_1", name="f", arguments={"x": 1}, raw='{"x":1}')
    assert told(events)[2] == list(end.answer.tool_calls) == [known]
    assert (end.answer.finish_reason, end.answer.finish_raw) == ("tool_calls", "completed")


@pytest.mark.parametrize(
    "body",
    [
        [event("response.output_item.added", item=call(status="in_progress"))],
        [
            event("response.output_item.done", item=call(status="incomplete", arguments='{"x":')),
            ends("incomplete", "incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ],
    ],
)
def test_half_tool_calls_are_dropped(body: list[bytes]) -> None:
    """Behaviour 124: neither an end of file nor a token limit inside the arguments returns a call."""
    events, end = read(RESPONSES, [CREATED, *body])
    assert (told(events)[2], end.answer.tool_calls) == ([], ())


def test_tools_of_the_provider() -> None:
    """A server tool is announced when it begins and again with its result."""
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    body = [
        event("response.output_item.added", item=item | {"status": "in_progress"}),
        event("response.output_item.done", item=item),
        ends("completed", "completed", output=[item]),
    ]
    events, end = read(RESPONSES, body)
    assert [one for one in events if isinstance(one, PreExecutedTool)] == [
        PreExecutedTool(phase="call", name="web_search", id="ws_1"),
        PreExecutedTool(phase="result", name="web_search", id="ws_1"),
    ]
    assert [(one.phase, one.raw) for one in end.answer.pre_executed] == [("call", '{"query":"x"}'), ("result", "")]


def test_a_whole_body() -> None:
    """The same content, not streamed; and in place of a stream."""
    body = response("completed", output=[message({"type": "output_text", "text": "Hi"}), call()], usage=RAW_USAGE)
    raw = json.dumps(body).encode()
    got = RESPONSES.decode(raw, {"x-request-id": "r1"})
    assert isinstance(got, Answer)
    assert (got.text, got.finish_raw, got.usage, got.request_id) == ("Hi", "completed", USAGE, "r1")
    assert [one.arguments for one in got.tool_calls] == [{"x": 1}]
    _, streamed = read(RESPONSES, [raw])
    assert (streamed.failure, streamed.answer.text) == (None, "Hi")


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"error":{"message":"x"}}', "error_body"),
        (json.dumps(response("failed", error={"message": "x"})).encode(), "error_body"),
        (json.dumps(response("queued")).encode(), "cut"),
        (b'{"detail":"x"}', "error_body"),
        (b"{}", "not_protocol"),
        (b"<html>", "not_protocol"),
        (b"", "empty_body"),
        (b'{"output":[{', "cut"),
    ],
)
def test_bodies_that_are_no_answer(raw: bytes, kind: str) -> None:
    """A 2xx that is no finished response is a failure of the right kind."""
    got = RESPONSES.decode(raw, {})
    assert isinstance(got, WireFailure)
    assert got.kind == kind


# -- requests -----------------------------------------------------------------------------------------------------


def to(family: str = "openai", **more: Any) -> Any:
    return target("openai_responses", family=family, **{"base_url": "https://h.test/v1", **more})


@pytest.mark.parametrize(
    ("family", "base_url", "url"),
    [
        ("openai", "https://h.test/v1", "https://h.test/v1/responses"),
        ("azure", "https://h.test/openai/v1/", "https://h.test/openai/v1/responses"),
        ("azure", "https://h.test", "https://h.test/openai/v1/responses"),
    ],
)
def test_url(family: str, base_url: str, url: str) -> None:
    """The path is appended to the base URL's path."""
    assert encode(say(), to(family, base_url=base_url))[1].request.url == url


def test_settings() -> None:
    """Nothing is stored; the settings under this wire's names; what it has no word for is noted."""
    asked = say(
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        reasoning_effort="low",
        stop=("a",),
        seed=1,
        response_format=JsonSchema(name="answer", schema=CITY),
    )
    body, encoded = encode(asked, to(), stream=True)
    assert body == {
        "model": "m",
        "input": [{"role": "user", "content": "hello"}],
        "store": False,
        "stream": True,
        "max_output_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": CITY, "strict": True}},
    }
    assert encoded.notes == ("dropped stop", "dropped seed")


@pytest.mark.parametrize(
    ("family", "model", "settings", "sent", "notes"),
    [
        ("openai", "m", {"max_tokens": 5}, {"max_output_tokens": 16}, ("max_tokens raised to 16",)),
        ("xai", "m", {"max_tokens": 5}, {"max_output_tokens": 5}, ()),
        ("openai", "gpt-5.5", {"temperature": 0.5}, {}, ("dropped temperature",)),
    ],
)
def test_families_differ(
    family: str, model: str, settings: dict[str, Any], sent: dict[str, Any], notes: tuple[str, ...]
) -> None:
    """OpenAI's own limits are kept, others' are not."""
    body, encoded = encode(say(**settings), to(family, model=model))
    assert {key: value for key, value in body.items() if key not in ("model", "input", "store")} == sent
    assert encoded.notes == notes


def test_effort_needs_a_thinking_profile() -> None:
    """``think = false`` of a profile drops the effort with a note."""
    body, encoded = encode(say(reasoning_effort="high"), to(capabilities=Capabilities(think=False)))
    assert ("reasoning" in body, encoded.notes) == (False, ("dropped reasoning_effort",))


def test_a_conversation_with_tools() -> None:
    """Calls and results are items of their own, in order."""
    body, _ = encode(tool_talk(), to())
    assert body["input"] == [
        {"role": "system", "content": "be short"},
        {"role": "user", "content": "weather and time?"},
        {"type": "message", "role": "assistant", "content": "looking"},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": '{"city": "Oslo"}'},
        {"type": "function_call", "call_id": "b", "name": "time", "arguments": '{"raw":"{half"}'},
        {"type": "function_call_output", "call_id": "a", "output": "rain"},
        {"type": "function_call_output", "call_id": "b", "output": "12:00"},
        {"role": "user", "content": "thanks"},
    ]


def test_tools() -> None:
    """Flat functions, not strict unless somebody says so; the choice in its two forms."""
    tools = (Tool(name="f", description="d"),)
    body, _ = encode(say(tools=tools, tool_choice="f"), to())
    schema = {"type": "object", "properties": {}}
    assert body["tools"] == [
        {"type": "function", "name": "f", "description": "d", "parameters": schema, "strict": False}
    ]
    assert body["tool_choice"] == {"type": "function", "name": "f"}
    assert encode(say(tools=tools, tool_choice="auto"), to())[0]["tool_choice"] == "auto"


def test_images() -> None:
    """Images stand among the text; in a tool result only where OpenAI serves."""
    parts = (TextPart(text="a"), ImagePart(data=b"x"))
    asked = ChatRequest(
        messages=(Message(role="user", parts=parts), Message(role="tool", parts=parts, tool_call_id="a"))
    )
    body, _ = encode(asked, to())
    wanted = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "auto"},
    ]
    assert (body["input"][0]["content"], body["input"][1]["output"]) == (wanted, wanted)
    assert RESPONSES.lacks(asked, to()) is None
    assert RESPONSES.lacks(asked, to("xai")) == "images in a tool result"
    by_url = ChatRequest(messages=(Message(role="user", parts=(ImagePart(url="https://h.test/i"),)),))
    assert RESPONSES.lacks(by_url, to("lmstudio")) == "images by URL"


# -- what came in no event of its own ---------------------------------------------------------------------------------


def item(kind: str, value: dict[str, Any]) -> bytes:
    return event(f"response.output_item.{kind}", output_index=0, item=value)


def arguments(kind: str, **fields: str) -> bytes:
    return event(f"response.function_call_arguments.{kind}", item_id="fc_1", **fields)


BEGUN = item("added", call(arguments="", status="in_progress"))
PIECES = arguments("delta", delta='{"x"') + arguments("delta", delta=":1}")
WHOLE = arguments("done", arguments='{"x":1}')


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(BEGUN + PIECES + WHOLE, id="no item done"),
        pytest.param(BEGUN + PIECES, id="pieces alone"),
        pytest.param(BEGUN + WHOLE, id="arguments done alone"),
        pytest.param(BEGUN + PIECES + item("done", call(arguments="")), id="an item done without arguments"),
        pytest.param(BEGUN + PIECES + WHOLE + item("done", call()), id="all of it"),
    ],
)
@pytest.mark.parametrize("output", [[], [call()], [call("other", call_id="call_fc_1")]], ids=["none", "same", "new id"])
def test_a_call_is_told_once_however_it_came(body: bytes, output: list[Any]) -> None:
    """Behaviour 118: pieces, whole arguments, a done item, the last event: one is enough, and more are one call."""
    ended = event("response.completed", response=response("completed", output=output))
    events, end = read(RESPONSES, [body + ended])
    assert end.failure is None
    assert [(one.name, one.raw, one.id) for one in end.answer.tool_calls] == [("f", '{"x":1}', "call_fc_1")]
    assert told(events)[2] == list(end.answer.tool_calls)


def test_a_begun_call_of_a_limited_answer_is_none() -> None:
    """A call that the token limit cut is dropped, also where its item never ended."""
    why = {"incomplete_details": {"reason": "max_output_tokens"}}
    ended = event("response.incomplete", response=response("incomplete", **why))
    end = read(RESPONSES, [text("Hi") + BEGUN + PIECES + ended])[1]
    assert (end.failure, end.answer.text, end.answer.tool_calls) == (None, "Hi", ())


@pytest.mark.parametrize("streamed", [True, False])
def test_text_and_reasoning_of_done_items(streamed: bool) -> None:
    """Items that had no deltas are read when they are done; those that had are not read again."""
    thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]}
    said = message({"type": "output_text", "text": "Hi"})
    deltas = event("response.reasoning_text.delta", delta="hm"), text("Hi")
    body = b"".join((deltas[n] if streamed else b"") + item("done", one) for n, one in enumerate((thought, said)))
    for output in ([], [thought, said]):
        end = read(RESPONSES, [body + event("response.completed", response=response("completed", output=output))])[1]
        assert (end.answer.reasoning, end.answer.text) == ("hm", "Hi")


def test_a_failed_body_keeps_its_usage() -> None:
    """The same as in a stream: finish word and usage of a response that failed."""
    got = RESPONSES.decode(json.dumps(response("failed", error={"code": "server_error"}, usage=RAW_USAGE)).encode(), {})
    assert isinstance(got, WireFailure)
    assert (got.answer.finish_raw, got.answer.usage is not None) == ("failed", True)
