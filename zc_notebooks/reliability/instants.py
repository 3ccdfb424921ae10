"""Waits and instants as providers write them: durations, epochs, dates, midnights. Pure; nothing here ever raises.

A wait is never negative, never infinite and never longer than 32 days; an instant is an aware UTC datetime.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from zc_notebooks.records import Record

MAX_WAIT_S: Final = 32 * 86_400.0
"""Longest wait that is believed (spec 7.1: stated times end at 32 days ahead at the latest)."""

_ZONES: Final = {
    "utc_midnight": ("UTC", 0),
    "pacific_midnight": ("America/Los_Angeles", -8),
    "beijing_midnight": ("Asia/Shanghai", 8),
}
_SECONDS: Final = {
    "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "ms": 1e-3, "mil": 1e-3, "mic": 1e-6, "毫": 1e-3,
    "s": 1.0, "秒": 1.0, "m": 60.0, "分": 60.0, "h": 3600.0, "小": 3600.0, "个": 3600.0, "d": 86_400.0,
    "天": 86_400.0, "w": 604_800.0,
}  # fmt: skip
_UNIT = (
    r"(?:milliseconds?|msecs?|ms|microseconds?|[uµμ]s|nanoseconds?|ns|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h"
    r"|days?|d|weeks?|w|毫秒|秒钟?|分钟?|个?小时|天)(?![A-Za-z])"
)
_FIGURE: Final = r"\d\d{0,14}(?:\.\d{1,15})?"
_MORE: Final = rf"(?:(?:,|[ ]and)?[ ]{{0,2}}{_FIGURE}[ ]{{0,2}}{_UNIT}){{0,6}}"
AMOUNT: Final = rf"{_FIGURE}(?:[ ]{{0,2}}{_UNIT}{_MORE})?"
"""A number, or a duration with units: ``1h2m3s``, ``26ms``, ``5631 seconds``, ``1 minute and 30 seconds``."""
_WHOLE = re.compile(rf"{_FIGURE}[ ]{{0,2}}{_UNIT}{_MORE}", re.IGNORECASE)
_PART = re.compile(rf"(\d{{1,15}}(?:\.\d{{1,15}})?)[ ]{{0,2}}({_UNIT})", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,320}(?:\.\d{0,40})?(?:[eE]\+?\d{1,3})?", re.ASCII)
_ISO = re.compile(r"P(?:(\d{1,4})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?", re.IGNORECASE)


class Stated(Record, frozen=True, kw_only=True):
    """When a provider says it will be back: a wait in seconds, or an instant (exactly one of the two)."""

    wait_s: float | None = None
    """Seconds from now, 0 to 32 days."""
    at: datetime | None = None
    """Aware UTC; may lie in the past, and at most 32 days ahead."""
    where: str = ""
    """What said so: ``header retry-after``, ``phrase in error.message``, …"""
    value: str = ""
    """As written there."""

    def seconds(self, now: datetime) -> float:
        """Seconds from ``now``, never negative."""
        if self.at is None:
            return self.wait_s or 0.0
        return min(max(0.0, (self.at - now).total_seconds()), MAX_WAIT_S)


def aware(now: datetime) -> datetime:
    """``now`` in UTC; a naive one is taken for UTC already."""
    if now.tzinfo is None:
        return now.replace(tzinfo=UTC)
    try:
        return now.astimezone(UTC)
    except (OverflowError, ValueError):
        return now.replace(tzinfo=UTC)


def clamped(seconds: float) -> float | None:
    """A believable wait, or ``None`` for a negative or undefined one."""
    if math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, MAX_WAIT_S)


def later(now: datetime, seconds: float) -> datetime:
    """The instant ``seconds`` after ``now``, at the end of the calendar if it lies beyond."""
    try:
        return now + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return datetime.max.replace(tzinfo=UTC)


def number(text: str) -> float | None:
    """A plain non-negative decimal number, or ``None``: no sign, no ``inf``, no ``nan``, no underscores."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else MAX_WAIT_S


