"""Graders of one value: a word, a number, a date, a time of day, a set."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from zc_notebooks.bench.graders.base import CORRECT, Grade, Grader, unparsed, wrong
from zc_notebooks.bench.graders.instants import day, minutes
from zc_notebooks.bench.graders.numerals import LONGEST, number
from zc_notebooks.bench.text_forms import normal, unquoted

_TWELVE: Final = re.compile(r"(?:[1-9]|1[0-2])[:.]\d{2}")
_HALF_A_DAY: Final = 12 * 60


class Exact(Grader, frozen=True, kw_only=True, tag="exact"):
    """One of the accepted wordings; case, width, quotation marks and a full stop make no difference."""

    accept: tuple[str, ...]
    case: bool = False
    """Whether case makes a difference after all."""
    ignored: str = ""
    """Signs that make no difference, such as the blanks and brackets of a telephone number."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is one of the accepted."""
        said, accepted = self._form(answer), {self._form(item) for item in self.accept}
        return CORRECT if said in accepted else wrong("not one of the accepted answers")

    def _form(self, text: str) -> str:
        plain = unquoted(normal(text)).translate(dict.fromkeys(map(ord, self.ignored)))
        return plain if self.case else plain.casefold()


class Number(Grader, frozen=True, kw_only=True, tag="number"):
    """A number within ``tolerance`` of ``value``."""

    value: Decimal
    tolerance: Decimal = Decimal(0)
    """Absolute, both ends included."""
    units: tuple[str, ...] = ()
    """What may stand before or after the number."""
    kanji: bool = False
    """Whether kanji numerals are read."""
    about: bool = False
    """Whether "about" may stand before it: the value is a rounded one."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is that number."""
        said = number(answer, self.units, kanji=self.kanji, about=self.about)
        if said is None:
            return unparsed("not a single number in the unit asked for")
        return CORRECT if abs(said - self.value) <= self.tolerance else wrong("another number")


class Date(Grader, frozen=True, kw_only=True, tag="date"):
    """A day of the calendar."""

    value: date
    year_optional: bool = True
    """Whether a date without a year means the year of ``value``."""
    month_first: bool = False
    """Whether 4/5 is April 5, as in Japanese; otherwise it can be read in two ways and is no date."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is that day."""
        said = day(answer, self.value.year if self.year_optional else None, month_first=self.month_first)
        if said is None:
            return unparsed("not a single date, or one with another day's weekday")
        return CORRECT if said == self.value else wrong("another day")


class Time(Grader, frozen=True, kw_only=True, tag="time"):
    """A time of day, to the minute."""

    value: str
    """``HH:MM`` of a 24-hour clock."""
    twelve: bool = False
    """Whether 7:10, without a word for the half of the day, may be what a clock of twelve hours shows at 19:10."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is that time."""
        said, right = minutes(answer), minutes(self.value)
        if said is None or right is None:
            return unparsed("not a single time of day")
        half = self.twelve and _TWELVE.fullmatch(unquoted(normal(answer))) and (said - right) % _HALF_A_DAY == 0
        return CORRECT if said == right or half else wrong("another time")


class Moment(Grader, frozen=True, kw_only=True, tag="moment"):
    """A day and a time on it, to the minute."""

    value: datetime
    """Without a time zone: what calendar and clock show."""
    month_first: bool = False
    """As of :class:`Date`."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is that day followed by that time."""
        said = self._said(answer)
        if said is None:
            return unparsed("not a single day with a time of day")
        return (
            CORRECT
            if said == (self.value.date(), self.value.hour * 60 + self.value.minute)
            else wrong("another moment")
        )

    def _said(self, answer: str) -> tuple[date, int] | None:
        whole = unquoted(normal(answer[: LONGEST + 1]))
        for place in range(1, len(whole)):
            head, tail = whole[:place].rstrip(" ,、Tt"), whole[place:].lstrip(" ,、の")
            said = day(head.removesuffix("の"), self.value.year, month_first=self.month_first)
            if said and (clock := minutes(tail)) is not None:
                return said, clock
        return None
