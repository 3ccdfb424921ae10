"""Plain statistics of shares: Wilson's interval for clustered answers, exact tests of pairs, Holm's correction.

Sources: Wilson (1927) for the interval; Korn and Graubard (1998) for the effective sample size of clustered answers
and the t quantile of the clusters' degrees of freedom; McNemar (1947), exact, for pairs; Holm (1979) for many pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from zc_notebooks.records import Record

CONFIDENCE = 0.95


class Interval(Record, frozen=True, kw_only=True):
    """A share with what is known of it."""

    share: float | None
    """``None``: there is nothing to count."""
    low: float = 0.0
    high: float = 1.0
    count: int = 0
    of: int = 0
    effective: float = 0.0
    """How many independent answers these are worth."""

    def __str__(self) -> str:
        if self.share is None:
            return "none"
        return f"{self.share:.0%} ({self.low:.0%} to {self.high:.0%})"


def wilson(count: float, of: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval of ``count`` in ``of`` (both may be effective, not whole)."""
    if of <= 0:
        return 0.0, 1.0
    share, square = count / of, quantile * quantile
    middle = share + square / (2 * of)
    width = quantile * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    low, high = (
        (middle - width) / (1 + square / of),
        (middle + width) / (1 + square / of),
    )
    return min(max(0.0, low), share), max(min(1.0, high), share)


def clustered(counts: Sequence[tuple[int, int]], confidence: float = CONFIDENCE) -> Interval:
    """The interval of a share whose answers come in clusters, ``(successes, answers)`` each.

    Repetitions of one task resemble each other, so ``n`` answers know less than ``n`` independent ones: the design
    effect is the ratio of the clusters' variance to that of independent answers, never below 1. Where every answer is
    the same the effect cannot be seen, and a cluster counts as one answer.
    """
    from scipy import stats

    found = [(hits, of) for hits, of in counts if of > 0]
    hits, of, clusters = (
        sum(hit for hit, _ in found),
        sum(n for _, n in found),
        len(found),
    )
    if of == 0:
        return Interval(share=None)
    if clusters == 1:
        effective, quantile = 1.0, float(stats.norm.ppf(0.5 + confidence / 2))
    else:
        effective = _effective(found, hits / of, of)
        quantile = float(stats.t.ppf(0.5 + confidence / 2, clusters - 1))
    share = hits / of
    low, high = wilson(share * effective, effective, quantile)
    return Interval(share=share, low=low, high=high, count=hits, of=of, effective=effective)


def _effective(found: Sequence[tuple[int, int]], share: float, of: int) -> float:
    clusters = len(found)
    plain = share * (1 - share) / of
    if plain == 0:
        return float(clusters)
    between = sum((hits - share * n) ** 2 for hits, n in found) * clusters / (clusters - 1) / of**2
    return of / max(1.0, between / plain)


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided p of ``wins`` against ``losses`` (McNemar's discordant pairs); 1.0 when there are none."""
    from scipy import stats

    if wins + losses == 0:
        return 1.0
    return float(stats.binomtest(wins, wins + losses, 0.5).pvalue)


def holm(values: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """P values corrected for their number: at most this probability that any of the rejected ones is wrong."""
    corrected: dict[tuple[str, str], float] = {}
    highest = 0.0
    for place, pair in enumerate(sorted(values, key=lambda name: (values[name], name))):
        highest = max(highest, min(1.0, (len(values) - place) * values[pair]))
        corrected[pair] = highest
    return corrected


def pairs_needed(
    wins: float,
    losses: float,
    of: int,
    *,
    power: float = 0.8,
    confidence: float = CONFIDENCE,
) -> int | None:
    """How many pairs a McNemar test needs to see the difference that was observed (Miettinen 1968).

    ``None``: nothing was observed that a larger number would confirm.
    """
    from scipy import stats

    discordant, difference = (wins + losses) / of, abs(wins - losses) / of
    if difference == 0:
        return None
    z_alpha = float(stats.norm.ppf(0.5 + confidence / 2))
    z_beta = float(stats.norm.ppf(power))
    needed = (z_alpha * math.sqrt(discordant) + z_beta * math.sqrt(max(discordant - difference**2, 0.0))) ** 2
    return math.ceil(needed / difference**2)
