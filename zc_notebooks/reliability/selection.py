"""Which variant is streamed: the first that passes the checks and can stream (spec 8.1)."""

from __future__ import annotations

from collections.abc import Sequence

from zc_notebooks.chat import ChatRequest
from zc_notebooks.records import Record, Variant
from zc_notebooks.reliability.checks import Memory
from zc_notebooks.reliability.steps import Conditions, Skip, Try, WalkPolicy


class Selected(Record, frozen=True, kw_only=True):
    """The variant to open, if there is one, and those passed over on the way."""

    variant: Variant | None
    skips: tuple[Skip, ...] = ()

    @property
    def noted(self) -> frozenset[tuple[int, int]]:
        """Variants whose skip is a row already: a walk that follows makes no second one."""
        return frozenset(skip.variant.id for skip in self.skips)


def streaming_variant(
    variants: Sequence[Variant], policy: WalkPolicy, conditions: Conditions, request: ChatRequest
) -> Selected:
    """The variant to open, its lease taken when its mark has just ended; none: walk without a stream.

    Candidates that cannot stream leave no skip: they keep their place and budget in a walk that may follow.
    """
    memory = Memory(variants, policy, conditions, None)
    skips: list[Skip] = []
    for variant in variants:
        can = variant.entry.profile.capabilities
        if not can.streaming or (request.tools and not can.stream_tools):
            continue
        skip = _obstacle(memory, variant)
        if skip is None:
            return Selected(variant=variant, skips=tuple(skips))
        skips.append(skip)
    return Selected(variant=None)


def _obstacle(memory: Memory, variant: Variant) -> Skip | None:
    """What is in the way of ``variant``; ``None``: its lease is taken, where it needs one, and its money set aside."""
    conditions, found = memory.conditions, memory.check(variant)
    if isinstance(found, Skip):
        return found
    if found.state == "probe" and not conditions.acquire(variant):
        return Skip(variant=variant, status="skipped_cooldown")
    unpaid = conditions.reserve(Try(variant=variant, attempt=0))
    if unpaid is not None:
        conditions.release(variant, success=False)
    return unpaid
