"""``<think>`` spans out of answer text, whole or delta by delta (spec 1, *Semantically empty*).

Every span goes, an unclosed opener drops the rest, a stray closer stays. What stood inside is reasoning.
"""

from __future__ import annotations

from typing import Final

from zc_notebooks.chat import Answer

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class ThinkFilter:
    """Splits text deltas into visible text and reasoning. Text is held back only while it could be a tag's start.

    However a text is cut into deltas, the joined results of :meth:`feed` and :meth:`finish` are those of
    :func:`strip_think` on the whole.
    """

    __slots__ = ("_held", "_inside")

    def __init__(self) -> None:
        self._held = ""
        self._inside = False

    def feed(self, delta: str) -> tuple[str, str]:
        """``(visible, reasoning)`` that ``delta`` completes; both may be empty."""
        if not self._held and not self._inside and "<" not in delta:
            return delta, ""
        rest = self._held + delta
        parts: tuple[list[str], list[str]] = ([], [])
        while True:
            tag = _CLOSE if self._inside else _OPEN
            before, found, after = rest.partition(tag)
            if not found:
                break
            parts[self._inside].append(before)
            self._inside = not self._inside
            rest = after
        keep = _tag_start(rest, tag)
        parts[self._inside].append(rest[: len(rest) - keep])
        self._held = rest[len(rest) - keep :]
        return "".join(parts[0]), "".join(parts[1])

    def finish(self) -> tuple[str, str]:
        """What was still held back: the text has ended, so it was no tag."""
        held, self._held = self._held, ""
        return ("", held) if self._inside else (held, "")


def _tag_start(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` could be the start of ``tag`` (which has one ``<``, its first)."""
    place = text.rfind("<", max(0, len(text) - len(tag) + 1))
    return len(text) - place if place >= 0 and tag.startswith(text[place:]) else 0


def strip_think(text: str) -> tuple[str, str]:
    """``(visible, reasoning)`` of a whole text."""
    if _OPEN not in text:
        return text, ""
    spans = ThinkFilter()
    visible, reasoning = spans.feed(text)
    tail, more = spans.finish()
    return visible + tail, reasoning + more


def is_empty(answer: Answer) -> bool:
    """Whether ``answer`` is semantically empty: no tool call and no visible text. Reasoning does not count."""
    return not answer.tool_calls and not strip_think(answer.text)[0].strip()
