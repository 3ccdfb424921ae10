"""Where the shipped files are: ``data/`` and ``notebooks/``, in the checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent


def resource(*parts: str) -> Path:
    """The path of a shipped file or folder: ``resource("data", "providers.toml")``.

    Looks inside the package first (a wheel), then beside it (a checkout). Raises :class:`FileNotFoundError` naming
    the file when it is in neither.
    """
    for root in (_PACKAGE, _PACKAGE.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise FileNotFoundError(f"{'/'.join(parts)} is not part of this installation of zc_notebooks")