def parse_duration(text: str) -> float | None:
    """Seconds of ``7.66s``, ``2m59.56s``, ``26ms``, ``1h12m``, ``5631 seconds``, ``PT30S`` or a bare number."""
    text = text.strip()[:80]
    bare = number(text)
    return _with_units(text) if bare is None else clamped(bare)


def _with_units(text: str) -> float | None:
    if _WHOLE.fullmatch(text):
        return clamped(sum(float(part[1]) * _unit_s(part[2]) for part in _PART.finditer(text)))
    iso = _ISO.fullmatch(text)
    if iso and any(iso.groups()):
        days, hours, minutes, seconds = (float(group or 0) for group in iso.groups())
        return clamped(days * 86_400 + hours * 3600 + minutes * 60 + seconds)
    return None


def _unit_s(unit: str) -> float:
    unit = unit.lower()
    return _SECONDS.get(unit[:3]) or _SECONDS.get(unit[:2]) or _SECONDS[unit[0]]


def from_epoch(value: float) -> datetime | None:
    """The instant of Unix seconds, milliseconds, microseconds or nanoseconds from 2001 on, told by its size."""
    for low, high, scale in ((1e9, 1e11, 1.0), (1e12, 1e14, 1e3), (1e15, 1e17, 1e6), (1e18, 1e20, 1e9)):
        if low <= value < high:
            return datetime.fromtimestamp(value / scale, UTC)
    return None


def parse_instant(text: str, *, zone: str = "UTC") -> datetime | None:
    """An RFC 3339 time, an HTTP date or an epoch; a time without a zone is in ``zone``."""
    text = text.strip()[:64]
    value = number(text)
    if value is not None:
        return from_epoch(value)
    try:
        found = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
        return found.replace(tzinfo=found.tzinfo or _zone(zone)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_reset(text: str, now: datetime, *, zone: str = "UTC") -> Stated | None:
    """Whatever a reset header or field holds: a duration, bare seconds, an epoch, RFC 3339 or an HTTP date."""
    value = number(text)
    if value is None:
        wait = _with_units(text.strip()[:80])
        return instant(parse_instant(text, zone=zone), now) if wait is None else Stated(wait_s=wait)
    at = from_epoch(value)
    return Stated(wait_s=clamped(value)) if at is None else instant(at, now)


def instant(at: datetime | None, now: datetime) -> Stated | None:
    """``at`` as a statement, pulled in to 32 days ahead; ``None`` stays ``None``."""
    if at is None:
        return None
    latest = later(aware(now), MAX_WAIT_S)
    return Stated(at=min(at, latest))


def next_midnight(rule: str | None, now: datetime) -> datetime | None:
    """Next 00:00 by the provider's own calendar, as aware UTC; ``None`` for a rolling window or no known rule.

    Args:
        rule: ``utc_midnight``, ``pacific_midnight`` (with daylight saving), ``beijing_midnight`` or anything else.
        now: aware.
    """
    named = _ZONES.get(rule or "")
    return None if named is None else next_time(0, 0, named[0], now)


def next_time(hour: int, minute: int, zone: str, now: datetime) -> datetime | None:
    """The next time it is ``hour:minute`` in ``zone``, as aware UTC; ``None`` beyond the calendar."""
    try:
        local = aware(now).astimezone(_zone(zone))
        at = datetime.combine(local.date(), time(hour, minute), tzinfo=local.tzinfo)
        if at.astimezone(UTC) <= aware(now):
            at = datetime.combine(local.date() + timedelta(days=1), time(hour, minute), tzinfo=local.tzinfo)
        return at.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


@cache
def _zone(name: str) -> tzinfo:
    """The zone, or its winter offset where the machine has no zone data (late rather than early)."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hours = next((offset for zone, offset in _ZONES.values() if zone == name), 0)
        return timezone(timedelta(hours=hours))
