"""How a simulated run decides what the recording leaves open."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from random import Random
from typing import Final, Literal

from zc_notebooks.bench.oracle import Effect, Ruling
from zc_notebooks.records import Variant

_SPELL_S: Final = 1800.0
"""Failures that come in spells are drawn for so long at once."""


class Mood:
    """How doubts are decided: as is likely, all against, all for, one candidate's otherwise than the rest's, by lot.

    Where chance decides, the likely run spreads answers and failures evenly in their proportion, and a lot draws them,
    with the proportion itself drawn as widely as the observations leave it open (Jeffreys' interval).
    """

    def __init__(
        self,
        kind: Literal["likely", "worst", "best", "lot"] = "likely",
        *,
        odd: tuple[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.kind = kind
        self.odd = odd
        self._random = Random(seed)  # noqa: S311 (a simulation)
        self._owed: dict[tuple[str, str], float] = defaultdict(float)
        self._shift: dict[tuple[str, str], float] = {}
        self._lots: dict[tuple[str, str, int], float] = {}

    def decide(self, variant: Variant, ruling: Ruling, now: datetime) -> Effect:
        """The effect that happens."""
        if ruling.other is None:
            return ruling.likely
        answers, fails = ruling.likely, ruling.other
        if ruling.likely.verdict is not None:
            answers, fails = ruling.other, ruling.likely
        who = variant.ref, variant.model
        if self.kind == "lot":
            share = ruling.chance + self._drawn(who, ruling)
            return answers if self._lot(who, ruling, now) < share else fails
        if not ruling.doubtful:
            return (answers if self._in_turn(who, ruling) else fails) if _open(ruling) else ruling.likely
        if self.kind == "likely":
            return ruling.likely
        return answers if (self.kind == "best") != (who == self.odd) else fails

    def _lot(self, who: tuple[str, str], ruling: Ruling, now: datetime) -> float:
        """In [0, 1); of a candidate that fails in spells the same for half an hour."""
        if not ruling.lasting:
            return self._random.random()
        spell = *who, int(now.timestamp() // _SPELL_S)
        if spell not in self._lots:
            self._lots[spell] = self._random.random()
        return self._lots[spell]

    def _in_turn(self, who: tuple[str, str], ruling: Ruling) -> bool:
        self._owed[who] += ruling.chance
        if self._owed[who] < 0.5:  # noqa: PLR2004 (rounding)
            return False
        self._owed[who] -= 1.0
        return True

    def _drawn(self, who: tuple[str, str], ruling: Ruling) -> float:
        """How far the true share of answers may lie from the observed one, drawn once a run."""
        up, down = ruling.counts
        if who not in self._shift and up + down:
            self._shift[who] = self._random.betavariate(up + 0.5, down + 0.5) - up / (up + down)
        return self._shift.get(who, 0.0)


def _open(ruling: Ruling) -> bool:
    """Whether chance was interpolated and spells say nothing: else the nearest observation is taken as it was."""
    return ruling.grade != "observed" and not ruling.lasting
