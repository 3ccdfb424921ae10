"""The steps that change a ledger folder, one method each: tests let each of them fail, or end the process there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb

TEMPORARY: Final = ".new-"
"""Hidden, so that no reader looks at it; left over by a crash, and removed by whoever holds the folder's lock."""


class Disk:
    """What reaches the disk. Every method raises :class:`OSError`."""

    def write(self, con: duckdb.DuckDBPyConnection, copy: str) -> int:
        """Lets DuckDB write a file; the number of rows in it. Raises :class:`duckdb.Error` too."""
        (count,) = con.execute(copy).fetchone() or (0,)
        return int(count)

    def sync(self, path: Path) -> None:
        """Waits until a file is on the disk."""
        fd = os.open(path, os.O_RDWR)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, old: Path, new: Path) -> None:
        """Lets a finished file appear under its name, durably."""
        old.rename(new)
        sync_folder(new.parent)

    def unlink(self, path: Path) -> None:
        """Removes a file; one that is gone already is no fault."""
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes the names in it durable, where the system can."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def temporary(folder: Path) -> Path:
    """A hidden name nobody has."""
    return folder / f"{TEMPORARY}{os.urandom(8).hex()}"
