"""The one form of committed notebooks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests import ROOT
from tests.notebooks.canonical import FOLDER, NotCommittable, canonical, main, read, text_of

KEY = "sk-" + "proj-0123456789abcdefghij"


def untidy(path: Path) -> Any:
    """A notebook as an editor saves it, with one id twice."""
    outputs = [
        new_output("stream", name="stdout", text="one "),
        new_output("stream", name="stdout", text=f"two {ROOT}/x.py {Path.home()}/y /home/ann/z /tmp/tmp1a/s "),
        new_output("stream", name="stderr", text="three"),
        new_output("stream", name="stdout", text=f"four {KEY}"),
        new_output("display_data", data={"application/json": {"at": [f"<x at 0x7f{'0' * 10}>"]}}, metadata={"a": 1}),
        new_output("execute_result", data={"text/plain": "5"}, execution_count=41),
    ]
    cells = [
        new_markdown_cell("# t"),
        new_code_cell("1", execution_count=40, outputs=outputs, metadata={"tags": ["parameters"], "collapsed": True}),
        new_code_cell(
            "2", execution_count=None, metadata={"execution": {"iopub.status.busy": "2026"}, "scrolled": True}
        ),
    ]
    meta = {
        "kernelspec": {"name": "venv", "display_name": "mine"},
        "widgets": {},
        "language_info": {"name": "python", "version": "3.99"},
    }
    text = json.dumps(new_notebook(cells=cells, metadata=meta))
    path.write_text(text.replace(cells[1].id, "same").replace(cells[2].id, "same"), encoding="utf-8")
    return read(path)


def test_noise_goes_and_outputs_stay(tmp_path: Path) -> None:
    """Counts in order, own ids, one stream, no time, kernel, version, path, address or key; tags and outputs stay."""
    made = canonical(untidy(tmp_path / "n.ipynb"))
    text = text_of(made)
    first, second = made.cells[1:]
    assert [cell.execution_count for cell in (first, second)] == [1, 2]
    assert (first.id, second.id) == ("same", "cell-02")
    assert (first.metadata, second.metadata) == ({"tags": ["parameters"]}, {})
    assert [out.output_type for out in first.outputs] == ["stream"] * 3 + ["display_data", "execute_result"]
    assert first.outputs[0].text == "one two ./x.py ~/y ~/z /tmp/…/s "
    assert first.outputs[2].text == "four ***"
    assert first.outputs[3].data == {"application/json": {"at": ["<x at 0x…>"]}}
    assert first.outputs[4].execution_count == 1
    for noise in ("mine", "3.99", "iopub", "widgets", str(ROOT), "/home/ann", KEY):
        assert noise not in text
    nbformat.validate(made)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("/opt/venv/lib/python3.11/site-packages/zc/sync.py:124: Warning", "sync.py:124: Warning"),
        ("read '/srv/jovyan/work/a.toml'", "read 'a.toml'"),
        ("<td>/mnt/data/me</td>", "<td>me</td>"),
        ("file:///usr/share/x.html", "x.html"),
        (r"C:\venv\Lib\x.py", "x.py"),
        ("GET /v1/chat/completions", "GET /v1/chat/completions"),
        ("https://example.com/a/b and 3/4/5 and ./a/b and text/html", None),
    ],
)
def test_absolute_paths_are_their_last_part(said: str, kept: str | None) -> None:
    """In streams and data alike; addresses, relative paths and the letters of pictures stay."""
    outputs = [
        new_output("stream", name="stderr", text=said),
        new_output("display_data", data={"text/html": said, "image/png": "AA+/bb/cc/dd"}),
    ]
    once = canonical(new_notebook(cells=[new_code_cell("1", outputs=outputs)]))
    stream, shown = once.cells[0].outputs
    assert stream.text == shown.data["text/html"] == (said if kept is None else kept)
    assert shown.data["image/png"] == "AA+/bb/cc/dd"
    assert text_of(canonical(once)) == text_of(once)


def test_twice_is_once(tmp_path: Path) -> None:
    """What is in its form stays so, ids included."""
    once = canonical(untidy(tmp_path / "n.ipynb"))
    assert text_of(canonical(once)) == text_of(once)


def test_what_only_the_author_can_mend() -> None:
    """A key in a source and an error in an output are said, not hidden."""
    with_key = new_notebook(cells=[new_code_cell(f"key = '{KEY}'")])
    with pytest.raises(NotCommittable, match="shape of a key"):
        canonical(with_key)
    failed = new_notebook(
        cells=[new_code_cell("1/0", outputs=[new_output("error", ename="E", evalue="", traceback=[])])]
    )
    with pytest.raises(NotCommittable, match="ended in an error"):
        canonical(failed)
    for kind in ("image/svg+xml", "text/html"):
        drawn = new_output("display_data", data={kind: "<svg><script>alert(1)</script></svg>"})
        with pytest.raises(NotCommittable, match="markup that acts"):
            canonical(new_notebook(cells=[new_code_cell("1", outputs=[drawn])]))


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (None, "n.ipynb cannot be read (No such file or directory)"),
        ("", "n.ipynb is no notebook"),
        ('{"cells": [', "n.ipynb is no notebook"),
        ("[]", "n.ipynb is no notebook"),
        ('{"cells": [{"cell_type": "code"}]}', "n.ipynb is no notebook"),
    ],
)
@pytest.mark.parametrize("how", ["--check", "--run"])
def test_a_file_that_is_no_notebook(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], held: str | None, words: str, how: str
) -> None:
    """One sentence, status 2, and the others are still looked at."""
    path, other = tmp_path / "n.ipynb", tmp_path / "o.ipynb"
    if held is not None:
        path.write_text(held)
    other.write_text(text_of(canonical(new_notebook())))
    assert main([how, os.fspath(path), os.fspath(other)]) == 2
    (line,) = capsys.readouterr().out.splitlines()
    assert words in line
    assert held is None or path.read_text() == held


def test_check_says_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--check`` ends with 1; without it the file is written, and then there is nothing to say."""
    path = tmp_path / "n.ipynb"
    untidy(path)
    before = path.read_bytes()
    assert main(["--check", os.fspath(path)]) == 1
    assert path.read_bytes() == before
    assert "n.ipynb is not in its form" in capsys.readouterr().out
    assert main([os.fspath(path)]) == 0
    assert main(["--check", os.fspath(path)]) == 0
    assert "brought into its form" in capsys.readouterr().out


def test_run_executes_first(tmp_path: Path) -> None:
    """``--run`` fills in outputs and says nothing of this machine's state."""
    path = tmp_path / "n.ipynb"
    cells = [new_code_cell("import os; print(os.environ['ZC_LOCAL_MODEL'], os.getcwd())")]
    path.write_text(nbformat.writes(new_notebook(cells=cells)), encoding="utf-8")
    assert main(["--run", os.fspath(path)]) == 0
    made = nbformat.read(path, as_version=4)
    assert made.cells[0].outputs[0].text.startswith("off /tmp/…")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_committed_notebook_is_in_its_form(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The script would change nothing."""
    assert main(["--check", os.fspath(path)]) == 0, capsys.readouterr().out
