"""Finds the phrases of :mod:`.families.anyone_phrases` in one message, in the order of spec 4.2. Pure."""

from __future__ import annotations

import re
from typing import Final

from zc_notebooks.reliability.families.anyone_phrases import (
    CONTENT,
    CONTEXT,
    DENIED,
    FULL,
    KEY,
    MODEL_GONE,
    MONEY,
    NO_SUCH_MODEL,
    PAY,
    QUOTA,
    RATE,
    TOOL_CALL,
    UNREACHED,
    Row,
)
from zc_notebooks.reliability.rules import NOT_FOUND, WINDOW, Rule

Hit = tuple[str, Rule]
"""(the words found, what they mean)"""

_CONTEXT_FORMS: Final = (
    re.compile(r"tokens`? ?\+ ?`?max_(?:new_)?tokens`? must be"),
    re.compile(r"input token count.{0,40}exceeds the maximum"),
    re.compile(r"(?:input|prompt|request) \(\d+ tokens\) (?:is|exceeds)"),
    re.compile(r"inputs`? must have less than \d+ tokens"),
    re.compile(r"\(\d+\) >= n_ctx"),
)
_NO_RATE: Final = r"(?!.{0,20}\b(?:rate|daily|weekly|monthly)\b)"
"""A limit of a period is no window."""
_EXCEED_FORMS: Final = (
    re.compile(r"exceed(?:s|ed|ing)? (?:\w+ ){0,3}context (?:length|window|size|limit)"),
    re.compile(
        r"(?:prompt|input|request|messages|total number)\b.{0,40}\btokens\b.{0,20}"
        rf"\bexceeds? {_NO_RATE}.{{0,20}}\blimit"
    ),
    re.compile(rf"(?:prompt|input|request|messages) exceeds? {_NO_RATE}.{{0,20}}\btoken limit"),
)
_MODEL_UNSERVED: Final = re.compile(
    r"model ['\"`]?[\w./:@-]{1,120}['\"`]? is not supported(?: on the full model list)?\.?$"
)
_VALIDATOR: Final = "extra_forbidden"
"""A validator's word for an unknown field; nothing is forbidden to anybody."""


def before_limits(low: str, *, window: bool) -> Hit | None:
    """Window (unless a limit speaks), tool call, content and money: the rows ahead of the limits."""
    hit = context(low) if window else None
    return hit or _find(low, TOOL_CALL) or _find(low, CONTENT) or _find(low, MONEY)


def limits(low: str) -> Hit | None:
    """A period quota, else a rate."""
    return _find(low, QUOTA) or _find(low, RATE)


def after_limits(low: str) -> Hit | None:
    """Advice to pay, permission, key, model and capacity: the rows behind the limits."""
    if _VALIDATOR in low:
        low = low.replace(_VALIDATOR, "")
    return _find(low, PAY) or _find(low, DENIED) or _find(low, KEY) or _model_gone(low) or _find(low, FULL)


def unreached(low: str) -> Hit | None:
    """A connection that failed, told by an exception's words."""
    return _find(low, UNREACHED)


def context(low: str) -> Hit | None:
    """Longer than the model's window."""
    hit = _find(low, CONTEXT)
    if hit or ("token" not in low and "context" not in low and "n_ctx" not in low):
        return hit
    for form in (*_CONTEXT_FORMS, *_EXCEED_FORMS) if "exceed" in low else _CONTEXT_FORMS:
        match = form.search(low)
        if match:
            return match[0], WINDOW
    return None


def _find(low: str, row: Row) -> Hit | None:
    """The row's first phrase that stands in ``low``."""
    for near in row.near:
        if near in low:
            for phrase in row.phrases:
                if phrase in low:
                    return phrase, row.rule
            break
    if not low.isascii():
        for phrase in row.chinese:
            if phrase in low:
                return phrase, row.rule
    return None


def _model_gone(low: str) -> Hit | None:
    """No such model, said within one ``: `` segment (spec 4.2)."""
    hit = _find(low, NO_SUCH_MODEL)
    if hit or "model" not in low:
        return hit
    for segment in low.split(": "):
        if "model" in segment:
            for phrase in MODEL_GONE:
                if phrase in segment:
                    return f"model … {phrase}", NOT_FOUND
            if _MODEL_UNSERVED.search(segment):
                return "model … is not supported", NOT_FOUND
    return None
