"""Where the answer stands in what a model said. The rule is told to the model and nothing else is looked at.

``last_line``
    The last line that begins with ``ANSWER:`` or ``答え：``; its rest, or the next line when its rest is blank,
    with the whole list when that line is the first of one, and the whole block when a block of code or a displayed
    formula begins there.
``code``
    The last closed fenced block that defines what is asked for; the last one where none does.
``json``
    The whole text, or the last closed fenced block, if it is JSON.
``whole``
    Everything.

Reasoning is no answer: ``<think>`` spans are taken out first, an unclosed one to the end, and what a provider delivers
as reasoning is never read. What a rule does not find is *unparsed*, which is neither right nor wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final, Literal

from zc_notebooks.stream_guard.think import strip_think

Rule = Literal["last_line", "code", "json", "whole"]
Language = Literal["ja", "en"]

INSTRUCTIONS: Final[Mapping[tuple[Rule, Language], str]] = {
    ("last_line", "en"): "End with one line of the form:\nANSWER: <your answer>",
    ("last_line", "ja"): "最後の行に、次の形で答えだけを書いてください。\n答え：<答え>",
    ("code", "en"): "Give the complete corrected code in one fenced block (```python … ```).",
    ("code", "ja"): "修正後のコード全体を、1つのコードブロック（```python … ```）で示してください。",
    ("json", "en"): "Answer with JSON only, bare or in one fenced block.",
    ("json", "ja"): "JSONだけを答えてください（そのまま、または1つのコードブロックで）。",
    ("whole", "en"): "Answer with the text only.",
    ("whole", "ja"): "本文だけを答えてください。",
}
"""What a prompt ends with, by rule and language."""

_MARKER: Final = re.compile(
    r"^[\s>#*_\-`]*(?:answer|final answer|答|(?:最終(?:的な)?)?(?:答え|回答|解答))[*_`]*\s*[:：]\s*(.*)$", re.IGNORECASE
)
_FENCE: Final = re.compile(r"( *)(`{3,}|~{3,})([^`]*)$")
_FORMULAS: Final[Mapping[str, str]] = {"$$": "$$", "\\[": "\\]"}
_ITEM: Final = re.compile(r"\s*(?:[-*+]\s+|[•‣・]\s*|\d{1,2}[.)]\s+|\d{1,2}番目\s*[:：は])\S")
_NEAR: Final = 3
"""Blanks by which the end of a block may stand further to the right than its begin."""
_LAYERS: Final = 20
"""How many signs around an answer are taken off."""
_PAIRS: Final = (
    *((sign, sign) for sign in ("**", "__", "*", "_", "```", "``", "`", "$$", "$")),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("<", ">"),
)
_BOXED: Final = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")
_UPRIGHT: Final = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}")


def extract(text: str, rule: Rule, defines: str = "") -> str | None:
    """The answer by ``rule``, or ``None``: unparsed. ``defines``: the name that code must define."""
    visible = strip_think(text.replace("\r\n", "\n").replace("\r", "\n"))[0]
    if rule == "last_line":
        return _last_line(visible)
    if rule == "code":
        return _last_block(visible, _definition(defines) if defines else None)
    if rule == "json":
        return _json(visible)
    return visible.strip() or None


def _last_line(text: str) -> str | None:
    lines = text.split("\n")
    for place in range(len(lines) - 1, -1, -1):
        found = _MARKER.match(lines[place])
        if found:
            below = lines[place + 1 :]
            rest = found[1].strip()
            block = _opened([rest, *below] if rest else below)
            if block is not None:
                return "\n".join(filter(None, map(bare, block))) or None
            if bare(rest):
                return bare(rest)
            after = next((at for at, line in enumerate(below) if bare(line)), len(below))
            return _listed(below[after:]) or None
    return None


def _opened(lines: list[str]) -> list[str] | None:
    """What stands in the block of code or displayed formula that begins here; nothing when it is not closed."""
    begin = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    first = lines[begin].strip() if begin < len(lines) else ""
    fence = _FENCE.match(first)
    closer = fence[2] if fence else _FORMULAS.get(first)
    if closer is None:
        return None
    end = next((at for at in range(begin + 1, len(lines)) if lines[at].strip() == closer), None)
    return [] if end is None else lines[begin + 1 : end]


def _listed(lines: list[str]) -> str:
    """The first line, or all of the list that it begins."""
    items = list(takewhile(_ITEM.match, filter(bare, lines)))
    return "\n".join(bare(item) for item in items) if len(items) > 1 else bare("".join(lines[:1]))


def bare(text: str) -> str:
    """Without the signs that make it bold, code or a formula, and without a ``<…>`` copied from the form."""
    text = text.strip()
    for _ in range(_LAYERS):
        inner = text
        for opener, closer in _PAIRS:
            within = inner[len(opener) : -len(closer)]
            if inner.startswith(opener) and inner.endswith(closer) and within and closer not in within:
                inner = within.strip()
        for sign in ("**", "__"):
            inner = inner.removesuffix(sign).rstrip() if inner.count(sign) == 1 else inner
            inner = inner.removeprefix(sign).lstrip() if inner.count(sign) == 1 else inner
        inner = inner.removesuffix("*").rstrip() if inner.count("*") == 1 else inner
        inner = _UPRIGHT.sub(r"\1", _BOXED.sub(r"\1", inner)).strip()
        if inner == text:
            break
        text = inner
    return "" if text in ("**", "__", "*") else text


def _definition(name: str) -> re.Pattern[str]:
    name = re.escape(name)
    return re.compile(
        rf"^\s*(?:async\s+)?(?:def|class)\s+{name}\b|^\s*{name}\s*=[^=]|\bimport\b.*\b{name}\b", re.MULTILINE
    )


def _last_block(text: str, holds: re.Pattern[str] | None = None) -> str | None:
    """The last block that is not blank; of several, the last one that ``holds`` is found in. In one pass.

    By the rules of CommonMark, in a list too: a block ends at a fence of the same sign that is at least as long, and is
    as far to the left as its first fence.
    """
    last, best, opener, indent = None, None, "", 0
    block: list[str] = []
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if not opener and found:
            opener, indent, block = found[2], len(found[1]), []
        elif opener and found and _closes(found, opener, indent):
            said, opener = "".join(f"{item}\n" for item in block), ""
            last = said if said.strip() else last
            best = said if holds is not None and holds.search(said) else best
        elif opener:
            block.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    return best or last


def _closes(found: re.Match[str], opener: str, indent: int) -> bool:
    return found[2].startswith(opener) and not found[3].strip() and len(found[1]) <= indent + _NEAR


def _json(text: str) -> str | None:
    block = _last_block(text)
    for candidate in (text.strip(), None if block is None else block.strip()):
        if candidate and is_json(candidate):
            return candidate
    return None


def is_json(text: str) -> bool:
    """Whether ``text`` is JSON of the standard: no NaN, no key twice."""
    try:
        strict_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def strict_json(text: str) -> Any:
    """JSON by the standard. Raises :class:`ValueError` for NaN, Infinity, and a key that stands twice."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made
