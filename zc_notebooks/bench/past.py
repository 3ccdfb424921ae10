"""How one candidate stood over time, its quotas left aside."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import Final

from zc_notebooks.bench.recorded import Seen

NEAR: Final = timedelta(minutes=10)
"""An observation this near in time speaks for the moment."""
_NEIGHBOURS: Final = 9


class Past:
    """Visits to one candidate (a retry is no second opinion): how often it was up, and whether it failed in spells."""

    def __init__(self, seen: Sequence[Seen], up: Callable[[Seen], bool]) -> None:
        self._visits = [one for one in seen if one.row.attempt == 0] or list(seen)
        self._times = [one.row.t for one in self._visits]
        states = [up(one) for one in self._visits]
        self.counts = sum(states), len(states) - sum(states)
        changes = sum(one != other for one, other in pairwise(states))
        by_chance = 2 * self.counts[0] * self.counts[1] / len(states)
        self.lasting = changes < by_chance / 2
        """Half as many changes as by chance, or fewer."""
        self.longest = max([NEAR, *(end - begin for begin, end in spells(self._visits, states))])
        """The longest that failures followed each other."""

    def around(self, now: datetime) -> list[Seen]:
        """The visits nearest in time."""
        place = bisect_left(self._times, now)
        around = self._visits[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS]
        return sorted(around, key=lambda one: abs(one.row.t - now))[:_NEIGHBOURS]


def spells(visits: Sequence[Seen], states: Sequence[bool]) -> Iterator[tuple[datetime, datetime]]:
    """Begin and end of failures without an answer between them."""
    for up, group in groupby(zip(visits, states, strict=True), key=lambda item: item[1]):
        if not up:
            times = [one.row.t for one, _ in group]
            yield times[0], times[-1]
