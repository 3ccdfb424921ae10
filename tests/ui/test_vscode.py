"""Panel, board and rich objects in the widget manager that VS Code shows widgets with, on a page with its colours.

VS Code itself is not here, nor its Jupyter extension; the bundle its notebooks load (``@vscode/jupyter-ipywidgets8``)
is, with kernels of a Jupyter server on loopback. ``ZC_VSCODE`` names the folder that npm installed it into.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.ui.pages import Browser, Lab, Seen, missing
from tests.ui.setting import ALONE, BOARD, CONTRAST, CONTROLS, SETUP

HERE = Path(__file__).parent
RUN = "(code) => window.run(code)"


class Kernels(Lab):
    """A Jupyter server that also has the page and its scripts."""

    def __init__(self, folder: Path, modules: Path) -> None:
        super().__init__(folder)
        self._static = folder / "static"
        self._static.mkdir()
        shutil.copy(HERE / "vscode.html", self._static)
        shutil.copy(modules / "requirejs" / "require.js", self._static)
        shutil.copy(modules / "@vscode" / "jupyter-ipywidgets8" / "dist" / "ipywidgets.js", self._static)
        shutil.copytree(Path(sys.prefix) / "share" / "jupyter" / "nbextensions", self._static / "nbextensions")
        subprocess.run(
            [
                modules / ".bin" / "esbuild",
                "--bundle",
                "--format=iife",
                "--global-name=services",
                "--define:global=window",
                "--define:process.env={}",
                "--log-level=warning",
                f"--outfile={self._static / 'services.js'}",
            ],
            input=b"export { KernelManager, ServerConnection } from '@jupyterlab/services';",
            cwd=modules.parent,
            check=True,
            timeout=60,
        )

    def command(self) -> Sequence[str]:
        """See :class:`Lab`."""
        own = (f"--ServerApp.extra_static_paths={self._static}", "--ServerApp.disable_check_xsrf=True")
        return (*super().command(), *own)


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Panel, board, an answer and the ledger. Afterwards: no request left this machine, and nothing complained."""
    if (lacking := missing("jupyterlab")) is not None:
        pytest.skip(lacking)
    modules = Path(os.environ.get("ZC_VSCODE", "none")) / "node_modules"
    if not modules.is_dir():
        pytest.skip("ZC_VSCODE names no folder with @vscode/jupyter-ipywidgets8")
    with Kernels(tmp_path_factory.mktemp("vscode"), modules) as served:
        seen = browser.open(f"{served.url}/static/vscode.html", width=1100, height=1400)
        seen.page.wait_for_function("window.run !== undefined")
        for cell in (SETUP + ALONE, CONTROLS, BOARD, "done = await chain.ask('hi')\ndone", "chain.ledger"):
            assert seen.page.evaluate(RUN, cell) == ""
        seen.page.get_by_role("button", name="Probe all").wait_for()
        yield seen
        assert seen.foreign == []
        assert seen.errors == []
        seen.page.evaluate("window.ended()")
        seen.close()


def test_panel_and_board_work(page: Seen) -> None:
    """An answer with its hops, fallback off that fails loudly, a probe; the board sees the attempts."""
    page.page.get_by_label("Prompt").fill("Tell me about lighthouses")
    page.page.get_by_role("button", name="Ask", exact=True).click()
    page.page.get_by_text("answered by deepseek.prepaid/deepseek-v4-flash").wait_for()
    page.page.get_by_label("Fallback").uncheck()
    page.page.get_by_text("Fallback is off: the next call goes to groq.free/openai/gpt-oss-120b alone").wait_for()
    page.page.get_by_role("button", name="Ask", exact=True).click()
    page.page.get_by_role("alert").filter(has_text="Fallback is off, and the one candidate gave no answer").wait_for()
    row = page.page.locator("tr[data-ref='openai.prepaid']")
    row.get_by_role("button", name="Probe openai.prepaid").click()
    row.get_by_text("reachable").wait_for()
    page.page.get_by_text("Today: ").get_by_text("answers").wait_for()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_can_be_read_in_the_colours_of_the_editor(page: Seen, theme: str) -> None:
    """AA, though the bundle brings the light colours of JupyterLab along."""
    page.page.evaluate("(theme) => { document.body.className = `vscode-${theme}`; }", theme)
    page.page.locator(f".zc-panel[data-dark={'true' if theme == 'dark' else 'false'}]").first.wait_for()
    page.picture(f"vscode-{theme}")
    assert page.page.evaluate(CONTRAST) == []
