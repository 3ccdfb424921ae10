"""Periods people write: ``24h``, a date, an instant."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from zc_notebooks.errors import LedgerError

When = str | date | datetime | timedelta
"""``"24h"`` and timedeltas count back from now; dates are midnight UTC; instants without a zone are UTC."""

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def period(since: When | None, until: When | None, *, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Begin (included) and end (not included) as aware UTC instants; ``None`` is open.

    Raises:
        LedgerError: A bound cannot be read, or the period ends before it begins.
    """
    begin, end = instant(since, "since", now=now), instant(until, "until", now=now)
    if begin is not None and end is not None and begin > end:
        raise LedgerError(f"the period ends ({end:%Y-%m-%d %H:%M:%S}) before it begins ({begin:%Y-%m-%d %H:%M:%S} UTC)")
    return begin, end


def instant(when: When | None, name: str, *, now: datetime) -> datetime | None:
    """One bound as an aware UTC instant."""
    try:
        return _instant(when, now)
    except (ValueError, OverflowError, TypeError, AttributeError):
        raise LedgerError(
            f'{name} = {when!r} is no time: write "24h", "7d", a date such as "2026-11-01", or an instant'
        ) from None


def _instant(when: When | None, now: datetime) -> datetime | None:
    if when is None:
        return None
    if isinstance(when, timedelta):
        return now - when
    if isinstance(when, datetime):
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    if isinstance(when, date):
        return datetime.combine(when, time(), tzinfo=UTC)
    text = when.strip()
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - timedelta(**{_UNITS[ago[2]]: float(ago[1])})
    return _instant(datetime.fromisoformat(text), now)
