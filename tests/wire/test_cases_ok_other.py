"""Every recorded 2xx response of the Gemini, Ollama and Cohere wires, whole and in pieces of every size."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.conftest import load_cases
from tests.wire.feeding import CUTS, STEADY, every, pieces, read, told
from zc_notebooks.chat import Answer, Usage, WireFailure
from zc_notebooks.stream_guard.think import is_empty
from zc_notebooks.wire.registry import wire

CASES = [case for case in load_cases() if case["wire"] in ("gemini", "ollama", "cohere_v2") and case["status"] == 200]
STREAMS = [case for case in CASES if case["stream"]]
BODIES = [case for case in CASES if not case["stream"]]

pytestmark = pytest.mark.skipif(not CASES, reason="the recorded cases are not here (ZC_CASES_DIR)")


def named(cases: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def check(case: dict[str, Any], answer: Answer, failure: WireFailure | None) -> None:
    """The answer and its failure are exactly what the case expects."""
    wanted = case["expect"]
    assert answer.text == (wanted["text"] or "")
    assert answer.reasoning == (wanted["reasoning"] or "")
    assert answer.finish_raw == wanted["finish_reason"]
    assert counts(answer.usage) == wanted["usage"]
    if wanted["outcome"] == "truncated":
        assert failure is not None
        assert (failure.kind, failure.reason) == ("cut", "stream_cut")
    elif wanted["reason"] == "empty":
        assert failure is None
        assert is_empty(answer)
    elif wanted["outcome"] == "error":
        assert failure is not None
        assert failure.reason in (None, wanted["reason"])
        assert failure.reason or failure.kind == "error_body"
    else:
        assert failure is None
    calls = answer.tool_calls
    expected = wanted.get("tool_calls", [])
    assert [call.name for call in calls] == [call["name"] for call in expected]
    for call, known in zip(calls, expected, strict=True):
        as_object = isinstance(known["arguments"], dict)
        assert (call.arguments if as_object else call.raw) == known["arguments"]


def counts(usage: Usage | None) -> dict[str, int | None] | None:
    if usage is None:
        return None
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cached": usage.cached_tokens,
        "reasoning": usage.reasoning_tokens,
    }


@named(BODIES)
def test_whole_bodies(case: dict[str, Any]) -> None:
    """Text, reasoning, finish word, usage and tool calls, exactly; also behind a BOM and blank lines."""
    for before in (b"", b"\xef\xbb\xbf", b"\r\n\n "):
        got = wire(case["wire"]).decode(before + case["body"].encode(), case["headers"])
        failure = got if isinstance(got, WireFailure) else None
        check(case, got.answer if isinstance(got, WireFailure) else got, failure)


@named(STREAMS)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("form", ["as recorded", "CRLF", "LF", "BOM"])
def test_streams(case: dict[str, Any], size: int, form: str) -> None:
    """The same, however large the pieces are and whatever the line ends."""
    body = case["body"].encode()
    if form in ("CRLF", "LF"):
        body = body.replace(b"\r\n", b"\n")
    if form == "CRLF":
        body = body.replace(b"\n", b"\r\n")
    if form == "BOM":
        body = b"\xef\xbb\xbf" + body
    events, end = read(wire(case["wire"]), every(body, size), case["headers"])
    check(case, end.answer, end.failure)
    text, reasoning, _, usage = told(events)
    assert (text, reasoning, usage) == (end.answer.text, end.answer.reasoning, end.answer.usage)
    assert end.evidence


@named(STREAMS)
def test_streams_cut_anywhere(case: dict[str, Any]) -> None:
    """The same for pieces of random sizes."""

    @settings(STEADY, max_examples=25)
    @given(CUTS)
    def cut_anywhere(cuts: list[int]) -> None:
        _, end = read(wire(case["wire"]), pieces(case["body"].encode(), cuts), case["headers"])
        check(case, end.answer, end.failure)

    cut_anywhere()


@named([case for case in STREAMS if case["expect"]["outcome"] == "ok"])
def test_streams_that_end_early(case: dict[str, Any]) -> None:
    """Behaviour 118: every end of file before the signal is a truncation, and none after it is."""
    body = case["body"].encode()
    decoder = wire(case["wire"]).decoder(case["headers"], anthropic_completion="stop_reason")
    for place in range(len(body)):
        decoder.feed(body[place : place + 1])
        if decoder.signalled:
            break
    signal = place + 1
    for stop in {*range(0, signal, max(1, signal // 40)), signal - 1}:
        _, end = read(wire(case["wire"]), [body[:stop]], case["headers"])
        if end.failure is None:  # the signal's event is whole but for its line end
            assert body[stop:signal].strip() == b""
        else:
            assert (end.failure.kind, end.answer.tool_calls) == ("cut", ())
    _, end = read(wire(case["wire"]), [body[:signal]], case["headers"])
    assert end.failure is None
