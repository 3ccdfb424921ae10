"""Days of the calendar: the earliest one that several rules allow, and the one that a phrase means."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from random import Random
from typing import Final

from zc_notebooks.bench.extract import Language
from zc_notebooks.bench.graders import Date
from zc_notebooks.bench.templates.made import Made, made

Rule = tuple[str, str, Callable[[date], bool]]
"""In Japanese, in English, and whether a day is shut out."""

DAYS_JA: Final = "月火水木金土日"
DAYS_EN: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def written(day: date, language: Language) -> str:
    """The plainest way to write a day."""
    return f"{day.year}年{day.month}月{day.day}日" if language == "ja" else f"{day:%B} {day.day}, {day.year}"


def wordings(day: date, language: Language) -> list[str]:
    """Ways to write the same day."""
    if language == "ja":
        era = f"令和{day.year - 2018}年{day.month}月{day.day}日"
        weekday = f"{day.month}月{day.day}日（{DAYS_JA[day.weekday()]}）"
        return [written(day, "ja"), weekday, day.isoformat(), f"{day:%Y/%m/%d}", era]
    weekday = DAYS_EN[day.weekday()]
    return [
        written(day, "en"),
        f"{day.day} {day:%B} {day.year}",
        day.isoformat(),
        f"{weekday}, {day:%B} {day.day}, {day.year}",
    ]


def _made(prompt: str, right: date, slips: Sequence[date], language: Language) -> Made:
    """A question about a day; near misses are ``slips`` and the days beside it."""
    near = dict.fromkeys((*slips, right + timedelta(1), right - timedelta(1)))
    wrong = [written(day, language) for day in near if day != right]
    return made(prompt, Date(value=right, month_first=language == "ja"), language, wordings(right, language), wrong)


def _rules(random: Random, start: date) -> list[Rule]:
    shut = sorted(random.sample(range(5), 2))
    first = start + timedelta(random.randrange(2, 6))
    last = first + timedelta(random.randrange(2, 5))
    odd = random.randrange(2)
    digit = random.randrange(1, 10)
    parity = ("偶数", "even") if odd else ("奇数", "odd")
    return [
        ("土曜・日曜は不可", "not on a Saturday or Sunday", lambda day: day.weekday() > 4),  # noqa: PLR2004
        (
            f"{DAYS_JA[shut[0]]}曜と{DAYS_JA[shut[1]]}曜は不可",
            f"not on a {DAYS_EN[shut[0]]} or {DAYS_EN[shut[1]]}",
            lambda day: day.weekday() in shut,
        ),
        (
            f"{first.month}月{first.day}日から{last.month}月{last.day}日まで（両端を含む）は不可",
            f"not from {first:%B} {first.day} to {last:%B} {last.day}, both included",
            lambda day: first <= day <= last,
        ),
        (
            f"日付の数字が{parity[0]}の日は不可",
            f"not when the day of the month is {parity[1]}",
            lambda day: day.day % 2 != odd,
        ),
        (
            f"日付の数字に{digit}を含む日は不可",
            f"not when the day of the month contains the digit {digit}",
            lambda day: str(digit) in str(day.day),
        ),
    ]


def _earliest(start: date, rules: Sequence[Rule]) -> date:
    day = start
    while any(shut(day) for _, _, shut in rules):
        day += timedelta(1)
    return day


def earliest_date(random: Random, language: Language, level: int) -> Made:
    """Three, four or five rules that shut days out; the earliest day that is left.

    The near misses are the days that come out when one rule is forgotten.
    """
    while True:
        start = date(random.randrange(2026, 2029), random.randrange(1, 13), random.randrange(1, 20))
        rules = random.sample(_rules(random, start), level + 2)
        right = _earliest(start, rules)
        slips = [_earliest(start, [other for other in rules if other is not rule]) for rule in rules]
        if len(set(slips) - {right}) >= 2 and (right - start).days < 60:  # noqa: PLR2004
            break
    weekday = start.weekday()
    if language == "ja":
        told = "\n".join(f"- {rule[0]}" for rule in rules)
        since = f"{written(start, 'ja')}（{DAYS_JA[weekday]}）以降で"
        prompt = f"{since}、次の条件をすべて満たす最も早い日を求めてください。\n{told}"
    else:
        told = "\n".join(f"- {rule[1]}" for rule in rules)
        since = f"{DAYS_EN[weekday]}, {written(start, 'en')}"
        prompt = f"What is the earliest day on or after {since} that keeps all rules?\n{told}"
    return _made(prompt, right, slips, language)


def nth_weekday(year: int, month: int, weekday: int, place: int) -> date:
    """The ``place``-th (from 1) ``weekday`` (Monday is 0) of a month."""
    first = date(year, month, 1)
    return first + timedelta((weekday - first.weekday()) % 7 + 7 * (place - 1))


def _next_month(day: date, months: int = 1) -> tuple[int, int]:
    count = day.year * 12 + day.month - 1 + months
    return count // 12, count % 12 + 1


def relative_date(random: Random, language: Language, level: int) -> Made:
    """A phrase that means a day, seen from a given one: the further the level, the more it counts."""
    today = date(random.randrange(2026, 2030), random.randrange(1, 13), random.randrange(1, 29))
    weekday, place = random.randrange(7), random.randrange(2, 5)
    makers = {1: _second_monday, 2: _business_days, 3: _last_before_end}
    japanese, english, right, slips = makers[level](today, weekday, place)
    if language == "ja":
        prompt = f"今日は{written(today, 'ja')}（{DAYS_JA[today.weekday()]}）です。{japanese}は何年何月何日ですか。"
    else:
        prompt = f"Today is {DAYS_EN[today.weekday()]}, {written(today, 'en')}. Which date is {english}?"
    return _made(prompt, right, slips, language)


Phrase = tuple[str, str, date, list[date]]


def _second_monday(today: date, weekday: int, place: int) -> Phrase:
    year, month = _next_month(today)
    right = nth_weekday(year, month, weekday, place)
    ordinal = {2: "second", 3: "third", 4: "fourth"}[place]
    return (
        f"来月の第{place}{DAYS_JA[weekday]}曜日",
        f"the {ordinal} {DAYS_EN[weekday]} of next month",
        right,
        [right - timedelta(7), right + timedelta(7)],
    )


def _business_days(today: date, weekday: int, place: int) -> Phrase:
    count = place * 3 + weekday
    right = today
    for _ in range(count):
        right += timedelta(1)
        while right.weekday() > 4:  # noqa: PLR2004
            right += timedelta(1)
    return (
        f"翌日から数えて{count}営業日目（土日のみを休みとする）",
        f"the {count}th business day, counting from tomorrow (only Saturdays and Sundays are free)",
        right,
        [today + timedelta(count), today + timedelta(count + 2)],
    )


def _last_before_end(today: date, weekday: int, place: int) -> Phrase:
    year, month = _next_month(today, place)
    end = date(year, month, calendar.monthrange(year, month)[1])
    last = end - timedelta((end.weekday() - weekday) % 7)
    right = last - timedelta(place)
    return (
        f"{place}か月後の月の最終{DAYS_JA[weekday]}曜日の{place}日前",
        f"{place} days before the last {DAYS_EN[weekday]} of the month that is {place} months after this one",
        right,
        [last, last - timedelta(7 + place)],
    )
