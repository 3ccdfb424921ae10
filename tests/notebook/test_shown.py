"""Every type that notebooks show × every form × fresh, empty, huge and hostile content."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.notebook.shown_things import KEY, MAKERS, MANY, SHAPED, TEXTS, budget, plan, status
from tests.notebook.test_display import Balanced
from zc_notebooks.markup import ROWS_SHOWN, Sheet
from zc_notebooks.notebook.display import sheet_of
from zc_notebooks.redact import register

FORMS = ("text/plain", "text/html", "text/markdown")
CASES = [
    pytest.param(kind, text, many, id=f"{kind}-{name}-{many}")
    for kind in MAKERS
    for name, text in TEXTS.items()
    for many in (0, 1, 2)
] + [pytest.param(kind, TEXTS["plain"], MANY, id=f"{kind}-plain-{MANY}") for kind in MAKERS]


@pytest.fixture(autouse=True)
def _known_key() -> None:
    """The key is known, as it is wherever an object of a chain that read it is shown."""
    register(KEY)


@pytest.mark.parametrize(("kind", "text", "many"), CASES)
def test_every_type_in_every_form(kind: str, text: str, many: int, tmp_path: Path) -> None:
    """Never raises, can be saved, is balanced and inert, holds no address and no key, and is not endless."""
    thing = MAKERS[kind](text, many, tmp_path)
    forms: dict[str, str] = thing._repr_mimebundle_()
    assert tuple(forms) == FORMS
    assert (thing._repr_html_(), thing._repr_markdown_()) == (forms["text/html"], forms["text/markdown"])
    for form in (*forms.values(), repr(thing)):
        assert re.search(r"0x[0-9a-f]{6,}", form) is None
        assert KEY not in form
        assert SHAPED not in form
    for form in forms.values():
        json.dumps(form, ensure_ascii=False).encode()
        assert not set(form) & {"\x00", "\x07", "\x08", "\x1b"}
        assert len(form) < 600_000
    page = Balanced()
    page.feed(forms["text/html"])
    assert page.open == []
    assert page.tags <= {"div", "p", "strong", "em", "table", "thead", "tbody", "tr", "th", "td"}
    if hasattr(thing, "_render_traceback_"):
        json.dumps(thing._render_traceback_(), ensure_ascii=False).encode()


@pytest.mark.parametrize("kind", MAKERS)
def test_the_forms_are_of_one_moment(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sheet is made once for all three."""
    made: list[Any] = []
    monkeypatch.setattr("zc_notebooks.notebook.display.sheet_of", lambda shown: made.append(shown) or sheet_of(shown))
    thing = MAKERS[kind]("42", 2, tmp_path)
    thing._repr_mimebundle_()
    assert made == [thing]
    assert list(thing._repr_mimebundle_(include=["text/html"])) == ["text/html"]
    assert "text/html" not in thing._repr_mimebundle_(exclude=["text/html"])


def test_markdown_obeys_nobody() -> None:
    """Text of others makes no link, no picture, no heading and no table cell; longer text stands in a fence."""
    sheet = Sheet(title="t", lines=("![x](http://h/p.png)", "a\n```\nb"), columns=("c",), rows=(("x | <b>",),))
    told = sheet.markdown()
    assert r"!\[x\](http://h/p.png)" in told
    assert "````text\na\n```\nb\n````" in told
    assert r"| x \| \<b\> |" in told


def test_huge_tables_say_what_is_left_out() -> None:
    """A saved notebook must still open."""
    sheet = Sheet(title="t", columns=("c",), rows=(("x",),) * (ROWS_SHOWN + 5), lines=("y" * 60_000,))
    for form in (sheet.html(), sheet.markdown(), sheet.text()):
        assert "5 more rows" in form
        assert "10,000 more characters" in form


def test_no_theme_is_assumed() -> None:
    """Colours are those of the page; Jupyter's and VS Code's variables have a fallback each."""
    html = Sheet(title="t", columns=("c",), rows=(("x",),), notes=("n",)).html()
    assert re.search(r"#[0-9a-f]{3}|rgb\(|background:(?!transparent)", html) is None
    assert "var(--vscode-font-family,var(--jp-ui-font-family,system-ui,sans-serif))" in html
    assert html.count('scope="col"') == 1
    assert 'aria-label="t"' in html


def test_keyed_objects_complete_their_keys() -> None:
    """``plan[``, ``status[`` and ``budget[`` offer what is there; another key is a sentence."""
    for thing, key in ((plan("m", 2), "custom.a"), (status("", 1), "custom.a"), (budget("", 1), "day")):
        assert thing._ipython_key_completions_() == [key]
        assert key in thing
        assert thing[key] is not None
        with pytest.raises(KeyError, match=f"'nobody' is not in this .* \\(there: {key}\\)"):
            thing["nobody"]


def test_a_closed_ledger_is_still_a_line(tmp_path: Path) -> None:
    """What cannot be drawn is left out, and its repr is shown."""
    ledger = zc.Ledger(tmp_path)
    ledger.close()
    assert ledger._repr_mimebundle_() == {}
    assert repr(ledger) == "Ledger(0 rows, 0 files)"
