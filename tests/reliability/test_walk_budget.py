"""A walk that is refused money right before an attempt: a skip, never a hop, never a request (spec 2.7, 5.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reliability.walks import (
    AUTH,
    LIMIT,
    NETWORK,
    OVERFLOW,
    SERVER,
    Resume,
    Sim,
    chain_policy,
    entries,
    graph_policy,
    v,
)

CHAIN, GRAPH = chain_policy(), graph_policy()
AFFORDS = v("balance", status=402, scope="credential", affordable_tokens=300)

ROWS: list[tuple[str, Any, dict[str, Any], dict[str, list[bool]], list[str], list[str], str]] = [
    # what happens, policy, script, unpaid (one item per attempt), calls, skips, end
    ("the first is skipped, the second serves", CHAIN, {}, {"a": [True]}, ["b/m"], ["a/m"], "answered"),
    ("nothing can be paid", CHAIN, {}, {"a": [True], "b": [True]}, [], ["a/m", "b/m"], "no_permitted"),
    ("a retry cannot be paid", CHAIN, {"a": [SERVER]}, {"a": [False, True]}, ["a/m", "b/m"], ["a/m"], "answered"),
    (
        "the last retry cannot be paid",
        CHAIN,
        {"a": [SERVER]},
        {"a": [False, False, True]},
        ["a/m", "a/m", "b/m"],
        ["a/m"],
        "answered",
    ),
    (
        "a call was made, so the chain is exhausted",
        CHAIN,
        {"a": [AUTH]},
        {"b": [True]},
        ["a/m"],
        ["b/m"],
        "exhausted",
    ),
    ("a 402's lower limit", CHAIN, {"a": [AFFORDS]}, {"a": [False, True]}, ["a/m", "b/m"], ["a/m"], "answered"),
    (
        "a shortened history",
        chain_policy(overflow="truncate"),
        {"a": [OVERFLOW]},
        {"a": [False, True]},
        ["a/m", "b/m"],
        ["a/m"],
        "answered",
    ),
    ("under the graph's policy", GRAPH, {"a": [NETWORK]}, {"a": [False, True]}, ["a/m", "b/m"], ["a/m"], "answered"),
]


@pytest.mark.parametrize(
    ("policy", "script", "unpaid", "calls", "skips", "end"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_what_cannot_be_paid_is_a_skip(
    policy: Any, script: Any, unpaid: Any, calls: list[str], skips: list[str], end: str
) -> None:
    """One row for each candidate passed over, whatever was tried before."""
    sim = Sim(entries("a/m", "b/m"), script, unpaid=unpaid)
    assert sim.run(policy).kind == end
    assert sim.calls == calls
    assert sim.skips == [(name, "skipped_budget") for name in skips]


def test_a_skip_for_money_is_no_hop() -> None:
    """The hop goes from the one that failed to the next that is really asked."""
    sim = Sim(entries("a/m", "b/m", "c/m"), {"a": [AUTH]}, unpaid={"b": [True]})
    sim.run(CHAIN)
    assert sim.hops == [("a/m", "c/m", "auth")]
    alone = Sim(entries("a/m", "b/m"), {"a": [AUTH]}, unpaid={"b": [True]})
    alone.run(CHAIN)
    assert alone.hops == []


def test_a_limit_met_before_the_money_ran_out_writes_its_mark() -> None:
    """The walk leaves the variant because of the limit as much as for the money."""
    sim = Sim(entries("a/m", "b/m"), {"a": [LIMIT]}, unpaid={"a": [False, True]})
    sim.run(CHAIN)
    assert sim.marked == [("a/m", "minute_limit")]
    fresh = Sim(entries("a/m", "b/m"), {}, unpaid={"a": [True]})
    fresh.run(CHAIN)
    assert fresh.marked == []


def test_a_border_in_the_way_of_a_retry_is_seen_before_its_wait() -> None:
    """Nobody sleeps for an attempt that will not be made, and a mark is written all the same."""

    class Spent(Sim):
        def border(self, variant: Any) -> str | None:
            return "skipped_budget" if self.calls and variant.ref == "a" else None

    sim = Spent(entries("a/m", "b/m"), {"a": [LIMIT]})
    assert sim.run(CHAIN).kind == "answered"
    assert (sim.waits, sim.calls, sim.skips) == ([], ["a/m", "b/m"], [("a/m", "skipped_budget")])
    assert sim.marked == [("a/m", "minute_limit")]


def test_the_next_credential_is_looked_at_too() -> None:
    """Both variants of an entry make their rows."""
    sim = Sim(entries("a/m#k1,k2", "b/m"), {}, unpaid={"a": [True]})
    assert sim.run(CHAIN).kind == "answered"
    assert sim.skips == [("a/m", "skipped_budget"), ("a/m#k2", "skipped_budget")]


def test_a_probe_that_cannot_be_paid_gives_its_lease_back() -> None:
    """Another caller may probe at once; so in the last resort when everything is cooling."""
    sim = Sim(entries("a/m", "b/m"), {}, unpaid={"a": [True]})
    sim.mark("a", seconds=-1)
    assert sim.run(CHAIN).kind == "answered"
    assert (sim.calls, sim.leases) == (["b/m"], [("a/m", False)])
    cooling = Sim(entries("a/m", "b/m"), {}, unpaid={"a": [True]})
    cooling.mark("a", seconds=60, provenance="guessed")
    cooling.mark("b", seconds=60, provenance="guessed")
    assert cooling.run(CHAIN).kind == "answered"
    assert (cooling.calls, cooling.leases) == (["b/m"], [("a/m", False), ("b/m", True)])


def test_a_recovery_without_money_is_exhausted_not_unpermitted() -> None:
    """The stream before it was a call."""
    variants = entries("a/m", "b/m")
    sim = Sim(variants, {}, borders={"a": "skipped_budget", "b": "skipped_budget"})
    ended = sim.run(CHAIN, Resume(variant=variants[0], verdict=v("stream_cut", status=200)))
    assert (ended.kind, sim.calls) == ("exhausted", [])
    assert sim.skips == [("a/m", "skipped_budget"), ("b/m", "skipped_budget")]


def test_an_unpaid_candidate_is_not_another_one() -> None:
    """Under ``cooldown_and_advance`` a limit waits when the only other candidate cannot be paid for."""
    sim = Sim(entries("a/m", "b/m"), {"a": [LIMIT, v("server_error")]}, borders={"b": "skipped_budget"})
    sim.run(graph_policy(provider_retries=1))
    assert (sim.calls, len(sim.waits)) == (["a/m", "a/m"], 1)
