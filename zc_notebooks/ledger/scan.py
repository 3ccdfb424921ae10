"""Following a ledger folder: which files it holds, and the rows that were appended since the last look.

Reading never changes the folder and never waits for a writer. Of a segment that a compaction has taken, wholly or its
beginning, only the rest is read. A last line without an end is *pending* while a living
process holds the file, and judged like any other line once nobody does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from zc_notebooks.ledger.lines import LONGEST, PIECE, TOO_LONG, BadLine, LineKind, judge, sort_lines
from zc_notebooks.ledger.listing import Lister, Listing, printable
from zc_notebooks.ledger.parquet import Part
from zc_notebooks.ledger.segments import held
from zc_notebooks.records import Record

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KEPT: Final = 100
"""Bad lines described one by one; beyond that they are only counted."""
NOTHING: Final = Part(bytes=0, lines=0)


@dataclass
class Segment:
    """What is known of one file."""

    name: str
    id: int
    inode: tuple[int, int]
    start: int = 0
    """Bytes that a compaction has taken."""
    size: int = 0
    """Bytes looked at so far."""
    mtime_ns: int | None = None
    """Of the file at that size; ``None`` when it grew while it was read."""
    offset: int = 0
    """Bytes of whole lines taken so far."""
    lines: int = 0
    rows: int = 0
    torn: int = 0
    foreign: int = 0
    pending: int = 0
    """1 while a living process is in the middle of a row."""
    bad: list[BadLine] = field(default_factory=list)
    tail: tuple[LineKind, str] | None = None
    """Verdict on a last line that has no end and that nobody will finish; read anew when the file changes."""
    skipping: bool = False
    """In the middle of a line that is too long to be a row."""
    bare: bool = False
    """The last row taken had no line end; the next byte may be that end."""

    def note(self, line: int, kind: LineKind, why: str) -> None:
        """Counts one bad line."""
        if kind == "torn":
            self.torn += 1
        else:
            self.foreign += 1
        if len(self.bad) < _KEPT:
            self.bad.append(BadLine(file=printable(self.name), line=line, kind=kind, why=why))

    def left_over(self, kind: LineKind) -> int:
        """1 when the file ends in an unfinished line of this kind."""
        return int(self.tail is not None and self.tail[0] == kind)

    def described(self) -> list[BadLine]:
        """The bad lines, an unfinished last one included."""
        if self.tail is None:
            return self.bad
        kind, why = self.tail
        return [*self.bad, BadLine(file=printable(self.name), line=self.lines + 1, kind=kind, why=why)]


class Fresh(Record, frozen=True, kw_only=True):
    """Rows found in one file."""

    segment: int
    rows: bytes
    """Whole lines, each a valid row."""
    count: int


class Scanner:
    """The state of one folder. Not thread-safe: its owner holds a lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.segments: dict[str, Segment] = {}
        self.listing = Listing()
        """The last look."""
        self.moved = False
        """Whether a segment vanished between the look and its reading: one has to look again."""
        self._lister = Lister(folder)
        self._next_id = 0

    @property
    def left_out(self) -> dict[str, str]:
        """Name → why it is not read, as of the last look."""
        return self.listing.left_out

    def gone(self) -> list[int]:
        """Looks at the folder; drops segments that vanished, were replaced or were compacted and returns their ids.

        Raises:
            LedgerError: The folder cannot be listed.
        """
        self.listing = self._lister.look()
        self.moved = False
        found = self._counting()
        gone = []
        for name, segment in list(self.segments.items()):
            now = found.get(name)
            if now is None or _inode(now) != segment.inode or _rewritten(segment, now) or self._taken(segment):
                gone.append(self.segments.pop(name).id)
        for name in sorted(found.keys() - self.segments.keys()):
            self.segments[name] = self._begin(name, found[name])
        return gone

    def fresh(self) -> Iterator[Fresh]:
        """Rows appended since the last look, file by file in the order of their names; call :meth:`gone` first."""
        for name in sorted(self.segments):
            segment, now = self.segments[name], self.listing.segments[name]
            if (segment.size, segment.mtime_ns) == (now.st_size, now.st_mtime_ns) and not segment.pending:
                continue
            try:
                yield from read_segment(self.folder / name, segment)
            except FileNotFoundError:
                self.moved = True
            except OSError as problem:
                self.left_out[printable(name)] = problem.strerror or type(problem).__name__

    def _counting(self) -> dict[str, os.stat_result]:
        """The segments that are not wholly in a Parquet file."""
        taken = self.listing.taken
        return {
            name: info
            for name, info in self.listing.segments.items()
            if name not in taken or info.st_size > taken[name].bytes
        }

    def _taken(self, segment: Segment) -> bool:
        part = self.listing.taken.get(segment.name)
        return part is not None and part.bytes > segment.start

    def _begin(self, name: str, now: os.stat_result) -> Segment:
        part = self.listing.taken.get(name, NOTHING)
        self._next_id += 1
        begun = Segment(name=name, id=self._next_id, inode=_inode(now), start=part.bytes, offset=part.bytes)
        begun.lines = part.lines
        return begun


