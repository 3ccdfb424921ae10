"""What one cell of a measurement gave, and the file they are kept in: one JSON line each, appended as they come."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import IO, Annotated, Any, Final, Literal, get_args

import msgspec

from zc_notebooks.errors import ZcError
from zc_notebooks.records import Record

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # pragma: no cover (Windows has no flock)
    fcntl = None

Outcome = Literal["correct", "wrong", "unparsed", "truncated", "refused", "error", "unreachable"]
"""``unparsed``: answered without an answer in the stated form. ``truncated``: cut at the token limit. ``refused``: the
model declined. ``error``: the request itself was at fault. ``unreachable``: nobody answered (limit, outage, money)."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
ANSWERED: Final[frozenset[Outcome]] = frozenset({"correct", "wrong", "unparsed", "truncated", "refused"})
"""The model itself spoke: these count for quality, the others for reachability."""


_BEGINS: Final = b'{"key":"'
"""How each line begins, and with it one that was cut off."""
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]


class ResultsError(ZcError):
    """A file of results cannot be used; the message says which line and why."""


class Cell(Record, frozen=True, kw_only=True):
    """What is measured once: a task's instance, a candidate, settings, and the number of the repetition."""

    task: str
    """Name of the task."""
    content: str
    """Hash of the task and the instance: a changed task is another cell."""
    candidate: str
    """``family.alias/model``."""
    settings: Mapping[str, Any] = {}
    rep: int = 0

    @property
    def key(self) -> str:
        """The same cell has the same key in every run."""
        parts = [
            self.task,
            self.content,
            self.candidate,
            dict(sorted(self.settings.items())),
            self.rep,
        ]
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:24]


class Result(Record, frozen=True, kw_only=True):
    """One cell, measured. No prompt and no answer."""

    key: str
    t: datetime
    """UTC start."""
    task: str
    kind: str
    level: int
    language: str
    content: str
    candidate: str
    rep: int
    outcome: Outcome
    why: str = ""
    """Of an outcome that is not ``correct``, in one line; never text of the answer."""
    served_model: str = ""
    reported_model: str | None = None
    call_id: str = ""
    attempts: int = 0
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    secs: Amount | None = None
    """Of the answering attempt: request sent to body complete."""
    first_token_s: Amount | None = None
    waited_s: Amount = 0.0
    cost_usd: Amount | None = None
    """Of every attempt of the cell, rejected ones included; ``None`` is unknown."""
    at_least: bool = False

    @property
    def answered(self) -> bool:
        """Whether the model itself spoke."""
        return self.outcome in ANSWERED


class Results:
    """The file of one measurement. One run at a time appends; a torn last line (``kill -9``) is passed over."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, no other run measures into the file: it would ask, and pay for, the same cells.

        The kernel lets go of it when the process ends, however it ends; a file system without locks is let be.

        Raises:
            ResultsError: Another run holds it, or it cannot be written.
        """
        with self._opened() as file:
            try:
                if fcntl is not None:
                    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ResultsError(
                    f"another run measures into {self.path}: wait for its end, or name another file (-o)"
                ) from None
            except OSError:
                pass
            try:
                yield
            finally:
                if file.seek(0, os.SEEK_END) == 0:
                    self.path.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[Result]:
        """The newest result of each cell, in the order of the first.

        Raises:
            ResultsError: A whole line is no result.
        """
        found: dict[str, Result] = {}
        for number, line in enumerate(self._lines(), start=1):
            result = self._read(number, line)
            if result is not None:
                found[result.key] = result
        return iter(found.values())

    def _read(self, number: int, line: bytes) -> Result | None:
        """``None`` for a line that was cut off."""
        try:
            return msgspec.json.decode(line, type=Result)
        except msgspec.ValidationError as error:
            raise ResultsError(f"{self.path}, line {number} is no result of a measurement: {error}") from None
        except msgspec.DecodeError:
            if not _BEGINS.startswith(line[: len(_BEGINS)]):
                raise ResultsError(f"{self.path}, line {number} is no result of a measurement") from None
            return None

    def append(self, result: Result) -> None:
        """One line, one write. A torn line before it is ended first, so that it spoils nothing.

        Raises:
            ResultsError: The file cannot be written.
        """
        line = msgspec.json.encode(result) + b"\n"
        with self._opened() as file:
            try:
                os.write(file.fileno(), (b"" if self._ends_whole() else b"\n") + line)
            except OSError as error:
                raise self._unwritable(error) from None

    def _opened(self) -> IO[bytes]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self.path.open("ab")
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> ResultsError:
        return ResultsError(f"{self.path} cannot be written ({error.strerror})")

    def done(self) -> frozenset[str]:
        """Keys of the cells that are measured. An unreachable one is measured too: that is its result."""
        return frozenset(result.key for result in self)

    def _lines(self) -> Iterable[bytes]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ResultsError(f"{self.path} cannot be read ({error.strerror})") from None
        return (line for line in data.split(b"\n") if line.strip())

    def _ends_whole(self) -> bool:
        try:
            with self.path.open("rb") as file:
                if file.seek(0, os.SEEK_END) == 0:
                    return True
                file.seek(-1, os.SEEK_END)
                return file.read(1) == b"\n"
        except FileNotFoundError:
            return True
