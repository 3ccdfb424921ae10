"""Where this machine keeps what calls leave behind: the ledger folder, the board of marks, what was spent."""

from __future__ import annotations

from pathlib import Path

from zc_notebooks.config.schema import Config
from zc_notebooks.config.state import state_dir


def ledger_folder(config: Config | None) -> Path:
    """``[ledger] path``, else the user's state folder. Without a configuration: the embedded lab's own."""
    if config is None:
        return state_dir() / "lab" / "ledger"
    return config.ledger.path or state_dir() / "ledger"


def spend_file(config: Config | None) -> Path | None:
    """What was spent under a budget, shared by all processes; the embedded lab's money is play money."""
    return None if config is None else state_dir() / "spend.sqlite"


def marks_file(config: Config | None) -> Path | None:
    """The board shared by all processes; the embedded lab, whose quotas end with its process, keeps none."""
    return None if config is None else state_dir() / "marks.sqlite"
