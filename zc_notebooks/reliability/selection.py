"""Which variant is streamed: the first that passes the checks and can stream (spec 8.1)."""

from __future__ import annotations

from collections.abc import Sequence

from zc_notebooks.chat import ChatRequest
from zc_notebooks.records import Variant
from zc_notebooks.reliability.checks import Memory
from zc_notebooks.reliability.steps import Conditions, WalkPolicy


def streaming_variant(
    variants: Sequence[Variant], policy: WalkPolicy, conditions: Conditions, request: ChatRequest
) -> Variant | None:
    """The variant to open, its lease taken when its mark has just ended; ``None``: walk without a stream.

    Candidates that are passed over leave no row here: they keep their place and budget in a walk that may follow.
    """
    memory = Memory(variants, policy, conditions, None)
    for variant in variants:
        can = variant.entry.profile.capabilities
        if not can.streaming or (request.tools and not can.stream_tools):
            continue
        if memory.blocked(variant) is not None:
            continue
        if memory.gate(variant).state == "probe" and not conditions.acquire(variant):
            continue
        return variant
    return None
