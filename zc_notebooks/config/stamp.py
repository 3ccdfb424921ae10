"""Whether a file is still the one that was read, told without reading it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

FRESH_NS: Final = 100_000_000
"""A file younger than this when it was read may change again without a new time: clocks of file systems tick in steps
of up to some 10 ms. It is read once more instead of being trusted."""


class Stamp(NamedTuple):
    """Times, size and identity of a file. Editors that write a new file and rename it change the identity.

    Programs that copy in place and set the old time back (``rsync --inplace -t``) change the time of the change alone.
    """

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int
    device: int

    def settled(self, read_ns: int) -> bool:
        """Whether a change after ``read_ns`` (nanoseconds since 1970) cannot leave this stamp as it is."""
        return read_ns - max(self.mtime_ns, self.ctime_ns) > FRESH_NS


def stamp_of(path: Path | None) -> Stamp | None:
    """``None`` when there is no such file, or it cannot be looked at. Links are followed."""
    if path is None:
        return None
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)
