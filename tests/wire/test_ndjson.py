"""NDJSON framing: lines out as soon as they end, however the bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.feeding import CUTS, STEADY, pieces
from zc_notebooks.stream_guard.ndjson import NdjsonFraming
from zc_notebooks.stream_guard.sse import MAX_EVENT

OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.integers(), max_size=3), max_size=6)


def frame(data: bytes, cuts: list[int]) -> list[bytes]:
    framing = NdjsonFraming()
    events = [event for piece in pieces(data, cuts) for event in framing.feed(piece)] + framing.finish()
    return [line for _, line in events]


@STEADY
@given(OBJECTS, st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans(), CUTS)
def test_every_cut_gives_the_same_lines(values: list[Any], end: str, last: bool, cuts: list[int]) -> None:
    """Lines come out whole and in order, split inside characters or not, with or without a last line end."""
    text = end.join(json.dumps(value, ensure_ascii=False) for value in values) + (end if last else "")
    assert [json.loads(line) for line in frame(b"\xef\xbb\xbf" + text.encode(), cuts)] == values


@STEADY
@given(st.binary(max_size=200), CUTS)
def test_any_bytes_are_framed_without_raising(data: bytes, cuts: list[int]) -> None:
    """Rubbish raises nothing, and cutting it changes nothing."""
    assert frame(data, cuts) == frame(data, [])


def test_a_line_comes_out_with_its_end() -> None:
    """A line waits for its line end and not for the next line."""
    framing = NdjsonFraming()
    assert framing.feed(b'{"a":') == []
    assert framing.feed(b"1}\n\n{") == [(b"", b'{"a":1}')]
    assert framing.finish() == [(b"", b"{")]


@pytest.mark.parametrize("ended", [True, False])
def test_a_line_above_the_limit_is_refused(ended: bool) -> None:
    """A huge line is neither kept nor returned, and nothing after it is."""
    framing = NdjsonFraming()
    assert framing.feed(b"{}\n") == [(b"", b"{}")]
    for _ in range(MAX_EVENT // 2**20):
        assert framing.feed(b"x" * 2**20) == []
    assert framing.feed(b"xx\n{}\n" if ended else b"x") == []
    assert framing.overflow
    assert framing.feed(b"\n{}\n") == []
    assert framing.finish() == []
