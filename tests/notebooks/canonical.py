"""Committed notebooks have one form. ``python -m tests.notebooks.canonical [--check | --run] [NOTEBOOK …]`` gives it.

Outputs are kept; counts run from 1; ids are unique and stay; stream outputs that follow each other are one; metadata
say nothing of a kernel, a version, a time or a view; outputs name no path of this machine (of an absolute one the last
part stays), hold nothing of the shape of a key, and their markup does nothing by itself. ``--check`` changes nothing
and ends with status 1 when it would. ``--run`` executes first, against the lab.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

from tests import ROOT
from zc_notebooks.notebook.inert import inert
from zc_notebooks.redact import Redactor

FOLDER: Final = ROOT / "notebooks"
METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT_OF_A_CELL: Final = ("tags",)
FORMAT: Final = (4, 5)
LIVE: Final = "application/vnd.jupyter.widget-view+json"
"""A view of a widget that lived in the kernel that ran; without its model a page shows an error in its place."""
MARKUP: Final = ("text/html", "image/svg+xml")
TIMEOUT_S: Final = 60

_PATHS: Final = (
    (re.compile(re.escape(str(ROOT)) + r"(?=/|\b)"), "."),
    (re.compile(r"/(?:home|Users)/[\w.-]+"), "~"),
    (re.compile(r"(?<![\w.~/-])/root(?=/|\b)"), "~"),
    (re.compile(r"(?<![\w.~-])(?:/private)?/(?:var/)?tmp/[\w.-]+"), "/tmp/…"),  # noqa: S108 (a text, not a file)
    (re.compile(r"/var/folders/[\w.+/-]+"), "/tmp/…"),  # noqa: S108
    (re.compile(r"\b[A-Za-z]:\\Users\\[\w.-]+"), "~"),
    (re.compile(r"\b[A-Za-z]:\\{1,2}(?:[\w.+-]+\\{1,2})+(?=[\w.+-])"), ""),
    (re.compile(r"\bfile:///(?:[\w.@+%-]+/)*"), ""),
    (re.compile(r"(?<![\w./~<…-])/(?!v\d|api/)(?:[\w.@+-]+/)+(?=[\w.@+-])"), ""),  # but not those of an API
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0x…"),
)
_redacted: Final = Redactor()
"""Knows no key; removes what has the shape of one."""


class NotCommittable(ValueError):
    """Something only the author can mend."""


def canonical(notebook: Any) -> Any:
    """The notebook as it is committed; ``notebook`` itself stays as it is. Doing it twice is doing it once.

    Raises:
        NotCommittable: A source holds something of the shape of a key, a cell ended in an error, or its markup acts.
    """
    made = copy.deepcopy(notebook)
    made.metadata = nbformat.from_dict(METADATA)
    for cell in made.cells:
        cell.metadata = nbformat.from_dict(
            {name: cell.metadata[name] for name in KEPT_OF_A_CELL if name in cell.metadata}
        )
        if _redacted(cell.source) != cell.source:
            raise NotCommittable(f"cell {cell.id} holds something of the shape of a key: take it out")
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
        cell.outputs = _outputs(cell.outputs, count, cell.id)
    return made


def read(path: Path) -> Any:
    """A notebook with ids of its own: nbformat would draw lots for those that are missing or there twice."""
    plain = json.loads(path.read_text(encoding="utf-8"))
    taken: set[str] = set()
    for place, cell in enumerate(plain["cells"]):
        cell["id"] = _own_id(cell.get("id"), place, taken)
    plain["nbformat"], plain["nbformat_minor"] = FORMAT
    return nbformat.reads(json.dumps(plain), as_version=4)


def _own_id(named: str | None, place: int, taken: set[str]) -> str:
    """The cell's own id, or one by its place where it has none that is its own."""
    wanted = named if named and named not in taken else f"cell-{place:02d}"
    while wanted in taken:
        wanted += "x"
    taken.add(wanted)
    return wanted


