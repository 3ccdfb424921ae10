"""``zc notebooks list|copy``: what comes with the package works in an empty folder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import nbformat
import pytest

from tests.notebooks.canonical import run
from tests.notebooks.manifest import NOTEBOOKS
from zc_notebooks.cli.app import run as zc
from zc_notebooks.notebook.shipped import shipped

_TARGET = re.compile(r"""\]\(([^)\s]+)|\b(?:src|href)=["']?([^"'\s>]+)""")


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Every notebook of the manifest with its title and what it takes."""
    assert zc(["notebooks", "list"]) == 0
    told = capsys.readouterr().out
    assert all(name.removesuffix(".ipynb") in told for name in NOTEBOOKS)
    assert zc(["notebooks", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in found] == sorted(name.removesuffix(".ipynb") for name in NOTEBOOKS)
    assert all(item["title"] and item["about"].endswith(".") and item["parameters"] for item in found)


def test_copy_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second copy says what is there and writes nothing; ``--force`` replaces notebooks and nothing else."""
    folder = tmp_path / "new" / "folder"
    assert zc(["notebooks", "copy", os.fspath(folder), "--json"]) == 0
    assert sorted(Path(path).name for path in json.loads(capsys.readouterr().out)) == sorted(NOTEBOOKS)
    mine, other = folder / min(NOTEBOOKS), folder / "mine.ipynb"
    mine.write_text("mine")
    other.write_text("other")
    (folder / max(NOTEBOOKS)).unlink()
    assert zc(["notebooks", "copy", os.fspath(folder)]) == 2
    said = capsys.readouterr().err
    assert f"{mine.name}" in said
    assert "nothing was copied" in said
    assert "--force" in said
    assert mine.read_text() == "mine"
    assert not (folder / max(NOTEBOOKS)).exists()
    assert zc(["notebooks", "copy", os.fspath(folder), "--force"]) == 0
    assert mine.read_text() != "mine"
    assert other.read_text() == "other"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """What a link names stays as it is."""
    target, folder = tmp_path / "target", tmp_path / "folder"
    target.write_text("kept")
    folder.mkdir()
    (folder / min(NOTEBOOKS)).symlink_to(target)
    assert zc(["notebooks", "copy", os.fspath(folder), "--force"]) == 0
    assert target.read_text() == "kept"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("file", "file is a file, not a folder"),
        ("file/below", "file is a file, not a folder"),
        ("link", "link is there, not a folder"),
        ("n" * 300, "cannot be written (File name too long)"),
        ("new/" + "n" * 300, "cannot be written (File name too long)"),
    ],
)
def test_a_place_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, words: str
) -> None:
    """One sentence, and nothing is made."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nowhere")
    assert zc(["notebooks", "copy", os.fspath(tmp_path / place)]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_folder_in_the_way_of_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named before anything is written."""
    (tmp_path / max(NOTEBOOKS)).mkdir()
    (tmp_path / min(NOTEBOOKS)).write_text("mine")
    assert zc(["notebooks", "copy", os.fspath(tmp_path), "--force"]) == 2
    assert f"{tmp_path / max(NOTEBOOKS)} is a folder; nothing was copied" in capsys.readouterr().err
    assert (tmp_path / min(NOTEBOOKS)).read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_harms_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where not every notebook fits, those that are there stay, and no part of one does."""
    resource = pytest.importorskip("resource", reason="file size limits are of Unix")
    assert zc(["notebooks", "copy", os.fspath(tmp_path)]) == 0
    before = dict.fromkeys(tmp_path.iterdir(), "mine")
    for path in before:
        path.write_text("mine")
    sizes = sorted(item.path.stat().st_size for item in shipped())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[-1] - 1, limits[1]))
    try:
        assert zc(["notebooks", "copy", os.fspath(tmp_path), "--force"]) == 2
        assert zc(["notebooks", "copy", os.fspath(tmp_path / "new" / "folder")]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot be written (File too large)" in capsys.readouterr().err
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_nothing_beside_it_is_shown(name: str) -> None:
    """A link or a picture in its text is an address, or another of the notebooks."""
    (path,) = (item.path for item in shipped() if item.path.name == name)
    texts = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"]
    targets = [a or b for a, b in _TARGET.findall("\n".join(texts))]
    assert [target for target in targets if "://" not in target and target not in NOTEBOOKS] == []


@pytest.mark.filterwarnings("ignore")
def test_a_copy_runs_in_an_empty_folder(tmp_path: Path) -> None:
    """Nothing of the checkout is needed beside it."""
    assert zc(["notebooks", "copy", os.fspath(tmp_path)]) == 0
    first = min(item.path.name for item in shipped())
    notebook = nbformat.read(tmp_path / first, as_version=4)
    run(notebook, tmp_path)
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
