"""When a provider says it will be back: every form of header, field and sentence (spec 6.2). Pure; never raises.

Never negative, never infinite, never beyond 32 days. The caller ignores Retry-After on a success.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from zc_notebooks.reliability import quota_headers
from zc_notebooks.reliability.families import known_failures
from zc_notebooks.reliability.instants import (
    AMOUNT,
    MAX_WAIT_S,
    Stated,
    aware,
    from_epoch,
    instant,
    next_midnight,
    next_time,
    number,
    parse_duration,
    parse_instant,
    parse_reset,
)
from zc_notebooks.reliability.quota_headers import Headroom

__all__ = [
    "MAX_WAIT_S",
    "Headroom",
    "Stated",
    "headroom",
    "in_text",
    "longest",
    "next_midnight",
    "parse_duration",
    "parse_reset",
    "parse_retry_after",
    "retry_after",
]

_BARE_ASKS: Final = (
    *(
        "again in",
        "again after",
        "again later in",
        "retry in",
        "retry after",
        "retry-after",
        "retry_after",
        "retryafter",
        "wait",
    ),
)
"""Words right before an amount that make it a wait, a bare number included: that is seconds."""
_ASKS: Final = (
    *("retrying in", "request in", "request after", "reset in", "resets in", "reset after", "resets after"),
    *("resetting in", "available in", "available after", "renews in", "refreshes in", "replenishes in", "back in"),
)
"""The same for amounts with a unit only."""
_BEHIND: Final = (
    r"[ \"':=~]{0,4}(?:(?:about|approximately|around|for|at least|another) {1,3})?"
    rf"({AMOUNT})(?![\w%:/-]|\.\d)"
)
_AMOUNT = re.compile(_BEHIND)
_CHINESE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(毫秒|秒钟?|分钟?|个?小时|天)(?:之?后|以后)")
_TELLS: Final = (
    *("reset", "regain", "renew", "refresh", "restore", "resume", "available", "until", "again", "retry", "after"),
    *("重置", "恢复", "刷新", "重试", "解除"),
)
"""Words near a date that make it the end of a limit."""
_DATE = re.compile(
    r"(\d\d\d\d-\d{2}-\d{2})(?:(?:[t ]| at )(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?"
    r"(?: ?\(?(z\b|(?:utc|gmt)(?:[+-]\d{1,2}(?::?\d{2})?)?|[+-]\d{2}:?\d{2}))?"
)
_YEARLESS = re.compile(r"(\d\d)-(\d{2}) (\d{2}):(\d{2})(?::(\d{2}))?(?: ?(utc|gmt|z\b))?")
_EPOCH = re.compile(r"(\d\d{9}(?:\d{3})?)(?![\w.])")
_CLOCK = re.compile(
    r"(?<![-\d:] )(?<![t\d:])(?:midnight|([01]?\d|2[0-3]):([0-5]\d)(?::00)?) ?\(?"
    r"(?:(utc|gmt)(?![\w+-])|pacific\b|pst\b|pdt\b)"
)
"""A time of the day with its zone."""
_CLOCK_ZONES: Final = ("utc", "gmt", "pacific", "pst", "pdt")
_PACIFIC: Final = "America/Los_Angeles"
_HALF_A_YEAR: Final = timedelta(days=182)


def retry_after(headers: Mapping[str, str], now: datetime) -> tuple[Stated, ...]:
    """What ``retry-after-ms`` and ``retry-after`` state (seconds, fractions, an HTTP date, an epoch), as waits."""
    found = []
    milliseconds = number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        wait = min(milliseconds / 1000.0, MAX_WAIT_S)
        found.append(Stated(wait_s=wait, where="header retry-after-ms", value=headers["retry-after-ms"]))
    value = headers.get("retry-after", "")
    stated = parse_reset(_last_of(value), now) if value else None
    if stated is not None:
        found.append(Stated(wait_s=stated.seconds(aware(now)), where="header retry-after", value=value))
    return tuple(found)


def _last_of(value: str) -> str:
    """The largest of a header that was sent several times (``5, 10``)."""
    parts = value.split(",")
    numbers = [amount for part in parts if (amount := number(part)) is not None]
    return str(max(numbers)) if len(parts) > 1 and len(numbers) == len(parts) else value


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the longest of the Retry-After forms in ``headers`` (lower-case names); ``None``: not stated."""
    waits = [stated.wait_s or 0.0 for stated in retry_after(headers, now)]
    return max(waits, default=None)


