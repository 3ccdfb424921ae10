"""Which period a limit has, and requests that no waiting can serve: read from messages, quota ids and headers. Pure."""

from __future__ import annotations

import re
from typing import Final

from zc_notebooks.records import Record
from zc_notebooks.reliability.quota_headers import Dimension
from zc_notebooks.reliability.rules import Period

LONG_S: Final = 5 * 3600.0
"""A limit that comes back after five hours or later is a period quota by definition (spec 4.1)."""

_TOKEN_LONG = re.compile(
    r"(?<![a-z])tpd(?![a-z])"
    r"|tokens?(?:[ _-]\w{1,12}){0,3}[ _-](?:per|a|/)[ _-]?(?:day|week|month|session)"
    r"|tokens? ?/ ?(?:day|week|month)"
    r"|(?:daily|weekly|monthly)[ _-](?:input[ _-]|output[ _-])?token"
    r"|tokens?per\w{0,20}per(?:day|week|month)"
    r"|request tokens has exceeded your daily"
    r"|tokens? quota for this (?:week|month)"
)
_LONG_UNITS: Final = ("day", "week", "month")
_SHORT_UNITS: Final = ("min", "sec", "hour")
_UNIT_FORMS: Final = {
    unit: (
        *(f"{before}{unit}" for before in ("per ", "per 1 ", "per-", "per_", "per", "/", "/ ")),
        *(f"{unit}{after}" for after in (" quota", " limit", " window", " allowance")),
    )
    for unit in (*_LONG_UNITS, *_SHORT_UNITS)
}
_LONG_WORDS: Final = (
    "byday",
    "a day",
    "each day",
    "every day",
    "for today",
    "today's",
    "this week",
    "this month",
    "five_hour",
    "seven_day",
    "tomorrow",
    "daily",
    "weekly",
    "monthly",
    "86400s",
    "86400 s",
    "24 hours",
    "24-hour",
    "per session",
    "session limit",
    "session usage limit",
    "billing cycle",
    "quota exhausted",
    "quota has been exhausted",
    "usage limit reached",
    "usage limit for this",
    *("每日", "每天", "当日", "今日", "单日", "每周", "每月", "本周", "本月", "月度"),
)
_LONG_SHORTHAND = re.compile(r"(?<![a-z])(?:rpd|tpd|ipd)(?![a-z])")
_HOURISH = re.compile(r"\d\d?\d?[ -]?(?:h|小时)")
_HOURS = re.compile(
    r"(?:for|per|every|each) (\d{1,3})[ -]?h(?:ours?|rs?)?(?![a-z])"
    r"|(\d{1,3})[ -]?h(?:ours?|rs?)?[ -](?:usage|limit|window|quota|session|rolling)"
    r"|(\d{1,3}) ?小时"
)
_SHORT_WORDS: Final = (
    "byminute",
    "per 60s",
    "concurren",
    "too fast",
    "too quickly",
    "burst",
    "parallel request",
    "simultaneous",
    "requests rate",
    *("每分钟", "每秒", "每小时", "并发", "频率", "速率"),
)
_SHORT_SHORTHAND = re.compile(r"(?<![a-z])(?:rpm|tpm|rps|ipm|rph|tps)(?![a-z])")
_OVER = re.compile(r"limit:?\s{0,2}~?([\d,]{1,15})\b.{0,80}?\brequested:?\s{0,2}~?([\d,]{1,15})", re.DOTALL)
_ZERO = re.compile(r"\blimit(?: of| is| set to)?:? ?0(?![\d.,]*\d)")
_TOO_LARGE: Final = (
    "request too large",
    "request body too large",
    "request entity too large",
    "payload too large",
    "payload size exceeds",
)
_TOKENS: Final = (
    re.compile(
        r"(?:context (?:length|window|size)|prompt length|model length|length of only|limit for this model)"
        r"(?: limit)?(?: of| is|:)?(?: only)? ?\(?([\d,]{2,12})"
    ),
    re.compile(r"(?:> |<= )([\d,]{2,12})"),
    re.compile(r"(?:allowed (?:length )?\(|token limit: ?|max size: ?|limit is |limit:? ?|\[1, ?)([\d,]{2,12})"),
)


