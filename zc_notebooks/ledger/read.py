"""Reading the ledger: any number of processes may be writing it meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.exporting import appear, copy_to, place
from zc_notebooks.ledger.lines import BadLine
from zc_notebooks.ledger.period import When, period
from zc_notebooks.ledger.scan import Scanner
from zc_notebooks.ledger.store import FilesMoved, Store
from zc_notebooks.ledger.views import CUTS, period_sql
from zc_notebooks.markup import counted
from zc_notebooks.records import Record
from zc_notebooks.shown import Shown

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

_SHOWN: Final = 100
_TRIES: Final = 100
_MANY_FILES: Final = 500
_MUCH: Final = 64 * 1024 * 1024
"""Bytes of JSON lines. With either, opening takes more than some tenths of a second."""
_TAIL: Final = """
select * from (select * from attempts order by t desc, call_id desc, ordinal desc limit $1)
order by t, call_id, ordinal
"""
_COUNTS: Final = """
select count(*) as n, count(*) - count(distinct (call_id, ordinal)) as twice, min(t) as first, max(t) as last
from attempts
"""


class LedgerCheck(Record, frozen=True, kw_only=True):
    """What a ledger folder holds and what in it is not in order."""

    files: int
    rows: int
    torn: int
    """Rows a writer did not finish (killed, or a full disk)."""
    foreign: int
    """Lines that are no ledger rows: other JSON, wrong types, binary data, empty."""
    pending: int
    """Rows that are being written at this moment."""
    duplicates: int
    """Rows whose (``call_id``, ``ordinal``) is there already: a segment was copied."""
    bytes: int
    first: datetime | None
    last: datetime | None
    """Start of the earliest and of the latest attempt."""
    bad: tuple[BadLine, ...] = ()
    """The bad lines one by one, the first 100 of them."""
    left_out: Mapping[str, str] = {}
    """What else lies in the folder, or cannot be read → why."""
    segments: int = 0
    """Files of JSON lines among ``files``; the others are Parquet."""
    advice: str | None = None
    """What would make the ledger faster to open."""

    @property
    def ok(self) -> bool:
        """Whether every line of every file is a row that counts once."""
        return self.damage is None

    @property
    def damage(self) -> str | None:
        """What its readers have to know: how much is not among the rows, or is there twice. ``None`` when nothing."""
        return _damage(self.torn + self.foreign, len(self.left_out), self.duplicates)

    def __str__(self) -> str:
        parts = [f"{counted(self.rows, 'row')} in {counted(self.files, 'file')}"]
        parts += [counted(self.torn, "torn line")] if self.torn else []
        parts += [counted(self.foreign, "foreign line")] if self.foreign else []
        parts += [f"{counted(self.duplicates, 'row')} there twice"] if self.duplicates else []
        parts += [f"{counted(self.pending, 'row')} being written"] if self.pending else []
        parts += [f"{name} is not read ({why})" for name, why in sorted(self.left_out.items())]
        text = ", ".join(parts if not self.ok else [*parts, "all in order"])
        return f"{text}; {self.advice}" if self.advice else text


class Ledger(Shown):
    """A ledger folder as one table. Opening it reads it; every query first takes in what was appended since.

    Safe to share between threads. An empty or missing folder is an empty ledger.

    Args:
        folder: Where the segments are.
        clock: What ``since="24h"`` counts from.

    Raises:
        LedgerError: ``folder`` is a file or cannot be listed.
    """

    def __init__(self, folder: Path | str, *, clock: Clock | None = None) -> None:
        self.folder = Path(folder).expanduser()
        self.clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._scanner = Scanner(self.folder.absolute())
        self._store = Store()
        self._look = 0
        self._closed = False
        self._follower = Follower(self._new_since, self.refresh())

    def refresh(self) -> int:
        """Takes in what changed in the folder since the last look; the number of this look. Every query does it."""
        with self._lock:
            if self._closed:
                raise LedgerError("this ledger was closed; open it again")
            self._look += 1
            try:
                self._take_in(self._look)
            except BaseException:
                # Half a look must not be taken for a whole one: the next one reads everything again.
                self._scanner = Scanner(self._scanner.folder)
                self._store.roll_back()
                raise
            return self._look

    def _take_in(self, look: int) -> None:
        """One change, made of as many looks as it takes until no file vanished under one."""
        scanner, store = self._scanner, self._store
        store.begin()
        while True:
            gone = scanner.gone()
            compacted, prices = scanner.listing.compacted, scanner.listing.prices
            store.change(gone, scanner.fresh(), look, compacted=compacted != store.compacted)
            if not scanner.moved and store.commit(compacted, look, prices):
                return

    def _asked(self, ask: Callable[[int], T]) -> T:
        """What ``ask`` gives after a look; again after a new one while compactions move files away under it."""
        for _ in range(_TRIES):
            with suppress(FilesMoved):
                return ask(self.refresh())
        raise LedgerError(f"the files of the ledger {self.folder.name} change faster than they can be read; try again")

    def sql(self, query: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> pl.DataFrame:
        """The result of a query over the views: ``attempts``, ``calls``, ``hops``, ``exhaustion``, ``spend``, ….

        ``set variable now = timestamptz '…'; select …`` moves the moment that ``exhaustion``, ``last_state`` and
        ``headroom`` call now.

        A query reads the ledger and nothing else: it changes nothing that stays, opens no file and loads no extension.

        Args:
            query: DuckDB's SQL. Several statements give the result of the last.
            params: Values for ``$1`` or ``$name``.

        Raises:
            LedgerError: One sentence, with DuckDB's hint where it has one.
        """
        return self._asked(lambda _: self._store.query(query, params, views=True))

    def view(self, name: str, since: When | None = None, until: When | None = None) -> pl.DataFrame:
        """One of the views over a period, in its own order; without bounds over everything.

        Args:
            name: ``calls``, ``hops``, ``exhaustion``, ``reachability``, ``spend``, ``latency``, ``last_state``,
                ``headroom``, ``attempts`` or ``attempts_short``.
            since: Begin, included: ``"24h"``, ``"7d"``, a date (midnight UTC) or an instant. Calls and hops that began
                in the period; episodes that touch it; for all others the attempts of the period.
            until: End, not included; the same forms.

        Raises:
            LedgerError: There is no such view, or a bound cannot be read.
        """
        if name not in CUTS:
            raise LedgerError(f"there is no view {name!r}; there are {', '.join(CUTS)}")
        now = self.clock.now()
        begin, end = period(since, until, now=now)
        query, bounds = period_sql(name, begin, end)
        query = f"set variable now = timestamptz '{now.isoformat()}';\n{query}"
        return self._asked(lambda _: self._store.query(query, bounds or None))

    def attempts(self, since: When | None = None, until: When | None = None) -> pl.DataFrame:
        """Attempts and skips that began in a period, in the order of time.

        Args:
            since: Begin, included: ``"24h"``, ``"7d"``, a date (midnight UTC) or an instant.
            until: End, not included; the same forms.

        Raises:
            LedgerError: A bound cannot be read.
        """
        return self.view("attempts", since, until)

    def tail(self, n: int = 10) -> pl.DataFrame:
        """The last ``n`` attempts and skips, oldest first."""
        if n < 0:
            raise LedgerError(f"tail of {n} rows: the number must be 0 or more")
        return self._asked(lambda _: self._store.query(_TAIL, [n]))

    def export(
        self, file: Path | str, *, since: When | None = None, until: When | None = None, force: bool = False
    ) -> int:
        """Writes the attempts of a period to a ``.parquet``, ``.csv`` or ``.duckdb`` file; how many they are.

        Args:
            file: Its name says the form; in a ``.duckdb`` file they are the table ``attempts``.
            since: Begin, included, as in :meth:`attempts`.
            until: End, not included.
            force: Replace a file of that name.

        Raises:
            LedgerError: The name or a bound cannot be used, or the file cannot be written.
        """
        path = place(file, self.folder, force=force)
        begin, end = period(since, until, now=self.clock.now())

        def written(_: int) -> int:
            return appear(
                path, lambda hidden: self._store.opened(lambda con: copy_to(hidden, path.suffix, con, begin, end))
            )

        return self._asked(written)

    def follow(self) -> Follower:
        """A reader of what is appended from now on, for live boards and ``tail -f``."""
        return Follower(self._new_since, self.refresh())

    def new_rows(self) -> pl.DataFrame:
        """Rows any process appended since the last call (the first: since the ledger was opened)."""
        return self._follower.new_rows()

    @property
    def advice(self) -> str | None:
        """What would make this ledger faster to open, as of the last look; ``None`` when nothing would."""
        segments = list(self._scanner.segments.values())
        if len(segments) < _MANY_FILES and sum(segment.size for segment in segments) < _MUCH:
            return None
        return f"{counted(len(segments), 'file')} of JSON lines; zc ledger compact makes opening them faster"

    @property
    def damage(self) -> str | None:
        """How many lines and files of the folder are not among the rows, as of the last look; ``None`` when none."""
        return _damage(*self._unread())

    def _unread(self) -> tuple[int, int]:
        """Lines that are no rows, and files that are left out."""
        with self._lock:
            segments, listing = list(self._scanner.segments.values()), self._scanner.listing
        lines = sum(item.torn + item.foreign + (item.tail is not None) for item in segments)
        return lines + sum(file.footer.torn for file in listing.compacted), len(listing.left_out)

    def check(self) -> LedgerCheck:
        """Counts what the folder holds: rows, torn and foreign lines, duplicates, files that are not read."""
        found = self._asked(lambda _: self._store.query(_COUNTS)).row(0, named=True)
        with self._lock:
            segments = list(self._scanner.segments.values())
            left_out = dict(self._scanner.left_out)
            compacted = self._scanner.listing.compacted
        bad = [line for segment in segments for line in segment.described()]
        return LedgerCheck(
            files=sum(segment.name not in left_out for segment in segments) + len(compacted),
            rows=found["n"],
            torn=sum(segment.torn + segment.left_over("torn") for segment in segments)
            + sum(file.footer.torn for file in compacted),
            foreign=sum(segment.foreign + segment.left_over("foreign") for segment in segments),
            pending=sum(segment.pending for segment in segments),
            duplicates=found["twice"],
            bytes=sum(segment.size for segment in segments) + sum(file.size for file in compacted),
            first=found["first"],
            last=found["last"],
            bad=tuple(bad[:_SHOWN]),
            left_out=left_out,
            segments=len(segments),
            advice=self.advice,
        )

    def _new_since(self, look: int) -> tuple[pl.DataFrame, int]:
        return self._asked(lambda last: (self._store.seen_between(look, last), last))

    def close(self) -> None:
        """Frees the memory. The object cannot be used afterwards."""
        with self._lock:
            self._closed = True
            self._store.close()

    @property
    def rows(self) -> int:
        """Rows in the files, as of the last look."""
        scanner = self._scanner
        own = sum(segment.rows for segment in list(scanner.segments.values()))
        return own + sum(file.footer.rows for file in scanner.listing.compacted)

    def __repr__(self) -> str:
        files = len(self._scanner.segments) + len(self._scanner.listing.compacted)
        held = [counted(self.rows, "row"), counted(files, "file")]
        return f"Ledger({', '.join([*held, *_lost(*self._unread())])})"


def _damage(lines: int, files: int, twice: int = 0) -> str | None:
    parts = _lost(lines, files)
    parts += [counted(twice, "row is there twice", "rows are there twice")] if twice else []
    return f"{' and '.join(parts)}: zc ledger check --json names them" if parts else None


def _lost(lines: int, files: int) -> list[str]:
    parts = [counted(lines, "line could not be read", "lines could not be read")] if lines else []
    return [*parts, *([counted(files, "file was left out", "files were left out")] if files else [])]


class Follower:
    """Rows appended since the last time they were asked for. Each follower keeps its own place."""

    def __init__(self, new_since: Callable[[int], tuple[pl.DataFrame, int]], place: int) -> None:
        self._new_since = new_since
        self._place = place

    def new_rows(self) -> pl.DataFrame:
        """Rows any process appended since the last call, in the order of time; never waits."""
        rows, self._place = self._new_since(self._place)
        return rows
