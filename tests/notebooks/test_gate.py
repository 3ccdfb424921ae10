"""The second gate: all cells of a notebook at once to a real kernel, as "Run All" does.

nbval sends one cell after the other and lets an unknown magic, a lost task exception and a stripped notebook pass.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.notebook.kernels import LIMIT_S, kernel
from tests.notebooks.canonical import FOLDER
from tests.notebooks.manifest import NOTEBOOKS
from zc_notebooks.config.state import state_dir

LOST = ("Task exception was never retrieved", "was never awaited", "UsageError", "Traceback (most recent call last)")
LAST_WORD = "import gc; gc.collect(); print('gate: the end')"


def cells(name: str) -> list[dict[str, Any]]:
    """The code cells of a notebook."""
    notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def client() -> Iterator[Any]:
    """Talks to a real kernel in the notebooks' folder."""
    with kernel(FOLDER, os.environ) as running:
        yield running.client


def test_the_manifest_names_every_notebook() -> None:
    """Each notebook stands in it exactly once."""
    assert sorted(NOTEBOOKS) == sorted(path.name for path in FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_committed_as_it_ran(name: str) -> None:
    """Outputs are kept, counts are in order, nothing ended in an error, and no cell is empty."""
    found = cells(name)
    assert [cell["execution_count"] for cell in found] == list(range(1, len(found) + 1))
    assert not [out for cell in found for out in cell["outputs"] if out["output_type"] == "error"]
    assert sum(bool(cell["outputs"]) for cell in found) >= len(found) // 2
    assert any("parameters" in cell["metadata"].get("tags", []) for cell in found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_all_cells_at_once(name: str, client: Any) -> None:
    """Each reply is ok, no task exception is lost, no magic is unknown, and the lab's money is nobody's."""
    sources = ["".join(cell["source"]) for cell in cells(name)]
    sent = [client.execute(source, stop_on_error=False) for source in [*sources, LAST_WORD]]
    waiting, replies, printed = set(sent), {}, []
    end = time.monotonic() + LIMIT_S
    while waiting and time.monotonic() < end:
        reply = client.get_shell_msg(timeout=max(0.1, end - time.monotonic()))
        parent = reply["parent_header"].get("msg_id")
        if parent in waiting:
            waiting.discard(parent)
            replies[parent] = reply["content"]
    while True:
        message = client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])
        if "gate: the end" in "".join(printed[-1:]):
            break
    bad = [
        (source, replies.get(key, {}))
        for key, source in zip(sent, sources, strict=False)
        if replies.get(key, {}).get("status") != "ok"
    ]
    assert bad == []
    assert [word for word in LOST if word in "".join(printed)] == []
    assert not (state_dir() / "spend.sqlite").exists()
