"""Which of a failure's statements about time counts (spec 6.2): picks the source, drops what is known to be false."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from zc_notebooks.records import Reason, Record
from zc_notebooks.reliability.failure_body import FailureBody
from zc_notebooks.reliability.instants import (
    MAX_WAIT_S,
    Stated,
    instant,
    next_midnight,
    number,
    parse_duration,
    parse_reset,
)
from zc_notebooks.reliability.periods import fits
from zc_notebooks.reliability.quota_headers import Dimension
from zc_notebooks.reliability.reset_time import in_text, longest, retry_after
from zc_notebooks.reliability.rules import Failures, Period

_WAITING_HELPS: Final = frozenset(
    {"minute_limit", "daily_limit", "token_daily_limit", "capacity", "server_error", "network"}
)
_LIMITS: Final = frozenset({"minute_limit", "daily_limit", "token_daily_limit"})
_FALSE_DAY_S: Final = 600.0
"""On a quota that ends at a known midnight a shorter wait than this is the minute's (Gemini says 57 s)."""
_RPM = re.compile(r"max (?:rpm|request(?: per minute reached)?): ?(\d{1,5})")
_OTHER_CALENDAR = re.compile(r"week|month|每周|每月|本周|本月|小时|\d ?h(?:ours?)?\b")


class Return(Record, frozen=True, kw_only=True):
    """When the candidate is back, as far as the failure or a known rule says."""

    stated: Stated | None = None
    inferred: datetime | None = None
    dropped: Stated | None = None
    """A statement known to be false."""


def back_at(
    reason: Reason,
    body: FailureBody,
    said: Callable[[], list[Stated]],
    headers: Mapping[str, str],
    exhausted: tuple[Dimension, ...],
    known: Failures,
    now: datetime,
) -> Return:
    """What a failure of ``reason`` says about its own end.

    ``said`` are the body's statements; ``headers`` are empty for a failure inside a 2xx.
    """
    if reason == "balance":
        dated = [one for one in said() if one.at is not None]
        return Return(stated=longest(dated, now))
    if reason not in _WAITING_HELPS:
        return Return()
    stated = longest((*retry_after({**body.headers, **headers}, now), *said()), now)
    dropped = stated if stated is not None and _false(reason, stated, body, known, now) else None
    if reason in _LIMITS and (stated is None or dropped is not None):
        stated = _of_headers(exhausted, _period(reason), now)
    if stated is None or stated is dropped:
        return Return(dropped=dropped, inferred=_midnight(reason, body, known, now))
    return Return(stated=stated, dropped=dropped)


def from_body(body: FailureBody, zone: str, now: datetime) -> list[Stated]:
    """Every statement of the body: retry-delay fields, reset fields, sentences; a backend's where it has none."""
    found = []
    for where, value, scale in body.waits:
        wait = parse_duration(value)
        if wait is not None:
            found.append(Stated(wait_s=min(wait * scale, MAX_WAIT_S), where=f"field {where}", value=value))
        elif (later := parse_reset(value, now, zone=zone)) is not None:
            found.append(Stated(at=later.at, where=f"field {where}", value=value))
    for where, value in body.instants:
        found += _instant_field(where, value, zone, now)
    for message in body.messages:
        found += in_text(message.text, now, zone=zone, where=f"phrase in {message.where}")
    if not found and body.upstream is not None:
        return from_body(body.upstream, zone, now)
    return found


def _instant_field(where: str, value: str, zone: str, now: datetime) -> list[Stated]:
    stated = parse_reset(value, now, zone=zone)
    if stated is None or (stated.at is None and number(value) == 0):
        return []
    at = stated.at
    return [Stated(at=at, wait_s=None if at else stated.wait_s, where=f"field {where}", value=value)]


def _of_headers(exhausted: tuple[Dimension, ...], period: Period, now: datetime) -> Stated | None:
    resets = [(one.label, at) for one in exhausted if fits(one, period) and (at := one.reset(now)) is not None]
    found = longest((at for _, at in resets), now)
    if found is None:
        return None
    label = next(name for name, at in resets if at is found)
    at = instant(found.at, now)
    where = f"header: reset of {label}, of which nothing remains"
    value = f"{found.at:%Y-%m-%dT%H:%M:%SZ}" if found.at else f"{found.wait_s:g} s"
    return Stated(wait_s=found.wait_s, at=at.at if at else None, where=where, value=value)


def _period(reason: Reason) -> Period:
    return "minute" if reason == "minute_limit" else "day"


def _false(reason: Reason, stated: Stated, body: FailureBody, known: Failures, now: datetime) -> bool:
    """A minute's wait on a quota that ends at midnight; a second's wait at three requests a minute."""
    seconds = stated.seconds(now)
    if reason in ("daily_limit", "token_daily_limit"):
        midnight = bool(known.day_reset and known.day_reset.endswith("midnight"))
        return midnight and stated.at is None and seconds < _FALSE_DAY_S
    for message in body.messages:
        rpm = _RPM.search(message.low)
        if rpm and reason == "minute_limit" and stated.at is None:
            return seconds < 60 / max(1, int(rpm[1]))
    return False


def _midnight(reason: Reason, body: FailureBody, known: Failures, now: datetime) -> datetime | None:
    if reason == "minute_limit" or reason not in _LIMITS:
        return None
    if any(_OTHER_CALENDAR.search(message.low) for message in body.messages):
        return None
    return next_midnight(known.day_reset, now)
