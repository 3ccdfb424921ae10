"""The walk, stepped without clock, network or sleep. Numbers are the behaviours of the routing specification."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reliability.walks import (
    AUTH,
    BALANCE,
    CUT,
    DAILY,
    EMPTY,
    LIMIT,
    NETWORK,
    NOT_FOUND,
    OK,
    OVERFLOW,
    SERVER,
    OutOfTime,
    Resume,
    Sim,
    chain_policy,
    entries,
    graph_policy,
    v,
)
from zc_notebooks.records import Verdict

CHAIN = chain_policy()
GRAPH = graph_policy()
MODEL_LIMIT = v("minute_limit", status=429, scope="model")
CAPACITY_429 = v("capacity", status=429, scope="model")


def wait(seconds: float, **fields: Any) -> Verdict:
    """A limit that states its wait."""
    return v("minute_limit", status=429, stated_wait_s=seconds, **fields)


ROWS: list[tuple[str, Any, dict[str, Any], list[str], list[float], str]] = [
    # behaviour, policy, script, calls, waits, end
    ("39 success is one call", CHAIN, {}, ["a/m"], [], "answered"),
    ("40 one failure then success", CHAIN, {"a": [SERVER, OK]}, ["a/m"] * 2, [0.5], "answered"),
    ("41 retries 1", chain_policy(provider_retries=1), {"a": [SERVER]}, ["a/m", "a/m", "b/m"], [0.5], "answered"),
    ("42 auth never waits", chain_policy(provider_retries=5), {"a": [AUTH]}, ["a/m", "b/m"], [], "answered"),
    ("43 balance never waits, chain", CHAIN, {"a": [BALANCE]}, ["a/m", "b/m"], [], "answered"),
    ("43 balance never waits, graph", GRAPH, {"a": [BALANCE]}, ["a/m", "b/m"], [], "answered"),
    (
        "46 a tool-schema failure is retried",
        CHAIN,
        {"a": [v("bad_request", code="tool_schema", status=400), OK]},
        ["a/m"] * 2,
        [0.5],
        "answered",
    ),
    ("46 any other 400 is not", CHAIN, {"a": [v("bad_request", status=400)]}, ["a/m", "b/m"], [], "answered"),
    ("56 graph advances on a limit", GRAPH, {"a": [LIMIT]}, ["a/m", "b/m"], [], "answered"),
    ("60 chain retries a limit", CHAIN, {"a": [LIMIT]}, ["a/m"] * 3 + ["b/m"], [0.5, 1.0], "answered"),
    ("61 a lost connection", CHAIN, {"a": [NETWORK, NETWORK, OK]}, ["a/m"] * 3, [0.5, 1.0], "answered"),
    ("62 a day's quota", CHAIN, {"a": [DAILY]}, ["a/m", "b/m"], [], "answered"),
    (
        "64 the backoff doubles to its cap",
        chain_policy(provider_retries=6),
        {"a": [SERVER]},
        ["a/m"] * 7 + ["b/m"],
        [0.5, 1, 2, 4, 8, 10],
        "answered",
    ),
    (
        "65 base at least 50 ms",
        chain_policy(provider_backoff_ms=1),
        {"a": [SERVER, OK]},
        ["a/m"] * 2,
        [0.05],
        "answered",
    ),
    (
        "65 base at most the cap",
        chain_policy(provider_backoff_ms=20000),
        {"a": [LIMIT, OK]},
        ["a/m"] * 2,
        [10],
        "answered",
    ),
    (
        "67 the next entry starts anew",
        CHAIN,
        {"a": [SERVER], "b": [SERVER, OK]},
        ["a/m"] * 3 + ["b/m"] * 2,
        [0.5, 1, 0.5],
        "answered",
    ),
    ("70 the stated wait is longer", CHAIN, {"a": [wait(3), OK]}, ["a/m"] * 2, [3], "answered"),
    ("70 stated zero: the backoff", CHAIN, {"a": [wait(0), OK]}, ["a/m"] * 2, [0.5], "answered"),
    ("71 a stated 60 s is slept", CHAIN, {"a": [wait(60), OK]}, ["a/m"] * 2, [60], "answered"),
    ("71 61 s is not", CHAIN, {"a": [wait(61)]}, ["a/m", "b/m"], [], "answered"),
    ("72 1e308 is not slept", CHAIN, {"a": [wait(1e308)]}, ["a/m", "b/m"], [], "answered"),
    ("capacity as 429 is a limit", GRAPH, {"a": [CAPACITY_429]}, ["a/m", "b/m"], [], "answered"),
    (
        "a transient failure with a long wait",
        CHAIN,
        {"a": [v("capacity", status=503, stated_wait_s=99.0)]},
        ["a/m", "b/m"],
        [],
        "answered",
    ),
    ("77 empties spend the budget", CHAIN, {"a": [EMPTY]}, ["a/m"] * 3 + ["b/m"], [0.5, 1], "answered"),
    ("all fail", chain_policy(provider_retries=0), {"a": [SERVER], "b": [BALANCE]}, ["a/m", "b/m"], [], "exhausted"),
    ("88 the deadline strikes in an attempt", CHAIN, {"a": [OutOfTime()]}, ["a/m"], [], "timeout"),
]


@pytest.mark.parametrize(("name", "policy", "script", "calls", "waits", "end"), ROWS, ids=[row[0] for row in ROWS])
def test_two_entries(
    name: str, policy: Any, script: dict[str, Any], calls: list[str], waits: list[float], end: str
) -> None:
    """Two candidates of two pools: who is called, what is waited, how it ends."""
    sim = Sim(entries("a/m", "b/m"), script)
    assert sim.run(policy).kind == end, name
    assert (sim.calls, sim.waits) == (calls, waits)


def test_71_a_single_entry_with_a_long_wait_fails_at_once() -> None:
    """Behaviour 71: 61 s and nobody else."""
    sim = Sim(entries("a/m"), {"a": [wait(61)]})
    assert sim.run(CHAIN).kind == "exhausted"
    assert (sim.calls, sim.waits) == (["a/m"], [])


def test_66_jitter_only_lengthens() -> None:
    """Behaviour 66: r = 0.5 and jitter 0.10."""
    first = Sim(entries("a/m"), {"a": [SERVER, OK]}, random=0.5)
    first.run(CHAIN)
    stated = Sim(entries("a/m"), {"a": [wait(3), OK]}, random=0.5)
    stated.run(CHAIN)
    assert (first.waits, stated.waits) == ([0.525], [pytest.approx(3.15)])


def test_74_a_wait_beyond_the_deadline_is_not_slept() -> None:
    """Behaviour 74: the next entry is tried instead."""
    sim = Sim(entries("a/m", "b/m"), {"a": [wait(30)]}, deadline_s=20)
    sim.run(CHAIN)
    assert (sim.calls, sim.waits) == (["a/m", "b/m"], [])


def test_57_a_single_entry_is_retried_under_the_graph_policy() -> None:
    """Behaviour 57: nobody else, so wait and retry."""
    sim = Sim(entries("a/m"), {"a": [LIMIT, OK]})
    assert sim.run(GRAPH).kind == "answered"
    assert (sim.waits, sim.marked) == ([0.5], [])


@pytest.mark.parametrize(
    ("verdict", "calls"),
    [(LIMIT, ["a/m1"] * 3), (MODEL_LIMIT, ["a/m1", "a/m2"])],
    ids=["58 unscoped benches the sibling", "59 model-scoped does not"],
)
def test_models_of_one_profile(verdict: Verdict, calls: list[str]) -> None:
    """Behaviours 58 and 59: a sibling model counts only when the limit does not bind it too."""
    sim = Sim(entries("a/m1", "a/m2"), {"a/m1": [verdict]})
    sim.run(GRAPH)
    assert sim.calls == calls


def test_35_a_chain_ref_is_tried_twice_only_after_a_model_scoped_failure() -> None:
    """Behaviour 35."""
    lost = Sim(entries("a/m1", "a/m2", "b/m"), {"a/m1": [NETWORK]})
    lost.run(chain_policy(provider_retries=0))
    gone = Sim(entries("a/m1", "a/m2", "b/m"), {"a/m1": [NOT_FOUND]})
    gone.run(CHAIN)
    assert (lost.calls, lost.skips) == (["a/m1", "b/m"], [("a/m2", "skipped_already_tried")])
    assert gone.calls == ["a/m1", "a/m2"]


def test_42_a_sibling_with_the_refused_credential_is_skipped() -> None:
    """Behaviour 42: the same pool and key would be refused again."""
    sim = Sim(entries("a/m1", "a/m2", "b/m"), {"a": [AUTH]})
    sim.run(GRAPH)
    assert (sim.calls, sim.skips) == (["a/m1", "b/m"], [("a/m2", "skipped_same_credential")])


def test_34_a_candidate_without_a_key_is_skipped() -> None:
    """Behaviour 34."""
    sim = Sim(entries("a/m#-", "b/m"), {})
    assert sim.run(CHAIN).kind == "answered"
    assert (sim.calls, sim.skips, sim.hops) == (["b/m"], [("a/m", "skipped_no_key")], [])


def test_54_each_hop_names_the_failed_entry_and_its_own_reason() -> None:
    """Behaviour 54: three failures, then the fourth answers."""
    failing = {name: [v("balance", status=402, text=f"{name} has no money")] for name in "abc"}
    sim = Sim(entries("a/m", "b/m", "c/m", "d/m"), failing)
    sim.run(CHAIN)
    assert sim.hops == [
        ("a/m", "b/m", "a has no money"),
        ("b/m", "c/m", "b has no money"),
        ("c/m", "d/m", "c has no money"),
    ]


def test_55_a_skip_is_no_hop() -> None:
    """Behaviour 55: A fails, B has no key, C succeeds: one hop A to C."""
    sim = Sim(entries("a/m", "b/m#-", "c/m"), {"a": [BALANCE]})
    sim.run(CHAIN)
    assert (sim.hops, sim.skips) == ([("a/m", "c/m", "balance")], [("b/m", "skipped_no_key")])


def test_fifty_dead_candidates_are_fifty_hops_without_a_wait() -> None:
    """A long chain is cheap."""
    names = [f"p{number}/m" for number in range(51)]
    sim = Sim(entries(*names), {f"p{number}": [BALANCE] for number in range(50)})
    assert sim.run(CHAIN).kind == "answered"
    assert [hop[0] for hop in sim.hops] == names[:50]
    assert (sim.calls, sim.waits) == (names, [])


def test_63_the_mark_is_written_when_the_walk_leaves() -> None:
    """Behaviour 63: while a limit is still retried nobody sees a mark."""
    sim = Sim(entries("a/m", "b/m"), {"a": [LIMIT, LIMIT, OK]})
    sim.run(CHAIN)
    assert sim.marked == []
    left = Sim(entries("a/m", "b/m"), {"a": [LIMIT]})
    left.run(CHAIN)
    assert left.marked == [("a/m", "minute_limit")]


@pytest.mark.parametrize(
    ("verdict", "marked"),
    [
        (DAILY, True),
        (BALANCE, False),
        (v("balance", status=402, stated_wait_s=60.0), True),
        (AUTH, False),
        (NOT_FOUND, False),
        (SERVER, False),
        (v("permission", status=403), False),
    ],
    ids=lambda value: str(getattr(value, "reason", value)),
)
def test_98_which_verdicts_set_marks(verdict: Verdict, marked: bool) -> None:
    """Behaviour 98: periods and stated money do; auth, permission, not found and plain balance do not."""
    sim = Sim(entries("a/m", "b/m"), {"a": [verdict]})
    sim.run(CHAIN)
    assert bool(sim.marked) is marked


# -- borders --------------------------------------------------------------------------------------------------------


def test_157_nothing_outside_a_border_is_called() -> None:
    """Behaviour 157: skips are rows."""
    sim = Sim(entries("a/m", "b/m", "c/m"), {"b": [BALANCE]}, borders={"a": "skipped_allowlist", "c": "skipped_tier"})
    assert sim.run(CHAIN).kind == "exhausted"
    assert (sim.calls, [status for _, status in sim.skips]) == (["b/m"], ["skipped_allowlist", "skipped_tier"])


def test_158_a_border_that_leaves_nothing_ends_with_zero_calls() -> None:
    """Behaviour 158."""
    sim = Sim(entries("a/m", "b/m"), {}, borders={"a": "skipped_tier", "b": "skipped_tier"})
    assert sim.run(CHAIN).kind == "no_permitted"
    assert sim.calls == []


def test_a_missing_capability_is_a_skip() -> None:
    """Check 5 of 5.1."""
    sim = Sim(entries("a/m", "b/m"), {}, lacking={"a": "no vision"})
    sim.run(CHAIN)
    assert (sim.calls, sim.skips) == (["b/m"], [("a/m", "skipped_capability")])


# -- credentials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "calls"),
    [
        (LIMIT, ["a/m", "a/m#k2"]),
        (AUTH, ["a/m", "a/m#k2"]),
        (BALANCE, ["a/m", "a/m#k2"]),
        (NOT_FOUND, ["a/m", "b/m"]),
        (v("permission", status=403, scope="credential"), ["a/m", "a/m#k2"]),
    ],
    ids=lambda value: str(getattr(value, "reason", "")),
)
def test_110_111_the_next_credential(verdict: Verdict, calls: list[str]) -> None:
    """Behaviours 110 and 111: only a verdict that binds to the credential rotates, and without a wait."""
    sim = Sim(entries("a/m#k1,k2", "b/m"), {"a/m#k2": [OK], "a/m": [verdict]})
    sim.run(CHAIN)
    assert (sim.calls, sim.waits) == (calls, [])


def test_110_only_the_limited_credential_is_marked() -> None:
    """Behaviour 110."""
    sim = Sim(entries("a/m#k1,k2", "b/m"), {"a/m#k2": [OK], "a/m": [LIMIT]})
    sim.run(CHAIN)
    assert sim.marked == [("a/m", "minute_limit")]
    assert sim.hops == []


def test_112_a_limit_is_retried_on_the_last_credential_only() -> None:
    """Behaviour 112."""
    sim = Sim(entries("a/m#k1,k2", "b/m"), {"a": [LIMIT]})
    sim.run(CHAIN)
    assert (sim.calls, sim.waits) == (["a/m", "a/m#k2", "a/m#k2", "a/m#k2", "b/m"], [0.5, 1.0])


# -- what a 402 can still afford --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("affordable", "limits"), [(3395, [None, 3395]), (100, [None])], ids=["room for an answer", "too little"]
)
def test_a_402_that_states_what_it_affords(affordable: int, limits: list[int | None]) -> None:
    """One retry of the same candidate with a lower limit, at once, and only when that leaves room."""
    verdict = v("balance", status=402, affordable_tokens=affordable)
    sim = Sim(entries("a/m", "b/m"), {"a": [verdict]})
    sim.run(CHAIN)
    assert [step.max_tokens for step in sim.tries if step.variant.ref == "a"] == limits
    assert (sim.calls[-1], sim.waits) == ("b/m", [])


# -- context overflow -------------------------------------------------------------------------------------------------

WINDOWS = {"a/m": 8000, "b/m": 8000, "c/m": 128000}


def test_80_advance_larger() -> None:
    """Behaviour 80: the equal window is skipped, the larger one called with the full history and no wait."""
    sim = Sim(entries("a/m", "b/m", "c/m", windows=WINDOWS), {"a": [OVERFLOW]})
    assert sim.run(CHAIN).kind == "answered"
    assert (sim.calls, sim.skips, sim.waits) == (["a/m", "c/m"], [("b/m", "skipped_window")], [])
    assert not sim.tries[-1].shortened


@pytest.mark.parametrize("windows", [{"a/m": 8000}, {"a/m": 8000, "b/m": 4000}], ids=["undeclared", "smaller"])
def test_81_no_larger_window(windows: dict[str, int]) -> None:
    """Behaviour 81: one call, and the walk ends as an overflow."""
    sim = Sim(entries("a/m", "b/m", windows=windows), {"a": [OVERFLOW]})
    assert sim.run(CHAIN).kind == "overflow"
    assert sim.calls == ["a/m"]


def test_82_raise() -> None:
    """Behaviour 82."""
    sim = Sim(entries("a/m", "c/m", windows=WINDOWS), {"a": [OVERFLOW]})
    assert sim.run(chain_policy(overflow="raise")).kind == "overflow"
    assert sim.calls == ["a/m"]


def test_83_85_truncate_retries_the_same_entry_at_once() -> None:
    """Behaviours 83 and 85: outside the budget, without a wait."""
    sim = Sim(entries("a/m", "b/m"), {"a": [OVERFLOW, OK]})
    assert sim.run(chain_policy(overflow="truncate", provider_retries=0)).kind == "answered"
    assert ([step.shortened for step in sim.tries], sim.waits, sim.hops) == ([False, True], [], [])


def test_84_nothing_to_drop() -> None:
    """Behaviour 84: the error at once."""
    sim = Sim(entries("a/m", "b/m"), {"a": [OVERFLOW]}, shorten=False)
    assert sim.run(chain_policy(overflow="truncate")).kind == "overflow"
    assert sim.calls == ["a/m"]


def test_86_a_second_overflow_goes_on() -> None:
    """Behaviour 86: a larger window gets the full history, an equal one the shortened."""
    sim = Sim(entries("a/m", "b/m", "c/m", windows=WINDOWS), {"a": [OVERFLOW], "b": [OVERFLOW]})
    assert sim.run(chain_policy(overflow="truncate")).kind == "answered"
    assert [(step.variant.ref, step.shortened) for step in sim.tries] == [
        ("a", False),
        ("a", True),
        ("b", True),
        ("c", False),
    ]


# -- cooldowns --------------------------------------------------------------------------------------------------------


def test_95_a_live_mark_is_skipped() -> None:
    """Behaviours 56 and 95."""
    sim = Sim(entries("a/m", "b/m"), {})
    sim.mark("a/m", seconds=60)
    sim.run(CHAIN)
    assert (sim.calls, sim.skips) == (["b/m"], [("a/m", "skipped_cooldown")])


def test_38_fallback_off_disregards_marks() -> None:
    """Behaviour 38: a live mark does not block the start."""
    sim = Sim(entries("a/m"), {"a": [BALANCE]})
    sim.mark("a/m", seconds=60)
    sim.run(chain_policy(ignore_cooldown=True))
    assert sim.calls == ["a/m"]


def test_106_all_stated_marks_make_no_call() -> None:
    """Behaviour 106."""
    sim = Sim(entries("a/m", "b/m"), {})
    sim.mark("a/m", seconds=60)
    sim.mark("b/m", seconds=30, provenance="inferred")
    assert sim.run(CHAIN).kind == "exhausted"
    assert sim.calls == []


@pytest.mark.parametrize("outcome", [OK, SERVER, LIMIT], ids=["answers", "fails", "limited again"])
def test_107_one_guessed_mark_is_one_last_attempt(outcome: Any) -> None:
    """Behaviour 107: exactly one attempt, to the first candidate whose mark is a guess."""
    sim = Sim(entries("a/m", "b/m", "c/m"), {"b": [outcome]})
    sim.mark("a/m", seconds=60)
    sim.mark("b/m", seconds=60, provenance="guessed")
    sim.mark("c/m", seconds=60, provenance="guessed")
    ended = sim.run(CHAIN)
    assert (sim.calls, sim.waits) == (["b/m"], [])
    assert (ended.kind == "answered") is (outcome is OK)
    assert sim.leases == [("b/m", outcome is OK)]


@pytest.mark.parametrize(
    ("outcome", "calls", "lease"),
    [
        (OK, ["a/m"], [("a/m", True)]),
        (LIMIT, ["a/m", "b/m"], [("a/m", False)]),
        (SERVER, ["a/m"] * 3 + ["b/m"], [("a/m", False)]),
    ],
    ids=["success", "limit", "another failure"],
)
def test_104_the_probe_of_an_ended_mark(outcome: Any, calls: list[str], lease: list[tuple[str, bool]]) -> None:
    """Behaviour 104: success deletes the mark, a limit writes a fresh one without a retry, the rest follows 5.2."""
    sim = Sim(entries("a/m", "b/m"), {"a": [outcome]})
    sim.mark("a/m", seconds=0)
    sim.run(CHAIN)
    assert (sim.calls, sim.leases) == (calls, lease)


def test_103_a_held_probe_sends_others_on() -> None:
    """Behaviour 103: another entry is available."""
    sim = Sim(entries("a/m", "b/m"), {})
    sim.held[sim.variants[0].id] = 1
    sim.run(CHAIN)
    assert (sim.calls, sim.skips) == (["b/m"], [("a/m", "skipped_cooldown")])


def test_105_a_sole_held_entry_is_waited_for() -> None:
    """Behaviour 105: the second call waits for the first one's probe and then calls; one skip row, not many."""
    sim = Sim(entries("a/m"), {})
    sim.held[sim.variants[0].id] = 3
    assert sim.run(CHAIN).kind == "answered"
    assert (sim.calls, sim.skips, sim.clock_s) == (["a/m"], [("a/m", "skipped_cooldown")], pytest.approx(3.1))


