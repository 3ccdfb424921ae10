"""The replay: what happened is reproduced, what did not happen says how it is known."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import zc_notebooks as zc
from tests.fleet import Fleet, profile
from tests.ledger.rows import NOON, row
from zc_notebooks.bench.replay import NOTHING, Replay, replay
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Reliability
from zc_notebooks.testing import Scripted, chat_answer, chat_error

OUTCOMES: dict[str, Scripted] = {
    "answers": chat_answer(),
    "answers at length": chat_answer(tokens=(900, 400)),
    "answers without usage": chat_answer(tokens=None),
    "is empty": chat_answer(text=""),
    "limits": chat_error(429, "too many requests"),
    "limits for a while": chat_error(429, "too many requests", {"retry-after": "25"}),
    "limits for long": chat_error(429, "too many requests", {"retry-after": "400"}),
    "limits for no time": chat_error(429, "too many requests", {"retry-after": "0"}),
    "is out for the day": chat_error(429, "You exceeded your daily quota", {"retry-after": "7200"}),
    "is full": chat_error(503, "overloaded"),
    "fails": chat_error(500, "oops"),
    "has no money": chat_error(402, "insufficient balance"),
    "refuses the key": chat_error(401, "invalid api key"),
    "is not there": chat_error(404, "model not found"),
    "refuses the request": chat_error(400, "bad parameter"),
}
PRICES = 'pricing = { "m.input" = 2.0, "m.output" = 8.0 }'


def happened(
    folder: Path, script: dict[str, Sequence[str]], gaps_s: Sequence[float], *, extra: str = "", stream: bool = False
) -> tuple[list[AttemptRow], Fleet]:
    """Rows of a chain over a, b, c that was asked after each gap."""
    toml = "\n".join(
        [*(f"{profile(name)}{PRICES}\n" for name in script), *(f'[[chain]]\nprovider = "custom.{n}"\n' for n in script)]
    )
    fleet = Fleet(
        {name: [OUTCOMES[word] for word in words] for name, words in script.items()},
        folder,
        toml=f"{toml}\n{extra}",
    )
    with fleet.chain:
        for gap in gaps_s:
            fleet.clock.advance(gap)
            with suppress(zc.CallError):
                if stream:
                    list(fleet.chain.stream_sync("hi"))
                else:
                    fleet.chain.ask_sync("hi")
    return fleet.rows, fleet


def again(rows: list[AttemptRow], fleet: Fleet, **options: Any) -> Replay:
    """The replay with the order and the policy it really had."""
    config = fleet.chain.config
    chain = [f"{link.provider}/m" for link in config.chain]
    return replay(rows, chain, profiles=config.profiles, reliability=config.reliability, **options)


def assert_reproduced(found: Replay) -> None:
    """Call by call and in sum."""
    assert [call.would_have_served for call in found.calls] == [call.served for call in found.calls]
    really, would = found.really, found.would_have
    assert (would.answered, would.attempts, would.hops) == (really.answered, really.attempts, really.hops)
    assert would.waited_s == pytest.approx(really.waited_s)
    assert would.cost_usd == really.cost_usd
    assert would.at_least == really.at_least
    assert found.coverage.observed == found.coverage.attempts
    assert found.bounds.answered == (really.answered, really.answered)


words = st.lists(st.sampled_from(sorted(OUTCOMES)), min_size=1, max_size=6)
scripts = st.fixed_dictionaries(dict.fromkeys(("a", "b", "c"), words))
POLICIES = ("retry_then_advance", "cooldown_and_advance")


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=scripts,
    gaps_s=st.lists(st.sampled_from([0.5, 3.0, 20.0, 200.0, 5000.0]), min_size=1, max_size=8),
    policy=st.sampled_from(POLICIES),
    retries=st.integers(0, 2),
)
def test_the_real_order_with_the_real_policy_is_what_happened(
    script: dict[str, list[str]], gaps_s: list[float], policy: str, retries: int
) -> None:
    """Over a fully observed period: the same served candidates, attempts, hops, waiting and cost."""
    extra = f'[reliability]\nprovider_retries = {retries}\nchain_rate_limit_policy = "{policy}"\njitter = 0\n'
    with tempfile.TemporaryDirectory() as folder:
        rows, fleet = happened(Path(folder), script, gaps_s, extra=extra)
        assert_reproduced(again(rows, fleet))


def test_an_empty_ledger_is_one_sentence() -> None:
    """Nothing to replay: said, not computed."""
    with pytest.raises(LedgerError) as caught:
        replay([])
    assert str(caught.value) == NOTHING


@pytest.mark.parametrize(
    ("chain", "says"),
    [
        (["groq.freee"], "the candidate 'groq.freee' is in no row of the period and not configured: did you mean"),
        (["groq.free", "groq.free"], "stands twice in the chain"),
        (["groq.free/none"], "the candidate 'groq.free/none' is in no row"),
    ],
)
def test_a_wrong_candidate_is_one_sentence(chain: list[str], says: str) -> None:
    """What is wrong, and the nearest right name."""
    with pytest.raises(LedgerError, match=says):
        replay([answered("one", 0)], chain)


def answered(call: str, minutes: float, ref: str = "groq.free", **fields: Any) -> AttemptRow:
    """An answer of 100 + 20 tokens for one cent."""
    given: dict[str, Any] = {
        "t": NOON + timedelta(minutes=minutes),
        "accepted": True,
        "secs": 1.0,
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_usd": 0.01,
        "provider_ref": ref,
        "pool": ref,
        "model": "m",
        "tier": "free",
        "usage_state": "complete",
        **fields,
    }
    return row(call, given.pop("ordinal", 0), **given)


def refused(
    call: str, minutes: float, ref: str = "groq.free", reason: str = "server_error", **fields: Any
) -> AttemptRow:
    """A failed attempt."""
    status = {"daily_limit": "http_429", "minute_limit": "http_429", "balance": "http_402"}.get(reason, "http_503")
    given = {"accepted": False, "status": status, "reason": reason, "cost_usd": 0.0, "output_tokens": 0, "secs": 0.1}
    return answered(call, minutes, ref, **{**given, **fields})


def test_one_candidate_alone() -> None:
    """A candidate set of one: its own failures are the chain's."""
    rows = [
        answered("one", 0),
        refused("two", 5, reason="permission"),
        answered("two", 5.1, "paid.one", ordinal=1, tier="prepaid"),
        answered("three", 10),
    ]
    alone = replay(rows, ["groq.free"])
    assert (alone.really.answered, alone.would_have.answered, alone.would_have.hops) == (3, 2, 0)
    assert alone.coverage.observed == 3
    assert [call.would_have_served for call in alone.calls] == ["groq.free/m", None, "groq.free/m"]