def _inode(info: os.stat_result) -> tuple[int, int]:
    return info.st_dev, info.st_ino


def _rewritten(segment: Segment, now: os.stat_result) -> bool:
    """Whether bytes already taken may have changed: the file shrank, or changed without growing."""
    if now.st_size < segment.offset:
        return True
    unchanged = now.st_size == segment.size == segment.offset and segment.mtime_ns is not None
    return unchanged and now.st_mtime_ns != segment.mtime_ns


def read_segment(path: Path, segment: Segment) -> Iterator[Fresh]:
    """What stands in a file beyond ``segment.offset``. Raises :class:`OSError`."""
    fd = os.open(path, _FLAGS)
    try:
        info = os.fstat(fd)
        if (info.st_dev, info.st_ino) == segment.inode:  # else replaced since the listing: the next look sees it
            yield from _read(segment, fd, info)
    finally:
        os.close(fd)


def _read(segment: Segment, fd: int, info: os.stat_result) -> Iterator[Fresh]:
    rest = b""
    os.lseek(fd, segment.offset, os.SEEK_SET)
    while piece := os.read(fd, PIECE):
        data = rest + piece
        end = data.rfind(b"\n") + 1
        yield from _take(segment, data[:end])
        rest = data[end:]
        if segment.skipping or len(rest) > LONGEST:
            segment.skipping = True
            segment.offset += len(rest)
            rest = b""
    segment.size = segment.offset + len(rest)
    segment.mtime_ns = info.st_mtime_ns if segment.size == info.st_size else None
    yield from _last_line(segment, fd, rest)


def _take(segment: Segment, data: bytes) -> Iterator[Fresh]:
    """Whole lines."""
    segment.offset += len(data)
    if data and segment.bare:
        segment.bare = False
        data = data.removeprefix(b"\r").removeprefix(b"\n")
    if data and segment.skipping:
        data = data[data.find(b"\n") + 1 :]
        segment.skipping = False
        segment.lines += 1
        segment.note(segment.lines, "foreign", TOO_LONG)
    if data and segment.lines == 0:
        data = data.removeprefix(b"\xef\xbb\xbf")
    if not data:
        return
    result = sort_lines(data)
    for number, kind, why in result.bad:
        segment.note(segment.lines + number + 1, kind, why)
    segment.lines += result.lines
    segment.rows += result.count
    if result.count:
        yield Fresh(segment=segment.id, rows=result.rows, count=result.count)


def _last_line(segment: Segment, fd: int, rest: bytes) -> Iterator[Fresh]:
    """A line without an end: pending while somebody writes the file, else a row or a bad line."""
    segment.pending, segment.tail = 0, ("foreign", TOO_LONG) if segment.skipping else None
    if not rest:
        return
    if held(fd) or os.fstat(fd).st_size != segment.size:
        segment.pending = 1
        return
    segment.tail = judge(rest)
    if segment.tail is None:
        yield from _take(segment, rest + b"\n")
        segment.offset -= 1
        segment.bare = True
