"""Where the answer stands in what a model said. The rule is told to the model and nothing else is looked at.

``last_line``
    The last line that begins with ``ANSWER:`` or ``答え：``; its rest, or the next line when its rest is blank,
    with the whole list when that line is the first of one.
``code``
    The last closed fenced block.
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
    r"^[\s>#*_\-`]*(?:answer|final answer|答え|答|回答|解答)[*_`]*\s*[:：]\s*(.*)$", re.IGNORECASE
)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_ITEM: Final = re.compile(r"\s*(?:[-*+•‣・]\s+|\d{1,2}[.)]\s+)\S")
_LAYERS: Final = 20
"""How many signs around an answer are taken off."""
_BOXED: Final = re.compile(r"^\\boxed\{(?:\\text\{)?([^{}]*)\}?\}$")


def extract(text: str, rule: Rule) -> str | None:
    """The answer by ``rule``, or ``None``: unparsed."""
    visible = strip_think(text.replace("\r\n", "\n").replace("\r", "\n"))[0]
    if rule == "last_line":
        return _last_line(visible)
    if rule == "code":
        return _last_block(visible)
    if rule == "json":
        return _json(visible)
    return visible.strip() or None


def _last_line(text: str) -> str | None:
    lines = text.split("\n")
    for place in range(len(lines) - 1, -1, -1):
        found = _MARKER.match(lines[place])
        if found:
            if bare(found[1]):
                return bare(found[1])
            after = next((at for at in range(place + 1, len(lines)) if bare(lines[at])), len(lines))
            return _listed(lines[after:]) or None
    return None


def _listed(lines: list[str]) -> str:
    """The first line, or all of the list that it begins."""
    items = list(takewhile(_ITEM.match, filter(bare, lines)))
    return "\n".join(bare(item) for item in items) if len(items) > 1 else bare("".join(lines[:1]))


def bare(text: str) -> str:
    """Without the signs that make it bold, code or a formula, and without a ``<…>`` copied from the form."""
    text = text.strip()
    for _ in range(_LAYERS):
        inner = text
        for opener, closer in (("**", "**"), ("__", "__"), ("`", "`"), ("$", "$"), ("\\(", "\\)"), ("<", ">")):
            if inner.startswith(opener) and inner.endswith(closer) and len(inner) > len(opener) + len(closer):
                inner = inner[len(opener) : -len(closer)].strip()
        inner = inner.removesuffix("**").rstrip() if inner.count("**") == 1 else inner
        inner = inner.removeprefix("**").lstrip() if inner.count("**") == 1 else inner
        boxed = _BOXED.match(inner)
        inner = boxed[1].strip() if boxed else inner
        if inner == text:
            break
        text = inner
    return "" if text in ("**", "__") else text


def _last_block(text: str) -> str | None:
    """By the rules of CommonMark: a block ends at a fence of the same sign that is at least as long. In one pass."""
    last, opener = None, ""
    block: list[str] = []
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if not opener and found:
            opener, block = found[1], []
        elif opener and found and found[1].startswith(opener) and not found[2].strip():
            last, opener = "".join(f"{item}\n" for item in block), ""
        elif opener:
            block.append(line)
    return last if last and last.strip() else None


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