def test_nobody_asked_is_not_success() -> None:
    """A configured candidate without a row fails in the estimate; in the upper bound it answers, price unknown."""
    from tests.ledger.rows import profile as bare

    rows = [answered(f"call-{number}", number) for number in range(4)]
    found = replay(rows, ["custom.mine/x"], profiles={"custom.mine": bare(model="x")})
    assert found.would_have.answered == 0
    assert found.bounds.answered == (0, 4)
    assert found.bounds.cost_usd == (Decimal(0), None)
    assert found.coverage.unknown == found.coverage.attempts == 4


def test_near_in_time_is_observed_and_between_is_interpolated() -> None:
    """Within ten minutes an observation speaks; between two that agree it is interpolated; beyond six hours unknown."""
    rows = [answered(f"y{number}", number - 1440, "b.x") for number in range(9)]
    rows += [answered("b0", 0, "b.x"), answered("b1", 120, "b.x")]
    rows += [answered(f"a{number}", minutes, "a.x") for number, minutes in enumerate((4, 60, 700))]
    found = replay(rows, ["b.x"], since=NOON)
    by_call = {call.call_id: call for call in found.calls}
    assert by_call["a0"].observed
    assert not by_call["a1"].observed
    assert (found.coverage.observed, found.coverage.interpolated, found.coverage.unknown) == (3, 1, 1)
    assert found.bounds.answered == (4, 5)


@pytest.mark.parametrize(("tier", "observed"), [("prepaid", 2), ("metered", 2), ("free", 0)])
def test_the_own_answer_of_a_paid_one_is_observed_at_any_load(tier: str, observed: int) -> None:
    """That a paid one was never seen to carry more takes nothing from what it answered; a free one may be spent."""
    rows = [answered(f"f{number}", 60 * number, "free.x") for number in range(8)]
    rows += [answered(f"p{number}", 480 + 60 * number, "paid.x", tier=tier) for number in range(2)]
    found = replay(rows, ["paid.x"])
    assert found.coverage.observed == observed
    assert found.bounds.answered[0] == 2


