"""The replay's prediction against really running the other order in the same scenario, from the same seed.

Each row of :data:`TRIALS` runs a workload on the lab through one order, replays its rows with another, then really runs
that other one. The bounds must cover the truth in every measure; the estimate must lie within the tolerance that stands
in the row. Measured on 2026-12-01 (availability off in percentage points, predicted and true hops, cost off, share of
attempts that were observed):

=============================  =====  ============  ============  ======  ========
scenario                       calls  availability  hops          cost    observed
=============================  =====  ============  ============  ======  ========
free tiers, another order        540  0.0           27 of 27      0 %     38 %
free tiers, fewer candidates     720  0.0           15 of 15      0 %     28 %
minute limits in bursts          480  0.0           0 of 0        0.2 %   84 %
two keys, the paid one first     120  0.0           0 of 0        0.7 %   23 %
outages, the last one first      576  +1.0          38 of 120     +3 %    18 %
outages, without the last        576  +1.6          57 of 126     +15 %   29 %
failures by chance               288  0.0           101 of 109    -8 %    58 %
=============================  =====  ============  ============  ======  ========

Quotas are predicted to the call, because their counters can be learned from the rows. Outages of a candidate that
nobody asked at the time leave no trace: the estimate misses most hops they would have cost, and only the bounds know of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import pytest

from tests.bench.labs import OUTAGES, Ran, bursts, hours, run
from zc_notebooks.bench.replay import Figures, Replay
from zc_notebooks.lab.scenario import Scenario, load_scenario, parse_scenario


class Trial(NamedTuple):
    """A workload, two orders, and how far the estimate may be off."""

    scenario: str
    gaps_s: Sequence[float]
    order: Sequence[str]
    other: Sequence[str]
    availability: float
    """At most, absolute."""
    cost: float
    """At most, relative."""
    hops: float | None
    """At most, relative; ``None``: the bounds alone."""


FREE = ("google", "cloudflare", "openrouter", "sambanova", "ollama", "deepseek")
TRIALS = {
    "free tiers, another order": Trial(
        "free_tiers",
        hours(36, 240),
        FREE,
        ("ollama", "sambanova", "cloudflare", "google", "openrouter", "deepseek"),
        0.005,
        0.02,
        0.05,
    ),
    "free tiers, fewer candidates": Trial(
        "free_tiers", hours(48, 240), FREE, ("ollama", "sambanova", "cloudflare", "google"), 0.005, 0.02, 0.05
    ),
    "minute limits in bursts": Trial(
        "free_tiers",
        bursts(40, 12, 1800, 3.0),
        ("cerebras", "moonshot", "deepseek"),
        ("moonshot", "cerebras"),
        0.005,
        0.02,
        0.05,
    ),
    "two keys, the paid one first": Trial(
        "keys", hours(30, 900), ("google", "deepseek"), ("deepseek", "google"), 0.005, 0.02, 0.05
    ),
    "outages, the last one first": Trial(
        "outages", hours(48, 300), ("first", "second", "third"), ("third", "first", "second"), 0.03, 0.2, None
    ),
    "outages, without the last": Trial(
        "outages", hours(48, 300), ("first", "second", "third"), ("second", "first"), 0.03, 0.2, None
    ),
    "failures by chance": Trial("guide", hours(24, 300), ("b", "d", "a", "e"), ("a", "d", "b", "e"), 0.02, 0.2, 0.25),
}


def scenario(name: str) -> Scenario:
    """A shipped one, or the one with outages."""
    return parse_scenario(OUTAGES) if name == "outages" else load_scenario(name)


Runs = Callable[[str, Sequence[float], Sequence[str]], Ran]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs a workload through an order; the same one once, however many tests ask about it."""

    @cache
    def once(name: str, gaps_s: tuple[float, ...], order: tuple[str, ...]) -> Ran:
        return run(scenario(name), tmp_path_factory.mktemp("ran"), gaps_s=gaps_s, order=order)

    return lambda name, gaps_s, order: once(name, tuple(gaps_s), tuple(order))


def names(spec: Scenario, order: Sequence[str]) -> list[str]:
    """The order as a chain of refs and models."""
    found = [spec.provider(name) for name in order]
    return [f"{one.ref}/{one.models[0].id}" for one in found]


def assert_bounds_cover(found: Replay, truth: Figures) -> None:
    """Every measure of what happened lies within the bounds."""
    bounds = found.bounds
    for measure in ("availability", "answered", "attempts", "hops", "waited_s"):
        low, high = getattr(bounds, measure)
        assert low <= getattr(truth, measure) <= high, f"{measure}: {getattr(truth, measure)} not in {low}..{high}"
    low, high = bounds.cost_usd
    cost = float(truth.cost_usd or 0)
    slack = 0.02 * cost  # prompts differ by a token or two
    assert float(low or 0) <= cost + slack
    assert high is None or cost - slack <= float(high)


@pytest.mark.parametrize("name", TRIALS)
def test_the_prediction_against_the_other_order_really_run(name: str, runs: Runs) -> None:
    """The estimate lies within the stated tolerance of the truth, the bounds cover it, and the coverage adds up."""
    trial = TRIALS[name]
    spec = scenario(trial.scenario)
    first = runs(trial.scenario, trial.gaps_s, trial.order)
    found = first.predict(names(spec, trial.other))
    truth = runs(trial.scenario, trial.gaps_s, trial.other).figures
    estimate, coverage = found.would_have, found.coverage
    cost, true_cost = float(estimate.cost_usd or 0), float(truth.cost_usd or 0)
    off = f"availability {estimate.availability - truth.availability:+.4f}, hops {estimate.hops}/{truth.hops}, "
    print(f"{name}: {off}cost {cost:.6f}/{true_cost:.6f}, observed {coverage.share('observed'):.0%}")
    assert abs(estimate.availability - truth.availability) <= trial.availability
    assert cost == pytest.approx(true_cost, rel=trial.cost)
    if trial.hops is not None:
        assert estimate.hops == pytest.approx(truth.hops, rel=trial.hops)
    assert_bounds_cover(found, truth)
    assert coverage.observed + coverage.interpolated + coverage.unknown == coverage.attempts == estimate.attempts


@pytest.mark.parametrize("name", ["free tiers, another order", "failures by chance", "outages, the last one first"])
def test_the_same_order_is_what_happened(name: str, runs: Runs) -> None:
    """With nothing changed the replay gives back who served, what it cost, and every hop and wait; all observed."""
    trial = TRIALS[name]
    spec = scenario(trial.scenario)
    first = runs(trial.scenario, trial.gaps_s, trial.order)
    found = first.predict(names(spec, trial.order))
    assert [call.would_have_served for call in found.calls] == [call.served for call in found.calls]
    really, would = found.really, found.would_have
    assert (would.cost_usd, would.attempts, would.hops) == (really.cost_usd, really.attempts, really.hops)
    assert would.waited_s == pytest.approx(really.waited_s)
    assert found.coverage.share("observed") == 1.0


def test_nobody_knows_whom_nobody_asked(runs: Runs) -> None:
    """A free candidate that was never asked: the bounds run from nothing to everything and cover the truth."""
    gaps = hours(20, 900)
    first = runs("keys", gaps, ("deepseek", "google"))
    found = first.predict(names(load_scenario("keys"), ("google",)))
    truth = runs("keys", gaps, ("google",)).figures
    assert found.coverage.share("unknown") == 1.0
    assert found.would_have.answered == 0
    assert found.bounds.availability == (0.0, 1.0)
    assert 0 < truth.availability < 1
