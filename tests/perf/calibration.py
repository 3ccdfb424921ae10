"""``python -m tests.perf calibration``: how often a stated interval holds the truth, over 500 simulated measurements.

Each is the chain's own walk on a scripted transport and a manual clock: 30 tasks of different difficulty, two
repetitions, three candidates, two of them equal in truth, one of the equals reached in half of its calls.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.simulated import World, simulated
from tests.bench.test_calibration import ABILITIES, REACHED

RUNS = 500


def run(arguments: list[str]) -> int:
    """Prints the table; with ``--check`` a missed target is a failure."""
    runs = next((int(word) for word in arguments if word.isdigit()), RUNS)
    held = dict.fromkeys(ABILITIES, 0)
    apart = ranked = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(runs):
            world = World(ABILITIES, REACHED, seed)
            figures = simulated(world, ABILITIES, Path(folder))
            for name in ABILITIES:
                accuracy = figures.candidate(f"custom.{name}/m").accuracy
                held[name] += accuracy.low <= world.truth(name) <= accuracy.high
            apart += figures.pair("custom.a/m", "custom.b/m").told in ("better", "worse")
            ranked += all(figures.pair(f"custom.{name}/m", "custom.c/m").told == "better" for name in "ab")
    for name, count in held.items():
        who = f"{name} (truth {ABILITIES[name]:.0%}, reached {REACHED[name]:.0%})"
        print(f"{who}: its interval holds the truth in {count / runs:.1%}")
    print(f"two equals called not told apart: {1 - apart / runs:.1%} (at least 93 %)")
    print(f"the true ranking recovered: {ranked / runs:.1%}")
    missed = min(held.values()) / runs < 0.93 or apart / runs > 0.07
    return int(missed and "--check" in arguments)
