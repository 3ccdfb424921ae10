"""Segment files of a ledger folder: their names, who holds them, and when one is sealed.

A segment is ``attempts-<UTC date>-<host>-<pid>-<8 hex digits>.jsonl``: one process appends whole lines to it, nobody
else ever writes it. While that process has it open it holds a shared ``flock`` on it, which the kernel drops when the
process ends, however it ends. So "is somebody still writing here" never depends on process ids.

A segment is *sealed*, and may be rewritten in another form, when

- nobody holds it, or
- its date has passed by more than an hour (its writer takes a new file with its first row of the new day).

Only one that nobody holds is ever removed: clocks jump, and a writer may come back to a file of a past day.
"""

from __future__ import annotations

import contextlib
import os
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Final

from zc_notebooks.records import Record

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # pragma: no cover (Windows has no flock: every segment of today counts as held)
    fcntl = None

SUFFIX: Final = ".jsonl"
GRACE: Final = timedelta(hours=1)
"""How long after its day a segment still counts as open: room for a slow write and for clocks that differ."""

_NAME: Final = re.compile(r"attempts-(\d{4}-\d{2}-\d{2})-([A-Za-z0-9_.-]+)-(\d+)-[0-9a-f]{8}\.jsonl")
_HOST_LENGTH: Final = 40


class SegmentName(Record, frozen=True, kw_only=True):
    """What a segment's name says."""

    day: date
    """UTC."""
    host: str
    pid: int


def new_name(day: date, *, host: str | None = None, pid: int | None = None) -> str:
    """A name nobody has: ``attempts-2026-11-30-alpha-4711-0f9c2a7e.jsonl``."""
    if host is None:
        import socket

        host = socket.gethostname()
    host = clean_host(host)
    return f"attempts-{day:%Y-%m-%d}-{host}-{os.getpid() if pid is None else pid}-{os.urandom(4).hex()}{SUFFIX}"


def clean_host(name: str) -> str:
    """A host name as part of a file name: letters, digits, ``_ . -``, at most 40 characters, never empty."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:_HOST_LENGTH] or "host"


def parse_name(name: str) -> SegmentName | None:
    """The parts of a segment's name, or ``None`` for any other name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        return SegmentName(day=date.fromisoformat(match[1]), host=match[2], pid=int(match[3]))
    except ValueError:
        return None


def hold(fd: int) -> None:
    """Marks an open segment as held until its descriptor closes. File systems without ``flock`` are let be."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_SH)


def held(fd: int) -> bool:
    """Whether a living process writes the open file ``fd``; also true where that cannot be known."""
    free = _take(fd)
    if free and fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_UN)
    return not free


def only_holder(fd: int, name: str, *, now: datetime | None = None) -> bool:
    """Takes the open segment ``fd`` for this process alone, until it is closed; whether that could be done.

    Where the file system has no such locks, the date in the segment's ``name`` decides.
    """
    free = _take(fd)
    found = parse_name(name)
    return (found is not None and past(found.day, now)) if free is None else free


def _take(fd: int) -> bool | None:
    """Whether the lock was free and is ours now; ``None`` where there are no locks."""
    if fcntl is None:  # pragma: no cover
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def past(day: date, now: datetime | None = None) -> bool:
    """Whether a UTC day is over by more than :data:`GRACE`. ``now`` is aware UTC."""
    return (now or datetime.now(UTC)) - GRACE >= _end(day)


def sealed(path: Path, *, now: datetime | None = None) -> bool:
    """Whether nothing will be appended to ``path`` any more. ``now`` is aware UTC. Raises :class:`OSError`."""
    name = parse_name(path.name)
    if name is not None and past(name.day, now):
        return True
    fd = os.open(path, os.O_RDONLY)
    try:
        return not held(fd)
    finally:
        os.close(fd)


def _end(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
