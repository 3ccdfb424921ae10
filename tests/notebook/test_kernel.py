"""The magics and ``allow_nested_loops`` in a real kernel: its loop, its interrupt, its Tab, its "Run All"."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.notebook.kernels import LIMIT_S, Kernel, kernel
from zc_notebooks.lab import Lab
from zc_notebooks.notebook.magics import INTERRUPTED

pytestmark = pytest.mark.filterwarnings("ignore")


class Noticing(Lab):
    """A lab that tells when it was asked something."""

    def __init__(self, scenario: str) -> None:
        super().__init__(scenario)
        self.asked = threading.Event()

    def receive(self, *request: Any) -> Any:
        """See :class:`Lab`."""
        self.asked.set()
        return super().receive(*request)


@pytest.fixture(scope="module")
def lab() -> Iterator[Noticing]:
    """Three healthy providers on loopback."""
    with Noticing("routes") as running:
        yield running


@pytest.fixture(scope="module")
def folder(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration for the lab."""
    made = tmp_path_factory.mktemp("kernel")
    route = '[[model_routes]]\nhint = "quick"\nmodel_provider = "groq.free"\nmodel = "openai/gpt-oss-20b"\n'
    made.joinpath("zc.toml").write_text(lab.config_text() + f'[ledger]\npath = "{made / "ledger"}"\n' + route)
    return made


@pytest.fixture(scope="module")
def running(lab: Lab, folder: Path) -> Iterator[Kernel]:
    """One kernel for the module, with the magics loaded."""
    env = {**os.environ, **dict(lab.environ()), "ZC_STATE_DIR": str(folder / "state"), "ZC_LOCAL_MODEL": "off"}
    env.pop("ZC_CONFIG", None)
    with kernel(folder, env) as started:
        assert started.run("%load_ext zc_notebooks").status == "ok"
        yield started


def test_loading_is_cheap(running: Kernel) -> None:
    """The core never imports IPython; nothing patches the kernel's loop."""
    ran = running.run("import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', "
        "'import sys, zc_notebooks.chain, zc_notebooks.notebook.magics; print(\"IPython\" in sys.modules)'], "
        "capture_output=True, text=True).stdout, 'nest_asyncio2' in sys.modules)")  # fmt: skip
    assert ran.printed.split() == ["False", "False"]


def test_ask_in_a_cell(running: Kernel) -> None:
    """The answer is the cell's result, in every form, and it stands in ``_``."""
    ran = running.run("%%ask --start groq.free\nWhat is 17 * 23?")
    assert ran.status == "ok", ran.traceback
    assert "391" in ran.shown[0]["text/plain"]
    assert {"text/html", "text/markdown"} <= set(ran.shown[0])
    assert running.run("print(_.served.provider_ref)").printed == "groq.free\n"


def test_stream_is_rewritten_in_place(running: Kernel) -> None:
    """Drafts update one display; the last says it is the answer, what it took, and is shown once."""
    ran = running.run("%%ask --stream --hint quick\ncount to ten")
    assert ran.status == "ok", ran.traceback
    assert len(ran.shown) > 2
    assert ran.shown[0]["text/plain"].startswith("[draft]")
    assert ran.shown[-1]["text/plain"].startswith("[answer]")
    assert "attempt" in ran.shown[-1]["text/plain"]


def test_out_fill_and_a_query(running: Kernel) -> None:
    """``--out`` keeps silently, ``--fill`` fills; the ledger's frame is the result."""
    assert running.run("a, b = 17, 23").status == "ok"
    ran = running.run("%%ask --fill --out kept\nWhat is {a} * {b}?")
    assert (ran.status, ran.shown) == ("ok", []), ran.traceback
    assert ran.printed.startswith("kept: 1 attempt, 0 hops")
    assert "391" not in ran.printed
    assert "391" in running.run("print(kept.text)").printed
    ran = running.run("%%zcsql --out frame\nselect count(*) as n from attempts")
    assert ran.printed == "frame: 1 row × 1 column\n"
    assert running.run("print(frame['n'][0] >= 1)").printed == "True\n"


def test_mistakes_are_sentences(running: Kernel) -> None:
    """No frames, and the queue stops as it does for any error."""
    for cell in ("%%ask --hnit x\nhi", "%zc stats", "%%zcsql\nselect * from nowhere", "%%ask --schema nope\nhi"):
        ran = running.run(cell)
        assert (ran.status, ran.ename) == ("error", "MagicError"), cell
        assert len(ran.traceback.splitlines()) == 1, ran.traceback
        assert "Traceback" not in ran.traceback


