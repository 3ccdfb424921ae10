"""Dates and times of day as people write them in Japanese and English."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from zc_notebooks.bench.graders.numerals import LONGEST, kanji_number
from zc_notebooks.bench.text_forms import normal, unquoted

_MONTHS: Final = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_ENGLISH_DAYS: Final = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_DAYS: Final[Mapping[str, int]] = {
    **{sign: place for place, sign in enumerate("月火水木金土日")},
    **{name: place for place, name in enumerate(_ENGLISH_DAYS)},
    **{name[:3]: place for place, name in enumerate(_ENGLISH_DAYS)},
    "tues": 1,
    "thur": 3,
    "thurs": 3,
}
_ERAS: Final = {"令和": 2018, "平成": 1988, "昭和": 1925}
_KANJI: Final = re.compile(r"[〇零一二三四五六七八九十百千]+(?=[年月日時分])")
_MONTH: Final = "(" + "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + "|sept)"
_WEEKDAY: Final = re.compile(
    r"[\s,、]*[(（]?\s*([月火水木金土日])(?:曜日?)?\s*[)）]$"
    r"|[\s,、]*([月火水木金土日])曜日?$"
    rf"|[\s,(]*\b({'|'.join(sorted((day for day in _DAYS if day.isascii()), key=len, reverse=True))})\.?\)?$"
    rf"|^({'|'.join(sorted((day for day in _DAYS if day.isascii()), key=len, reverse=True))})\.?[\s,]+"
)
_DATES: Final = (
    re.compile(r"(?P<y>\d{4})(?P<sign>[-/.]) ?(?P<m>\d{1,2})(?P=sign) ?(?P<d>\d{1,2})"),
    re.compile(rf"(?P<y>\d{{4}}),?\s+(?P<m>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?"),
    re.compile(r"(?:(?P<era>令和|平成|昭和)?(?P<y>\d{1,4}|元)年)?\s*(?P<m>\d{1,2})月\s*(?P<d>\d{1,2})日"),
    re.compile(rf"(?P<m>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?"),
    re.compile(rf"(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m>{_MONTH})\.?(?:,?\s+(?P<y>\d{{4}}))?"),
    re.compile(rf"(?P<d>\d{{1,2}})-(?P<m>{_MONTH})-(?P<y>\d{{4}})"),
)
_EITHER: Final = re.compile(r"(?P<a>\d{1,2})(?P<sign>[-/.])(?P<b>\d{1,2})(?:(?P=sign)(?P<y>\d{4}))?")
_HALVES: Final[Mapping[str, tuple[int, int]]] = {
    **dict.fromkeys(("午前", "am", "朝", "早朝", "in the morning"), (0, 12)),
    **dict.fromkeys(("午後", "pm"), (12, 24)),
    **dict.fromkeys(("昼", "in the afternoon"), (11, 19)),
    **dict.fromkeys(("夕方", "in the evening"), (15, 24)),
    **dict.fromkeys(("夜", "晩", "at night"), (18, 30)),
    "深夜": (21, 30),
    "未明": (0, 6),
}
"""Hours that a word leaves possible, the last not included; from 24 on they are the next day's. Never more than twelve,
so that one reading is left."""
_TWELVE: Final = frozenset({"午前", "午後", "am", "pm"})
"""Words of a clock of twelve hours: 13 pm is no time."""
_TIME: Final = re.compile(
    r"(?:(?P<half>午前|午後|早朝|朝|昼|夕方|深夜|夜|晩|未明|[ap]\.?m\.?)の?)?\s*"
    r"(?P<h>\d{1,2})(?:(?:[:.](?P<m>\d{2})(?::00)?|時(?:(?P<jm>\d{1,2})分|(?P<jh>半))?))?"
    r"\s*(?P<tail>[ap]\.?m\.?|in the (?:morning|afternoon|evening)|at night)?"
)
_TWICE: Final = re.compile(r"([^()]+?)\s*\(([^()]+)\)")


def day(text: str, year: int | None = None, *, month_first: bool = False) -> date | None:
    """The one date that ``text`` is, or ``None``.

    ``year`` is taken where none is written. 04/05/2026 and 4/5 are no dates: half of the world reads them the other
    way; 11/20/2026 and 20.11.2026 can be read in one way only. With ``month_first``, as in Japanese, 4/5 is April 5.
    A weekday beside the date must be its own, else the text contradicts itself and is no date.
    """
    if len(text) > LONGEST:
        return None
    whole = _digits(unquoted(normal(text))).casefold().removeprefix("on ")
    found = _WEEKDAY.search(whole)
    weekday = next((part for part in found.groups() if part), None) if found else None
    rest = (whole[: found.start()] + whole[found.end() :]).strip() if found else whole
    value = _day(rest, year) or _either(rest, year, month_first=month_first)
    return None if value is None or (weekday is not None and _DAYS[weekday] != value.weekday()) else value


def _day(text: str, year: int | None) -> date | None:
    for form in _DATES:
        found = form.fullmatch(text)
        if found:
            parts = found.groupdict()
            return _made(_year(parts.get("era"), parts["y"], year), _month(parts["m"]), int(parts["d"]))
    return None


def _either(text: str, year: int | None, *, month_first: bool) -> date | None:
    """Two numbers without a name, and perhaps a year behind them: a date if only one reading is one."""
    found = _EITHER.fullmatch(text)
    if found is None or (found["y"] is None and found["sign"] != "/"):
        return None
    one, other = int(found["a"]), int(found["b"])
    whole = year if found["y"] is None else int(found["y"])
    if month_first and found["y"] is None:
        return _made(whole, one, other)
    readings = {made for made in (_made(whole, one, other), _made(whole, other, one)) if made is not None}
    return readings.pop() if len(readings) == 1 else None


def _year(era: str | None, written: str | None, year: int | None) -> int | None:
    if written is None:
        return year
    count = 1 if written == "元" else int(written)
    if era is not None:
        return _ERAS[era] + count
    return count if len(written) == 4 else None  # noqa: PLR2004 (a year is written in full)


def _month(text: str) -> int:
    return int(text) if text.isdigit() else next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(text[:3]))


def _made(year: int | None, month: int, number: int) -> date | None:
    try:
        return None if year is None else date(year, month, number)
    except ValueError:
        return None


def _digits(text: str) -> str:
    """Kanji numerals before 年月日時分 as digits."""
    return _KANJI.sub(lambda found: str(value) if (value := kanji_number(found[0])) is not None else found[0], text)


def minutes(text: str) -> int | None:
    """The one time of day that ``text`` is, in minutes after midnight, or ``None``.

    25時 is 1 in the morning, as in a Japanese timetable; 午後12時 and 12 pm are noon, noon and 正午 too; 12 at night is
    midnight. A word that the hour contradicts makes it no time, and so does the same time said again otherwise in
    brackets that is another one.
    """
    if len(text) > LONGEST:
        return None
    whole = _digits(unquoted(normal(text))).casefold().removeprefix("at ")
    twice = _TWICE.fullmatch(whole)
    if twice:
        again = minutes(twice[2]) if twice[2] not in _HALVES else minutes(twice[2] + twice[1])
        return again if again is not None and minutes(twice[1]) in (again, again - 12 * 60) else None
    if whole in ("noon", "正午", "12 noon"):
        return 12 * 60
    if whole in ("midnight", "午前零時", "深夜零時"):
        return 0
    found = _TIME.fullmatch(whole)
    if found is None or not (found["half"] or found["tail"] or found["m"] or "時" in whole):
        return None
    hour, minute = int(found["h"]), int(found["m"] or found["jm"] or (30 if found["jh"] else 0))
    said = [word.replace(".", "") for word in (found["half"], found["tail"]) if word]
    readings = {_clock(hour, minute, word) for word in said or ("",)}
    return readings.pop() if len(readings) == 1 else None


def _clock(hour: int, minute: int, half: str) -> int | None:
    most = 12 if half in _TWELVE else 29  # a timetable's day ends at 29:59
    if minute > 59 or hour > most:  # noqa: PLR2004
        return None
    hours = _hours(hour, *_HALVES[half]) if half else hour
    return None if hours is None else (hours * 60 + minute) % int(timedelta(days=1).total_seconds() // 60)


def _hours(hour: int, first: int, end: int) -> int | None:
    """The hour that lies in a part of the day; up to 12 it may be one of a clock of twelve hours."""
    turns = (-12, 0, 12, 24) if hour <= 12 else (0,)  # noqa: PLR2004
    return next((hour + turn for turn in turns if first <= hour + turn < end), None)
