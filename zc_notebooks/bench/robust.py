"""Plain statistics of a few numbers that hold where some are odd: medians, quartiles, Sen's slope. Pure.

Quartiles interpolate linearly. The interval of a median is the percentile bootstrap's (2,000 draws, always the same
ones). The slope is the median over all pairs (Theil 1950, Sen 1968), its interval Sen's: the slopes at the ranks that
Kendall's variance puts around the middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from random import Random
from statistics import median
from typing import Final

from zc_notebooks.records import Record

Z95: Final = 1.959964
_DRAWS: Final = 2000


class Spread(Record, frozen=True, kw_only=True):
    """The middle of some numbers and how far they lie apart."""

    median: float
    q1: float
    q3: float
    low: float
    """95 % interval of the median."""
    high: float
    n: int


class Trend(Record, frozen=True, kw_only=True):
    """How a number changes."""

    slope: float
    """Per unit of ``x``."""
    low: float
    """95 % interval of the slope."""
    high: float
    level: float
    """The line at ``x = 0``."""
    scatter: float
    """Half the distance between the quartiles of what the line leaves over."""
    n: int

    def at(self, x: float) -> float:
        """The line's value."""
        return self.level + self.slope * x

    def between(self, x: float, middle: float) -> tuple[float, float]:
        """Where a value at ``x`` is to be expected: the slope's interval around ``middle``, and the scatter."""
        ends = [self.at(middle) + slope * (x - middle) for slope in (self.low, self.high)]
        return min(ends) - self.scatter, max(ends) + self.scatter


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between neighbours; of at least one value."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    random = Random(0)  # noqa: S311 (draws that are the same each time)
    draws = [median(random.choices(values, k=len(values))) for _ in range(_DRAWS)] if len(set(values)) > 1 else values
    return Spread(
        median=median(values),
        q1=quantile(values, 0.25),
        q3=quantile(values, 0.75),
        low=quantile(draws, 0.025),
        high=quantile(draws, 0.975),
        n=len(values),
    )


def trend(xs: Sequence[float], ys: Sequence[float]) -> Trend | None:
    """Sen's slope with its interval; ``None`` where all ``xs`` are the same."""
    slopes = sorted(
        (later - value) / (right - left)
        for (left, value), (right, later) in combinations(zip(xs, ys, strict=True), 2)
        if right != left
    )
    if not slopes:
        return None
    n, count = len(xs), len(slopes)
    reach = Z95 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(round((count - reach) / 2) - 1, 0)
    high = min(round((count + reach) / 2), count - 1)
    slope = median(slopes)
    level = median(y - slope * x for x, y in zip(xs, ys, strict=True))
    rest = [y - level - slope * x for x, y in zip(xs, ys, strict=True)]
    return Trend(
        slope=slope,
        low=slopes[low],
        high=slopes[high],
        level=level,
        scatter=(quantile(rest, 0.75) - quantile(rest, 0.25)) / 2,
        n=n,
    )
