"""A simple, deterministic token count and the pieces a stream is cut into."""

from __future__ import annotations

import re

_WIDE = re.compile(r"[ᄀ-ᇿ⺀-鿿ꀀ-꓏가-힯豈-﫿︰-﹏＀-￯\U0001f000-\U0001faff\U00020000-\U0003ffff]")
_PIECE = re.compile(_WIDE.pattern + r"|\s*[^\s]+?(?=\s|$|" + _WIDE.pattern + r")|\s+")

IMAGE_TOKENS = 258
"""What one image costs in the lab, whatever its size."""


def estimate(text: str) -> int:
    """Tokens of a text: one per CJK character, a quarter per other character, rounded up."""
    wide = len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // 4)


def pieces(text: str) -> list[str]:
    """The text cut into token-like pieces: words with their leading space, CJK characters alone. They join to it."""
    return _PIECE.findall(text)


def cut(text: str, tokens: int) -> str:
    """The longest start of ``text`` that costs at most ``tokens``."""
    spent, end = 0.0, 0
    for end, char in enumerate(text):
        spent += 1.0 if _WIDE.match(char) else 0.25
        if spent > tokens:
            return text[:end]
    return text
