"""What an object that notebooks show inherits: three forms of one snapshot, and a repr that cannot fail."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Shown:
    """Adds ``_repr_html_`` and ``_repr_markdown_``.

    The pictures are drawn in :mod:`zc_notebooks.notebook.display`, which is looked up by name when something is shown:
    records stay below the notebook layer and importing them loads nothing. A form that cannot be made is left out,
    because a raising formatter marks the cell as failed.
    """

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _form(self, "html")

    def _repr_markdown_(self) -> str | None:
        return _form(self, "markdown")


def _form(shown: Any, name: str) -> str | None:
    try:
        sheet = import_module("zc_notebooks.notebook.display").sheet_of(shown)
        return str(getattr(sheet, name)())
    except Exception:  # noqa: BLE001 (a repr never raises)
        return None
