"""What a cooldown mark is made of and how marks meet (spec 7). Pure: no clock, no file, no lock."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from zc_notebooks.records import Mark, MarkKey, Reason, Record, ResetSource, Variant, Verdict
from zc_notebooks.redact import short
from zc_notebooks.reliability.steps import Gate as WalkGate

MAX_AHEAD: Final = timedelta(days=32)
"""No mark ends later than this from the moment it is looked at."""
LEASE: Final = timedelta(seconds=60)
"""How long one probe may keep everybody else out."""
_MAX_S: Final = MAX_AHEAD.total_seconds()
_PERIOD: Final[frozenset[Reason]] = frozenset({"daily_limit", "token_daily_limit"})


class Gate(WalkGate, frozen=True, kw_only=True):
    """Whether a variant may be called now.

    ``open``; ``cooling``: a mark is live; ``probe``: a mark has ended and the next caller may take its lease; ``held``:
    another caller is probing an ended mark. ``mark`` is the one that decides, the one that ends last.
    """

    lease_until: datetime | None = None
    """End of a running probe's lease, if there is one."""


OPEN: Final = Gate(state="open")


class Row(Record, frozen=True, kw_only=True):
    """A mark as the board keeps it, with the lease of whoever probes it."""

    mark: Mark
    lease: str = ""
    """Token of the holder, empty when free."""
    lease_until: datetime | None = None

    def live(self, now: datetime) -> bool:
        """Whether the mark still says "do not use"."""
        return self.mark.until > now

    def leased(self, now: datetime) -> bool:
        """Whether somebody probes it. A lease that ends absurdly late comes from a clock that jumped back: void."""
        return self.lease_until is not None and now < self.lease_until <= now + 2 * LEASE


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def covers(pattern: str | None, model: str | None) -> bool:
    """Whether a mark's model (``None``: all; ``*`` stands for any run of characters) covers ``model``. Exact case."""
    if pattern is None or pattern == model:
        return True
    return model is not None and "*" in pattern and _glob(pattern).fullmatch(model) is not None


def covering(rows: Iterable[Row], model: str | None, now: datetime) -> tuple[Row, ...]:
    """Of the rows of one pool and credential those that cover ``model``; what ended 32 days ago binds nobody."""
    return tuple(row for row in rows if covers(row.mark.key.model, model) and row.mark.until > now - MAX_AHEAD)


def gate_of(rows: Iterable[Row], model: str | None, now: datetime) -> Gate:
    """The gate for ``model`` under the rows of its pool and credential."""
    mine = covering(rows, model, now)
    if not mine:
        return OPEN
    live = [row for row in mine if row.live(now)]
    last = max(live or mine, key=lambda row: row.mark.until)
    until = max((row.lease_until for row in mine if row.lease_until and row.leased(now)), default=None)
    if live:
        return Gate(state="cooling", mark=last.mark, lease_until=until)
    return Gate(state="probe" if until is None else "held", mark=last.mark, lease_until=until)


def may_lease(rows: Iterable[Row], now: datetime) -> bool:
    """Whether one caller may probe now: every lease is free and what is still live was only guessed (spec 7.3)."""
    return all(not row.leased(now) and (not row.live(now) or row.mark.provenance == "guessed") for row in rows)


def mark_from(
    verdict: Verdict, variant: Variant, now: datetime, *, guess_s: float, period_guess_s: float
) -> Mark | None:
    """The mark that this failure sets on its own, or ``None`` (spec 7.1)."""
    end = _end(verdict, now, period_guess_s if verdict.reason in _PERIOD else guess_s) if _marks(verdict) else None
    if end is None:
        return None
    until, provenance = end
    return Mark(
        key=MarkKey(pool=variant.key.pool, credential_id=variant.key.credential_id, model=_model(verdict, variant)),
        until=until,
        provenance=provenance,
        reason=verdict.reason,
        set_at=now,
        provider_ref=variant.ref,
        text=short(verdict.text.encode(errors="replace").decode()),
    )


def _marks(verdict: Verdict) -> bool:
    """Limits and period quotas do, money only with a stated reset; nothing else ever."""
    return verdict.reason == "balance" or verdict.failure_class in {"limit", "period"}


def _end(verdict: Verdict, now: datetime, guess_s: float) -> tuple[datetime, ResetSource] | None:
    balance = verdict.reason == "balance"
    resets = verdict.resets_at
    if verdict.reset_source == "inferred" and resets is not None and resets > now:
        return None if balance else (min(resets, now + MAX_AHEAD), "inferred")
    stated = _stated(verdict, now)
    if stated is not None:
        return None if stated <= now else (min(stated, now + MAX_AHEAD), "stated")
    return None if balance else (now + timedelta(seconds=min(guess_s, _MAX_S)), "guessed")


def _stated(verdict: Verdict, now: datetime) -> datetime | None:
    """The instant the provider named; ``now`` for a stated zero."""
    wait = verdict.stated_wait_s
    if wait == 0:
        return now
    if verdict.resets_at is not None and verdict.reset_source != "inferred":
        return verdict.resets_at
    if wait is None or math.isnan(wait) or wait < 0:
        return None
    return now + timedelta(seconds=min(wait, _MAX_S))


def _model(verdict: Verdict, variant: Variant) -> str | None:
    if verdict.covers is not None and covers(verdict.covers, variant.model):
        return verdict.covers
    return variant.model if verdict.scope == "model" else None


def meet(old: Mark, new: Mark, now: datetime) -> Mark:
    """What stands after a hit makes ``new`` while ``old`` is on the board under the same key (spec 7.1).

    A live stated reset never moves. A stated time replaces a live inferred or guessed one, an inferred one replaces
    a guess; otherwise the later end stands.
    """
    if old.until <= now:
        return new
    if old.provenance == "stated":
        return old
    if new.provenance == "stated" or (new.provenance == "inferred" and old.provenance == "guessed"):
        return new
    return new if new.until > old.until else old
