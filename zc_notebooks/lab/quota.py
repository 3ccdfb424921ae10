"""Counters of a provider's limits on the lab's clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from zc_notebooks.lab.calendar import WINDOW_S, window_end
from zc_notebooks.lab.scenario import Quota
from zc_notebooks.records import Record


class Level(Record, frozen=True, kw_only=True):
    """What a counter shows to one request."""

    quota: Quota
    used: int
    remaining: int
    resets_at: datetime
    """When it is empty again (rolling), or when its window ends."""
    reset_s: float
    """Seconds until then."""
    wait_s: float
    """Seconds until the request that asks would fit; 0.0 when it does."""
    requested: int = 0

    @property
    def exceeded(self) -> bool:
        """Whether the request does not fit."""
        return self.wait_s > 0


class Counter:
    """One quota's use. ``rolling`` drains evenly; every other rule empties at the end of its window."""

    def __init__(self, quota: Quota, now: datetime) -> None:
        self.quota = quota
        self._used = float(quota.used + quota.others)
        self._seen = now
        self._ends = window_end(quota, now)

    def level(self, now: datetime, wants: int = 0) -> Level:
        """What the counter shows; ``wants`` is what a request would add."""
        self._pass_time(now)
        quota = self.quota
        rate = quota.limit / WINDOW_S[quota.per]
        if quota.rule == "rolling":
            excess = self._used + wants - quota.limit
            wait = (excess / rate if rate else WINDOW_S["month"]) if excess > 0 else 0.0
            reset = self._used / rate if rate else WINDOW_S["month"]
        else:
            reset = max((self._ends - now).total_seconds(), 0.0)
            wait = max(reset, 0.001) if self._used + wants > quota.limit else 0.0
        return Level(
            quota=quota,
            used=round(self._used),
            remaining=max(quota.limit - round(self._used), 0),
            resets_at=now + timedelta(seconds=reset),
            reset_s=reset,
            wait_s=wait,
            requested=wants,
        )

    def add(self, amount: int, now: datetime) -> None:
        """Counts a request that was let in."""
        self._pass_time(now)
        if self.quota.rule == "first_use" and self._used == self.quota.others:
            self._ends = window_end(self.quota, now)
        self._used += amount

    def empty(self, now: datetime) -> None:
        """Back to nothing used but by others."""
        self._used, self._seen, self._ends = float(self.quota.others), now, window_end(self.quota, now)

    def _pass_time(self, now: datetime) -> None:
        if self.quota.rule == "rolling":
            rate = self.quota.limit / WINDOW_S[self.quota.per]
            passed = max((now - self._seen).total_seconds(), 0.0)
            self._used = max(self._used - rate * passed, float(self.quota.others))
        elif now >= self._ends:
            self.empty(now)
        self._seen = now


class Counters:
    """All counters of one provider, made when first needed."""

    def __init__(self, quotas: tuple[Quota, ...], now: datetime) -> None:
        self._quotas = quotas
        self._start = now
        self._counters: dict[tuple[int, str], Counter] = {}

    def of(self, model: str) -> list[Counter]:
        """The counters that a request to ``model`` moves, in the order of the scenario."""
        found = []
        for place, quota in enumerate(self._quotas):
            if quota.covers(model):
                key = (place, model if quota.each == "model" else "")
                if key not in self._counters:
                    self._counters[key] = Counter(quota, self._start)
                found.append(self._counters[key])
        return found

    def levels(self, model: str, now: datetime, *, tokens: int = 0, requests: int = 0) -> list[Level]:
        """What all counters of ``model`` show to a request of that many tokens."""
        return [
            counter.level(now, tokens if counter.quota.counts == "tokens" else requests) for counter in self.of(model)
        ]

    def add(self, model: str, now: datetime, *, tokens: int = 0, requests: int = 0) -> None:
        """Counts tokens and requests of ``model``."""
        for counter in self.of(model):
            counter.add(tokens if counter.quota.counts == "tokens" else requests, now)
