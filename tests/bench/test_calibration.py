"""Whether the stated confidence is the real one. The full table of 500 runs: ``python -m tests.perf calibration``."""

from __future__ import annotations

from pathlib import Path

from tests.bench.simulated import World, simulated

ABILITIES = {"a": 0.75, "b": 0.75, "c": 0.35}
REACHED = {"a": 1.0, "b": 0.5, "c": 1.0}


def test_the_truth_lies_in_the_intervals(tmp_path: Path) -> None:
    """In 25 runs of the walk with different seeds: intervals hold the truth, equals are not told apart, others are."""
    runs, held, told, found = 25, 0, 0, 0
    for seed in range(runs):
        world = World(ABILITIES, REACHED, seed)
        figures = simulated(world, ABILITIES, tmp_path)
        for name in ABILITIES:
            accuracy = figures.candidate(f"custom.{name}/m").accuracy
            held += accuracy.low <= world.truth(name) <= accuracy.high
        told += figures.pair("custom.a/m", "custom.b/m").told in ("better", "worse")
        found += figures.pair("custom.a/m", "custom.c/m").told == "better"
    assert held >= 0.9 * runs * len(ABILITIES)
    assert told <= 3
    assert found >= 0.9 * runs
