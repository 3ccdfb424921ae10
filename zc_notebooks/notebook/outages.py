"""When which provider was out, in words: rows of the ledger's view ``exhaustion``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from zc_notebooks.records import Record

WORDS: Final[Mapping[str, str]] = {
    "minute_limit": "per-minute limit",
    "daily_limit": "requests per day",
    "token_daily_limit": "tokens per day",
    "balance": "unpaid",
}
"""Kinds of exhaustion, in words."""


class Outage(Record, frozen=True, kw_only=True):
    """One time in which a credential had nothing left."""

    ref: str
    model: str | None
    """``None``: all models of the billing pool."""
    kind: str
    """A key of :data:`WORDS`."""
    begin: datetime
    until: datetime | None
    """The reset that held last; ``None``: not known."""
    end: datetime | None
    """When it was over; ``None`` while it is not."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Outage:
        """A row of the view."""
        return cls(
            ref=row["provider_ref"],
            model=row["model"],
            kind=row["kind"],
            begin=row["begin_at"],
            until=row["back_at"],
            end=row["end_at"],
        )

    @property
    def lane(self) -> str:
        """Its line in a drawing."""
        return f"{self.ref}/{self.model or 'all models'}"

    def words(self, now: datetime) -> str:
        """``tokens per day, 09:14:00 to 14:32:00 UTC``."""
        begin = f"{WORDS.get(self.kind, self.kind)}, {_instant(self.begin, now)}"
        if self.end is not None:
            return f"{begin} to {_instant(self.end, now)} UTC"
        return f"{begin} UTC until {'an answer comes' if self.until is None else f'{_instant(self.until, now)} UTC'}"


def _instant(at: datetime, now: datetime) -> str:
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%m-%d %H:%M}"