def test_an_episode_holds_until_it_is_over() -> None:
    """A day's quota is out from the level it ran out at until its reset, however the order is."""
    midnight = NOON.replace(hour=0) + timedelta(days=1)
    rows = [answered(f"g{number}", number, "google.free") for number in range(20)]
    out = {"reason": "daily_limit", "resets_at": midnight + timedelta(hours=8), "reset_source": "inferred"}
    rows += [refused("g20", 20, "google.free", **out), answered("g20", 20, "paid.x", ordinal=1, tier="prepaid")]
    rows += [answered(f"p{number}", 40 + number, "paid.x", tier="prepaid") for number in range(30)]
    for names in (["google.free", "paid.x"], ["google.free"]):
        found = replay(rows, names)
        served = {one.candidate: one.would_have for one in found.served}
        assert served["google.free/m"] == 20
    assert found.would_have.answered == 20
    assert found.would_have.attempts == 21


def test_less_load_is_no_exhaustion() -> None:
    """A quota that really ran out does not when another candidate takes the calls before."""
    rows = [answered(f"g{number}", 2 * number, "google.free") for number in range(20)]
    rows += [answered(f"n{number}", 2 * number + 1, "paid.x", tier="prepaid") for number in range(20)]
    rows += [
        refused(
            "last", 41, "google.free", "daily_limit", resets_at=NOON + timedelta(hours=20), reset_source="inferred"
        ),
        answered("last", 41, "paid.x", ordinal=1, tier="prepaid"),
    ]
    assert replay(rows, ["google.free", "paid.x"]).would_have.answered == 41
    found = replay(rows, ["google.free"], since=NOON + timedelta(minutes=41))
    assert found.would_have.answered == 0, "history before the period counts towards the quota"
    alone = replay([one for one in rows if not one.call_id.startswith("g")], ["google.free"])
    assert alone.really.calls == 21


def test_cancelled_calls_and_probes_are_no_demand() -> None:
    """They are left out and counted; a probe still is an observation."""
    rows = [
        answered("one", 0),
        answered("stopped", 1, status="cancelled", accepted=False, reason=None),
        answered("probe", 2, mode="probe"),
    ]
    found = replay(rows)
    assert (found.really.calls, found.cancelled) == (1, 1)


def test_the_same_rows_give_the_same_replay(tmp_path: Path) -> None:
    """Determinism, the drawn runs included, in whatever order the rows come."""
    script = {"a": ["answers", "is full", "limits"], "b": ["has no money", "fails", "answers"], "c": ["answers"]}
    rows, _ = happened(tmp_path, script, [60.0, 900.0] * 6)
    chain = ["custom.c", "custom.b", "custom.a"]
    assert replay(rows, chain) == replay(rows[::-1], chain)


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_stream_is_replayed_as_one(tmp_path: Path, name: str) -> None:
    """A stream that is refused goes on as a walk, as it really did."""
    script = {"a": ["limits for long", "is full"], "b": ["is full", "is full", "is full", "answers"], "c": ["answers"]}
    rows, fleet = happened(tmp_path, script, [1.0, 30.0, 600.0], stream=True)
    assert {one.mode for one in rows} >= {"stream", "recovery"}
    found = again(rows, fleet)
    assert [call.would_have_served for call in found.calls] == [call.served for call in found.calls]
    assert found.would_have.attempts == found.really.attempts
    assert replay(rows, [f"custom.{name}"]).would_have.calls == 3


def test_borders_and_capabilities_of_a_call_stay() -> None:
    """What a call was not allowed to reach it does not reach in another order."""
    rows = [
        row("one", 0, t=NOON, provider_ref="paid.x", model="m", pool="paid.x", kind="skip", status="skipped_budget"),
        answered("one", 0.1, "free.x", ordinal=1),
        answered("two", 5, "paid.x"),
    ]
    found = replay(rows, ["paid.x", "free.x"])
    assert [call.would_have_served for call in found.calls] == ["free.x/m", "paid.x/m"]


