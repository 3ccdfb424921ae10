"""When which provider was out, in words: rows of the ledger's view ``exhaustion``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.charts.names import Line, candidate_names
from zc_notebooks.clock import Clock
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.records import Record

if TYPE_CHECKING:
    import polars as pl

WORDS: Final[Mapping[str, str]] = {
    "minute_limit": "per-minute limit",
    "daily_limit": "requests per day",
    "token_daily_limit": "tokens per day",
    "balance": "unpaid",
}
"""Kinds of exhaustion, in words."""
MOST: Final = 300
"""Outages that are shown: those that are not over, and the newest of the others."""
CHEAP_S: Final = 0.1
"""A look that takes longer (hundreds of thousands of rows) is followed by a pause of ten times its length."""


class Outage(Record, frozen=True, kw_only=True):
    """One time in which a credential had nothing left."""

    ref: str
    lane: str
    """Its line in a drawing: model, or all of the billing pool's, and the credential where several were out."""
    pool: str
    """Who pays: what an answer of the pool ends."""
    kind: str
    """A key of :data:`WORDS`."""
    begin: datetime
    until: datetime | None
    """The reset that held last; ``None``: not known."""
    end: datetime | None
    """When it was over; ``None`` while it is not."""

    @classmethod
    def of(cls, row: Mapping[str, Any], lane: str) -> Outage:
        """A row of the view."""
        return cls(
            ref=row["provider_ref"],
            lane=lane,
            pool=row["pool"],
            kind=row["kind"],
            begin=row["begin_at"],
            until=row["back_at"],
            end=row["end_at"],
        )

    def words(self, now: datetime) -> str:
        """``tokens per day, 09:14:00 to 14:32:00 UTC``."""
        begin = f"{WORDS.get(self.kind, self.kind)}, {instant(self.begin, now)}"
        if self.end is not None:
            return f"{begin} to {instant(self.end, now)} UTC"
        return f"{begin} UTC until {'an answer comes' if self.until is None else f'{instant(self.until, now)} UTC'}"


class Outages:
    """The outages of the last hours. Looked up anew only when a new row may have changed them.

    Args:
        ledger: Where they are read.
        clock: What "now" is.
        hours: How far back.
    """

    def __init__(self, ledger: Ledger, clock: Clock, hours: float) -> None:
        self._ledger = ledger
        self._clock = clock
        self._hours = hours
        self._due = clock.monotonic()
        self._stale = True
        self.shown: tuple[Outage, ...] = ()
        """The earliest first; at most :data:`MOST`."""
        self.left_out = 0
        """Older ones that are not shown."""

    def changed(self, rows: pl.DataFrame) -> None:
        """Takes note of new rows."""
        import polars as pl

        pools = {item.pool for item in self.shown if item.end is None}
        out = pl.col("reason").is_in(list(WORDS)) | (pl.col("accepted") & pl.col("pool").is_in(list(pools)))
        self._stale = self._stale or not rows.filter(out).is_empty()

    @property
    def due(self) -> bool:
        """Whether a look is worth it now."""
        return self._stale and self._clock.monotonic() >= self._due

    def look(self) -> None:
        """Looks them up."""
        begun = self._clock.monotonic()
        found = self._ledger.view("exhaustion", self._clock.now() - timedelta(hours=self._hours))
        kept = found.sort(found["end_at"].is_null(), "begin_at").tail(MOST)
        self.left_out = found.height - kept.height
        lines: list[Line] = [
            (ref, model or "all models", credential)
            for ref, model, credential in kept.select("provider_ref", "model", "credential_id").rows()
        ]
        names = candidate_names(lines, models=True, whole=True)
        shown = (Outage.of(row, names[line]) for row, line in zip(kept.to_dicts(), lines, strict=True))
        self.shown = tuple(sorted(shown, key=lambda item: (item.begin, item.lane)))
        ended = self._clock.monotonic()
        took = ended - begun
        self._stale, self._due = False, ended + (10 * took if took > CHEAP_S else 0.0)


def instant(at: datetime, now: datetime) -> str:
    """``14:32:05``; the date instead of seconds when it is another day."""
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%m-%d %H:%M}"
