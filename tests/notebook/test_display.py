"""What notebooks show: three forms of one snapshot for every object, none of which can fail."""

from __future__ import annotations

import asyncio
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet
from zc_notebooks.cli.ask import summary as in_terminal
from zc_notebooks.markup import counted
from zc_notebooks.notebook.display import sheet_of
from zc_notebooks.notebook.sheets.calls import summary
from zc_notebooks.probe import ProbeResult, ProbeResults
from zc_notebooks.records import LiveMarks
from zc_notebooks.testing import chat_answer, chat_error


def shown(folder: Path) -> dict[str, Any]:
    """One of each object, with markup in every text that comes from outside."""
    script = {"a": [chat_error(429, "<b>slow</b> | down", {"retry-after": "90"})], "b": [chat_answer("<i>42</i> | ok")]}
    fleet = Fleet(script, folder)
    done = asyncio.run(fleet.chain.ask("x"))
    failing = Fleet({"a": [chat_error(402, "<script>alert(1)</script>")]}, folder)
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        asyncio.run(failing.chain.ask("x"))
    failed = caught.value.attempts[0].verdict
    return {
        "Completion": done,
        "Plan": fleet.chain.plan(),
        "Chain": fleet.chain,
        "LiveMarks": fleet.chain.marks(),
        "no marks": LiveMarks(()),
        "Mark": fleet.chain.marks()[0],
        "Status": fleet.chain.status(),
        "Verdict": failed,
        "AllCandidatesFailed": caught.value,
        "Explanation": zc.explain(provider="groq", status=429, headers={"retry-after": "7"}, body="{}"),
        "ProbeResult": ProbeResult(ref="a.b", model="m", state="dead", ms=1.0, how="one", text="<u>"),
    }


class Balanced(HTMLParser):
    """Checks that every tag is closed, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert all(value is not None for _, value in attrs)
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_three_forms_of_each(tmp_path: Path) -> None:
    """HTML that is balanced and escaped, Markdown, text, and a one-line repr without an address or a key."""
    for name, thing in shown(tmp_path).items():
        page = Balanced()
        html = thing._repr_html_()
        assert html is not None, name
        page.feed(html)
        assert page.open == [], name
        assert not page.tags & {"script", "b", "i", "u"}, name
        forms = [html, thing._repr_markdown_(), sheet_of(thing).text(), repr(thing)]
        assert all(forms), name
        if name != "AllCandidatesFailed":
            assert len(repr(thing).splitlines()) == 1, name
        assert not any(re.search(r"0x[0-9a-f]{6,}", str(form)) for form in forms), name
        assert not any(key[:6] in str(form) for key in KEYS.values() for form in forms), name


@pytest.mark.parametrize(
    ("cost", "words"), [("0.0000004", "cost $0.0000004"), ("0", "cost $0.00"), ("0.25", "cost $0.25")]
)
def test_a_cost_is_never_rounded_to_nothing(tmp_path: Path, cost: str, words: str) -> None:
    """Every digit of it stands there, in a notebook and a terminal; nothing is two zeros."""
    done = replace(asyncio.run(Fleet({"a": [chat_answer()]}, tmp_path).chain.ask("x")), cost_usd=Decimal(cost))
    done = replace(done, at_least=False)
    assert summary(done).endswith(words)
    assert in_terminal(done).endswith(words)


def test_the_text_of_a_cell_is_the_text_of_its_table(tmp_path: Path) -> None:
    """IPython has forms of its own for tuples and exceptions; ours go first, alone and not inside of a list."""
    formatters = pytest.importorskip("IPython.core.formatters")
    formatter = formatters.DisplayFormatter()
    things = shown(tmp_path)
    things["ProbeResults"] = ProbeResults((things["ProbeResult"],) * 2)
    for name, thing in things.items():
        data, _ = formatter.format(thing)
        assert data["text/plain"] == thing._repr_mimebundle_()["text/plain"], name
    data, _ = formatter.format([things["LiveMarks"]])
    assert data["text/plain"] == repr([things["LiveMarks"]])


def test_a_repr_never_raises() -> None:
    """A form that cannot be made is left out: a raising formatter would mark the cell as failed."""
    broken = zc.Plan(entries=None, source="graph", requested_model="m")  # type: ignore[arg-type]
    assert broken._repr_html_() is None
    assert broken._repr_markdown_() is None


def test_an_exhausted_chain_shows_no_frames(tmp_path: Path) -> None:
    """One line for each candidate; the frames are one call away."""
    error = shown(tmp_path)["AllCandidatesFailed"]
    lines = error._render_traceback_()
    assert lines[0].startswith("AllCandidatesFailed: 1 attempt or skip")
    assert len(lines) == 3
    assert "Traceback (most recent call last)" in error.traceback()


def test_outcomes_are_words_not_colours(tmp_path: Path) -> None:
    """Nothing is said by colour alone."""
    html = shown(tmp_path)["Completion"]._repr_html_()
    assert "answered" in html
    assert "http 429" in html
    assert not re.search(r"(background|[^-]color):\s*(#|red|green)", html)


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("answer",), "0 answers"),
        (1, ("answer",), "1 answer"),
        (1_234, ("answer",), "1,234 answers"),
        (1, ("more row is", "more rows are"), "1 more row is"),
        (2, ("more row is", "more rows are"), "2 more rows are"),
    ],
)
def test_counted_words(number: int, words: tuple[str, ...], said: str) -> None:
    """One is one, many have separators."""
    assert counted(number, *words) == said
