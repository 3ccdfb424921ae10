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
    r"[\s,]*[(（]?\s*([月火水木金土日])(?:曜日?)?\s*[)）]$"
    r"|[\s,]*([月火水木金土日])曜日?$"
    rf"|[\s,(]*\b({'|'.join(sorted((day for day in _DAYS if day.isascii()), key=len, reverse=True))})\.?\)?$"
    rf"|^({'|'.join(sorted((day for day in _DAYS if day.isascii()), key=len, reverse=True))})\.?[\s,]+"
)
_DATES: Final = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"),
    re.compile(r"(?:(?P<era>令和|平成|昭和)?(?P<y>\d{1,4}|元)年)?\s*(?P<m>\d{1,2})月\s*(?P<d>\d{1,2})日"),
    re.compile(rf"(?P<m>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?"),
    re.compile(rf"(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m>{_MONTH})\.?(?:,?\s+(?P<y>\d{{4}}))?"),
)
_TIME: Final = re.compile(
    r"(?P<half>午前|午後|朝|夜|[ap]\.?m\.?)?\s*(?P<h>\d{1,2})(?:(?::(?P<m>\d{2})|時(?:(?P<jm>\d{1,2})分|(?P<jh>半))?))?"
    r"\s*(?P<tail>[ap]\.?m\.?)?"
)


def day(text: str, year: int | None = None) -> date | None:
    """The one date that ``text`` is, or ``None``.

    ``year`` is taken where none is written. 04/05/2026 is no date: half of the world reads it the other way. A weekday
    beside the date must be its own, else the text contradicts itself and is no date.
    """
    if len(text) > LONGEST:
        return None
    whole = _digits(unquoted(normal(text))).casefold()
    found = _WEEKDAY.search(whole)
    weekday = next((part for part in found.groups() if part), None) if found else None
    rest = (whole[: found.start()] + whole[found.end() :]).strip() if found else whole
    value = _day(rest, year)
    return None if value is None or (weekday is not None and _DAYS[weekday] != value.weekday()) else value


def _day(text: str, year: int | None) -> date | None:
    for form in _DATES:
        found = form.fullmatch(text)
        if found:
            parts = found.groupdict()
            return _made(_year(parts.get("era"), parts["y"], year), _month(parts["m"]), int(parts["d"]))
    return None


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

    25時 is 1 in the morning, as in a Japanese timetable; 午後12時 and 12 pm are noon, noon and 正午 too.
    """
    if len(text) > LONGEST:
        return None
    whole = _digits(unquoted(normal(text))).casefold()
    if whole in ("noon", "正午", "12 noon"):
        return 12 * 60
    if whole in ("midnight", "午前零時", "深夜零時"):
        return 0
    found = _TIME.fullmatch(whole)
    if found is None or not (found["half"] or found["tail"] or ":" in whole or "時" in whole):
        return None
    hour, minute = int(found["h"]), int(found["m"] or found["jm"] or (30 if found["jh"] else 0))
    return _clock(hour, minute, (found["half"] or found["tail"] or "").replace(".", ""))


def _clock(hour: int, minute: int, half: str) -> int | None:
    late, early = half in ("午後", "夜", "pm"), half in ("午前", "朝", "am")
    if minute > 59 or hour > (12 if late or early else 29):  # noqa: PLR2004 (a timetable's day ends at 29:59)
        return None
    if late or early:
        hour = hour % 12 + 12 * late
    return (hour * 60 + minute) % int(timedelta(days=1).total_seconds() // 60)
