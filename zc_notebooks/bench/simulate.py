"""The walk over recorded conditions: every call of a period as the same generator, on one simulated clock.

Calls that overlapped overlap here too: each is advanced to its next event in the order of time, so that a mark or a
used-up quota counts for a call exactly from the moment it would have.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime

from zc_notebooks.bench.load import Levels, Loads, use_of
from zc_notebooks.bench.mood import Mood
from zc_notebooks.bench.oracle import Oracle, account
from zc_notebooks.bench.recorded import Account, RecordedCall, Recording, Seen, account_of
from zc_notebooks.bench.simulated_call import Events, OneCall, Simulated
from zc_notebooks.clock import Limit
from zc_notebooks.records import Variant
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.reliability.steps import (
    WalkPolicy,
)


class SimulatedClock:
    """Shows the time of the event that is looked at."""

    def __init__(self, start: datetime) -> None:
        self.instant = start

    def now(self) -> datetime:
        """See :class:`~zc_notebooks.clock.Clock`."""
        return self.instant

    def monotonic(self) -> float:
        """See :class:`~zc_notebooks.clock.Clock`."""
        return self.instant.timestamp()

    async def sleep(self, seconds: float) -> None:
        """Nobody sleeps in a simulation."""

    def timeout(self, seconds: float) -> Limit:
        """Nothing takes time in a simulation."""
        raise NotImplementedError


class Simulation:
    """One run over a period.

    Args:
        recording: What happened.
        loads: Its quotas.
        oracle: What candidates would answer.
        variants: The candidates of every call, in order.
        policy: What the walk follows.
        mood: How doubts are decided.
    """

    def __init__(
        self,
        recording: Recording,
        loads: Loads,
        oracle: Oracle,
        variants: Sequence[Variant],
        policy: WalkPolicy,
        mood: Mood,
    ) -> None:
        start = recording.rows[0].t if recording.rows else datetime.min.replace(tzinfo=UTC)
        reliability = policy.reliability
        self.oracle = oracle
        self.variants = tuple(variants)
        self.policy = policy
        self.mood = mood
        self.clock = SimulatedClock(start)
        self.levels = Levels(loads)
        self.made: dict[Account, int] = defaultdict(int)
        """Attempts so far, by account."""
        self.doubted: set[tuple[str, str]] = set()
        """Models with an attempt that could have ended otherwise."""
        self.chancy = False
        self.marks = Marks(
            None, clock=self.clock, guess_s=reliability.cooldown_guess_s, period_guess_s=reliability.period_guess_s
        )
        self.who = {item.id: (item.ref, item.model, item.key.credential_id) for item in self.variants}
        self.purse = {item.id: account(item) for item in self.variants}
        self._recording = recording

    def run(self, demand: Sequence[RecordedCall]) -> list[Simulated]:
        """The calls, in the order given, as they would have gone."""
        wanted = {call.call_id for call in demand}
        results = [Simulated(call) for call in demand]
        events: list[tuple[datetime, int, Events | Callable[[], None]]] = [
            (result.call.begin, place, self._call(result)) for place, result in enumerate(results)
        ]
        others = [one for one in self._recording.seen if one.row.call_id not in wanted]
        events += [(one.row.t, -1 - place, _later(self._happened, one)) for place, one in enumerate(reversed(others))]
        heapq.heapify(events)
        while events:
            now, place, event = heapq.heappop(events)
            self.clock.instant = max(now, self.clock.instant)
            if not isinstance(event, Generator):
                event()
            elif (again := next(event, None)) is not None:
                heapq.heappush(events, (again, place, event))
        self.marks.close()
        return results

    def _call(self, result: Simulated) -> Events:
        """Made when its time comes, and forgotten after: a period may hold many."""
        yield from OneCall(self, result).events()

    def _happened(self, one: Seen) -> None:
        """An attempt of a call that is not replayed (before the period, a probe): its use of the quotas counts."""
        self.levels.add(account_of(one.row), one.row.model, use_of(one), one.row.t)
        self.made[account_of(one.row)] += 1


def _later(act: Callable[[Seen], None], one: Seen) -> Callable[[], None]:
    return lambda: act(one)
