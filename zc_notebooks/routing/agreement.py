"""How far the estimator agrees with people: a labelled set of requests, each in English and Japanese."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from zc_notebooks.config.schema import EffortRouting
from zc_notebooks.records import Record
from zc_notebooks.resources import resource
from zc_notebooks.routing.effort import BUILT_IN, EFFORT_TIERS, EffortTier, estimate_effort

Language = Literal["en", "ja"]

LANGUAGES: Final[tuple[Language, ...]] = ("en", "ja")


class Pair(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request in two languages, with the label a person gave it."""

    id: str
    label: EffortTier
    en: str
    ja: str
    hard: str = ""
    """Why a count of characters and keywords can be expected to err."""


class Judged(Record, frozen=True, kw_only=True):
    """One prompt, and what the estimator made of it."""

    id: str
    language: Language
    label: EffortTier
    tier: EffortTier
    why: str
    hard: bool = False
    """Whether the label's author expected the estimator to err."""

    @property
    def agrees(self) -> bool:
        """Whether both say the same."""
        return self.label == self.tier


class Share(Record, frozen=True, kw_only=True):
    """So many of so many."""

    count: int
    of: int

    @property
    def fraction(self) -> float:
        """0.0 to 1.0; 0.0 of nothing."""
        return self.count / self.of if self.of else 0.0

    def __str__(self) -> str:
        return f"{self.count} of {self.of} ({self.fraction:.0%})"


class Agreement(Record, frozen=True, kw_only=True):
    """The estimator beside the labels."""

    judged: tuple[Judged, ...]
    alike: Share
    """Pairs whose two languages are judged alike, rightly or wrongly."""

    @property
    def overall(self) -> Share:
        """All prompts."""
        return _share(self.judged)

    def of_language(self, language: Language) -> Share:
        """The prompts of one language."""
        return _share([item for item in self.judged if item.language == language])

    @property
    def of_plain(self) -> Share:
        """The prompts that are not marked as hard for an estimator that counts."""
        return _share([item for item in self.judged if not item.hard])

    def confusion(self, language: Language | None = None) -> Mapping[EffortTier, Mapping[EffortTier, int]]:
        """Label → tier → how many, of one language or of both."""
        counts = {label: dict.fromkeys(EFFORT_TIERS, 0) for label in EFFORT_TIERS}
        for item in self.judged:
            if language in (None, item.language):
                counts[item.label][item.tier] += 1
        return counts

    @property
    def under(self) -> Share:
        """Prompts judged to need less than a person says: with ``auto`` these stay at home."""
        rank = EFFORT_TIERS.index
        low = [item for item in self.judged if rank(item.tier) < rank(item.label)]
        return Share(count=len(low), of=len(self.judged))


def load_pairs(path: Path | None = None) -> tuple[Pair, ...]:
    """The shipped set, ``data/effort_prompts.toml``, or another file of the same form."""
    with (path or resource("data", "effort_prompts.toml")).open("rb") as file:
        return msgspec.convert(tomllib.load(file)["pair"], tuple[Pair, ...])


def agreement(pairs: Sequence[Pair] | None = None, config: EffortRouting = BUILT_IN) -> Agreement:
    """Judges every prompt of ``pairs`` (the shipped ones unless given). No model is called."""
    judged: list[Judged] = []
    alike = 0
    chosen = load_pairs() if pairs is None else pairs
    for pair in chosen:
        both = [_judge(pair, language, config) for language in LANGUAGES]
        alike += both[0].tier == both[1].tier
        judged += both
    return Agreement(judged=tuple(judged), alike=Share(count=alike, of=len(chosen)))


def _judge(pair: Pair, language: Language, config: EffortRouting) -> Judged:
    effort = estimate_effort(pair.en if language == "en" else pair.ja, config)
    return Judged(
        id=pair.id, language=language, label=pair.label, tier=effort.tier, why=effort.why, hard=bool(pair.hard)
    )


def _share(judged: Sequence[Judged]) -> Share:
    return Share(count=sum(item.agrees for item in judged), of=len(judged))