_LISTED = re.compile(r"[a-z ]{1,40}\(actual/limit\): ?([\d,]{1,15})/([\d,]{1,15})")
_ADVICE: Final = ("upgrade", "subscribe", "purchase", " buy ", "to unlock", "need more", "for $", "contact ")
_SENTENCE_END = re.compile(r"[.!?](?![\w/])|\n")
"""Not the points of an address or a price."""


def without_advice(low: str) -> str:
    """A message without the limits in it that were not hit.

    Those are the limits of other plans ("upgrade for 1,000 requests per day"), and of several that are listed with
    what was used of them ("requests per day (actual/limit): 300/5000") those of which something is left.
    """
    if "(actual/limit)" in low:
        low = _LISTED.sub(lambda one: one[0] if _int(one[1]) >= _int(one[2]) else "", low)
    for word in _ADVICE:
        start = low.find(word)
        while start >= 0:
            end = _SENTENCE_END.search(low, start)
            low = low[:start] + (low[end.start() :] if end else "")
            start = low.find(word, start)
    return low


class Impossible(Record, frozen=True, kw_only=True):
    """A request that this candidate never serves, however long one waits."""

    zero: bool
    """The limit itself is 0."""
    words: str
    limit: int | None = None


def period_of(texts: tuple[str, ...]) -> tuple[Period, str] | None:
    """(period, the words) that lower-case texts name; a longer period wins over a shorter one."""
    for low in texts:
        found = _words(low, _LONG_UNITS, _LONG_WORDS, _LONG_SHORTHAND) or _long_hours(low)
        if found:
            token = _TOKEN_LONG.search(low)
            return ("token_day", token[0]) if token else ("day", found)
    for low in texts:
        found = _words(low, _SHORT_UNITS, _SHORT_WORDS, _SHORT_SHORTHAND)
        match = _HOURS.search(low) if not found and _HOURISH.search(low) else None
        if found or match:
            return "minute", found or (match[0] if match else "")
    return None


def _words(low: str, units: tuple[str, ...], words: tuple[str, ...], shorthand: re.Pattern[str]) -> str:
    for unit in units:
        if unit in low:
            for form in _UNIT_FORMS[unit]:
                if form in low:
                    return form
    for word in words:
        if word in low:
            return word
    match = shorthand.search(low) if "p" in low else None
    return match[0] if match else ""


def _long_hours(low: str) -> str:
    """``for 5 hours``, ``5 小时``: a window of five hours or longer."""
    if not _HOURISH.search(low):
        return ""
    for match in _HOURS.finditer(low):
        hours = next(group for group in match.groups() if group)
        if int(hours) * 3600 >= LONG_S:
            return match[0]
    return ""


def header_period(exhausted: tuple[Dimension, ...]) -> tuple[Period, str] | None:
    """(period, the dimension) of the exhausted quota that lasts longest; ``None`` when no header says."""
    for one in sorted(exhausted, key=lambda one: ("month", "day", "hour", "minute", "unknown").index(one.period)):
        if one.period in ("day", "month"):
            return ("token_day" if "tokens" in one.name else "day"), one.label
        if one.period in ("minute", "hour"):
            return "minute", one.label
    return None


def fits(one: Dimension, period: Period | None) -> bool:
    """Whether an exhausted header quota may be the one that a limit of ``period`` means."""
    if period is None or one.period == "unknown":
        return True
    return (one.period in ("day", "month")) == (period != "minute")


def impossible(low: str) -> Impossible | None:
    """A limit of 0, "Requested N" above "Limit M", or a request said to be too large."""
    if "limit" not in low and "large" not in low:
        return None
    zero = zero_limit(low)
    if zero:
        return Impossible(zero=True, words=zero)
    over = _OVER.search(low) if "requested" in low else None
    if over and _int(over[2]) > _int(over[1]):
        return Impossible(zero=False, words=over[0][:80], limit=_int(over[1]))
    for phrase in _TOO_LARGE:
        if phrase in low:
            return Impossible(zero=False, words=phrase, limit=_int(over[1]) if over else stated_tokens(low))
    return None


def zero_limit(low: str) -> str:
    """The words that name a limit of 0, or nothing."""
    match = _ZERO.search(low) if "limit" in low and "0" in low else None
    return match[0] if match else ""


def stated_tokens(low: str) -> int | None:
    """The context length or token limit that a message names."""
    for form in _TOKENS:
        match = form.search(low)
        if match:
            return _int(match[1]) or None
    return None


def _int(text: str) -> int:
    digits = text.replace(",", "")
    return int(digits) if digits else 0
