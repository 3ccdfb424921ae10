"""Numbers as people write them: full width, separators, units, signs, and kanji where a task allows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from zc_notebooks.bench.text_forms import normal, unquoted

LONGEST: Final = 200
"""Characters of a text that may be one number, day or time; a longer one is not read."""
_LAYERS: Final = 3
"""Words that stand around a number: a unit on either side, and "about"."""
_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?: \d{3})+(?:\.\d+)?|\.\d+")
_SIGNS: Final = {
    "+": 1,
    "-": -1,
    "−": -1,
    "–": -1,
    "▲": -1,
    "△": -1,
    "ー": -1,
    "マイナス": -1,
    "プラス": 1,
    "minus ": -1,
}
_SAME_UNITS: Final = (
    frozenset({"%", "percent", "per cent", "パーセント"}),
    frozenset({"h", "hr", "hrs", "hour", "hours", "時間"}),
    frozenset({"kg", "kgs", "kilo", "kilos", "kilogram", "kilograms", "kilogramme", "kilogrammes", "キログラム"}),
    frozenset({"円", "yen", "¥", "jpy"}),
    frozenset(
        {"km/h", "kmh", "kph", "km/hr", "km per hour", "kilometers per hour", "kilometres per hour"}
        | {"km/時", "時速", "毎時", "キロ毎時", "キロメートル毎時"}
    ),
)
_ABOUT: Final = re.compile(r"(?:約|およそ|おおよそ|[~≈≒]|(?:about|approximately|approx\.?|roughly|around|ca\.) )\s*")
_NAMED: Final = re.compile(r"^[a-z](?:_?\d|_\{\d\})? ?(?:= ?|(?=≈))", re.IGNORECASE)
_TEX: Final = (
    (re.compile(r"\\(?:text|mathrm)\{([^{}]*)\}"), r"\1"),
    (re.compile(r"(?<!\\)\$([^$]*)(?<!\\)\$"), r"\1"),
    (re.compile(r"\\([%$])"), r"\1"),
)
_TEX_SPACES: Final = (("{,}", ","), ("\\,", " "), ("\\ ", " "), ("\\approx", "≈"))
_DIGITS: Final = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {"零": 0}
_SMALL: Final = {"十": 10, "百": 100, "千": 1000}
_LARGE: Final = {"万": 10**4, "億": 10**8, "兆": 10**12}
_GROUP: Final = re.compile(r"([^万億兆]*)([万億兆])")
_STEP: Final = re.compile(r"([〇零一二三四五六七八九\d,.]*)([十百千])")


def number(text: str, units: Sequence[str] = (), *, kanji: bool = False, about: bool = False) -> Decimal | None:
    """The one number that ``text`` is, or ``None`` when it is anything else.

    Args:
        text: Nothing but a sign, a number and a unit, also as a formula or as "x = 12"; "12 or 13" is no number.
        units: Words that may stand before or after it ("円", "%", "km"); other spellings of a unit count as it.
        kanji: Whether 三千二百, 12万3千 and 二〇二六 are numbers.
        about: Whether "about 12" is one: for a rounded value it is no hedge.
    """
    if len(text) > LONGEST:
        return None
    rest = _NAMED.sub("", unquoted(normal(_untexed(text))), count=1)
    for _ in range(_LAYERS):
        found = _ABOUT.match(rest.casefold()) if about else None
        about = about and found is None
        rest = _without_unit(rest[found.end() :] if found else rest, units)
    sign, rest = _signed(rest)
    rest = _without_unit(rest, units)
    if _PLAIN.fullmatch(rest):
        return sign * Decimal(rest.replace(",", "").replace(" ", ""))
    value = kanji_number(rest) if kanji else None
    return None if value is None else sign * value


def _untexed(text: str) -> str:
    """What TeX shows of a number with a unit."""
    for written, shown in _TEX_SPACES:
        text = text.replace(written, shown)
    for pattern, shown in _TEX:
        text = pattern.sub(shown, text)
    return text


def _without_unit(text: str, units: Sequence[str]) -> str:
    named = {normal(unit).casefold() for unit in units}
    spellings = named.union(*(same for same in _SAME_UNITS if same & named))
    for unit in sorted(spellings, key=lambda unit: (-len(unit), unit)):
        if text.casefold().endswith(unit) and len(text) > len(unit):
            return text[: -len(unit)].strip()
        if text.casefold().startswith(unit) and len(text) > len(unit):
            return text[len(unit) :].strip()
    return text


def _signed(text: str) -> tuple[int, str]:
    for word, sign in _SIGNS.items():
        if text.casefold().startswith(word):
            return sign, text[len(word) :].strip()
    return 1, text


def kanji_number(text: str) -> Decimal | None:
    """A number of kanji, also mixed with digits (12万3千, 二十三, 二〇二六), or ``None``."""
    total, place, below = Decimal(0), 0, Decimal(10**16)
    for found in _GROUP.finditer(text):
        size, value = _LARGE[found[2]], _small(found[1])
        if found.start() != place or size >= below or value is None or not found[1]:
            return None
        total, place, below = total + value * size, found.end(), Decimal(size)
    rest = text[place:]
    if not rest:
        return total if place else None
    value = _small(rest)
    return total + value if value is not None and value < below else None


def _small(text: str) -> Decimal | None:
    """Up to 9999 with 千百十, or digits in a row."""
    total, place, below = Decimal(0), 0, 10**4
    for found in _STEP.finditer(text):
        size = _SMALL[found[2]]
        value = _row(found[1]) if found[1] else Decimal(1)
        if found.start() != place or size >= below or value is None or value > 9:  # noqa: PLR2004
            return None
        total, place, below = total + value * size, found.end(), size
    rest = text[place:]
    if not rest:
        return total if place else None
    value = _row(rest)
    return total + value if value is not None and (not place or value < below) else None


def _row(text: str) -> Decimal | None:
    digits = "".join(str(_DIGITS[sign]) if sign in _DIGITS else sign for sign in text)
    return Decimal(digits.replace(",", "").replace(" ", "")) if _PLAIN.fullmatch(digits) else None
