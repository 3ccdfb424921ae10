"""JSON array framing: elements out as soon as they are whole, however the bytes are cut."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.feeding import CUTS, STEADY, every, pieces
from zc_notebooks.stream_guard.json_array import MAX_ELEMENT, JsonArrayFraming

LEAVES = st.none() | st.integers(-9, 9) | st.text(alphabet='ab"\\{}[]é\n', max_size=8)
KEYS = st.text(alphabet='a"\\{', max_size=4)
VALUES: st.SearchStrategy[Any] = LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(KEYS, LEAVES, max_size=2)
ELEMENTS = st.lists(st.dictionaries(KEYS, VALUES, max_size=2), max_size=4)


def frame(parts: list[bytes]) -> tuple[list[bytes], JsonArrayFraming]:
    framing = JsonArrayFraming()
    return [element for part in parts for element in framing.feed(part)], framing


@STEADY
@given(ELEMENTS, st.sampled_from([",", ",\r\n", "\n,\n"]), st.booleans(), CUTS)
def test_every_cut_gives_the_same_elements(values: list[Any], comma: str, ascii_only: bool, cuts: list[int]) -> None:
    """Elements come out whole and in order, with the last bracket noticed, wherever the bytes are split."""
    text = "[" + comma.join(json.dumps(value, ensure_ascii=ascii_only) for value in values) + "]\n"
    got, framing = frame(pieces(text.encode(), cuts))
    assert [json.loads(element) for element in got] == values
    assert framing.closed
    assert not framing.pending


@STEADY
@given(st.binary(max_size=200), CUTS)
def test_any_bytes_are_framed_without_raising(data: bytes, cuts: list[int]) -> None:
    """Rubbish raises nothing, and cutting it changes nothing."""
    assert frame(pieces(data, cuts))[0] == frame([data])[0]


def test_an_element_comes_out_with_its_last_byte() -> None:
    """No element waits for the comma after it."""
    framing = JsonArrayFraming()
    assert framing.feed(b'[{"a":"}') == []
    assert framing.pending
    assert framing.feed(b'"}') == [b'{"a":"}"}']
    assert not framing.closed


@pytest.mark.parametrize(
    ("data", "elements", "pending", "closed"),
    [
        (b'[{"a":1}\n,\r\n{"b":', [b'{"a":1}'], True, False),
        (b'[{"a":1}', [b'{"a":1}'], False, False),
        (b'\xef\xbb\xbf [{"a":1}]', [b'{"a":1}'], False, True),
        (b'{"error":{"code":400}}', [b'{"error":{"code":400}}'], False, False),
        (b"[]", [], False, True),
        (b"", [], False, False),
        (b'[1, "{", {}]', [b"{}"], False, True),
        (b"}}]{}", [b"{}"], False, True),
    ],
)
def test_brackets_left_open_show(data: bytes, elements: list[bytes], pending: bool, closed: bool) -> None:
    """A cut leaves an element pending or the bracket open; a bare object is framed as well."""
    got, framing = frame([data])
    assert (got, framing.pending, framing.closed) == (elements, pending, closed)


def test_an_element_above_the_limit_is_refused() -> None:
    """A huge element is neither kept nor returned, and nothing after it is."""
    framing = JsonArrayFraming()
    assert framing.feed(b'[{"a":1},{"a":"') == [b'{"a":1}']
    for _ in range(MAX_ELEMENT // 2**20 + 1):
        assert framing.feed(b"x" * 2**20) == []
    assert framing.overflow
    assert framing.feed(b'"},{}]') == []


def test_small_pieces_take_linear_time() -> None:
    """Twice the input in 64-byte pieces takes about twice the time, not four times."""

    def seconds(size: int) -> float:
        data = b'[{"a":"' + b"x\\n" * size + b'"}]'
        parts = every(data, 64)
        started = time.process_time()
        assert len(frame(parts)[0]) == 1
        return time.process_time() - started

    small = min(seconds(50_000) for _ in range(3))
    assert min(seconds(200_000) for _ in range(3)) < 12 * small
