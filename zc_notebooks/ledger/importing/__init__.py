"""Taking attempts from a JSON lines file into a ledger: all of them or none, and a second time nothing.

The rows go to one new segment that appears whole. A row whose key the ledger has already is left out; the look for it
and the appearance of the segment happen under the lock that compaction takes too, so two imports cannot both add it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.importing.formats import ImportFormat, Line, Refused, Row
from zc_notebooks.ledger.importing.litellm import LiteLlm
from zc_notebooks.ledger.importing.otel_spans import OtelSpans
from zc_notebooks.ledger.importing.own_rows import OwnRows
from zc_notebooks.ledger.importing.short_lines import ShortLines
from zc_notebooks.ledger.lines import LONGEST, TOO_LONG
from zc_notebooks.ledger.locking import alone, make_folder
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.segments import new_name
from zc_notebooks.ledger.steps import Disk, temporary
from zc_notebooks.markup import counted
from zc_notebooks.records import Record

FORMATS: Final[tuple[ImportFormat, ...]] = (OwnRows(), LiteLlm(), OtelSpans(), ShortLines())
"""The first that recognises a line of the file is the file's format."""

_BATCH: Final = 20_000
_SHOWN: Final = 100
_WAIT_S: Final = 30.0
"""For a compaction to end."""


class Imported(Record, frozen=True, kw_only=True):
    """What became of a file."""

    format: str
    added: int
    present: int
    """Rows the ledger had already, or the file twice."""
    refused: int
    """Lines no row can be made of."""
    problems: tuple[Refused, ...] = ()
    """The first 100 of those."""

    def __str__(self) -> str:
        parts = [f"{counted(self.added, 'row')} added from a file of {self.format}"]
        parts += [counted(self.present, "was there already", "were there already")] if self.present else []
        if self.refused:
            first = self.problems[0]
            parts.append(
                f"{counted(self.refused, 'line is no row', 'lines are no rows')} (line {first.line}: {first.why})"
            )
        return ", ".join(parts)


def import_file(path: Path | str, folder: Path | str, *, clock: Clock | None = None) -> Imported:
    """Adds the rows of a JSON lines file to the ledger in ``folder`` (made when absent).

    Raises:
        LedgerError: The file cannot be read, holds nothing any format recognises, or the ledger cannot be written.
    """
    path, folder = Path(path).expanduser(), Path(folder).expanduser().absolute()
    try:
        with path.open("rb") as file:
            return _import(file, path.name, folder, clock or SystemClock())
    except OSError as problem:
        what = path.name if problem.filename == str(path) else f"{path.name} into {folder.name}"
        raise LedgerError(f"cannot import {what}: {problem.strerror or problem}") from None


def _import(file: IO[bytes], name: str, folder: Path, clock: Clock) -> Imported:
    lines = _lines(file)
    skipped: list[Refused] = []
    for first in lines:
        found = None if isinstance(first, Refused) else _format(first)
        if found is not None:
            break
        skipped.append(first if isinstance(first, Refused) else _unknown(first))
    else:
        known = ", ".join(kind.name for kind in FORMATS)
        raise LedgerError(f"{name} holds no line that can be imported; known are: {known}")
    make_folder(folder)
    with alone(folder, wait_s=_WAIT_S):
        taker = _Taker(folder, clock, skipped)
        taker.take(found.rows(taker.usable(found, chain([first], lines))))
    return Imported(
        format=found.name,
        added=taker.added,
        present=taker.present,
        refused=taker.refused,
        problems=tuple(taker.problems),
    )


class _Taker:
    """Sorts what a mapping gives into new rows, rows that are there, and lines that are none."""

    def __init__(self, folder: Path, clock: Clock, skipped: list[Refused]) -> None:
        self._folder, self._clock = folder, clock
        self._ledger = Ledger(folder)
        self._seen: set[tuple[str, int]] = set()
        self.added = self.present = self.refused = 0
        self.problems: list[Refused] = []
        for one in skipped:
            self._refuse(one)

    def usable(self, kind: ImportFormat, lines: Iterator[Line | Refused]) -> Iterator[Line]:
        """The lines that are of the file's format; the others are counted."""
        for line in lines:
            if isinstance(line, Refused):
                self._refuse(line)
            elif not kind.recognises(line.value):
                self._refuse(_unknown(line))
            else:
                yield line

    def take(self, rows: Iterator[Row | Refused]) -> None:
        """Writes what is new to a segment nobody sees until it is whole."""
        disk, hidden = Disk(), temporary(self._folder)
        try:
            with hidden.open("xb") as file:
                hidden.chmod(0o600)
                while batch := list(islice(rows, _BATCH)):
                    file.writelines(self._new(batch))
                file.flush()
            if self.added:
                disk.sync(hidden)
                disk.rename(hidden, self._folder / new_name(self._clock.now().astimezone(UTC).date()))
        finally:
            self._ledger.close()
            with suppress(OSError):
                hidden.unlink(missing_ok=True)

    def _new(self, batch: list[Row | Refused]) -> Iterator[bytes]:
        calls = sorted({one.call_id for one in batch if isinstance(one, Row)})
        query = "select call_id, ordinal from attempts where call_id in (select unnest($1::varchar[]))"
        self._seen.update(self._ledger.sql(query, [calls]).rows())
        for one in batch:
            if isinstance(one, Refused):
                self._refuse(one)
            elif (one.call_id, one.ordinal) in self._seen:
                self.present += 1
            else:
                self._seen.add((one.call_id, one.ordinal))
                self.added += 1
                yield one.line

    def _refuse(self, one: Refused) -> None:
        self.refused += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(one)


def _format(line: Line) -> ImportFormat | None:
    return next((kind for kind in FORMATS if kind.recognises(line.value)), None)


def _unknown(line: Line) -> Refused:
    return Refused(line=line.number, why="not of a format that is known")


def _lines(file: IO[bytes]) -> Iterator[Line | Refused]:
    """The objects of a file; empty lines are passed over, and so is a byte order mark."""
    number = 0
    while raw := file.readline(LONGEST):
        number += 1
        if not raw.endswith(b"\n") and len(raw) == LONGEST:
            while (more := file.readline(LONGEST)) and not more.endswith(b"\n"):
                pass
            yield Refused(line=number, why=TOO_LONG)
            continue
        raw = (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).strip()
        if not raw:
            continue
        value = _decoded(raw)
        yield Line(number=number, value=value, raw=raw) if isinstance(value, dict) else Refused(line=number, why=value)


def _decoded(raw: bytes) -> dict[str, Any] | str:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return "not JSON"
    return value if isinstance(value, dict) else "not a JSON object"
