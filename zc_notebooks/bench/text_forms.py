"""One text, several ways to write it: what a person does not see as a difference is none."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from wcwidth import iter_graphemes

_INVISIBLE: Final = re.compile("[\u00ad\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
"""Soft hyphen, zero-width spaces, directions. Joiners stay: they make one emoji of several."""
_BREAKS: Final = re.compile(r"[\r\n\v\f\u0085\u2028\u2029]")
_KATAKANA: Final = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}
_COPULA: Final = re.compile(r"(?:です|となります|になります)?[.。]?$")
_TITLES: Final = re.compile(r"\b(mr|mrs|ms|dr|prof|st|jr|sr|vs|approx)\.", re.IGNORECASE)
_DOTTED: Final = re.compile(r"\b([a-z])\. ?([a-z])\.|\b(etc)\.", re.IGNORECASE)
_NEW_SENTENCE: Final = re.compile(r"\s+(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b)[A-Z]")
_IRREGULAR: Final = {"write": ("wrote", "written"), "ride": ("rode", "ridden"), "wet": ("wetter", "wettest")}
_SHORTEST: Final = 3
"""Letters of a word that has other forms."""
_QUOTES: Final = {"「": "」", "『": "』", '"': '"', "'": "'", "“": "”", "‘": "’", "《": "》", "【": "】", "`": "`"}


def normal(text: str) -> str:
    """Full width is half width, compositions are composed, the invisible is gone, runs of blanks are one."""
    return " ".join(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).split())


def folded(text: str) -> str:
    """:func:`normal` without case, and with katakana as hiragana: how forbidden words are looked for."""
    return normal(text).casefold().translate(_KATAKANA)


def unwrapped(text: str) -> str:
    """Without one pair of quotation marks around the whole: 「…」, but not 「…」と「…」."""
    text = text.strip()
    closer = _QUOTES.get(text[:1])
    inner = text[1:-1]
    whole = len(text) > 1 and text[-1] == closer and closer not in inner and text[0] not in inner
    return inner.strip() if whole else text


def unquoted(text: str) -> str:
    """A value without what is said around it: a full stop, です at the end, one pair of quotation marks."""
    return unwrapped(_COPULA.sub("", text.strip()))


def length(text: str) -> int:
    """Characters as a person counts them: grapheme clusters (UAX 29) without line breaks and the invisible.

    Blanks inside count, blanks around do not; a family emoji, か with its own ゛, and a flag are one each.
    """
    return sum(1 for _ in iter_graphemes(_BREAKS.sub("", _INVISIBLE.sub("", text.strip()))))


def contains(text: str, word: str) -> bool:
    """Whether ``word`` stands in ``text``, whatever the case, width or kana.

    A word of Latin letters and digits must stand as a word: "correct" is not in "incorrect", "8" not in "18".
    """
    whole, part = folded(text), folded(word)
    edge = r"[a-z0-9]"
    head = rf"(?<!{edge})" if re.match(edge, part) else ""
    tail = rf"(?!{edge})" if re.search(rf"{edge}$", part) else ""
    return re.search(head + re.escape(part) + tail, whole) is not None


def contains_form(text: str, word: str) -> bool:
    """:func:`contains`, also for the other forms of an English word: cracks, cracked and cracking are crack.

    Only inflections count; a closer look has nothing to do with a closed door.
    """
    return any(contains(text, form) for form in _forms(word))


def _forms(word: str) -> tuple[str, ...]:
    plain = folded(word)
    if not (plain.isascii() and plain.isalpha() and len(plain) >= _SHORTEST):
        return (word,)
    stem = plain.removesuffix("e")
    endings = {f"{plain}s", f"{plain}es", f"{stem}ed", f"{stem}ing", f"{plain}{plain[-1]}ed", f"{plain}{plain[-1]}ing"}
    if plain.endswith("y"):
        endings |= {f"{plain[:-1]}ies", f"{plain[:-1]}ied"}
    return (word, *sorted(endings), *_IRREGULAR.get(plain, ()))


def has_digit(text: str) -> bool:
    """Whether a digit of any script stands in it, also a raised or circled one; a number in words is none."""
    return any(sign.isdigit() for sign in text + normal(text))


def words(text: str) -> int:
    """Words between blanks that hold a letter or digit; a hyphenated one is one."""
    return sum(1 for word in normal(text).split() if any(sign.isalnum() for sign in word))


def sentences(text: str) -> int:
    """Sentences: ended by ``。！？.!?`` (a point between digits ends none), the last one also by the end.

    The point of "Mr." ends none; that of "a.m." only before a capital which is no weekday's.
    """
    plain = _TITLES.sub(r"\1", unicodedata.normalize("NFKC", text))
    parts = re.split(r"[。！？!?]+|\.+(?!\d)", _DOTTED.sub(_undotted, plain))
    return sum(1 for part in parts if any(sign.isalnum() for sign in part))


def _undotted(found: re.Match[str]) -> str:
    letters = "".join(part for part in found.groups() if part)
    return letters + ("." if _NEW_SENTENCE.match(found.string, found.end()) else "")
