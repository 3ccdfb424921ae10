"""SSE framing: line ends, fields, comments, what the first byte decides, and the limit."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.feeding import CUTS, STEADY, every, pieces
from zc_notebooks.stream_guard.ndjson import NdjsonFraming
from zc_notebooks.stream_guard.sse import MAX_EVENT, MAX_FOREIGN, SseFraming
from zc_notebooks.wire.registry import wire


def frame(chunks: Iterable[bytes], *, limit: int = MAX_EVENT) -> list[tuple[bytes, bytes]]:
    """All events, the one flushed at the end too, without the optional space before the data."""
    framing = SseFraming(limit)
    events = [event for chunk in chunks for event in framing.feed(chunk)]
    return [(name, data.removeprefix(b" ")) for name, data in events + framing.finish()]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        pytest.param(b"data: a\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")], id="LF"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"", b"a"), (b"", b"b")], id="CRLF"),
        pytest.param(b"data: a\r\rdata: b\r\r", [(b"", b"a"), (b"", b"b")], id="CR"),
        pytest.param(b"data: a\r\n\ndata: b\n\r\n", [(b"", b"a"), (b"", b"b")], id="mixed"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")], id="BOM"),
        pytest.param(b"\r\n\n \n\ndata: a\n\n", [(b"", b"a")], id="blank lines first"),
        pytest.param(b"\n\xef\xbb\xbf\n\xef\xbb\xbf{}", [(b"", b"{}")], id="BOM after blank lines, twice"),
        pytest.param(b"data:a\n\n", [(b"", b"a")], id="no space"),
        pytest.param(b"data:  a\n\n", [(b"", b" a")], id="one space is stripped, not two"),
        pytest.param(b"data: a\ndata: b\ndata\n\n", [(b"", b"a\nb\n")], id="several data lines"),
        pytest.param(b"event: x\ndata: a\n\n", [(b"x", b"a")], id="named"),
        pytest.param(b"data: a\nevent: x\n\n", [(b"x", b"a")], id="name after data"),
        pytest.param(b"event: x\nid: 1\nretry: 5\ndata: a\ndata: b\n\n", [(b"x", b"a\nb")], id="other fields"),
        pytest.param(b": KEEP ALIVE\n\n:\n\ndata: a\n: no\n\n: bye", [(b"", b"a")], id="comments"),
        pytest.param(b": one\n: two\ndata: a\n\n", [(b"", b"a")], id="comments without a blank line"),
        pytest.param(b"data: a\n\n\n\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")], id="many blank lines"),
        pytest.param(b"event: x\n\ndata: a\n\n", [(b"", b"a")], id="an event without data is none"),
        pytest.param(b'error: {"code":500}\n\n', [(b"error", b'{"code":500}')], id="the field error"),
        pytest.param(b"data: a\n\ndata: b", [(b"", b"a"), (b"", b"b")], id="pending at the end"),
        pytest.param(b"data: a\n\ndata: b\n", [(b"", b"a"), (b"", b"b")], id="pending with its line end"),
        pytest.param(b'{"error":{}}', [(b"", b'{"error":{}}')], id="bare object"),
        pytest.param(b': wait\n\n{"error":{}}', [(b"", b'{"error":{}}')], id="bare object behind a comment"),
        pytest.param(b': wait\n{\n"error": {}\n}\n', [(b"", b'{\n"error": {}\n}')], id="bare object on several lines"),
        pytest.param(
            b"data: a\n\n{}\n\ndata: b\n\n", [(b"", b"a"), (b"", b"{}"), (b"", b"b")], id="bare object between"
        ),
        pytest.param(
            b'\xef\xbb\xbf\n[{"a":1},\n{"b":"}"}]\n', [(b"", b'{"a":1}'), (b"", b'{"b":"}"}')], id="bare array"
        ),
        pytest.param(b'{"a":', [], id="half a bare object"),
        pytest.param(b"data: a\0b\xff\n\n", [(b"", b"a\0b\xff")], id="NUL and broken UTF-8"),
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"\xef\xbb\xbf", [], id="BOM alone"),
        pytest.param(b"<html>data: a\n\n</html>", [], id="HTML"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_framing(body: bytes, events: list[tuple[bytes, bytes]], size: int) -> None:
    """The events of a body do not depend on how it was cut."""
    assert frame(every(body, size)) == events


LINES = st.sampled_from(
    [b"data: x", b"data:y", b"data: " + "é€😀".encode(), b"event: n", b": c", b"", b"", b"error: e", b"id: 1", b"junk"]
)
BODIES = st.builds(
    lambda bom, lines, end: bom + end.join(lines),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(LINES, max_size=30),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)


@STEADY
@given(BODIES | st.binary(max_size=300), CUTS)
def test_any_cut_of_any_body_gives_the_same_events(body: bytes, cuts: list[int]) -> None:
    """Whatever the bytes are and wherever they are cut: no exception, and the same events."""
    assert frame(pieces(body, cuts)) == frame([body])


@STEADY
@given(BODIES)
def test_line_ends_are_all_alike(body: bytes) -> None:
    """LF, CRLF and CR frame the same."""
    plain = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert frame([body]) == frame([plain]) == frame([plain.replace(b"\n", b"\r")])


@pytest.mark.parametrize("start", [b"data: ", b"event: x\ndata: ", b'{"a": "', b": ", b"junk"])
@pytest.mark.parametrize("size", [1, 64, 5000])
def test_an_event_above_the_limit_is_refused(start: bytes, size: int) -> None:
    """One event larger than the limit sets ``overflow``; nothing more is held or given out."""
    framing = SseFraming(1000)
    events = [event for chunk in every(start + b"x" * 3000 + b"\n\ndata: a\n\n", size) for event in framing.feed(chunk)]
    assert framing.overflow
    assert events == []


def test_comments_do_not_pile_up() -> None:
    """Keep-alive lines without a blank line between them hold no memory and hit no limit."""
    framing = SseFraming(1000)
    assert [framing.feed(b": keep-alive\n") for _ in range(1000)] == [[]] * 1000
    assert framing.feed(b"data: a\n\n") == [(b"", b" a")]


def test_a_foreign_body_is_kept_in_part() -> None:
    """Of a body that is no stream only the beginning is kept."""
    framing = SseFraming()
    for _ in range(100):
        framing.feed(b"<p>" * 1000)
    assert framing.foreign is not None
    assert len(framing.foreign) == MAX_FOREIGN


@pytest.mark.parametrize("framing", [SseFraming, NdjsonFraming])
def test_byte_order_marks_without_end(framing: type[SseFraming | NdjsonFraming]) -> None:
    """8 MB of nothing but byte order marks are skipped in one pass; one pass for each mark takes minutes."""
    made = framing()
    assert made.feed(b"\xef\xbb\xbf \n" * 1_600_000 + b'{"a":1}\n') + made.finish() == [(b"", b'{"a":1}')]


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "anthropic_messages"])
def test_a_line_of_200_mb_is_refused_at_the_limit(name: str) -> None:
    """A line without end is a failure with the limit in its sentence, at a memory of twice the limit."""
    decoder = wire(name).decoder({}, anthropic_completion="stop_reason")  # type: ignore[arg-type]
    chunk = b"x" * 65536
    tracemalloc.start()
    decoder.feed(b"data: ")
    fed = 0
    while not decoder.closed and fed < 200_000_000:
        decoder.feed(chunk)
        fed += len(chunk)
    end = decoder.finish()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fed <= MAX_EVENT + 2 * len(chunk)
    assert peak < 2.5 * MAX_EVENT
    assert end.failure is not None
    assert (end.failure.kind, end.failure.detail) == (
        "not_protocol",
        f"one event is larger than {MAX_EVENT} bytes: refused",
    )
