"""``explain``: one recorded response in, its meaning out, in the form of ``zc explain --json``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conftest import load_cases
from zc_notebooks.explanation import explain, explain_case

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
KEYS = [
    *("outcome", "reason", "scope", "class", "retry_after_s", "resets_at", "reset_source", "text", "reasoning"),
    *("finish_reason", "usage", "tool_calls", "evidence", "action", "known"),
]

ANSWER = {
    "choices": [{"message": {"content": "Hello", "reasoning_content": "hm"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


def explained(status: int = 200, body: Any = "", **how: Any) -> dict[str, Any]:
    """The plain form of an explanation; a body that is no text becomes JSON."""
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    return explain(**{"provider": "custom", "now": NOW} | how, status=status, body=text).to_dict()


def test_the_json_form() -> None:
    """Exactly these keys, all of plain data, for a success and for a failure."""
    for found in (explained(200, ANSWER), explained(429, {"error": {"message": "x"}}, headers={"Retry-After": "7"})):
        assert list(found) == KEYS
        assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("provider", "status", "known"),
    [("groq", 429, "groq)"), ("hf", 429, "huggingface)"), ("nobody", 429, "what any provider means)"),
     ("nobody", 200, "what any provider means)")],
)  # fmt: skip
def test_since_when_it_is_known(provider: str, status: int, known: str) -> None:
    """A verdict says whose table it was read by, and of which day; a good answer needs none."""
    assert explained(status, {"error": {"message": "x"}}, provider=provider)["known"].endswith(known)
    assert explained(200, ANSWER)["known"] == ""


def test_an_answer() -> None:
    """A good answer has its text, reasoning, finish word and usage; unknown figures are null."""
    found = explained(200, ANSWER)
    assert (found["outcome"], found["reason"], found["class"], found["scope"]) == ("ok", "ok", None, None)
    assert (found["text"], found["reasoning"], found["finish_reason"]) == ("Hello", "hm", "stop")
    assert found["usage"] == {"input": 9, "output": 2, "cached": None, "reasoning": None}
    assert found["action"] == "the answer is used"


def test_an_answer_without_usage() -> None:
    """Usage that was not sent is null, not zeros."""
    assert explained(200, {**ANSWER, "usage": None})["usage"] is None


def test_thinking_spans_are_no_text() -> None:
    """Spec 1: a span leaves the text and joins the reasoning; nothing else left is an empty answer."""
    answer = {"choices": [{"message": {"content": "<think>hm</think>Hi"}, "finish_reason": "stop"}]}
    found = explained(200, answer)
    assert (found["text"], found["reasoning"]) == ("Hi", "hm")
    answer["choices"][0]["message"]["content"] = "<think>hm</think>\n"
    found = explained(200, answer)
    assert (found["outcome"], found["reason"], found["class"]) == ("error", "empty", "transient")
    assert (found["text"], found["reasoning"]) == (None, "hm")


@pytest.mark.parametrize(
    ("deltas", "finish", "reason", "text", "reasoning"),
    [
        (["<thi", "nk>h", "m</think>", "Hi"], None, "stream_cut", "Hi", "hm"),
        (["<thi", "nk>h", "m"], None, "stream_cut", None, "hm"),
        (["<think>hm</think>", "Hi"], "content_filter", "content_filter", "Hi", "hm"),
        (["<think>h", "m"], "length", "empty", None, "hm"),
    ],
)  # fmt: skip
def test_thinking_spans_of_an_answer_that_failed(
    deltas: list[str], finish: str | None, reason: str, text: str | None, reasoning: str
) -> None:
    """Spec 1: a span is no text either where the answer was cut or blocked, nor what an unclosed one began."""
    chunks: list[dict[str, Any]] = [{"delta": {"content": delta}} for delta in deltas]
    chunks += [{"delta": {}, "finish_reason": finish}] if finish else []
    found = explained(200, "".join(f"data: {json.dumps({'choices': [chunk]})}\n\n" for chunk in chunks), stream=True)
    assert (found["reason"], found["text"], found["reasoning"]) == (reason, text, reasoning)


@pytest.mark.parametrize(
    ("wire", "body", "arguments"),
    [
        ("openai_chat",
         {"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": '{"a":1}'}}]}}]}, '{"a":1}'),
        ("ollama",
         {"message": {"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}, "done": True}, {"a": 1}),
        ("gemini",
         {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
                          "finishReason": "STOP"}]}, {"a": 1}),
        ("anthropic_messages",
         {"content": [{"type": "tool_use", "name": "f", "input": {"a": 1}}], "stop_reason": "tool_use"}, {"a": 1}),
        ("anthropic_messages",
         {"content": [{"type": "tool_use", "name": "f", "input": {}}], "stop_reason": "tool_use"}, {}),
    ],
)  # fmt: skip
def test_tool_calls_as_the_wire_has_them(wire: str, body: dict[str, Any], arguments: Any) -> None:
    """Arguments stay text where the wire sends text, and an object where it sends an object."""
    found = explained(200, body, wire=wire)
    assert found["outcome"] == "ok"
    assert found["tool_calls"] == [{"name": "f", "arguments": arguments}]


def test_what_ran_at_the_provider_is_a_call_where_it_has_a_name() -> None:
    """Anthropic names its server tools and their arguments; a Responses search and Gemini's code have neither."""
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    said = {"type": "text", "text": "Hi"}
    found = explained(200, {"content": [call, said], "stop_reason": "end_turn"}, wire="anthropic_messages")
    assert found["tool_calls"] == [{"name": "web_search", "arguments": {"query": "x"}}]
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "x"}}
    message = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    body = {"object": "response", "status": "completed", "output": [search, message]}
    assert explained(200, body, wire="openai_responses")["tool_calls"] == []
    parts = [{"executableCode": {"code": "1"}}, {"text": "Hi"}]
    body = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    assert explained(200, body, wire="gemini")["tool_calls"] == []


