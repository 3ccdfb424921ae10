"""The wall as a whole: every fault in each of its modes, and the card with the results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, get_args

from zc_notebooks.chain import Chain
from zc_notebooks.records import Record
from zc_notebooks.sync import shared
from zc_notebooks.wall.faults import TRIALS
from zc_notebooks.wall.judge import RESULTS, Score, hung, judge
from zc_notebooks.wall.run import run
from zc_notebooks.wall.stage import ChainMaker, Stage
from zc_notebooks.wall.trial import Mode, Trial

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
ENDS_WITHIN_S: Final = 60.0
"""Real seconds for one fault in one mode, other processes and their start included."""


class ScoreCard(Record, frozen=True, kw_only=True):
    """All scores, in the wall's order."""

    scores: tuple[Score, ...]

    def count(self, result: str) -> int:
        """How many scores have this result."""
        return sum(score.result == result for score in self.scores)

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.count("fail")

    def rows(self) -> list[tuple[str, ...]]:
        """(fault, chat, stream, draft, what happened) for each fault; ``-`` where a mode does not apply."""
        table: dict[str, dict[Mode, Score]] = {}
        for score in self.scores:
            table.setdefault(score.fault, {})[score.mode] = score
        return [
            (fault, *(found[mode].result if mode in found else "-" for mode in MODES), _reason(found))
            for fault, found in table.items()
        ]

    def markdown(self) -> str:
        """The table as it stands in the README."""
        lines = ["| Fault on the primary | chat | stream | draft | What happened |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in self.rows()]
        return "\n".join(lines)

    def summary(self) -> str:
        """``62 pass, 0 safe, 0 fail``."""
        return ", ".join(f"{self.count(result)} {result}" for result in RESULTS)

    def __repr__(self) -> str:
        return f"ScoreCard({self.summary()})"


def run_wall(
    trials: Sequence[Trial] = TRIALS, *, make: ChainMaker = Chain, told: Callable[[Score], object] | None = None
) -> ScoreCard:
    """Runs every trial in each of its modes, one after the other.

    Args:
        trials: Which; all by default.
        make: Makes the chain under test from :class:`Chain`'s own arguments.
        told: Called with each score as it comes.
    """
    return shared.run(_run_wall(trials, make, told))


async def _run_wall(trials: Sequence[Trial], make: ChainMaker, told: Callable[[Score], object] | None) -> ScoreCard:
    scores: list[Score] = []
    with Stage(make) as stage:
        for trial in trials:
            for mode in trial.ways:
                scores.append(await _score(stage, trial, mode))
                if told is not None:
                    told(scores[-1])
    return ScoreCard(scores=tuple(scores))


async def _score(stage: Stage, trial: Trial, mode: Mode) -> Score:
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            return judge(await run(stage, trial, mode))
    except TimeoutError:
        return hung(trial, mode, ENDS_WITHIN_S)


def _reason(found: dict[Mode, Score]) -> str:
    """The worst result's own reason. Of a fault that went well: the first mode's story, and the stream's own ending."""
    worst = max(found.values(), key=lambda score: RESULTS.index(score.result))
    if worst.result != "pass":
        return worst.reason
    first = next(iter(found.values())).reason
    stream = found["stream"].reason if "stream" in found else ""
    return f"{first}; streamed: {stream}" if ": " in stream and stream != first else first
