"""How much a message asks for, judged without a model, and which route that selects (spec 10). Pure."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

from zc_notebooks.config.schema import EffortRouting, Escalation, Route
from zc_notebooks.markup import counted
from zc_notebooks.records import Record
from zc_notebooks.routing.keywords import found_keywords

EffortTier = Literal["simple", "standard", "complex"]

EFFORT_TIERS: Final[tuple[EffortTier, ...]] = ("simple", "standard", "complex")
"""From the least effort to the most."""
FENCE: Final = "```"
BUILT_IN: Final = EffortRouting(local_hint="", cloud_hint="")
"""Thresholds and keywords where ``[effort_routing]`` says nothing."""


class Effort(Record, frozen=True, kw_only=True):
    """What was counted in one message, and what follows from it."""

    tier: EffortTier
    length: int
    """Characters of the NFC text; wide and full-width ones count 2."""
    fence: bool
    """Whether three backticks stand anywhere."""
    keywords: tuple[str, ...]
    """The distinct listed keywords found, as they are listed."""
    why: str
    """The rule that decided, in one sentence."""


class Decision(Record, frozen=True, kw_only=True):
    """Where one turn goes. Nothing of the message is in it but its length."""

    hint: str
    target: str
    """Profile ref of the hint's route."""
    allowlist: tuple[str, ...]
    """The only profile refs the turn may touch; the local target first."""
    tier: EffortTier
    policy: Escalation
    length: int
    """As in :class:`Effort`."""


class Telemetry(Record, frozen=True, kw_only=True):
    """All that a decision tells to the outside: exactly these four fields (spec 10.5)."""

    target: str
    tier: EffortTier
    policy: Escalation
    length: int


def estimate_effort(text: str, config: EffortRouting = BUILT_IN) -> Effort:
    """The effort of a user's message: deterministic, never raises, calls no model (spec 10.1)."""
    length, fence = length_of(text), FENCE in text
    keywords = found_keywords(text, config.latin_keywords, config.japanese_keywords)
    tier, why = _judge(length, fence, keywords, config)
    return Effort(tier=tier, length=length, fence=fence, keywords=keywords, why=why)


def length_of(text: str) -> int:
    """Characters of the NFC text; one whose East Asian Width is W or F counts 2, any other 1."""
    if text.isascii():
        return len(text)
    composed = unicodedata.normalize("NFC", text)
    wide = sum(n for char, n in Counter(composed).items() if unicodedata.east_asian_width(char) in ("W", "F"))
    return len(composed) + wide


def _judge(length: int, fence: bool, keywords: tuple[str, ...], config: EffortRouting) -> tuple[EffortTier, str]:
    words = _words(keywords)
    if length > config.complex_over:
        return "complex", f"its length {length} is above {config.complex_over}"
    if fence:
        return "complex", "it holds a code fence (three backticks)"
    if len(keywords) >= config.complex_keywords:
        return "complex", f"it has {words}, and {config.complex_keywords} or more make it complex"
    if length < config.simple_under and not keywords:
        return "simple", f"its length {length} is below {config.simple_under} and it has no keyword"
    if keywords:
        return (
            "standard",
            f"it has {words}, fewer than {config.complex_keywords}, and is not above {config.complex_over}",
        )
    return "standard", f"its length {length} is from {config.simple_under} to {config.complex_over}, without a keyword"


def _words(keywords: tuple[str, ...]) -> str:
    return counted(len(keywords), "keyword") + (f" ({', '.join(keywords)})" if keywords else "")


def decide(effort: Effort, config: EffortRouting, routes: Sequence[Route]) -> Decision:
    """The route of a turn (spec 10.2): the cloud hint for a complex message under ``auto``, else the local one.

    ``routes`` hold both hints; a loaded configuration sees to that.
    """
    targets = {route.hint: route.model_provider for route in routes}
    local = targets[config.local_hint]
    cloud = effort.tier == "complex" and config.cloud_escalation == "auto"
    hint = config.cloud_hint if cloud else config.local_hint
    return Decision(
        hint=hint,
        target=targets[hint],
        allowlist=tuple(dict.fromkeys((local, targets[hint]))),
        tier=effort.tier,
        policy=config.cloud_escalation,
        length=effort.length,
    )


def telemetry(decision: Decision) -> Telemetry:
    """What of a decision may be told."""
    return Telemetry(target=decision.target, tier=decision.tier, policy=decision.policy, length=decision.length)