@pytest.mark.parametrize("ending", ["", "max_tokens"])
@pytest.mark.parametrize(
    ("pieces", "told"), [([], []), (['{"query": "x'], []), (['{"query": "x', '"}'], ["web_search"])]
)
def test_half_a_call_at_the_provider_is_none(pieces: list[str], told: list[str], ending: str) -> None:
    """Spec 8.2: what an early end left of a call is not shown, whoever would have run it; a whole one is."""
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": block},
    ]
    for piece in pieces:
        delta = {"type": "input_json_delta", "partial_json": piece}
        events.append({"type": "content_block_delta", "index": 1, "delta": delta})
    events += [{"type": "content_block_stop", "index": 1}] if told else []
    events += [{"type": "message_delta", "delta": {"stop_reason": ending}}, {"type": "message_stop"}] if ending else []
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    found = explained(200, body, wire="anthropic_messages", stream=True)
    assert found["outcome"] == ("ok" if ending else "truncated")
    assert [call["name"] for call in found["tool_calls"]] == told


def test_the_familys_own_wire_is_the_default() -> None:
    """A family of the catalogue is read by its wire, an unknown one by OpenAI's."""
    body = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
    assert explained(200, body, provider="google")["text"] == "Hi"
    assert explained(200, body, provider="nobody")["outcome"] == "error"


@pytest.mark.parametrize(
    ("body", "reason", "finish", "text"),
    [
        ('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n', "stream_cut", None, "Hi"),
        ('data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"content_filter"}]}\n\ndata: [DONE]\n\n',
         "content_filter", "content_filter", "Hi"),
        ('data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"length"}]}\n\ndata: [DONE]\n\n',
         "ok", "length", "Hi"),
        ('data: {"error":{"message":"Rate limit on requests per day","code":429}}\n\ndata: [DONE]\n\n',
         "daily_limit", None, None),
        ("", "stream_cut", None, None),
        ("<html><title>Sign in</title></html>", "server_error", None, None),
    ],
)  # fmt: skip
def test_streams(body: str, reason: str, finish: str | None, text: str | None) -> None:
    """Behaviours 121 and 122: what had arrived is shown, and why it is no answer."""
    found = explained(200, body, stream=True, headers={"content-type": "text/event-stream", "retry-after": "31"})
    assert (found["reason"], found["finish_reason"], found["text"]) == (reason, finish, text)
    assert found["outcome"] == {"ok": "ok", "stream_cut": "truncated"}.get(reason, "error")
    assert found["retry_after_s"] is None


