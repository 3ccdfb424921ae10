"""One that is not running is passed over: after its key, capability and window, before the cooldown board."""

from __future__ import annotations

import pytest

from tests.reliability.walks import LIMIT, OVERFLOW, SERVER, Sim, chain_policy, entries, graph_policy
from zc_notebooks.reliability.steps import Ended

AWAY = {"box": "Box is not running"}


def test_passed_over() -> None:
    """A skip with its own status, no attempt and no waiting."""
    sim = Sim(entries("box/m", "b/m"), {}, absent=AWAY)
    assert sim.run() == Ended(kind="answered", variant=sim.variants[1])
    assert sim.skips == [("box/m", "skipped_not_running")]
    assert (sim.calls, sim.waits, sim.hops) == (["b/m"], [], [])


@pytest.mark.parametrize(
    ("candidate", "options", "status"),
    [
        ("box/m", {"borders": {"box": "skipped_tier"}}, "skipped_tier"),
        ("box/m#-", {}, "skipped_no_key"),
        ("box/m", {"lacking": {"box": "no vision"}}, "skipped_capability"),
    ],
)
def test_what_is_said_instead(candidate: str, options: dict[str, dict[str, str]], status: str) -> None:
    """The first check that fails is the one that is told."""
    sim = Sim(entries(candidate, "b/m"), {}, absent=AWAY, **options)  # type: ignore[arg-type]
    sim.run()
    assert sim.skips == [("box/m", status)]


def test_before_the_cooldown_board() -> None:
    """A mark on it does not matter, and the walk waits for nobody's probe of it."""
    sim = Sim(entries("box/m", "b/m"), {}, absent=AWAY)
    sim.mark("box", seconds=60.0)
    sim.run()
    assert sim.skips == [("box/m", "skipped_not_running")]


def test_after_the_window() -> None:
    """After an overflow its small window is what is told."""
    variants = entries("a/m", "box/m", "c/m", windows={"a/m": 8000, "box/m": 4096, "c/m": 128_000})
    sim = Sim(variants, {"a": [OVERFLOW]}, absent=AWAY)
    sim.run()
    assert sim.skips == [("box/m", "skipped_window")]
    assert sim.calls == ["a/m", "c/m"]


def test_it_is_not_another_available_entry() -> None:
    """A limited entry with nothing running after it is waited for, as if it stood alone."""
    sim = Sim(entries("a/m", "box/m"), {"a": [LIMIT, SERVER, LIMIT]}, absent=AWAY)
    sim.run(graph_policy())
    assert sim.calls == ["a/m", "a/m", "a/m"]
    assert sim.skips == [("box/m", "skipped_not_running")]
    with_it = Sim(entries("a/m", "box/m"), {"a": [LIMIT]})
    with_it.run(graph_policy())
    assert with_it.calls == ["a/m", "box/m"]


def test_nothing_runs() -> None:
    """A chain of sleepers is exhausted at once, with a skip for each."""
    sim = Sim(entries("box/m", "b/m"), {}, absent=AWAY | {"b": "B is not running"})
    assert sim.run(chain_policy()) == Ended(kind="exhausted")
    assert [status for _, status in sim.skips] == ["skipped_not_running"] * 2
    assert (sim.calls, sim.waits) == ([], [])