def test_retries_of_another_policy(tmp_path: Path) -> None:
    """Without retries a candidate that came back on the second request is left at the first failure."""
    script = {"a": ["fails", "answers"] * 3, "b": ["answers"]}
    rows, fleet = happened(tmp_path, script, [60.0] * 3)
    found = replay(
        rows, ["custom.a"], profiles=fleet.chain.config.profiles, reliability=Reliability(provider_retries=0)
    )
    assert found.really.answered == 3
    assert found.would_have.answered == 0
    assert found.would_have.waited_s == 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=scripts,
    gaps_s=st.lists(st.sampled_from([0.5, 20.0, 900.0, 30_000.0]), min_size=1, max_size=6),
    order=st.permutations(["custom.a", "custom.b", "custom.c"]),
    size=st.integers(1, 3),
)
def test_bounds_hold_the_estimate(
    script: dict[str, list[str]], gaps_s: list[float], order: list[str], size: int
) -> None:
    """Another order, fewer candidates: each estimate lies in its bounds, every attempt has a grade, calls are kept."""
    with tempfile.TemporaryDirectory() as folder:
        rows, fleet = happened(Path(folder), script, gaps_s)
    known = {one.provider_ref for one in rows}
    chain = [name for name in order if name in known][:size] or sorted(known)
    found = replay(rows, chain, profiles=fleet.chain.config.profiles)
    for measure in ("availability", "answered", "attempts", "hops", "waited_s"):
        low, high = getattr(found.bounds, measure)
        assert low <= getattr(found.would_have, measure) <= high
    cover, would = found.coverage, found.would_have
    assert cover.observed + cover.interpolated + cover.unknown == cover.attempts == would.attempts
    assert would.calls == found.really.calls == len(gaps_s)
    assert sum(one.would_have for one in found.served) == would.answered
    assert replay(rows, chain, profiles=fleet.chain.config.profiles) == found


def test_calls_that_overlapped_overlap() -> None:
    """A limit counts for another call from the moment its answer came, not from when it was asked for."""
    slow = {"reason": "minute_limit", "secs": 10.0, "resets_at": NOON + timedelta(hours=1), "reset_source": "stated"}
    rows = [
        refused("one", 0, "a.x", **slow),
        answered("two", 0.05, "a.x"),
        answered("three", 0.1, "b.x"),
        answered("one", 0.2, "b.x", ordinal=1),
        refused("four", 1, "a.x", **{**slow, "kind": "skip", "status": "skipped_cooldown", "secs": None}),
        answered("four", 1, "b.x", ordinal=1),
    ]
    rows = [replace(one, tier="metered") for one in rows]
    found = replay(rows, ["a.x", "b.x"])
    assert [call.would_have_served for call in found.calls] == ["b.x/m", "a.x/m", "a.x/m", "b.x/m"]


def test_a_log_without_reasons_pools_and_tiers() -> None:
    """Rows of a simple usage log: what they say by their status is enough to reproduce them."""
    bare = {"pool": "", "tier": None, "reason": None, "cost_usd": None, "input_tokens": None, "output_tokens": None}
    rows = [
        answered("one", 0, **bare),
        answered("two", 5, **{**bare, "status": "http_429", "accepted": False}),
        answered("two", 5.1, "paid.x", ordinal=1, **bare),
    ]
    found = replay(rows)
    assert [call.would_have_served for call in found.calls] == ["groq.free/m", "paid.x/m"]
    assert (found.would_have.at_least, found.really.at_least) == (True, True)


@pytest.mark.parametrize(
    ("fields", "cost", "at_least"),
    [
        ({}, Decimal("0.02"), False),
        ({"input_tokens": None}, Decimal("0.02"), True),
        ({"cost_usd": None}, None, True),
        ({"kind": "skip", "status": "skipped_tier", "accepted": False, "cost_usd": None}, Decimal(0), False),
    ],
    ids=["known", "tokens unknown", "unknown", "nobody asked"],
)
def test_what_is_not_known_of_a_cost_is_not_known_again(
    fields: dict[str, Any], cost: Decimal | None, at_least: bool
) -> None:
    """What it really cost and what it would have: the same figure, as sure as the rows are."""
    found = replay([answered("one", 0, **fields), answered("two", 5, **fields)])
    for figures in (found.really, found.would_have):
        assert (figures.cost_usd, figures.at_least) == (cost, at_least)
