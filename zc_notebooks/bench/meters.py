"""How quotas count: a level that use raises and time lowers. Pure."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from zc_notebooks.records import Record
from zc_notebooks.reliability.instants import next_midnight

DAY_S: Final = 86_400.0


class Rule(Record, frozen=True, kw_only=True):
    """How a quota forgets what was used."""

    name: str
    """In words, for people."""
    kind: Literal["midnight", "month", "first_use", "clock", "sliding", "bucket", "never"]
    seconds: float = 0.0
    """Length of the window; of a bucket, the time in which a full one drains."""
    zone: str = ""
    """``midnight``: a reset rule of the catalogue."""

    def boundary(self, now: datetime, begin: datetime | None) -> datetime | None:
        """When a window that holds ``now`` (and was first used at ``begin``) ends; ``None``: not all at once."""
        if self.kind == "midnight":
            return next_midnight(self.zone, now)
        if self.kind == "month":
            year, month = (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)  # noqa: PLR2004
            return datetime(year, month, 1, tzinfo=UTC)
        if self.kind == "clock":
            return datetime.fromtimestamp((now.timestamp() // self.seconds + 1) * self.seconds, UTC)
        if self.kind == "first_use":
            return (begin or now) + timedelta(seconds=self.seconds)
        return None


MIDNIGHTS: Final = {
    zone: Rule(name=f"a day until midnight {place}", kind="midnight", seconds=DAY_S, zone=zone)
    for zone, place in (("utc_midnight", "UTC"), ("pacific_midnight", "Pacific"), ("beijing_midnight", "Beijing"))
}
ROLLING_DAY: Final = Rule(name="a rolling day", kind="bucket", seconds=DAY_S)
SHORT: Final = (
    Rule(name="a rolling minute", kind="sliding", seconds=60.0),
    Rule(name="a minute of the clock", kind="clock", seconds=60.0),
    Rule(name="a second", kind="sliding", seconds=1.0),
    Rule(name="ten seconds", kind="sliding", seconds=10.0),
    Rule(name="an hour", kind="sliding", seconds=3600.0),
)
"""For limits of minutes, the likeliest first."""
LONG: Final = (
    *MIDNIGHTS.values(),
    ROLLING_DAY,
    Rule(name="five hours from the first use", kind="first_use", seconds=5 * 3600.0),
    Rule(name="a week from the first use", kind="first_use", seconds=7 * DAY_S),
    Rule(name="a month", kind="month", seconds=30 * DAY_S),
)
"""For quotas of a period."""
PURSE: Final = Rule(name="a balance", kind="never")


class Meter:
    """What is used up of one quota. Times may not go back.

    Args:
        rule: How it forgets.
        leak: Units a second that a bucket drains.
    """

    def __init__(self, rule: Rule, leak: float = 0.0) -> None:
        self.rule = rule
        self._leak = leak
        self._used = 0.0
        self._at: datetime | None = None
        self._ends: datetime | None = None
        self._recent: deque[tuple[datetime, float]] = deque()

    def level(self, now: datetime) -> float:
        """Used up at ``now``."""
        kind = self.rule.kind
        if kind == "sliding":
            edge = now - timedelta(seconds=self.rule.seconds)
            while self._recent and self._recent[0][0] <= edge:
                self._used -= self._recent.popleft()[1]
            return self._used if self._recent else 0.0
        if kind == "bucket" and self._at is not None:
            self._used = max(0.0, self._used - self._leak * (now - self._at).total_seconds())
            self._at = now
        elif self._ends is not None and now >= self._ends:
            self._used, self._ends = 0.0, None
        return self._used

    def add(self, now: datetime, amount: float) -> None:
        """Counts ``amount`` used at ``now``."""
        self.level(now)
        if self.rule.kind == "sliding":
            self._recent.append((now, amount))
        elif self.rule.kind == "bucket":
            self._at = now
        elif self._ends is None:
            self._ends = self.rule.boundary(now, now)
        self._used += amount

    def ends(self, now: datetime) -> datetime | None:
        """When it is empty again; ``None``: little by little, or never."""
        self.level(now)
        if self.rule.kind == "sliding" and self._recent:
            return self._recent[0][0] + timedelta(seconds=self.rule.seconds)
        return self._ends if self._ends is not None else self.rule.boundary(now, None)
