"""A stream with two finish words ends with the graver one, on every wire whose stream goes on after the first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.wire.feeding import read
from zc_notebooks.records import WireName
from zc_notebooks.wire.registry import wire


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _chat(word: str) -> bytes:
    return _event({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": word}]})


def _anthropic(word: str) -> bytes:
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    return _event(text) + _event({"type": "message_delta", "delta": {"stop_reason": word}})


def _gemini(word: str) -> bytes:
    return _event({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": word}]})


def _ollama(word: str) -> bytes:
    return json.dumps({"message": {"content": "Hi"}, "done": True, "done_reason": word}).encode() + b"\n"


def _cohere(word: str) -> bytes:
    text = {"type": "content-delta", "delta": {"message": {"content": {"text": "Hi"}}}}
    return _event(text) + _event({"type": "message-end", "delta": {"finish_reason": word}})


SPOKEN: dict[WireName, tuple[Any, str, str, str]] = {
    "openai_chat": (_chat, "stop", "length", "content_filter"),
    "anthropic_messages": (_anthropic, "end_turn", "max_tokens", "refusal"),
    "gemini": (_gemini, "STOP", "MAX_TOKENS", "SAFETY"),
    "ollama": (_ollama, "stop", "length", "error"),
    "cohere_v2": (_cohere, "COMPLETE", "MAX_TOKENS", "ERROR_TOXIC"),
}
"""How each wire says ``Hi`` with a finish word, and its words for: whole, cut by the token limit, failed."""


@pytest.mark.parametrize("name", SPOKEN)
def test_a_failure_counts_whenever_it_is_said(name: WireName) -> None:
    """Spec 8.2: a finish word that means failure is one, also after or before a good one."""
    say, good, _, failed = SPOKEN[name]
    for words in [(good, failed), (failed, good)]:
        failure = read(wire(name), [say(word) for word in words])[1].failure
        assert failure is not None
        assert (failure.kind, failure.answer.finish_raw) == ("finish", failed)


@pytest.mark.parametrize("name", SPOKEN)
def test_an_answer_that_was_cut_stays_cut(name: WireName) -> None:
    """The token limit counts beside a plain stop; both words are in the evidence, the same word once."""
    say, good, cut, _ = SPOKEN[name]
    for words in [(good, cut), (cut, good)]:
        end = read(wire(name), [say(word) for word in words])[1]
        assert end.failure is None
        assert (end.answer.finish_reason, end.answer.finish_raw) == ("length", cut)
        assert any(cut in word for word in end.evidence)
    same = read(wire(name), [say(good), say(good)])[1]
    assert (same.failure, sum(good in word for word in same.evidence)) == (None, 1)
