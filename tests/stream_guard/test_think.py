"""``<think>`` spans: removal, reasoning, emptiness, and that no cut of the text changes the result."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zc_notebooks.chat import Answer, ToolCall
from zc_notebooks.stream_guard.think import ThinkFilter, is_empty, strip_think

TEXTS = st.lists(
    st.sampled_from(["<think>", "</think>", "<", "<th", "ink>", "</", "think", ">", "a", "é", " ", "\n"]), max_size=12
).map("".join)


@pytest.mark.parametrize(
    ("text", "visible", "reasoning"),
    [
        ("plain", "plain", ""),
        ("<think>why</think>42", "42", "why"),
        ("a<think>x</think>b<think>y</think>c", "abc", "xy"),
        ("a<think>never closed", "a", "never closed"),
        ("a</think>b", "a</think>b", ""),
        ("<think>a<think>b</think>c</think>d", "c</think>d", "a<think>b"),
        ("1 < 2 and <thin", "1 < 2 and <thin", ""),
        ("<think>a</thin", "", "a</thin"),
        ("<THINK>a</THINK>", "<THINK>a</THINK>", ""),
        ("<<think>x</think>>", "<>", "x"),
        ("", "", ""),
    ],
)
def test_spans_go_and_their_content_is_reasoning(text: str, visible: str, reasoning: str) -> None:
    """Every span goes, an unclosed opener drops the rest, a stray closer stays (spec 1)."""
    assert strip_think(text) == (visible, reasoning)


@given(TEXTS)
@example("<think></think><think>")
def test_visible_text_is_that_of_the_plain_rule(text: str) -> None:
    """The visible text is the one a regular expression over the whole text leaves."""
    assert strip_think(text)[0] == re.sub(r"<think>.*?(?:</think>|\Z)", "", text, flags=re.DOTALL)


@given(TEXTS, st.lists(st.integers(0, 80), max_size=8))
def test_cuts_change_nothing(text: str, cuts: list[int]) -> None:
    """However the text is split into deltas, the result is that of the whole."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    spans = ThinkFilter()
    pairs = [spans.feed(text[start:stop]) for start, stop in itertools.pairwise(places)]
    pairs.append(spans.finish())
    assert ("".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs)) == strip_think(text)


@given(TEXTS)
def test_held_text_could_still_be_a_tag(text: str) -> None:
    """What has not come out after a delta is a proper start of the awaited tag, and shorter than it."""
    spans = ThinkFilter()
    out = [spans.feed(character) for character in text]
    given_back, reasoning = spans.finish()
    held = given_back or reasoning
    assert len(held) < len("</think>")
    assert "<think>".startswith(held) or "</think>".startswith(held)
    assert sum(len(visible) + len(inside) for visible, inside in out) + len(held) <= len(text)


def test_ordinary_text_is_never_held_back() -> None:
    """A ``<`` that cannot open a span comes out with its delta."""
    spans = ThinkFilter()
    assert spans.feed("if a <b") == ("if a <b", "")
    assert spans.feed("x <") == ("x ", "")
    assert spans.feed("= 3") == ("<= 3", "")
    assert spans.finish() == ("", "")


CALL = ToolCall(id="c", name="f", arguments={}, raw="{}")


@pytest.mark.parametrize(
    ("answer", "empty"),
    [
        (Answer(text=""), True),
        (Answer(text=" \n\t"), True),
        (Answer(text="<think>only this</think> \n"), True),
        (Answer(text="<think>unclosed"), True),
        (Answer(reasoning="only reasoning"), True),
        (Answer(tool_calls=(CALL,)), False),
        (Answer(text="<think>x</think>42"), False),
        (Answer(text="</think>"), False),
    ],
)
def test_semantic_emptiness(answer: Answer, empty: bool) -> None:
    """Behaviour 76: think spans and reasoning alone are empty, tool calls without text are not."""
    assert is_empty(answer) is empty


def test_a_delta_inside_a_span_is_no_output() -> None:
    """Behaviour 130: a delta that is empty after stripping shows nothing."""
    spans = ThinkFilter()
    assert [spans.feed(delta)[0] for delta in ("<thi", "nk>why", " not", "</think>")] == ["", "", "", ""]
    assert spans.feed("42") == ("42", "")
