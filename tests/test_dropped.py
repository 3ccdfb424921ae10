"""What a chain leaves behind that nobody closes: in a notebook, a cell that opens one is run again and again."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pytest

import zc_notebooks as zc
from tests.open_files import FOLDER, open_files
from tests.test_budget_file import NONE
from zc_notebooks.budget.spending import Spending
from zc_notebooks.clock import SystemClock
from zc_notebooks.lab import Lab


def _open_files() -> set[str]:
    """The files with a name that this process has open."""
    return {name for name in open_files().values() if name.startswith("/") and not name.startswith("/dev/")}


def _labs_closed() -> None:
    """Returns when every lab that is being closed is closed."""
    for thread in threading.enumerate():
        if thread.name == "zc-lab-closing":
            thread.join(10)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no /proc here")
def test_a_dropped_chain_lets_its_files_go(tmp_path: Path) -> None:
    """Ledger, marks and spend file are closed with the last reference, without a warning."""
    with Lab() as lab:
        path = tmp_path / "zc.toml"
        path.write_text(lab.config_text())
        before = _open_files()
        chain = zc.open(path, environ=lab.environ() | {"ZC_STATE_DIR": str(tmp_path)}, ledger=tmp_path / "ledger")
        chain.ask_sync("What is 2 + 2?")
        kinds = {Path(name).suffix for name in _open_files() - before}
        assert {".jsonl", ".sqlite"} <= kinds
        del chain
        gc.collect()
        assert _open_files() <= before


def test_a_dropped_chain_ends_its_lab() -> None:
    """The embedded lab of a chain nobody has any more does not go on listening."""
    chain = zc.open(environ={}, quiet=True)
    chain.ask_sync("What is 2 + 2?")
    lab = chain.lab
    assert lab is not None
    assert lab.running
    del chain
    gc.collect()
    _labs_closed()
    assert not lab.running


@pytest.mark.parametrize("name", ["spend.sqlite", None])
def test_a_dropped_purse_is_closed(tmp_path: Path, name: str | None) -> None:
    """No connection of a budget is left to the collector: Python 3.13 warns of one, which fails this suite."""
    purse = Spending(tmp_path / name if name else None, clock=SystemClock())
    purse.reserve(1, NONE)
    del purse
    gc.collect()
