"""When a period ends: midnights of the places providers count by, months, and fixed windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from zc_notebooks.lab.scenario import Per, Quota

WINDOW_S: dict[Per, float] = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "session": 5 * 3600.0,
    "day": 86_400.0,
    "week": 7 * 86_400.0,
    "month": 30 * 86_400.0,
}
"""Length of each window in seconds; a session is five hours."""

_ZONES = {"utc_midnight": "UTC", "pacific_midnight": "America/Los_Angeles", "beijing_midnight": "Asia/Shanghai"}


def next_midnight(now: datetime, rule: str) -> datetime:
    """The next midnight by a rule (``utc_midnight``, ``pacific_midnight``, ``beijing_midnight``), in UTC."""
    zone = ZoneInfo(_ZONES[rule])
    local = now.astimezone(zone)
    tomorrow = local.date() + timedelta(days=1)
    return datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=zone).astimezone(UTC)


def next_month(now: datetime) -> datetime:
    """00:00 UTC of the first day of the next month."""
    year, month = (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)  # noqa: PLR2004
    return datetime(year, month, 1, tzinfo=UTC)


def window_end(quota: Quota, now: datetime) -> datetime:
    """When the window that holds ``now`` (or, by ``first_use``, begins now) ends."""
    if quota.rule in _ZONES:
        return next_midnight(now, quota.rule)
    if quota.rule == "month":
        return next_month(now)
    length = WINDOW_S[quota.per]
    if quota.rule == "first_use":
        return now + timedelta(seconds=length)
    seconds = now.timestamp()
    return datetime.fromtimestamp((seconds // length + 1) * length, UTC)


def reset_instant(rule: str | float | None, now: datetime) -> datetime | None:
    """When a limit that begins now ends: seconds, a midnight rule, ``month``, or ``None`` for never."""
    if rule is None:
        return None
    if isinstance(rule, str):
        return next_month(now) if rule == "month" else next_midnight(now, rule)
    return now + timedelta(seconds=rule)