@pytest.mark.parametrize(
    ("status", "provider", "message", "headers", "action"),
    [
        (429, "custom", "Rate limit", {"retry-after": "7"},
         "the same candidate again after 7 s, up to 2 more times, then the next one; "
         "everything of this key and pool is marked until 2026-06-01 12:00:07 UTC (stated)"),
        (429, "custom", "Rate limit", {"retry-after": "61"},
         "the next candidate at once, since 61 s is above the cap of 60 s; "
         "everything of this key and pool is marked until 2026-06-01 12:01:01 UTC (stated)"),
        (429, "custom", "Rate limit for model m", {},
         "the same candidate again after a short backoff, up to 2 more times, then the next one; "
         "this model is marked until 2026-06-01 12:00:10 UTC (guessed)"),
        (429, "openrouter", "Rate limit exceeded: free-models-per-day", {},
         "the next candidate at once; *:free is marked until 2026-06-02 00:00:00 UTC (inferred)"),
        (429, "custom", "requests per day", {},
         "the next candidate at once; "
         "everything of this key and pool is marked until 2026-06-01 13:00:00 UTC (guessed)"),
        (401, "custom", "x", {}, "the next candidate at once; no mark"),
        (402, "openrouter", "can only afford 3395", {},
         "once more with max_tokens at most 3395, then the next candidate; no mark"),
        (400, "custom", "maximum context length is 8192 tokens", {},
         "the next candidate with a larger declared window than 8,192 tokens; no mark"),
        (503, "custom", "busy", {},
         "the same candidate again after a short backoff, up to 2 more times, then the next one; no mark"),
    ],
)  # fmt: skip
def test_what_a_chain_does_next(status: int, provider: str, message: str, headers: dict[str, str], action: str) -> None:
    """Each class of verdict has its action and its mark, in one sentence."""
    found = explain(provider=provider, status=status, headers=headers, body=json.dumps({"error": message}), now=NOW)
    assert found.action == action
    assert action in found.sentence()


def test_repr_is_one_short_line() -> None:
    """No address, no body: what it is and when it is back."""
    found = explain(provider="custom", status=429, headers={"retry-after": "7"}, body="Rate limit", now=NOW)
    assert repr(found) == "Explanation(error: minute_limit, back in 7 s (stated))"
    found = explain(provider="cloudflare", status=429, body='{"errors":[{"code":4006}],"success":false}', now=NOW)
    assert repr(found) == "Explanation(error: daily_limit, back at 2026-06-02 00:00:00 UTC (inferred))"


def test_keys_are_not_shown() -> None:
    """A provider that echoes a key does not get it into an explanation."""
    key = "sk-" + "f00dbabe" * 5
    found = explain(provider="custom", status=401, body=json.dumps({"error": {"message": f"bad key {key}"}}), now=NOW)
    assert key not in json.dumps(found.to_dict()) + found.sentence() + repr(found)


@pytest.mark.parametrize(
    ("case", "named"),
    [
        ({}, "provider"),
        ({"provider": "groq", "body": ""}, "status"),
        ({"provider": "groq", "status": "429", "body": ""}, "status"),
        ({"provider": "groq", "status": 429}, "body"),
        ({"provider": "groq", "status": 429, "body": "", "headers": [1]}, "headers"),
        ({"provider": "groq", "status": 429, "body": "", "wire": "telex"}, "telex"),
    ],
)
def test_a_case_that_is_none(case: dict[str, Any], named: str) -> None:
    """Bad input gets one clear sentence that names the field."""
    with pytest.raises(ValueError, match=named):
        explain_case(case)


@pytest.mark.skipif(not load_cases(), reason="the folder of recorded responses is not here")
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["name"]) for case in load_cases() if case["expect"]["outcome"] == "ok"] or [None],
)
def test_recorded_answers(case: dict[str, Any]) -> None:
    """Every recorded answer: text, reasoning, finish word, usage and tool calls as the recording says."""
    expect = case["expect"]
    found = explain_case(case, now=NOW).to_dict()
    for field in ("outcome", "reason", "text", "reasoning", "finish_reason", "usage", "retry_after_s", "resets_at"):
        assert found[field] == expect[field], field
    assert [plain(call) for call in found["tool_calls"]] == [plain(call) for call in expect.get("tool_calls", [])]


def plain(call: dict[str, Any]) -> tuple[str, Any]:
    """A call with its arguments parsed; no arguments are an empty object."""
    arguments = call["arguments"]
    return call["name"], json.loads(arguments or "{}") if isinstance(arguments, str) else arguments


@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses", "anthropic_messages", "gemini", "cohere_v2"])
@pytest.mark.parametrize(
    "line",
    ['[{"error":{"code":401,"message":"API key not valid. Please pass a valid API key."}}]', '"Api key is invalid"'],
)
def test_an_error_in_a_stream_that_is_no_object(wire: str, line: str) -> None:
    """Gemini's OpenAI endpoint sends its errors in an array, SiliconFlow a string: in a stream they are errors too."""
    found = explained(200, f"data: {line}\n\n", wire=wire, stream=True)
    assert (found["outcome"], found["reason"]) == ("error", "auth")
