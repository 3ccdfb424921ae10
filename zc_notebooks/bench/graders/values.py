"""Graders of one value: a word, a number, a date, a time of day, a set."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from zc_notebooks.bench.graders.base import CORRECT, Grade, Grader, unparsed, wrong
from zc_notebooks.bench.graders.instants import day, minutes
from zc_notebooks.bench.graders.numerals import LONGEST, number
from zc_notebooks.bench.text_forms import folded, normal, unquoted

_SEPARATORS: Final = re.compile(r"[,、;/・]| and | と ", re.IGNORECASE)
_NOTHING: Final = frozenset({"none", "nothing", "なし", "無し", "該当なし", "no one", "nobody", "-", "[]", "{}", "n/a"})

_BRACKETS: Final = frozenset({"[]", "{}", "()"})


class Exact(Grader, frozen=True, kw_only=True, tag="exact"):
    """One of the accepted wordings; case, width, quotation marks and a full stop make no difference."""

    accept: tuple[str, ...]
    case: bool = False
    """Whether case makes a difference after all."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is one of the accepted."""
        said, accepted = self._form(answer), {self._form(item) for item in self.accept}
        return CORRECT if said in accepted else wrong("not one of the accepted answers")

    def _form(self, text: str) -> str:
        plain = unquoted(normal(text))
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

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is that number."""
        said = number(answer, self.units, kanji=self.kanji)
        if said is None:
            return unparsed("not a single number in the unit asked for")
        return CORRECT if abs(said - self.value) <= self.tolerance else wrong("another number")


class Date(Grader, frozen=True, kw_only=True, tag="date"):
    """A day of the calendar."""

    value: date
    year_optional: bool = True
    """Whether a date without a year means the year of ``value``."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is that day."""
        said = day(answer, self.value.year if self.year_optional else None)
        if said is None:
            return unparsed("not a single date, or one with another day's weekday")
        return CORRECT if said == self.value else wrong("another day")


class Time(Grader, frozen=True, kw_only=True, tag="time"):
    """A time of day, to the minute."""

    value: str
    """``HH:MM`` of a 24-hour clock."""

    def mark(self, answer: str) -> Grade:
        """Right when the whole answer is that time."""
        said = minutes(answer)
        if said is None:
            return unparsed("not a single time of day")
        return CORRECT if said == minutes(self.value) else wrong("another time")


class Moment(Grader, frozen=True, kw_only=True, tag="moment"):
    """A day and a time on it, to the minute."""

    value: datetime
    """Without a time zone: what calendar and clock show."""

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
            head, tail = whole[:place].rstrip(" ,Tt"), whole[place:].lstrip(" ,の").removeprefix("at ")
            if (day_said := day(head.removesuffix("の"), self.value.year)) and (time_said := minutes(tail)) is not None:
                return day_said, time_said
        return None


class Items(Grader, frozen=True, kw_only=True, tag="set"):
    """A set of words: separated by ``, 、 ; / ・``, "and" or と; in any order unless ``ordered``."""

    items: tuple[tuple[str, ...], ...]
    """The wordings of each member. None at all: the answer is なし or "none"."""
    ordered: bool = False

    def mark(self, answer: str) -> Grade:
        """Right when every member is named once and nothing else is."""
        known = {folded(unquoted(word)): place for place, words in enumerate(self.items) for word in words}
        members = self._members(answer)
        if members is None:
            return unparsed("names nothing, and does not say none either")
        said = [known.get(item) for item in members]
        if None in said:
            return wrong("something that does not belong there")
        if len(set(said)) < len(said):
            return wrong("a member is named twice")
        if len(said) < len(self.items):
            return wrong("a member is missing")
        return CORRECT if not self.ordered or said == sorted(said, key=lambda at: at or 0) else wrong("another order")

    @staticmethod
    def _members(answer: str) -> list[str] | None:
        whole = unquoted(normal(answer))
        if folded(whole) in _NOTHING:
            return []
        bare = whole[1:-1] if whole[:1] + whole[-1:] in _BRACKETS else whole
        return [folded(unquoted(item)) for item in _SEPARATORS.split(bare) if item.strip()] or None
