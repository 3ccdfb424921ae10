"""Where this machine keeps what calls leave behind: the ledger folder and the board of marks."""

from __future__ import annotations

from pathlib import Path

from zc_notebooks.config.schema import Config
from zc_notebooks.config.state import state_dir


def ledger_folder(config: Config | None) -> Path:
    """``[ledger] path``, else the user's state folder. Without a configuration: the embedded lab's own."""
    if config is None:
        return state_dir() / "lab" / "ledger"
    return config.ledger.path or state_dir() / "ledger"


def marks_file(config: Config | None) -> Path | None:
    """The board shared by all processes; the embedded lab, whose quotas end with its process, keeps none."""
    return None if config is None else state_dir() / "marks.sqlite"
