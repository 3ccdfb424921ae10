"""Shortening a conversation after a context overflow (spec 5.4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from zc_notebooks.chat import ChatRequest, Message

_PROMPT_STYLE: Final = ("[tool result", "<tool_result", "tool result:", "observation:")
"""How a tool result looks when it was written into a user message; such a message begins no turn."""


def begins_turn(message: Message) -> bool:
    """Whether a person says this: a user message that is no tool result written as one."""
    return message.role == "user" and not message.text.lstrip().lower().startswith(_PROMPT_STYLE)


def _boundaries(messages: Sequence[Message]) -> list[int]:
    """Indices (among non-system messages) at which a turn begins."""
    return [place for place, message in enumerate(messages) if begins_turn(message)]


def can_shorten(messages: Sequence[Message]) -> bool:
    """Whether a turn can be dropped: at most one boundary means nothing to drop."""
    return len(_boundaries([message for message in messages if message.role != "system"])) > 1


def shorten(request: ChatRequest) -> ChatRequest:
    """Keeps all system messages and the later turns, from the first boundary at or after the middle.

    Turns are kept or dropped whole, so a tool call and its results stay or go together. A request with nothing to
    drop comes back as it is.
    """
    rest = [message for message in request.messages if message.role != "system"]
    starts = _boundaries(rest)
    if len(starts) <= 1:
        return request
    target = len(rest) // 2
    first = next((place for place in starts[1:] if place >= target), starts[-1])
    kept = iter(rest[first:])
    systems = tuple(message for message in request.messages if message.role == "system")
    return msgspec.structs.replace(request, messages=(*systems, *kept))
