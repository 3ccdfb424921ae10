"""Segments that a compaction may take: which, how far, and letting go of what was taken.

A segment nobody holds was left by its writer for good and is taken to its end; the lock that says so is the kernel's,
so no clock and no process id is trusted. One of a past day that is still held (an idle notebook) is taken up to its
last whole line and stays, because its writer might come back to it. Only names a writer gives are touched, and a
segment with a line that is no row stays as it is: nothing is thrown away that was not understood.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from zc_notebooks.ledger.listing import Listing
from zc_notebooks.ledger.parquet import Part
from zc_notebooks.ledger.scan import NOTHING, Fresh, Segment, read_segment
from zc_notebooks.ledger.segments import only_holder, parse_name, past, sealed
from zc_notebooks.ledger.steps import Disk
from zc_notebooks.records import Record


class Source(Record, frozen=True, kw_only=True):
    """What a compaction takes from one segment."""

    name: str
    part: Part
    """Up to where, from the file's beginning."""
    rows: bytes
    """Whole lines, each a row."""
    count: int
    torn: int
    more: bool
    """The segment goes on beyond the limit."""


def candidates(listing: Listing, folder: Path, now: datetime) -> list[str]:
    """Names of segments with something to take, in their order. ``now`` is aware UTC."""
    return [
        name
        for name, info in sorted(listing.segments.items())
        if parse_name(name) is not None
        and info.st_size > listing.taken.get(name, NOTHING).bytes
        and _sealed(folder / name, now)
    ]


def read_source(folder: Path, name: str, before: Part, limit: int) -> Source | None:
    """What can be taken of a segment beyond ``before``, about ``limit`` bytes at most.

    ``None`` when it has lines that are no rows. Raises :class:`OSError`.
    """
    path = folder / name
    info = path.stat()
    segment = Segment(name=name, id=0, inode=(info.st_dev, info.st_ino), start=before.bytes, offset=before.bytes)
    segment.lines = before.lines
    rows, more = _up_to(limit, read_segment(path, segment))
    if segment.foreign or segment.left_over("foreign"):
        return None
    part = Part(bytes=segment.offset, lines=segment.lines)
    if not more and not segment.pending:
        part = Part(bytes=segment.size, lines=segment.lines + segment.left_over("torn"))
    torn = segment.torn + segment.left_over("torn")
    return Source(name=name, part=part, rows=rows, count=segment.rows, torn=torn, more=more)


def let_go(path: Path, part: Part, disk: Disk) -> None:
    """Removes a segment that was taken to its end, unless somebody holds it or it grew. Raises :class:`OSError`."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        if only_holder(fd, path.name) and os.fstat(fd).st_size <= part.bytes:
            disk.unlink(path)
    finally:
        os.close(fd)


def remove_empty(path: Path, now: datetime, disk: Disk) -> None:
    """Removes a segment of a past day whose writer ended before its first row. Raises :class:`OSError`."""
    name = parse_name(path.name)
    if name is not None and past(name.day, now):
        let_go(path, NOTHING, disk)


def _sealed(path: Path, now: datetime) -> bool:
    with suppress(FileNotFoundError):
        return sealed(path, now=now)
    return False


def _up_to(limit: int, fresh: Iterator[Fresh]) -> tuple[bytes, bool]:
    """The first pieces, and whether there may be more."""
    parts: list[bytes] = []
    size = 0
    for part in fresh:
        parts.append(part.rows)
        size += len(part.rows)
        if size >= limit:
            return b"".join(parts), True
    return b"".join(parts), False
