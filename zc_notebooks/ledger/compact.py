"""Compaction: sealed segments become Parquet files sorted by time; old rows go when they are not wanted any more.

One process at a time, and any process. The steps, for at most :data:`BYTES` of lines at once:

1. The rows of sealed segments, and of small Parquet files beside them, are written to a hidden file and synced.
2. The file gets its name. From this moment its rows count, and what it replaces (see
   :mod:`zc_notebooks.ledger.parquet`) does not.
3. What it replaces is removed.

A crash before step 2 leaves a hidden file, one after it leaves replaced files that nobody reads; the next compaction
removes both. Nothing is decided by a clock except retention and segments of past days that are still held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.listing import Lister, Listing, make_lock, nobody_looks, printable
from zc_notebooks.ledger.locking import alone
from zc_notebooks.ledger.parquet import Compacted, Part, new_name
from zc_notebooks.ledger.period import instant
from zc_notebooks.ledger.rewriting import Writing, write
from zc_notebooks.ledger.scan import NOTHING
from zc_notebooks.ledger.segments import parse_name
from zc_notebooks.ledger.sources import Source, candidates, let_go, read_source, remove_empty
from zc_notebooks.ledger.steps import TEMPORARY, Disk, temporary
from zc_notebooks.markup import counted
from zc_notebooks.records import Record

BYTES: Final = 128 * 1024 * 1024
"""Of lines rewritten at once."""
SEGMENTS: Final = 5_000
"""Rewritten at once: each is named in the new file's footer until it is gone."""
_FOREIGN: Final = "its name is not a segment's; zc ledger import takes its rows"
MERGED: Final = 2_000_000
"""Rows up to which files are merged."""


class Compaction(Record, frozen=True, kw_only=True):
    """What a compaction did."""

    segments: int
    """Taken, wholly or up to a line."""
    rows: int
    """Of those segments."""
    dropped: int = 0
    """Rows older than what is kept."""
    files: int
    """Parquet files there are now."""
    open: int = 0
    """Segments that are still written."""
    left: Mapping[str, str] = {}
    """Segments left as they are → why."""
    not_retained: Mapping[str, str] = {}
    """Files in which rows older than what is kept may be left → why they were not dropped."""

    def __str__(self) -> str:
        parts = [f"{counted(self.rows, 'row')} of {counted(self.segments, 'segment')} compacted"]
        parts += [f"{counted(self.dropped, 'old row')} dropped"] if self.dropped else []
        parts += [counted(self.files, "Parquet file"), f"{counted(self.open, 'segment')} still written"]
        parts += [f"{name} left as it is ({why})" for name, why in sorted(self.left.items())]
        parts += [f"old rows in {name} are kept ({why})" for name, why in sorted(self.not_retained.items())]
        return ", ".join(parts)


def compact(
    folder: Path | str, *, keep: str | timedelta | None = None, clock: Clock | None = None, disk: Disk | None = None
) -> Compaction:
    """Compacts a ledger folder; a second time in a row changes nothing.

    Args:
        folder: The ledger's.
        keep: How long rows are kept, ``"90d"`` or a timedelta; all unless given. Rows that are still in a segment
            somebody writes stay until it is sealed.
        clock: What ``keep`` counts from.
        disk: The steps that change the folder.

    Raises:
        LedgerError: Another process compacts, the folder cannot be written (full, removed, not ours), or ``keep``
            cannot be read. Nothing is lost then.
    """
    import duckdb

    folder = Path(folder).expanduser().absolute()
    now = (clock or SystemClock()).now()
    cutoff = _cutoff(keep, now)
    if not folder.exists():
        return Compaction(segments=0, rows=0, files=0)
    try:
        with alone(folder):
            return _Run(folder, now, cutoff, disk or Disk()).run()
    except OSError as problem:
        why = problem.strerror or str(problem)
    except duckdb.Error as problem:
        why = str(problem).split("\n", 1)[0]
    raise LedgerError(f"the ledger {folder.name} could not be compacted, and is as it was: {why}")


