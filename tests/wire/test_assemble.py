"""The parts all wires share: tolerant JSON, arguments, finish words, ids, usage, the registry."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.feeding import STEADY
from zc_notebooks.chat import ToolCall
from zc_notebooks.records import WIRES
from zc_notebooks.reliability.finish_words import FINISH_FAILURES, finish_failure
from zc_notebooks.wire.assemble import (
    FINISH_WORDS,
    ToolCallAssembler,
    finish_reason,
    parse_arguments,
    request_id,
    tool_call,
)
from zc_notebooks.wire.call_ids import ANTHROPIC_IDS, MISTRAL_IDS, OPENAI_IDS, arguments_text, fitting_id
from zc_notebooks.wire.loose_json import BROKEN, parse, to_text
from zc_notebooks.wire.registry import MODULES, wire
from zc_notebooks.wire.usage import count

ENDLESS_S = 30.0
"""Seconds of the processor that only quadratic work takes."""


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        ('{"a":1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
        (b'{"a":"\\ud83d"}', {"a": "\ufffd"}),
        (b'{"a\\ud83d":["\\ude00"]}', {"a\ufffd": ["\ufffd"]}),
        (b'{"a":"b\0c\n"}', {"a": "b\0c\n"}),
        (b"", BROKEN),
        (b"{", BROKEN),
        (b"[" * 100_000, BROKEN),
        (b"{'a':1}", BROKEN),
    ],
)
def test_tolerant_json(data: bytes | str, value: Any) -> None:
    """What servers really send is read; what is no JSON is ``BROKEN``; every string can be encoded."""
    got = parse(data)
    assert got == value
    if got is not BROKEN:
        to_text(got).encode()


@STEADY
@given(st.binary(max_size=50) | st.text(max_size=50))
def test_parse_never_raises(data: bytes | str) -> None:
    """Any bytes and any text have a value or are broken."""
    parse(data)


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [("", {}), (" ", {}), ("{}", {}), ('{"x":1}', {"x": 1}), ('"{\\"x\\":1}"', {"x": 1}), ("[1]", None), ("{", None)],
)
def test_arguments(raw: str, arguments: Any) -> None:
    """Blank is empty, twice encoded is opened, and what is no object is ``None`` with its raw text kept."""
    assert parse_arguments(raw) == arguments
    call = tool_call("f", raw, id="a")
    assert (call.arguments, call.raw) == (arguments, raw)
    assert isinstance(json.loads(arguments_text(call)), dict)


def test_arguments_as_an_object() -> None:
    """Wires that send objects get JSON text as raw, and an id when there is none."""
    first, second = tool_call("f", {"x": "é"}), tool_call("f", None)
    assert (first.arguments, first.raw, second.arguments, second.raw) == ({"x": "é"}, '{"x":"é"}', {}, "")
    assert first.id != second.id


def test_the_providers_text_of_arguments_is_kept() -> None:
    """JSON of an object goes back byte for byte (caches depend on it)."""
    assert arguments_text(ToolCall(id="a", name="f", arguments={"x": 1}, raw=' {"x" : 1}')) == ' {"x" : 1}'


@pytest.mark.parametrize(("form", "size"), [(OPENAI_IDS, 40), (ANTHROPIC_IDS, 64), (MISTRAL_IDS, 9)])
def test_ids_fit(form: Any, size: int) -> None:
    """Every id becomes one the wire takes; one it takes already stays; different ids stay different."""

    @STEADY
    @given(st.text(max_size=80), st.text(max_size=80))
    def fits(first: str, second: str) -> None:
        one, other = fitting_id(first, form), fitting_id(second, form)
        assert form.fullmatch(one)
        assert len(one) <= size
        assert fitting_id(one, form) == one
        assert (one == other) == (first == second)

    fits()


@pytest.mark.parametrize(
    ("word", "calls", "reason"),
    [
        (None, False, None),
        ("", False, None),
        ("stop", False, "stop"),
        ("end_turn", True, "tool_calls"),
        ("MAX_TOKENS", True, "length"),
        ("eos", False, "stop"),
        ("SAFETY", False, "content_filter"),
        ("network_error", False, "error"),
        ("never_heard", False, None),
    ],
)
def test_finish_reason(word: str | None, calls: bool, reason: str | None) -> None:
    """One vocabulary; an unknown word is not given a meaning."""
    assert finish_reason(word, has_tool_calls=calls) == reason


def test_finish_words_are_either_complete_or_failures() -> None:
    """No word is both, all are lower case, and the look-up does not mind case."""
    assert not FINISH_WORDS.keys() & FINISH_FAILURES.keys()
    assert all(word == word.lower() for word in [*FINISH_WORDS, *FINISH_FAILURES])
    assert finish_failure("Content_Filter") == ("content_filter", None)


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (0, 0),
        (7, 7),
        (7.0, 7),
        (7.5, None),
        (-1, None),
        (True, None),
        ("7", None),
        (None, None),
        (float("nan"), None),
        (1e300, None),
    ],
)
def test_count(value: object, tokens: int | None) -> None:
    """Only a non-negative whole number is a token count."""
    assert count(value) == tokens


def test_request_id() -> None:
    """The provider's id from its usual headers."""
    assert request_id({"x-request-id": "a", "cf-ray": "b"}) == "a"
    assert request_id({"request-id": "c"}) == "c"
    assert request_id({}) is None


@pytest.mark.parametrize("name", WIRES)
def test_registry(name: Any) -> None:
    """Every wire name has its wire, loaded once."""
    assert wire(name).name == name
    assert wire(name) is wire(name)
    assert set(MODULES) == set(WIRES)


def test_an_unknown_wire() -> None:
    """The message names the known ones."""
    with pytest.raises(ValueError, match="no wire 'telnet'; known are openai_chat, "):
        wire("telnet")  # type: ignore[arg-type]


@pytest.mark.parametrize("alike", ["index", "id", "name", "nothing"])
def test_many_calls_take_linear_time(alike: str) -> None:
    """A hundred thousand calls of a hostile stream are a matter of a second, whatever their keys."""
    tools, began = ToolCallAssembler(), time.process_time()
    for n in range(100_000):
        index = 0 if alike == "index" else n if alike != "id" else None
        tools.delta(index=index, id=f"c{n}", name="f" if alike == "name" else f"f{n}", arguments="{}")
    assert len(tools) == 100_000
    assert time.process_time() - began < ENDLESS_S


def test_many_pieces_take_linear_time() -> None:
    """So are the pieces of one call, when each repeats its name."""
    tools, began = ToolCallAssembler(), time.process_time()
    for _ in range(200_000):
        tools.delta(index=0, id="c", name="f", arguments="{x}")
    assert len(tools) == 1
    assert time.process_time() - began < ENDLESS_S