# -- recovery ---------------------------------------------------------------------------------------------------------


def after(variants: Any, number: int, verdict: Verdict) -> Resume:
    """The stream of variant ``number`` failed."""
    return Resume(variant=variants[number], verdict=verdict)


RECOVERY: list[tuple[str, list[str], int, Verdict, dict[str, Any], int, list[str], str]] = [
    ("137 cut, a backup exists", ["a/m", "b/m"], 0, CUT, {}, 2, ["b/m"], "answered"),
    (
        "139 empty, retries",
        ["a/m", "b/m"],
        0,
        EMPTY,
        {"a": [SERVER], "b": [SERVER]},
        2,
        ["a/m"] + ["b/m"] * 3,
        "exhausted",
    ),
    ("140 empty, retries 0", ["a/m", "b/m"], 0, EMPTY, {}, 0, ["b/m"], "answered"),
    ("141 single, empty, retries 0", ["a/m"], 0, EMPTY, {"a": [EMPTY]}, 0, ["a/m"], "exhausted"),
    ("141 single, empty, retries 2", ["a/m"], 0, EMPTY, {"a": [EMPTY]}, 2, ["a/m"], "exhausted"),
    ("142 single, cut", ["a/m"], 0, CUT, {"a": [SERVER]}, 2, ["a/m"], "exhausted"),
    (
        "138 in the middle",
        ["x/m", "a/m", "b/m"],
        1,
        EMPTY,
        {"x": [EMPTY], "b": [EMPTY]},
        0,
        ["x/m", "b/m"],
        "exhausted",
    ),
    ("145 a limit within the cap", ["a/m"], 0, wait(5), {}, 2, ["a/m"], "answered"),
    ("145 a limit above the cap", ["a/m"], 0, wait(120), {}, 2, [], "exhausted"),
    ("145 a refused key", ["a/m"], 0, AUTH, {}, 2, [], "exhausted"),
]


