"""What ordered entries can do as one provider (spec 3.5). Pure."""

from __future__ import annotations

from zc_notebooks.records import Plan, Record
from zc_notebooks.reliability.materialize import HINT


class WrapperCapabilities(Record, frozen=True, kw_only=True):
    """What may be asked of a plan as a whole, whichever entry answers in the end."""

    native_tools: bool
    """Every entry has them."""
    mixed_tools: bool
    """Some entries have native tools, not all."""
    vision: bool
    """Every entry has it: an image is never refused half-way."""
    streaming: bool
    """Some entry streams."""
    stream_tools: bool
    """Some entry streams tool events."""
    temperature: float | None = None
    """The first entry's default."""
    max_tokens: int | None = None
    """The first entry's default."""


def capabilities(made: Plan) -> WrapperCapabilities:
    """The capabilities of a plan's entries together."""
    can = [entry.profile.capabilities for entry in made.entries]
    first = made.entries[0].profile
    tools = sum(each.native_tools for each in can)
    return WrapperCapabilities(
        native_tools=tools == len(can),
        mixed_tools=0 < tools < len(can),
        vision=all(each.vision for each in can),
        streaming=any(each.streaming for each in can),
        stream_tools=any(each.streaming and each.stream_tools for each in can),
        temperature=first.temperature,
        max_tokens=first.max_tokens,
    )


def stable_identity(made: Plan, requested: str) -> bool:
    """Whether the same request always means the same model, so that its response may be cached.

    Exactly one entry, and unpinned or pinned to ``requested``; a ``hint:`` model never.
    """
    if len(made.entries) != 1 or requested.startswith(HINT):
        return False
    return made.entries[0].model in (None, requested)
