"""Answers that were cut: at the token limit, which is said, and inside a tool call, which is a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet, chain_toml
from zc_notebooks.events import Text, ToolCall
from zc_notebooks.notebook.display import sheet_of
from zc_notebooks.records import HttpResponse
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk, response

HALF, WHOLE = '{"a": 1, "b', '{"a": 1}'


def call(raw: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": raw}}]}


def body(word: str, **message: Any) -> HttpResponse:
    """A whole answer."""
    return response(200, {"id": "x", "model": "m", "choices": [{"message": message, "finish_reason": word}]})


def stream(word: str, **message: Any) -> Pieces:
    """The same in pieces."""
    return Pieces(pieces=(chat_chunk(**message), chat_chunk(finish=word), CHAT_DONE))


def completed(fleet: Fleet, *, streamed: bool) -> zc.Completion:
    if not streamed:
        return fleet.chain.ask_sync("hi")
    events = fleet.chain.stream_sync("hi")
    list(events)
    assert events.completion is not None
    return events.completion


STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])


@STREAMED
def test_124_half_a_tool_call_fails_its_answer(streamed: bool, tmp_path: Path) -> None:
    """124: a transient fault of the model: a whole answer is asked for again, a stream goes to the next candidate."""
    made = stream if streamed else body
    script = {"a": [made("stop", **call(HALF)), chat_answer("better")], "b": [chat_answer("the backup's")]}
    fleet = Fleet(script, tmp_path)
    done = completed(fleet, streamed=streamed)
    assert (done.text, done.tool_calls) == ("the backup's" if streamed else "better", ())
    first = fleet.rows[0]
    assert (first.status, first.reason) == ("stream_error" if streamed else "body_error", "bad_request")
    assert first.accepted is False
    assert fleet.called == (["a", "b"] if streamed else ["a", "a"])


def test_124_text_before_half_a_tool_call_is_not_sent_twice(tmp_path: Path) -> None:
    """125: what was shown stays; nobody is asked again."""
    fleet = Fleet({"a": [stream("stop", content="let me see", **call(HALF))], "b": [chat_answer()]}, tmp_path)
    events = fleet.chain.stream_sync("hi")
    with pytest.raises(zc.StreamInterruptedAfterOutput, match="half a tool call") as caught:
        list(events)
    assert (caught.value.partial_text, fleet.called) == ("let me see", ["a"])


@STREAMED
@pytest.mark.parametrize("word", ["stop", "tool_calls"])
def test_the_finish_reason_of_tool_calls(word: str, streamed: bool, tmp_path: Path) -> None:
    """One vocabulary for the caller, whatever wire answered; the provider's own word is kept, and stands in the row."""
    made = stream if streamed else body
    fleet = Fleet({"a": [made(word, **call(WHOLE))]}, tmp_path)
    done = completed(fleet, streamed=streamed)
    assert done.finish_reason == "tool_calls"
    assert [done.finish_raw, fleet.rows[0].finish_reason] == [word] * 2
    assert [dict(item.arguments or {}) for item in done.tool_calls] == [{"a": 1}]
    assert done.said == f"f({WHOLE})"
    assert f"f({WHOLE})" in sheet_of(done).text()


@STREAMED
def test_a_completion_says_that_it_was_cut(streamed: bool, tmp_path: Path) -> None:
    """By the limit that was sent: the call's, else the profile's, else none; in the notebook's form as well."""
    made = stream if streamed else body
    for limit in (None, 7):
        fields = {} if limit is None else {"max_tokens": limit}
        fleet = Fleet({"a": [made("length", content="one two")]}, tmp_path, toml=chain_toml("a", **fields))
        done = completed(fleet, streamed=streamed)
        assert (done.cut, done.max_tokens) == (f"cut at the token limit (max_tokens {limit or 'was not set'})", limit)
        assert f", {done.cut}" in sheet_of(done).text()
        assert repr(done).endswith(", cut at the token limit)")
    whole = Fleet({"a": [made("stop", content="one two")]}, tmp_path, toml=chain_toml("a", max_tokens=7))
    assert completed(whole, streamed=streamed).cut is None


def test_a_tool_call_is_told_once_and_only_of_an_answer_that_holds(tmp_path: Path) -> None:
    """Whoever runs a call when it is told must not be told it again by the recovery."""
    failing = Pieces(pieces=(chat_chunk(**call(WHOLE)), chat_chunk(finish="tool_calls"), b'data: {"error": "x"}\n\n'))
    fleet = Fleet({"a": [failing], "b": [body("tool_calls", **call(WHOLE))]}, tmp_path)
    told = [event for event in fleet.chain.stream_sync("hi") if isinstance(event, ToolCall)]
    assert (len(told), fleet.called) == (1, ["a", "b"])


@pytest.mark.parametrize("last", [CHAT_DONE, b""], ids=["[DONE]", "end of file"])
def test_a_call_that_ends_with_the_stream_is_told(last: bytes, tmp_path: Path) -> None:
    """Arguments may come after the finish word."""
    early = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}}]}
    rest = {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}
    script = Pieces(pieces=(chat_chunk(finish="stop", **early), chat_chunk(**rest), last))
    fleet = Fleet({"a": [script]}, tmp_path)
    told = [event for event in fleet.chain.stream_sync("hi") if isinstance(event, ToolCall)]
    assert [item.raw for item in told] == [WHOLE]


def test_131_text_after_a_tool_call_still_comes(tmp_path: Path) -> None:
    """131: the call itself is told at the end."""
    parts = (chat_chunk("one "), chat_chunk(**call(WHOLE)), chat_chunk("two"), chat_chunk(finish="stop"), CHAT_DONE)
    fleet = Fleet({"a": [Pieces(pieces=parts)]}, tmp_path)
    events = [event for event in fleet.chain.stream_sync("hi") if isinstance(event, Text | ToolCall)]
    assert [type(event) for event in events] == [Text, Text, ToolCall]
