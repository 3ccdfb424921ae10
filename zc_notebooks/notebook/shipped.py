"""The notebooks that come with the package: what each is about, and copies of them in a folder of yours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zc_notebooks.errors import ZcError
from zc_notebooks.notebook.parameters import TAG, parameter_names
from zc_notebooks.records import Record
from zc_notebooks.resources import resource


class ShippedNotebook(Record, frozen=True, kw_only=True):
    """One notebook of the package."""

    name: str
    """``00_start_here``."""
    title: str
    about: str
    """Its first sentence."""
    parameters: tuple[str, ...]
    """Names that its papermill cell sets."""
    path: Path

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the keys of ``zc notebooks list --json``."""
        return {"name": self.name, "title": self.title, "about": self.about, "parameters": self.parameters}


class CopyError(ZcError):
    """The notebooks cannot be copied there; the message says why. Nothing was written."""


def shipped() -> tuple[ShippedNotebook, ...]:
    """All of them, in the order in which they are meant to be read."""
    return tuple(_read(path) for path in sorted(resource("notebooks").glob("*.ipynb")))


def copy_to(folder: Path, *, force: bool = False) -> list[Path]:
    """Copies all notebooks into ``folder``, which is made where it is missing; returns the copies.

    They need nothing beside them: without a configuration they run against the lab.

    Args:
        folder: Where to.
        force: Replace notebooks of the same names. Nothing else is ever touched.

    Raises:
        CopyError: A notebook of that name is there already (all such are named), or the folder cannot be written.
    """
    folder = folder.expanduser()
    pairs = [(item.path, folder / item.path.name) for item in shipped()]
    there = [copy.name for _, copy in pairs if copy.exists() or copy.is_symlink()]
    if there and not force:
        raise CopyError(
            f"{folder} has {', '.join(there)} already; nothing was copied: name another folder, or --force to replace"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for original, copy in pairs:
            copy.unlink(missing_ok=True)  # what a link names is not ours to replace
            copy.write_bytes(original.read_bytes())
    except OSError as error:
        raise CopyError(f"{folder} cannot be written ({error.strerror}): name another folder") from None
    return [copy for _, copy in pairs]


def _read(path: Path) -> ShippedNotebook:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    heading, _, rest = texts[0].partition("\n")
    about = " ".join(rest.strip().split("\n\n")[0].split())
    tagged = ["".join(cell["source"]) for cell in cells if TAG in cell["metadata"].get("tags", ())]
    return ShippedNotebook(
        name=path.stem,
        title=heading.lstrip("# ").strip(),
        about=about.split(". ")[0].rstrip(".") + ".",
        parameters=parameter_names("\n".join(tagged)),
        path=path,
    )
