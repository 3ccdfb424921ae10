"""Each committed notebook, opened in JupyterLab, and the panels' in Notebook 7, and run from top to bottom."""

from __future__ import annotations

import json

import pytest

from tests import ROOT
from tests.notebooks.manifest import NOTEBOOKS
from tests.ui.pages import Browser, Lab, Notebook7, run_notebook

ENDED = """() => {
    const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells].filter((cell) => cell.type === 'code');
    return cells.map((cell) => [
        cell.executionCount,
        cell.outputs.toJSON().filter((output) => output.output_type === 'error').map((output) => output.evalue),
    ]);
}"""
"""Execution count and errors of every code cell."""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_runs_in_a_browser(browser: Browser, lab: Lab, name: str) -> None:
    """Every cell ran without an error, every picture is there, nothing left this machine, nothing of ours complains."""
    _runs(browser, lab, name, name.removesuffix(".ipynb"))


@pytest.mark.parametrize("name", ["00_start_here.ipynb", "08_controls.ipynb"])
def test_runs_in_notebook_7(browser: Browser, notebook_7: Notebook7, name: str) -> None:
    """The tour and the panels look and work the same there."""
    _runs(browser, notebook_7, name, f"{name.removesuffix('.ipynb')}-notebook-7")


def _runs(browser: Browser, lab: Lab, name: str, picture: str) -> None:
    content = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    seen = run_notebook(browser, lab, name, content, height=1400)
    ended = seen.page.evaluate(ENDED)
    assert [errors for _, errors in ended if errors] == []
    assert [count for count, _ in ended] == list(range(1, len(ended) + 1))
    blank = (
        "() => [...document.querySelectorAll('.jp-OutputArea img')].filter((img) => img.complete && !img.naturalWidth)"
    )
    assert seen.page.evaluate(f"({blank})().length") == 0
    seen.picture(picture)
    assert seen.foreign == []
    assert seen.ours == []
    seen.page.evaluate("window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")
    seen.close()
