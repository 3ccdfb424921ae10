"""The panel as a plain page through Voila."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import ROOT
from tests.ui.pages import Browser, Voila, missing, notebook
from tests.ui.setting import ALONE, BOARD, CONTROLS, SETUP

ICONS = "https://cdn.jsdelivr.net/npm/@fortawesome/"
"""Icons that Voila's own template asks for and nothing of ours uses; here they get no answer, and none is missed."""


def test_the_notebook_of_the_panels_is_a_plain_page(browser: Browser, tmp_path: Path) -> None:
    """Notebook 08: its panel and its board stand there, alive."""
    if (lacking := missing("voila")) is not None:
        pytest.skip(lacking)
    path = tmp_path / "08.ipynb"
    path.write_bytes((ROOT / "notebooks" / "08_controls.ipynb").read_bytes())
    with Voila(tmp_path, path) as served:
        seen = browser.open(served.url, height=1500)
        seen.page.get_by_role("region", name="Live board of attempts").wait_for()
        seen.page.get_by_role("button", name="Probe all").click()
        seen.page.get_by_text("Probe all: 6 of 6 asked").wait_for()
        seen.picture("voila-08")
        assert [url for url in seen.foreign if not url.startswith(ICONS)] == []
        seen.close()


def test_a_plain_page(browser: Browser, tmp_path: Path) -> None:
    """It shows, a probe works, an answer comes, and nothing is asked of another machine."""
    if (lacking := missing("voila")) is not None:
        pytest.skip(lacking)
    path = tmp_path / "panel.ipynb"
    path.write_text(json.dumps(notebook(SETUP + ALONE, CONTROLS, BOARD)), encoding="utf-8")
    with Voila(tmp_path, path) as served:
        seen = browser.open(served.url, height=1500)
        row = seen.page.locator("tr[data-ref='openai.prepaid']")
        row.get_by_role("button", name="Probe openai.prepaid").click()
        row.get_by_text("reachable").wait_for()
        seen.page.get_by_label("Prompt").fill("Tell me about lighthouses")
        seen.page.get_by_role("button", name="Ask", exact=True).click()
        seen.page.get_by_text("answered by").wait_for()
        seen.page.get_by_text("Today: ").get_by_text("answers").wait_for()
        seen.picture("voila")
        assert [url for url in seen.foreign if not url.startswith(ICONS)] == []
        assert seen.ours == []
        seen.close()
