"""Views over the ledger, one ``.sql`` file each: a SELECT that a person can read and run as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Final

VIEWS: Final[tuple[str, ...]] = ("attempts", "attempts_short")
"""In the order in which they build on each other."""


def view_sql(name: str) -> str:
    """The SELECT of a view."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