def headroom(family: str, headers: Mapping[str, str], now: datetime) -> tuple[Headroom, ...]:
    """Remaining requests and tokens that ``headers`` state, with the instant each quota comes back."""
    return quota_headers.headroom(known_failures(family).periods, headers, now)


def in_text(text: str, now: datetime, *, zone: str = "UTC", where: str = "") -> tuple[Stated, ...]:
    """Waits and instants that a sentence states; a time without a zone is in ``zone``."""
    low = text.lower()
    found = [Stated(wait_s=wait, where=where, value=words) for words, wait in _waits(low)]
    if any(tell in low for tell in _TELLS):
        for words, at in _instants(low, now, zone):
            stated = instant(at, now)
            if stated is not None:
                found.append(Stated(at=stated.at, where=where, value=words))
    return tuple(found)


def _waits(low: str) -> Iterable[tuple[str, float]]:
    """(words, seconds) of every amount that stands right behind a word asking to wait."""
    if "后" in low:
        for match in _CHINESE.finditer(low):
            yield match[0], parse_duration(match[1] + match[2]) or 0.0
    for asks, bare in ((_BARE_ASKS, True), (_ASKS, False)):
        for ask in asks:
            start = low.find(ask)
            while start >= 0:
                amount = _AMOUNT.match(low, start + len(ask))
                if amount and not low[start - 1 : start].isalnum() and (bare or not amount[1][-1].isdigit()):
                    wait = parse_duration(amount[1])
                    if wait is not None:
                        yield f"{ask} {amount[1]}", wait
                start = low.find(ask, start + len(ask))


def longest(stated: Iterable[Stated], now: datetime) -> Stated | None:
    """The statement that ends last; between equals the first."""
    now = aware(now)
    return max(stated, key=lambda one: one.seconds(now), default=None)


def _instants(low: str, now: datetime, zone: str) -> Iterable[tuple[str, datetime | None]]:
    dated = False
    for match in _DATE.finditer(low) if "-" in low else ():
        dated = True
        if _told(low, match):
            date, clock, offset = match[1], match[2] or "00:00", match[3] or ""
            yield match[0], parse_instant(f"{date}T{clock}{_offset(offset)}", zone=zone)
    for match in _YEARLESS.finditer(low) if ":" in low and "-" in low and not dated else ():
        if _told(low, match):
            yield match[0], _this_year(match, aware(now), "UTC" if match[6] else zone)
    for match in _CLOCK.finditer(low) if not dated and any(word in low for word in _CLOCK_ZONES) else ():
        if _told(low, match):
            where = "UTC" if match[3] else _PACIFIC
            yield match[0], next_time(int(match[1] or 0), int(match[2] or 0), where, now)
    for match in _EPOCH.finditer(low) if "reset" in low or "until" in low else ():
        if _told(low, match):
            yield match[0], from_epoch(float(match[1]))


def _offset(zone: str) -> str:
    """``+08:00`` for ``utc+8``, ``+0800``, …; nothing for nothing."""
    sign, digits = zone.lstrip("utcgmz")[:1], zone.lstrip("utcgmz+-").replace(":", "")
    if not digits:
        return "+00:00" if zone else ""
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "00")  # noqa: PLR2004
    return f"{sign}{hours:0>2}:{minutes}"


def _told(low: str, match: re.Match[str]) -> bool:
    """Whether the words around a date say that something ends then."""
    if low[max(0, match.start() - 1) : match.start()].isalnum():
        return False
    around = low[max(0, match.start() - 48) : match.start()] + " " + low[match.end() : match.end() + 10]
    return any(tell in around for tell in _TELLS)


def _this_year(match: re.Match[str], now: datetime, zone: str) -> datetime | None:
    """A date without a year, in the year that puts it nearest to ``now``."""
    clock = f"{match[1]}-{match[2]}T{match[3]}:{match[4]}:{match[5] or '00'}"
    found = [parse_instant(f"{year:04}-{clock}", zone=zone) for year in (now.year, now.year + 1)]
    at, next_year = found
    if at is not None and now.astimezone(UTC) - at > _HALF_A_YEAR:
        return next_year or at
    return at
