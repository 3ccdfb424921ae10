"""The live board in JupyterLab beside another notebook and a script: one ledger, one board of marks."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests import ROOT
from tests.ui.pages import Browser, Lab, notebook, run_notebook
from tests.ui.setting import BOARD, CONTRAST, CONTROLS, OVERFLOW, RUN, SETUP, SHARED

SCRIPT = """
import sys
from datetime import UTC, datetime
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.row import AttemptRow

LedgerWriter(sys.argv[1]).write(
    AttemptRow(
        call_id="script", ordinal=0, t=datetime.now(UTC), provider_ref="night.script", model="m" * 300, kind="attempt",
        mode="chat", status="http_402", reason="balance", cost_usd=0.0,
    )
)
"""
SOON_S = 2.0
"""What one does, the others see within this time."""


def test_two_notebooks_and_a_script(browser: Browser, lab: Lab) -> None:
    """Each sees what the others did within two seconds: attempts on the board, marks on the panel."""
    first = run_notebook(browser, lab, "first.ipynb", notebook(SETUP + SHARED, BOARD, CONTROLS), height=1500)
    second = run_notebook(browser, lab, "second.ipynb", notebook(SETUP + SHARED, CONTROLS))
    board = first.page.get_by_role("region", name="Live board of attempts")
    board.wait_for()
    groq = [seen.page.locator("tr[data-ref='groq.free']") for seen in (first, second)]
    groq[1].get_by_text("unknown (not asked yet)").wait_for()

    second.page.evaluate(RUN, "done = await chain.ask('hi')")
    asked = time.monotonic()
    groq[0].get_by_text("limited until").wait_for()
    board.get_by_text("1 answer,").wait_for()
    seen_s = time.monotonic() - asked
    first.picture("board")
    first.page.set_viewport_size({"width": 900, "height": 1500})
    first.page.wait_for_function("document.querySelector('.zc-panel').getBoundingClientRect().width < 800")
    assert max(first.page.evaluate(OVERFLOW)) <= 0
    assert first.page.evaluate(CONTRAST) == []
    first.picture("board-900")

    command = [sys.executable, "-c", SCRIPT, str(lab.folder / "ledger-shared")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=60)
    written = time.monotonic()
    board.get_by_role("region", name="Newest attempts").get_by_role("cell", name="night.script/m").wait_for()
    script_s = time.monotonic() - written
    assert max(first.page.evaluate(OVERFLOW)) <= 0

    first.page.evaluate(RUN, "controls.state.clear('groq.free')")
    cleared = time.monotonic()
    groq[1].get_by_text("not asked since its limit").wait_for()
    cleared_s = time.monotonic() - cleared
    first.page.evaluate(RUN, "board.state.note('the ledger cannot be read')")
    board.get_by_text("the ledger cannot be read").wait_for()
    print(f"seen by others after {seen_s:.2f} s, {script_s:.2f} s, {cleared_s:.2f} s")
    assert max(seen_s, script_s, cleared_s) < SOON_S
    assert first.foreign + second.foreign == []
    assert first.ours + second.ours == []
    first.close()
    second.close()


def test_it_stops_when_its_cell_is_cleared_or_deleted(browser: Browser, lab: Lab) -> None:
    """Nobody looks at the ledger for a board that nobody sees; shown again, it goes on."""
    seen = run_notebook(
        browser, lab, "cleared.ipynb", notebook(SETUP + SHARED, BOARD, "again = zc.board(chain)\nagain")
    )
    followed = "print(board.following, again.following)"
    seen.page.get_by_role("region", name="Live board of attempts").nth(1).wait_for()
    assert seen.page.evaluate(RUN, followed).strip() == "True True"
    seen.page.evaluate(
        """async () => {
            const { commands, shell } = window.jupyterapp;
            const content = shell.currentWidget.content;
            content.activeCellIndex = 1;
            content.deselectAll();
            await commands.execute('notebook:clear-cell-output');
            content.activeCellIndex = 2;
            content.deselectAll();
            await commands.execute('notebook:delete-cell');
        }"""
    )
    seen.page.get_by_role("region", name="Live board of attempts").first.wait_for(state="detached")
    wait = (
        "import asyncio\nasync with asyncio.timeout(30):\n"
        "    while board.following or again.following: await asyncio.sleep(0.1)\n"
    )
    assert seen.page.evaluate(RUN, wait + followed).strip() == "False False"
    assert seen.page.evaluate(RUN, "print(board.tasks.running, again.tasks.running)").strip() == "() ()"
    seen.close()
