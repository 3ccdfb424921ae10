"""Whether two names mean the same model: what was asked for, and what the response says it is. Pure.

Providers answer with a name of their own making (recorded cases): with the date of the version
(``gpt-5-nano`` → ``gpt-5-nano-2025-08-07``), with or without whoever publishes or serves it (``openai/gpt-oss-120b``),
in another order (``claude-haiku-4.5`` → ``claude-4.5-haiku-20251001``), without the point (``gpt-35-turbo``).
None of that is another model. Another size, family, generation or variant is.
"""

from __future__ import annotations

import re
from typing import Final

_DATE: Final = re.compile(
    r"[-@]("
    r"\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}"  # 2025-08-07, 08-2024, 05-20
    r"|\d{8}|\d{6}|\d{4}|00\d"  # 20251001, 250807, 2506 or 0905, and the numbered versions 001 …
    r")$"
)
_WORD: Final = re.compile(r"\d+[a-z]+|[a-z]+|\d")
"""A size such as ``70b`` or ``4o`` is one word; the other digits are one each, so that 3.5 and 35 are the same."""
_NEWEST: Final = "latest"
_PLAIN_TAGS: Final = frozenset({"", _NEWEST, "free", "nitro", "floor", "exacto", "online", "extended"})
"""Tags that choose a price, a place or the newest version, not a model."""


def same_model(asked: str, said: str) -> bool:
    """Whether ``said`` may be what a provider calls the model ``asked``."""
    if asked.strip().casefold() == said.strip().casefold():
        return True
    (one, one_tag), (other, other_tag) = _parts(asked), _parts(said)
    if one_tag and other_tag and one_tag != other_tag:
        return False
    (one, one_date), (other, other_date) = _dated(one), _dated(other)
    if one_date and other_date and one_date != other_date:
        return False
    words, others = _words(one), _words(other)
    if words == others:
        return bool(words)
    return _is_newest(words, others) or _is_newest(others, words)


def _parts(name: str) -> tuple[str, str]:
    """The name without publisher and file ending, and its tag (``qwen3:8b``); tags that choose no model are blank."""
    last = name.strip().casefold().rstrip("/").rpartition("/")[2].removesuffix(".gguf")
    stem, _, tag = last.partition(":")
    return stem, "" if tag in _PLAIN_TAGS else tag


def _dated(name: str) -> tuple[str, str]:
    found = _DATE.search(name)
    return (name, "") if found is None else (name[: found.start()], found[1])


def _words(name: str) -> list[str]:
    """In no order: providers move the number about."""
    return sorted(word for part in re.split(r"[^a-z0-9]+", name) for word in _WORD.findall(part))


def _is_newest(alias: list[str], name: list[str]) -> bool:
    """``mistral-small-latest`` and ``gemini-flash-latest`` name no version: any version of the same words is meant."""
    if _NEWEST not in alias:
        return False
    stem = [word for word in alias if word != _NEWEST]
    left = list(name)
    for word in stem:
        if word not in left:
            return False
        left.remove(word)
    return bool(stem) and all(word.isdigit() or word == "preview" for word in left)