def _outputs(outputs: Sequence[Any], count: int, cell: str) -> list[Any]:
    found: list[Any] = []
    for output in outputs:
        if output.output_type == "error":
            raise NotCommittable(f"cell {cell} ended in an error ({output.ename}): mend it and run it again")
        if output.output_type == "stream":
            if found and found[-1].output_type == "stream" and found[-1].name == output.name:
                found[-1].text += output.text
                continue
        else:
            kept = {kind: data for kind, data in output.data.items() if kind != LIVE or len(output.data) == 1}
            output.data = nbformat.from_dict({kind: _shown(kind, data) for kind, data in kept.items()})
            if not all(inert(output.data.get(kind, "")) for kind in MARKUP):
                raise NotCommittable(f"cell {cell} shows markup that acts or fetches something: show a picture or text")
            output.pop("transient", None)
        if output.output_type == "execute_result":
            output.execution_count = count
        found.append(output)
    for output in found:
        if output.output_type == "stream":
            output.text = _bare(output.text)
    return found


def _shown(kind: str, data: Any) -> Any:
    """Letters of a picture are no path."""
    return data if kind.startswith("image/") and kind not in MARKUP else _each(data, _bare)


def _each(data: Any, change: Callable[[str], str]) -> Any:
    """Every text in plain data, changed."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {key: _each(value, change) for key, value in data.items()}
    return [_each(value, change) for value in data] if isinstance(data, list) else data


def _bare(text: str) -> str:
    """Without paths and addresses of this machine, and without keys."""
    for pattern, instead in _PATHS:
        text = pattern.sub(instead, text)
    return _redacted(text)


def run(notebook: Any, folder: Path) -> None:
    """Executes all cells against the lab, with no state of this machine."""
    with tempfile.TemporaryDirectory() as state:
        env = {**os.environ, "ZC_LOCAL_MODEL": "off", "ZC_STATE_DIR": state, "PYTHONPATH": str(ROOT)}
        env.pop("ZC_CONFIG", None)
        client = NotebookClient(
            notebook, timeout=TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        )
        client.execute(env=env)


def text_of(notebook: Any) -> str:
    """The file's text."""
    return str(nbformat.writes(notebook, version=nbformat.NO_CONVERT)).rstrip("\n") + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Status 1: ``--check`` found something, or an author has to mend something. 2: no notebook."""
    parser = argparse.ArgumentParser(prog="canonical", description=__doc__.splitlines()[0])
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="change nothing; status 1 when something would change")
    how.add_argument("--run", action="store_true", help="execute first, against the lab")
    parser.add_argument("notebooks", nargs="*", type=Path, default=None, help="files; all committed ones unless given")
    asked = parser.parse_args(arguments)
    found = [_one(path, asked) for path in asked.notebooks or sorted(FOLDER.glob("*.ipynb"))]
    sys.stdout.writelines(f"{line}\n" for line, _ in found if line)
    return max((status for _, status in found), default=0)


def _one(path: Path, asked: argparse.Namespace) -> tuple[str, int]:
    """What was changed, would be, or cannot be; and the status that is."""
    try:
        before = path.read_text(encoding="utf-8")
        notebook = read(path)
    except OSError as problem:
        return f"{path.name} cannot be read ({problem.strerror})", 2
    except Exception as problem:  # noqa: BLE001 (whatever a file may hold)
        return f"{path.name} is no notebook ({type(problem).__name__})", 2
    if asked.run:
        run(notebook, path.parent)
    try:
        after = text_of(canonical(notebook))
    except NotCommittable as problem:
        return f"{path.name}: {problem}", 1
    if after == before:
        return "", 0
    if asked.check:
        return f"{path.name} is not in its form: python -m tests.notebooks.canonical {path}", 1
    path.write_text(after, encoding="utf-8")
    return f"{path.name} was brought into its form", 0


if __name__ == "__main__":
    sys.exit(main())