def test_a_failed_call_shows_its_candidates(running: Kernel, lab: Lab) -> None:
    """One line for each candidate instead of frames."""
    lab.set_fault("fast", "status:503")
    try:
        ran = running.run("%%ask --start groq.free --no-fallback\nhi")
    finally:
        lab.set_fault("fast", None)
    assert ran.ename == "AllCandidatesFailed"
    assert len(ran.traceback.splitlines()) == 3


@pytest.mark.parametrize("stream", ["", "--stream "])
def test_interrupt(running: Kernel, lab: Noticing, folder: Path, stream: str) -> None:
    """The kernel's interrupt ends the cell in one sentence, the socket closes, and the row says cancelled."""
    lab.set_fault("fast", "stall")
    try:
        lab.asked.clear()
        key = running.send(
            f"print('begun', flush=True)\nget_ipython().run_cell_magic('ask', '{stream}--start groq.free', 'count')"
        )
        running.wait_for(key, "begun")
        assert lab.asked.wait(LIMIT_S)
        running.manager.interrupt_kernel()
        ran = running.result(key)
    finally:
        lab.set_fault("fast", None)
    assert ran.status == "error"
    assert ran.traceback == INTERRUPTED
    last = zc.Ledger(folder / "ledger").tail(1).row(0, named=True)
    assert last["status"] in ("cancelled", "stream_cut")
    assert running.run("1 + 1").status == "ok"


def test_tab(running: Kernel) -> None:
    """Options, commands, refs, hints and variables that fit."""
    assert (
        running.run("form = {'type': 'object'}; import zc_notebooks as zc; mine = zc.open(); other = 5").status == "ok"
    )
    for line, wanted in {
        "%%ask --h": {"--hint"},
        "%%ask --stream --s": {"--start", "--schema"},
        "%%ask --start gr": {"groq.free"},
        "%%ask --hint ": {"quick"},
        "%%ask --schema fo": {"form"},
        "%%zcsql --": {"--out"},
        "%zc st": {"status"},
        "%zc probe ol": {"ollama.home"},
        "%zc plan --hint qu": {"quick"},
        "%zc use ": {"mine"},
    }.items():
        assert wanted <= set(running.complete(line)), (line, running.complete(line))
    assert "--stream" not in running.complete("%%ask --stream --s")


def test_help(running: Kernel) -> None:
    """``%%ask?`` and the others say what they do and every option."""
    assert "--no-fallback" in running.run("%%ask?").paged
    assert "--out NAME" in running.run("%%zcsql?").paged
    assert "%zc probe" in running.run("%zc?").paged


def test_looking(running: Kernel) -> None:
    """Each command of ``%zc`` shows something; ``use`` takes the user's own chain."""
    for command in ("status", "marks", "plan", "plan --hint quick", "cost", "budget", "probe groq.free"):
        ran = running.run(f"%zc {command}")
        assert ran.status == "ok", (command, ran.traceback)
        assert ran.shown, command
    assert "asking through Chain(" in running.run("import zc_notebooks as zc; mine = zc.open()\n%zc use mine").printed


def test_nested_loops_and_run_all(folder: Path) -> None:
    """``asyncio.run`` works in a cell after it, and every cell queued by "Run All" still runs (ipykernel 7)."""
    cells = [
        "import asyncio, zc_notebooks as zc\nasync def f(): await asyncio.sleep(0.01); return 7",
        "f_ran = asyncio.run(f())",
        "zc.notebook.allow_nested_loops(); zc.notebook.allow_nested_loops()",
        "print(asyncio.run(f()))",
        "chain = zc.open(); print(chain.ask_sync('What is 17 * 23?').text)",
        "print(await f())",
        "print(asyncio.run(chain.ask('What is 17 * 23?')).text)",
        "print((await chain.ask('What is 17 * 23?')).text); await chain.aclose()",
        "print('last')",
    ]
    env = {**os.environ, "ZC_STATE_DIR": str(folder / "nested"), "ZC_LOCAL_MODEL": "off", "ZC_CONFIG": ""}
    empty = folder / "empty"
    empty.mkdir()
    with kernel(empty, env) as started:
        ran = started.run_all(cells)
    assert [one.status for one in ran] == ["ok", "error", *["ok"] * 7]
    assert [one.printed.splitlines()[-1] for one in ran[3:4] + ran[5:6] + ran[8:]] == ["7", "7", "last"]
    assert all("391" in one.printed for one in (ran[4], ran[6], ran[7]))
