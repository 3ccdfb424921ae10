"""The words that tell a demanding message, and how they are found (spec 10.1). Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

LATIN: Final = (
    "explain",
    "why",
    "analyze",
    "compare",
    "design",
    "implement",
    "refactor",
    "debug",
    "optimize",
    "architecture",
    "trade-off",
    "tradeoff",
    "reasoning",
    "step by step",
    "think through",
    "evaluate",
    "critique",
    "pros and cons",
)
"""Matched as words: with no Latin letter, digit or underscore beside them."""
JAPANESE: Final = (
    "説明",
    "なぜ",
    "理由",
    "分析",
    "比較",
    "設計",
    "実装",
    "リファクタ",
    "デバッグ",
    "最適化",
    "アーキテクチャ",
    "トレードオフ",
    "推論",
    "順を追って",
    "段階的に",
    "じっくり考え",
    "評価",
    "批評",
    "長所と短所",
    "メリットとデメリット",
)
"""Matched anywhere: Japanese is written without spaces."""
_SPACES: Final = re.compile(r"\s+")


def comparable(text: str) -> str:
    """The form in which text and keywords are compared: NFKC, case folded, runs of white space as one space."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).casefold())


def found_keywords(
    text: str, latin: Iterable[str] | None = None, japanese: Iterable[str] | None = None
) -> tuple[str, ...]:
    """The distinct listed keywords in ``text``, in the order of the lists; ``None`` stands for the built-in list."""
    folded = comparable(text)
    found: dict[str, str] = {}
    for keyword, key in _keys(LATIN if latin is None else latin):
        if _as_word(folded, key):
            found.setdefault(key, keyword)
    for keyword, key in _keys(JAPANESE if japanese is None else japanese):
        if key in folded:
            found.setdefault(key, keyword)
    return tuple(found.values())


def _keys(listed: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(as listed, as compared); a blank item would be found everywhere and is left out."""
    for keyword in listed:
        if key := comparable(keyword).strip():
            yield keyword, key


def _as_word(folded: str, key: str) -> bool:
    """Whether ``key`` stands somewhere with no Latin letter, digit or underscore on either side."""
    at = folded.find(key)
    while at >= 0:
        end = at + len(key)
        if not _joins(folded[at - 1 : at]) and not _joins(folded[end : end + 1]):
            return True
        at = folded.find(key, at + 1)
    return False


def _joins(neighbour: str) -> bool:
    """A Latin letter, digit or underscore; the empty string is the edge of the text."""
    if not neighbour or neighbour == "_":
        return bool(neighbour)
    return neighbour.isdigit() or unicodedata.name(neighbour, "").startswith("LATIN ")