@pytest.mark.parametrize(
    ("name", "names", "number", "verdict", "script", "retries", "calls", "end"), RECOVERY, ids=[r[0] for r in RECOVERY]
)
def test_recovery(
    name: str, names: list[str], number: int, verdict: Verdict, script: Any, retries: int, calls: list[str], end: str
) -> None:
    """Who may be called after a failed stream, and how often (spec 8.5)."""
    sim = Sim(entries(*names), script)
    ended = sim.run(chain_policy(provider_retries=retries), resume=after(sim.variants, number, verdict))
    assert (sim.calls, ended.kind) == (calls, end), name


def test_143_a_cooling_backup_leaves_the_failed_entry_as_sole_candidate() -> None:
    """Behaviour 143."""
    sim = Sim(entries("a/m", "b/m"), {})
    sim.mark("b/m", seconds=60)
    sim.run(CHAIN, resume=after(sim.variants, 0, CUT))
    assert sim.calls == ["a/m"]


def test_145_the_streams_own_mark_does_not_block_its_sole_candidate() -> None:
    """Behaviour 145: one attempt after 5 s."""
    sim = Sim(entries("a/m"), {})
    sim.mark("a/m", seconds=5)
    sim.run(CHAIN, resume=after(sim.variants, 0, wait(5)))
    assert (sim.calls, sim.waits) == (["a/m"], [5.0])