class _Run:
    """One compaction, under the folder's lock."""

    def __init__(self, folder: Path, now: datetime, cutoff: datetime | None, disk: Disk) -> None:
        self._folder, self._now, self._cutoff, self._disk = folder, now, cutoff, disk
        self._lister = Lister(folder)
        self._segments = self._rows = self._dropped = 0

    def run(self) -> Compaction:
        make_lock(self._folder)
        self._tidy()
        listing = self._lister.look()
        self._left = {printable(name): _FOREIGN for name in listing.segments if parse_name(name) is None}
        names = candidates(listing, self._folder, self._now)
        for sources in self._portions(names):
            self._take(sources)
        if self._cutoff is not None:
            self._retain(self._cutoff)
        listing = self._lister.look()
        still_written = listing.segments.keys() - listing.taken.keys() - self._left.keys()
        return Compaction(
            segments=self._segments,
            rows=self._rows,
            dropped=self._dropped,
            files=len(listing.compacted),
            open=len(still_written),
            left=self._left,
            not_retained={} if self._cutoff is None else self._left | _begun_before(self._cutoff, still_written),
        )

    def _tidy(self) -> None:
        """Removes what a crash left, and what could not be removed when it was replaced."""
        for path in self._folder.glob(f"{TEMPORARY}*"):
            self._disk.unlink(path)
        listing = self._lister.look()
        for name, info in listing.segments.items():
            if info.st_size == 0:
                remove_empty(self._folder / name, self._now, self._disk)
        self._remove(listing.superseded, _still_there(listing))

    def _portions(self, names: Sequence[str]) -> Iterator[list[Source]]:
        """Sources of about :data:`BYTES` together; a long segment comes in several pieces, one a portion."""
        waiting = list(reversed(names))
        while waiting:
            portion: list[Source] = []
            taken, room = self._lister.look().taken, BYTES
            while waiting and room > 0 and len(portion) < SEGMENTS:
                name = waiting.pop()
                source = self._read(name, taken.get(name, NOTHING), room)
                if source is not None:
                    portion.append(source)
                    room -= len(source.rows)
                    if source.more:
                        waiting.append(name)
                        break
            if portion:
                yield portion

    def _read(self, name: str, before: Part, room: int) -> Source | None:
        with suppress(FileNotFoundError):  # its writer took it back, or somebody removed it
            source = read_source(self._folder, name, before, room)
            if source is None:
                self._left[name] = "it has lines that are no rows; see zc ledger check"
            elif source.part.bytes > before.bytes:
                return source
        return None

    def _take(self, sources: Sequence[Source]) -> None:
        listing = self._lister.look()
        merged = _mergeable(listing.compacted, sum(source.count for source in sources))
        self._rewrite(listing, sources, merged)
        self._segments += len(sources)
        self._rows += sum(source.count for source in sources)

    def _retain(self, cutoff: datetime) -> None:
        """Drops old rows: whole files where all are old, else the file is written anew without them."""
        for file in self._lister.look().compacted:
            if file.footer.first is not None and file.footer.first < cutoff:
                self._rewrite(self._lister.look(), (), (file,))
        listing = self._lister.look()
        for file in listing.compacted:
            if file.footer.rows == 0 and not _still_needed(file, listing):
                self._disk.unlink(Path(file.path))

    def _rewrite(self, listing: Listing, sources: Sequence[Source], merged: Sequence[Compacted]) -> None:
        taken = _still_there(listing) | {source.name: source.part for source in sources}
        superseded = tuple(sorted({Path(file.path).name for file in merged} | set(listing.superseded)))
        hidden = temporary(self._folder)
        wanted = Writing(
            path=hidden,
            sources=sources,
            merged=merged,
            cutoff=self._cutoff,
            segments=taken,
            files=superseded,
            newest=max((file.footer.newest for file in listing.compacted), default=0),
            now=self._now,
        )
        try:
            footer = write(wanted, self._disk)
            hidden.chmod(0o600)
            self._disk.sync(hidden)
            with nobody_looks(self._folder):
                self._disk.rename(hidden, self._folder / new_name(footer.first or self._now))
        finally:
            with suppress(OSError):
                hidden.unlink(missing_ok=True)
        before = sum(source.count for source in sources) + sum(file.footer.rows for file in merged)
        self._dropped += before - footer.rows
        self._remove(superseded, taken)

    def _remove(self, files: Sequence[str], segments: Mapping[str, Part]) -> None:
        """Tidying: what cannot be removed (open on Windows, say) is replaced all the same, and goes another time."""
        for name, part in segments.items():
            with suppress(OSError):
                let_go(self._folder / name, part, self._disk)
        for name in files:
            with suppress(OSError):
                self._disk.unlink(self._folder / name)


def _begun_before(cutoff: datetime, names: Iterable[str]) -> dict[str, str]:
    """Segments of a day before what is kept → why their rows stay."""
    days = {name: parsed.day for name in names if (parsed := parse_name(name)) is not None}
    return {name: "it is still written" for name, day in days.items() if day < cutoff.date()}


def _still_there(listing: Listing) -> dict[str, Part]:
    """Segments that were taken, wholly or in part, and are in the folder yet."""
    return {name: part for name, part in listing.taken.items() if name in listing.segments}


def _mergeable(files: Sequence[Compacted], rows: int) -> list[Compacted]:
    """Small files to write anew with ``rows`` new rows: so every row is rewritten a few times in its life."""
    merged = []
    for file in sorted(files, key=lambda file: file.footer.rows):
        if file.footer.rows > 2 * rows or rows + file.footer.rows > MERGED:
            break
        merged.append(file)
        rows += file.footer.rows
    return merged


def _still_needed(file: Compacted, listing: Listing) -> bool:
    """Whether something it replaces is still there: without the file that would count again."""
    return bool(
        file.footer.segments.keys() & listing.segments.keys() or set(file.footer.files) & set(listing.superseded)
    )


def _cutoff(keep: str | timedelta | None, now: datetime) -> datetime | None:
    cutoff = instant(keep, "keep", now=now)
    if cutoff is not None and cutoff >= now:
        raise LedgerError(f'keep = {keep!r} would drop every row: write how long rows are kept, such as "90d"')
    return cutoff.astimezone(UTC) if cutoff is not None else None
