"""The notebooks that come with the package: what each is about, and copies of them in a folder of yours."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
    """The notebooks cannot be copied there; the message says why. What was there is there."""


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
        CopyError: A notebook of that name is there already (all such are named), a file or a folder is in the way, or
            the folder cannot be written. Each notebook is replaced as a whole or stays as it was.
    """
    folder = folder.expanduser()
    copies = {folder / item.path.name: item.path.read_bytes() for item in shipped()}
    try:
        _check(folder, copies, force=force)
        with _made(folder):
            _appear(copies)
    except OSError as error:
        raise CopyError(f"{folder} cannot be written ({error.strerror}): name another folder") from None
    return list(copies)


def _check(folder: Path, copies: Iterable[Path], *, force: bool) -> None:
    """Whether every copy has a place, before any is written."""
    taken = next((place for place in (folder, *folder.parents) if os.path.lexists(place)), folder)
    if os.path.lexists(taken) and not taken.is_dir():
        raise CopyError(f"{taken} is {'a file' if taken.is_file() else 'there'}, not a folder: name another folder")
    there = [copy for copy in copies if os.path.lexists(copy)]
    for copy in there:
        if copy.is_dir() and not copy.is_symlink():
            raise CopyError(f"{copy} is a folder; nothing was copied: name another folder for the notebooks")
    if there and not force:
        names = ", ".join(copy.name for copy in there)
        raise CopyError(f"{folder} has {names} already; nothing was copied: name another folder, or --force to replace")


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """``folder``, made where it is missing; what was made goes again when nothing came into it."""
    new = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError:
        for place in new:
            with suppress(OSError):
                place.rmdir()
        raise


def _appear(copies: Mapping[Path, bytes]) -> None:
    """All are written beside their places before the first takes its place: a full disk harms none that is there."""
    end = f".{os.urandom(4).hex()}.part"
    parts = {copy: copy.with_name(f".{copy.name}{end}") for copy in copies}
    try:
        for copy, part in parts.items():
            part.write_bytes(copies[copy])
        for copy, part in parts.items():
            part.replace(copy)  # a link too: what it names is not ours to replace
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)


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
