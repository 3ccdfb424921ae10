"""What this process has open, as Linux tells it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/proc/self/fd")


def open_files() -> dict[int, str]:
    """What each descriptor leads to: a path, or a kind with a number. Empty where the system does not tell."""
    found = {}
    for link in FOLDER.iterdir() if FOLDER.is_dir() else ():
        try:
            found[int(link.name)] = os.readlink(link)  # noqa: PTH115 (Path.readlink looks at more than is there)
        except OSError:  # the folder's own descriptor
            continue
    return found