def test_144_a_held_entry_keeps_its_permit() -> None:
    """Behaviour 144: the permit is used by a call only."""
    sim = Sim(entries("a/m"), {})
    sim.held[sim.variants[0].id] = 2
    sim.run(CHAIN, resume=after(sim.variants, 0, CUT))
    assert sim.calls == ["a/m"]


# -- properties -------------------------------------------------------------------------------------------------------

VERDICTS = [LIMIT, SERVER, BALANCE, AUTH, DAILY, NOT_FOUND, NETWORK, EMPTY, OVERFLOW, wait(5), wait(99), CAPACITY_429]
outcomes = st.lists(st.sampled_from([OK, *VERDICTS]), min_size=1, max_size=4)


@given(
    names=st.lists(
        st.sampled_from(["a/1", "a/2", "b/1", "b/1#k1,k2", "c/1#-", "d/1", "e/1"]),
        min_size=1,
        max_size=6,
        unique_by=lambda name: name.partition("#")[0],  # a plan names each (ref, model) once
    ),
    data=st.data(),
    policy=st.sampled_from([CHAIN, GRAPH, chain_policy(overflow="truncate"), graph_policy(provider_retries=0)]),
    deadline=st.sampled_from([0.5, 10.0, 300.0]),
)
def test_every_walk(names: list[str], data: st.DataObject, policy: Any, deadline: float) -> None:
    """Hops start at the entry that failed, budgets and deadlines hold, no stated wait is undercut, one end."""
    variants = entries(*names)
    script = {f"{item.ref}/{item.model}": data.draw(outcomes) for item in variants}
    sim = Sim(variants, script, deadline_s=deadline, secs=0.01)
    ended = sim.run(policy)
    assert ended.kind in ("answered", "exhausted", "overflow", "timeout")
    assert (ended.kind == "answered") == (ended.variant is not None and ended.kind != "timeout")
    assert sum(sim.waits) <= deadline
    assert all(pause >= 0.05 for pause in sim.waits)
    per_variant = {name: sim.calls.count(name) for name in sim.calls}
    assert all(count <= policy.budget + 2 for count in per_variant.values())
    called = [call.partition("#")[0] for call in sim.calls]
    assert all(origin.partition("#")[0] in called for origin, _, _ in sim.hops)
    assert len(set(sim.hops)) == len(sim.hops)
    assert all(later.wait_s >= 0 for later in sim.tries)
