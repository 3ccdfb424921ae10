"""Intervals and exact tests against hand-computed values, and against simulated truth."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.bench.intervals import (
    clustered,
    holm,
    pairs_needed,
    sign_test,
    wilson,
)

Z = 1.959963984540054


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson(count: int, of: int, low: float, high: float) -> None:
    """Newcombe's (1998) example and the edges."""
    assert wilson(count, of, Z) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("clusters", "effective"),
    [
        (
            [(1, 1), (0, 1), (1, 1), (0, 1)],
            3.0,
        ),  # 4 singles: n - 1 clusters' worth of variance
        (
            [(3, 3), (0, 3), (3, 3), (0, 3)],
            3.0,
        ),  # three copies of each know no more than the singles
        ([(3, 3)] * 5, 5.0),  # nothing varies: one answer for each cluster
        ([(1, 3)] * 6, 18.0),  # no cluster differs from another: every answer counts
    ],
)
def test_repetitions_are_not_independent(clusters: list[tuple[int, int]], effective: float) -> None:
    """The effective number of answers, by hand from the ratio of variances."""
    assert clustered(clusters).effective == pytest.approx(effective)


COUNTS = st.lists(
    st.integers(1, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    max_size=30,
)


@given(COUNTS)
def test_an_interval_holds_its_share(counts: list[tuple[int, int]]) -> None:
    """Inside [0, 1], around the share, never worth more than its answers."""
    found = clustered(counts)
    if not counts:
        assert found.share is None
        return
    assert found.share is not None
    assert 0 <= found.low <= found.share <= found.high <= 1
    assert 0 < found.effective <= found.of == sum(of for _, of in counts)


def test_intervals_hold_the_truth() -> None:
    """Calibration: over 2,000 simulated measurements the 95 % interval holds the truth in at least 95 %.

    30 tasks of different difficulty, three repetitions each; the truth is the mean over the population of tasks.
    """
    chance = random.Random(20260901)  # noqa: S311 (a simulation)
    runs, held = 2000, 0
    for _ in range(runs):
        ability = chance.choice([0.3, 0.6, 0.85])
        spread = chance.choice([2.0, 8.0])
        tasks = [chance.betavariate(ability * spread, (1 - ability) * spread) for _ in range(30)]
        counts = [(sum(chance.random() < share for _ in range(3)), 3) for share in tasks]
        found = clustered(counts)
        held += found.low <= ability <= found.high
    assert held / runs >= 0.94


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(0, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (8, 2, 0.109375), (10, 10, 1.0)],
)
def test_the_sign_test_is_exact(wins: int, losses: int, p: float) -> None:
    """By hand from the binomial."""
    assert sign_test(wins, losses) == pytest.approx(p)
    assert sign_test(losses, wins) == pytest.approx(p)


def test_holm_by_hand() -> None:
    """Step down: 3 × the smallest, 2 × the next, never falling."""
    found = holm({("a", "b"): 0.01, ("a", "c"): 0.04, ("b", "c"): 0.03})
    assert found == pytest.approx({("a", "b"): 0.03, ("b", "c"): 0.06, ("a", "c"): 0.06})


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("efgh")),
        st.floats(0, 1),
        max_size=8,
    )
)
def test_a_correction_never_lowers(values: dict[tuple[str, str], float]) -> None:
    """Corrected p values keep their order and stay probabilities."""
    found = holm(values)
    assert all(values[pair] <= found[pair] <= 1 for pair in values)
    ordered: Sequence[tuple[str, str]] = sorted(values, key=lambda pair: values[pair])
    assert [found[pair] for pair in ordered] == sorted(found[pair] for pair in ordered)


def test_equal_candidates_are_rarely_told_apart() -> None:
    """Two candidates of one ability: "not told apart" in at least 93 % of 2,000 simulated comparisons."""
    chance = random.Random(20260901)  # noqa: S311 (a simulation)
    runs, told = 2000, 0
    for _ in range(runs):
        tasks = [chance.betavariate(2, 1) for _ in range(30)]
        first, second = ([sum(chance.random() < share for _ in range(3)) for share in tasks] for _ in range(2))
        wins = sum(a > b for a, b in zip(first, second, strict=True))
        losses = sum(a < b for a, b in zip(first, second, strict=True))
        told += sign_test(wins, losses) < 0.05
    assert told / runs <= 0.07


@pytest.mark.parametrize(
    ("wins", "losses", "of", "needed"),
    [(0, 0, 30, None), (5, 5, 30, None), (10, 5, 100, 469), (30, 5, 100, 42)],
)
def test_how_many_pairs_would_tell(wins: int, losses: int, of: int, needed: int | None) -> None:
    """Miettinen's formula for 80 % power."""
    assert pairs_needed(wins, losses, of) == needed
