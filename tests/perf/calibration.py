"""``python -m tests.perf calibration``: how often what a measurement states is true, over 500 simulated ones.

Each is the chain's own walk on a scripted transport and a manual clock: tasks of different difficulty, three
repetitions, three candidates, two of them equal in truth, one of the equals reached in half of its calls.

Then the lab's own fleet ``bench`` with 20 seeds, by the tasks that are shipped.

*Stated confidence* is 95 %: an interval holds the truth, and all claims "A is better than B" of a measurement are true,
in 95 of 100 measurements, however small they are. The whole true ranking needs tasks enough to see it: ``ENOUGH``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.lab_ranking import TRUTHS, measured
from tests.bench.simulated import REPS, TASKS, World, claims, simulated
from tests.bench.test_calibration import ABILITIES, ENOUGH, REACHED
from zc_notebooks.bench.statistics import Statistics

RUNS, LABS = 500, 20
HELD, APART, FALSE, RANKED = 0.93, 0.93, 0.05, 0.95
"""Least share of intervals that hold the truth and of equals not told apart; most runs with a false claim; least share
of runs that recover the ranking."""


def run(arguments: list[str]) -> int:
    """Prints the table; with ``--check`` a missed target is a failure."""
    runs = next((int(word) for word in arguments if word.isdigit()), RUNS)
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for tasks in (TASKS, ENOUGH):
            worlds = [World(ABILITIES, REACHED, seed, tasks) for seed in range(runs)]
            missed |= _table([(world, simulated(world, ABILITIES, Path(folder))) for world in worlds], tasks)
        missed |= _lab(min(LABS, runs), Path(folder))
    return int(missed and "--check" in arguments)


def _table(made: list[tuple[World, Statistics]], tasks: int) -> bool:
    """Prints one size; whether it misses a target."""
    print(f"{tasks} tasks, {REPS} repetitions, {len(made)} measurements")
    runs, held = len(made), dict.fromkeys(ABILITIES, 0)
    for world, figures in made:
        for name in ABILITIES:
            accuracy = figures.candidate(f"custom.{name}/m").accuracy
            held[name] += accuracy.low <= world.truth(name) <= accuracy.high
    for name, count in held.items():
        who = f"{name} (truth {ABILITIES[name]:.0%}, reached {REACHED[name]:.0%})"
        print(f"  {who}: its interval holds the truth in {count / runs:.1%} (at least {HELD:.0%})")
    said = [claims(figures, world.truths) for world, figures in made]
    apart = sum(f.pair("custom.a/m", "custom.b/m").told in ("better", "worse") for _, f in made) / runs
    false, ranked = sum(bool(one.false) for one in said) / runs, sum(one.whole for one in said) / runs
    print(f"  two equals called not told apart: {1 - apart:.1%} (at least {APART:.0%})")
    print(f"  measurements with a false claim that one is better: {false:.1%} (at most {FALSE:.0%})")
    wanted = f"at least {RANKED:.0%}" if tasks >= ENOUGH else "too few tasks to see it always"
    print(f"  the whole true ranking recovered: {ranked:.1%} ({wanted})")
    low = min(held.values()) / runs < HELD or 1 - apart < APART
    return low or false > FALSE or (tasks >= ENOUGH and ranked < RANKED)


def _lab(runs: int, folder: Path) -> bool:
    """Prints what comes out of the lab; whether it misses a target."""
    found = [measured(seed, folder) for seed in range(runs)]
    said = [claims(one.figures, TRUTHS) for one in found]
    false = sum(bool(one.false) for one in said)
    pairs = sum(one.told for one in said) / sum(one.told + one.missed for one in said)
    order = sum([place.candidate for place in one.order.places] == list(TRUTHS) for one in found)
    print(f"the lab's fleet with {runs} seeds")
    print(f"  measurements with a false claim that one is better: {false}")
    print(f"  pairs that differ told apart: {pairs:.0%}; the proposed chain is the true ranking in {order} of {runs}")
    return false > FALSE * runs or order < RANKED * runs
