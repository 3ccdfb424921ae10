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


def words(text: str) -> int:
    """Words between blanks that hold a letter or digit; a hyphenated one is one."""
    return sum(1 for word in normal(text).split() if any(sign.isalnum() for sign in word))


def sentences(text: str) -> int:
    """Sentences: ended by ``。！？.!?`` (a point between digits ends none), the last one also by the end."""
    parts = re.split(r"[。！？!?]+|\.+(?!\d)", unicodedata.normalize("NFKC", text))
    return sum(1 for part in parts if any(sign.isalnum() for sign in part))
