"""What a trial is: a fault set on the primary, and what has to come of it, one line for each call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import field

from zc_notebooks.lab.faults import FaultLike
from zc_notebooks.records import Record

Mode = Literal["chat", "stream", "draft"]
"""``chat``: without a stream. ``stream``: what was shown stays. ``draft``: a stream whose text can be rewritten."""

Cast = Literal["alone", "two_processes", "restart"]
"""Which processes ask: this one; this one and another; one that is killed, and another after it."""

TOKENS: Final = 60
PROMPT: Final = f"Count up to {TOKENS - 1}, please."
PIECES: Final = ("(simulated)", *(f" {number}" for number in range(1, TOKENS)))
"""The answer to :data:`PROMPT`, token by token, as the lab streams it."""
ANSWER: Final = "".join(PIECES)

_ROW = re.compile(r"(?:\+(?P<wait>[\d.]+) )?(?P<role>\w+) (?P<status>\w+)(?: (?P<reason>\w+))?")
_MARK = re.compile(r"(?P<seconds>\d+) s (?P<provenance>\w+)")


class ExpectedRow(Record, frozen=True, kw_only=True):
    """One row that must come."""

    role: str
    status: str
    reason: str | None = None
    """Compared where it is named."""
    wait_s: float = 0.0

    @property
    def attempt(self) -> bool:
        """Whether a request is made."""
        return not self.status.startswith("skipped_")


class Way(Record, frozen=True, kw_only=True):
    """One fault in one mode: what has to come of it."""

    rows: tuple[str, ...]
    """The rows of each call: ``primary http_429 minute_limit; +2 primary ok``. ``+2``: after a wait of 2 s."""
    raises: str | None = None
    """Name of the exception each call ends with, where no answer is right."""
    keeps: int = 0
    """Tokens shown before it, and kept by it."""
    redrafts: int = 0
    """How often the text so far is taken back (drafts only)."""
    mark: str | None = None
    """The one cooldown that stands at the end, counted from the primary's last refusal: ``10 s guessed``."""

    @property
    def calls(self) -> tuple[tuple[ExpectedRow, ...], ...]:
        """:attr:`rows`, read."""
        return tuple(tuple(_row(part.strip()) for part in line.split(";")) for line in self.rows)

    @property
    def cooldown(self) -> tuple[float, str] | None:
        """:attr:`mark` as seconds and provenance."""
        if self.mark is None:
            return None
        match = _matched(_MARK, self.mark)
        return float(match["seconds"]), match["provenance"]


class Trial(Record, frozen=True, kw_only=True):
    """One fault of the wall."""

    fault: str
    """Its name on the score card."""
    sets: FaultLike | tuple[FaultLike | None, ...]
    """What the lab does to the primary; a tuple: one for each request, and then nothing more."""
    ways: Mapping[Mode, Way]
    times: int | None = None
    """For how many requests; by default for good."""
    chain: Mapping[str, str] = field(default_factory=lambda: {"primary": "primary", "backup": "backup"})
    """Role → provider of the lab, or ``provider/model``, in the chain's order."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Time limits of the primary's profile, in real seconds."""
    backup_sets: FaultLike | None = None
    """What the lab does to the backup."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the request."""
    reports: str | None = None
    """The model whose name the primary's answers carry, where it is not the one asked for."""
    thinks: str = ""
    """The reasoning a stream shows, once."""
    then_max_tokens: int | None = None
    """``max_tokens`` of the primary's second request, where there is one and it says so."""
    cast: Cast = "alone"


def _row(text: str) -> ExpectedRow:
    match = _matched(_ROW, text)
    return ExpectedRow(
        role=match["role"], status=match["status"], reason=match["reason"], wait_s=float(match["wait"] or 0)
    )


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"not of the form {pattern.pattern}: {text!r}")
    return match
