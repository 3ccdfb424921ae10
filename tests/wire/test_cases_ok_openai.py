"""Every recorded 2xx response of the OpenAI and Anthropic wires, whole and in pieces of every size."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.conftest import load_cases
from tests.wire.feeding import CUTS, STEADY, every, pieces, read, told
from zc_notebooks.chat import Answer, Usage, WireFailure
from zc_notebooks.stream_guard.think import is_empty
from zc_notebooks.wire.registry import wire

WIRES = ("openai_chat", "openai_responses", "anthropic_messages")
CASES = [case for case in load_cases() if case["wire"] in WIRES and case["status"] == 200]
STREAMS = [case for case in CASES if case["stream"]]
BODIES = [case for case in CASES if not case["stream"]]

pytestmark = pytest.mark.skipif(not CASES, reason="the recorded cases are not here (ZC_CASES_DIR)")


def named(cases: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def check(case: dict[str, Any], answer: Answer, failure: WireFailure | None) -> None:
    """The answer and its failure are exactly what the case expects."""
    wanted = case["expect"]
    if wanted["text"] is not None or wanted["outcome"] == "ok":
        assert answer.text == (wanted["text"] or "")
    assert answer.reasoning == (wanted["reasoning"] or "")
    assert answer.finish_raw == wanted["finish_reason"]
    assert counts(answer.usage) == wanted["usage"]
    check_outcome(wanted, answer, failure)
    ran_there = [(tool.name, tool.raw) for tool in answer.pre_executed if tool.phase == "call"]
    calls = [(call.name, call.raw) for call in answer.tool_calls]
    assert ran_there + calls == [(call["name"], call["arguments"]) for call in wanted.get("tool_calls", [])]


def check_outcome(wanted: dict[str, Any], answer: Answer, failure: WireFailure | None) -> None:
    if wanted["outcome"] == "truncated":
        assert failure is not None
        assert failure.kind in ("cut", "empty_body")
        assert failure.reason == "stream_cut"
    elif wanted["reason"] == "empty":
        assert failure is None
        assert is_empty(answer)
    elif wanted["outcome"] == "error":
        assert failure is not None
        assert failure.reason in (None, wanted["reason"])
        assert failure.payload or failure.reason
    else:
        assert failure is None


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
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\r\n\n "], ids=["plain", "BOM", "blank lines"])
def test_whole_bodies(case: dict[str, Any], before: bytes) -> None:
    """Text, reasoning, finish word, usage and tool calls, exactly; also behind a BOM and blank lines."""
    got = wire(case["wire"]).decode(before + case["body"].encode(), case["headers"])
    failure = got if isinstance(got, WireFailure) else None
    check(case, got.answer if isinstance(got, WireFailure) else got, failure)


@named(STREAMS)
@pytest.mark.parametrize("form", ["as recorded", "CRLF", "CR", "BOM"])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_streams(case: dict[str, Any], form: str, size: int) -> None:
    """The same, however large the pieces are, whatever the line ends, and told by events as by the answer."""
    body = case["body"].encode()
    if form in ("CRLF", "CR"):
        plain = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        body = plain.replace(b"\n", b"\r\n" if form == "CRLF" else b"\r")
    if form == "BOM":
        body = b"\xef\xbb\xbf" + body
    events, end = read(wire(case["wire"]), every(body, size), case["headers"])
    check(case, end.answer, end.failure)
    text, reasoning, _, usage = told(events)
    assert (text, reasoning, usage) == (end.answer.text, end.answer.reasoning, end.answer.usage)
    assert end.evidence


@named([case for case in STREAMS if not case["body"].isascii()])
def test_streams_cut_inside_a_character(case: dict[str, Any]) -> None:
    """A chunk that ends inside a UTF-8 character does no harm, wherever there is one."""
    body = case["body"].encode()
    cuts = [place for place, byte in enumerate(body) if byte & 0xC0 == 0x80]
    _, end = read(wire(case["wire"]), pieces(body, cuts), case["headers"])
    check(case, end.answer, end.failure)


@named(STREAMS)
def test_streams_cut_anywhere(case: dict[str, Any]) -> None:
    """The same for pieces of random sizes."""

    @settings(STEADY, max_examples=15)
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
    for signal in range(len(body)):
        decoder.feed(body[signal : signal + 1])
        if decoder.signalled:
            break
    for stop in {*range(0, signal, max(1, signal // 30)), signal}:
        _, end = read(wire(case["wire"]), [body[:stop]], case["headers"])
        if end.failure is None:  # the signal's event is whole but for its line end
            assert body[stop : signal + 1].strip() == b""
        else:
            assert (end.failure.kind, end.answer.tool_calls) == ("cut", ())
    _, end = read(wire(case["wire"]), [body[: signal + 1]], case["headers"])
    assert end.failure is None


@named([case for case in STREAMS if case["expect"]["outcome"] == "ok"])
def test_a_stream_nobody_asked_for(case: dict[str, Any]) -> None:
    """A server that streams although it was not asked to is read all the same."""
    got = wire(case["wire"]).decode(case["body"].encode(), case["headers"])
    assert isinstance(got, Answer)
    check(case, got, None)
