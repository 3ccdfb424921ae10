"""Budgets in US dollars: nothing is sent that the budget cannot pay for, and every cost is counted (spec 2.7)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet, chain_toml, profile
from tests.purses import left, need, spent
from zc_notebooks.budget.spending import Spending
from zc_notebooks.errors import TransportFailure
from zc_notebooks.events import Final
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.testing import (
    CHAT_DONE,
    Pieces,
    SyncScriptedTransport,
    chat_answer,
    chat_chunk,
    chat_error,
    chat_usage,
    response,
)

DEAR = {"pricing": '{ "*" = 1000.0 }', "max_tokens": 100}
"""A tenth of a cent per token, at most a hundred tokens out: about 0.45 dollars at most, 0.012 for (9, 3) tokens."""
FREE = {"pricing": '{ "*" = 0.0 }'}
PAID = Decimal("0.012")
LOST = TransportFailure("connection lost", kind="read", sent=True)
REFUSED = TransportFailure("connection refused", kind="connect", sent=False)
NEXT_DAY = datetime(2026, 9, 2, tzinfo=UTC)


def borders(**fields: Any) -> str:
    """A ``[borders]`` block."""
    return "[borders]\n" + "\n".join(f"{name} = {value}" for name, value in fields.items()) + "\n"


def dear_and_free(**fields: Any) -> str:
    """A dear candidate, then a free one."""
    links = '[[chain]]\nprovider = "custom.a"\n[[chain]]\nprovider = "custom.b"\n'
    return profile("a", **DEAR) + profile("b", **FREE) + links + borders(**fields)


def fleet_of(folder: Path, toml: str, **script: Any) -> Fleet:
    """A fleet whose hosts answer as scripted, by default with a good answer."""
    answers = {name: script.get(name, [chat_answer(name)]) for name in "abc"}
    return Fleet(answers, folder, toml=toml)


# -- no money, no request: every way in -------------------------------------------------------------------------------


def ask(fleet: Fleet, **options: Any) -> Any:
    """An ordinary call."""
    return asyncio.run(fleet.chain.ask("hi", **options))


def stream(fleet: Fleet, **options: Any) -> Any:
    """A streamed call."""

    async def run() -> Any:
        async with fleet.chain.stream("hi", **options) as events:
            return [event async for event in events if isinstance(event, Final)].pop().completion

    return asyncio.run(run())


def told(fleet: Fleet, **options: Any) -> Any:
    """A call into a draft sink."""

    class Sink:
        async def draft(self, text: str, *, final: bool) -> None:
            """Shows nothing."""

    return asyncio.run(fleet.chain.stream("hi", draft=True, **options).into(None, Sink()))


def script(fleet: Fleet, **options: Any) -> Any:
    """The one function for scripts."""
    assert not options
    transport = SyncScriptedTransport({f"{name}.test": [chat_answer(name)] for name in "abc"})
    try:
        return zc.call_with_fallback(
            chain=[(link.provider, "m") for link in fleet.chain.config.chain],
            payload_for=lambda _: "hi",
            transport=transport,
            config=fleet.chain.config,
            environ=KEYS,
            on_attempt=fleet.rows.append,
            clock=fleet.clock,
        )
    finally:
        fleet.transport.requests += transport.requests


ENTRIES: list[Callable[..., Any]] = [ask, stream, told, script]


@pytest.mark.parametrize("enter", ENTRIES)
@pytest.mark.parametrize("name", ["budget_call_usd", "budget_day_usd", "budget_month_usd"])
def test_an_entry_the_budget_cannot_pay_is_skipped(tmp_path: Path, enter: Callable[..., Any], name: str) -> None:
    """157, for money: the dear one gets no request and a ``skipped_budget`` row, the free one answers."""
    fleet = fleet_of(tmp_path, dear_and_free(**{name: 0.01}))
    assert enter(fleet).served.provider_ref == "custom.b"
    assert fleet.called == ["b"]
    assert fleet.statuses == [("a", "skipped_budget"), ("b", "ok")]


@pytest.mark.parametrize("enter", ENTRIES)
@pytest.mark.parametrize("name", ["budget_call_usd", "budget_day_usd", "budget_month_usd"])
def test_a_budget_that_leaves_nothing(tmp_path: Path, enter: Callable[..., Any], name: str) -> None:
    """158, for money: zero calls, and the error says which budget, what is left, what was needed, and until when."""
    fleet = fleet_of(tmp_path, chain_toml("a", "b", **DEAR) + borders(**{name: 0.01}))
    with pytest.raises(zc.NoPermittedCandidate) as caught:
        enter(fleet)
    assert fleet.called == []
    assert fleet.statuses == [("a", "skipped_budget"), ("b", "skipped_budget")]
    first, *lines = str(caught.value).splitlines()
    assert first == "no candidate is permitted by the budget (configured: custom.a, custom.b); no call was made"
    when = {"budget_call_usd": "in the next call", "budget_day_usd": "at 2026-09-02 00:00 UTC"}
    fresh = when.get(name, "at 2026-10-01 00:00 UTC")
    assert [line.split(": ")[0] for line in lines] == ["custom.a/m", "custom.b/m"]
    assert all(f"{name}: $0.01 of $0.01 left, up to $0." in line and line.endswith(f"fresh {fresh}") for line in lines)


@pytest.mark.parametrize("enter", [ask, stream, told])
def test_a_call_narrows_its_budget_and_never_widens_it(tmp_path: Path, enter: Callable[..., Any]) -> None:
    """``budget_usd`` of a call is a border of its own, below the configured one or not at all."""
    fleet = fleet_of(tmp_path, dear_and_free(budget_call_usd=0.6))
    assert enter(fleet).served.provider_ref == "custom.a"
    assert enter(fleet, budget_usd=0.01).served.provider_ref == "custom.b"
    assert enter(fleet, budget_usd=0).served.provider_ref == "custom.b"
    narrow = fleet_of(tmp_path, dear_and_free(budget_call_usd=0.01))
    assert enter(narrow, budget_usd=Decimal(1000)).served.provider_ref == "custom.b"
    plain = fleet_of(tmp_path, chain_toml("a", **DEAR))
    with pytest.raises(zc.NoPermittedCandidate, match=r"budget_usd: \$0\.001 of \$0\.001 left"):
        enter(plain, budget_usd=0.001)
    assert plain.called == []


@pytest.mark.parametrize("value", [np.float64(0.001), np.float32(0.002), np.int64(0)])
def test_a_budget_that_numpy_counted(tmp_path: Path, value: Any) -> None:
    """It is the number it shows: a frame's column gives such ones."""
    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR))
    exact = f"${value!s}" if value else "$0.00"
    with pytest.raises(zc.NoPermittedCandidate, match=re.escape(f"budget_usd: {exact} of {exact} left")):
        ask(fleet, budget_usd=value)


@pytest.mark.parametrize(
    "value", [-0.01, float("nan"), float("inf"), True, np.True_, np.float64(-1), "1", "x", [1], 1j, Decimal("-1")]
)
def test_a_budget_that_is_no_amount(tmp_path: Path, value: Any) -> None:
    """One sentence, before anything is sent."""
    fleet = fleet_of(tmp_path, chain_toml("a"))
    with pytest.raises(InvalidRequest, match="budget_usd: expected an amount of US dollars of 0 or more"):
        ask(fleet, budget_usd=value)
    assert fleet.called == []


def test_a_probe_the_budget_cannot_pay(tmp_path: Path) -> None:
    """A probe is an attempt: nothing is sent, not even the free request before it, and the result says why."""
    toml = chain_toml("a", **DEAR) + borders(budget_day_usd=0.01)
    fleet = fleet_of(tmp_path, toml.replace("providers.custom.a", "providers.openai.a").replace("custom.a", "openai.a"))
    result = fleet.chain.probe_sync("openai.a")
    assert (result.state, fleet.called, [row.status for row in fleet.rows]) == ("refused", [], ["skipped_budget"])
    assert "budget_day_usd: $0.01 of $0.01 left" in result.text


def test_a_probe_counts(tmp_path: Path) -> None:
    """What a probe costs is spent."""
    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(budget_day_usd=1.0))
    assert fleet.chain.probe_sync("custom.a").reachable
    assert spent(fleet) == PAID


# -- every attempt again ----------------------------------------------------------------------------------------------


def test_a_retry_that_cannot_be_paid_is_not_made(tmp_path: Path) -> None:
    """A lost request may have cost all that was reserved: no wait, no retry, the free one answers."""
    fleet = fleet_of(tmp_path, dear_and_free(budget_day_usd=0.6), a=[LOST])
    assert ask(fleet).text == "b"
    assert fleet.called == ["a", "b"]
    assert fleet.statuses == [("a", "network"), ("a", "skipped_budget"), ("b", "ok")]
    assert fleet.clock.slept == []
    assert [hop[:2] for hop in fleet.hops] == [("custom.a", "custom.b")]


def test_a_refused_attempt_costs_nothing_and_is_retried(tmp_path: Path) -> None:
    """Refusals and failed connections free what was set aside, so three attempts fit where one does."""
    fleet = fleet_of(tmp_path, dear_and_free(budget_day_usd=0.6), a=[chat_error(500), REFUSED, chat_answer("a")])
    assert ask(fleet).text == "a"
    assert fleet.called == ["a", "a", "a"]
    assert (spent(fleet), left(fleet)) == (PAID, Decimal("0.588"))


def test_a_hop_that_cannot_be_paid(tmp_path: Path) -> None:
    """The first candidate spent the call's budget; the second is skipped, and the error's lines say so."""
    fleet = fleet_of(tmp_path, chain_toml("a", "b", **DEAR) + borders(budget_call_usd=0.6), a=[LOST])
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        ask(fleet)
    assert fleet.called == ["a"]
    assert fleet.hops == []
    lines = str(caught.value).splitlines()
    assert [line.split(": budget_call_usd")[0] for line in lines] == ["custom.a/m", "custom.b/m"]
    assert caught.value.last_reason == "network"


def test_a_credential_variant_that_cannot_be_paid(tmp_path: Path) -> None:
    """The second key of a profile is an attempt of its own."""
    keys = 'api_key_envs = ["KEY_A", "KEY_B"]\n'
    toml = profile("a", key=None, **DEAR) + keys + '[[chain]]\nprovider = "custom.a"\n' + borders(budget_call_usd=0.6)
    empty = response(200, {"error": {"message": "bad key", "code": "invalid_api_key", "status": 401}})
    fleet = fleet_of(tmp_path, toml, a=[empty, chat_answer("never")])
    with pytest.raises(zc.AllCandidatesFailed):
        ask(fleet)
    assert fleet.called == ["a"]
    assert [status for _, status in fleet.statuses][-1] == "skipped_budget"


def test_a_recovery_that_cannot_be_paid(tmp_path: Path) -> None:
    """A broken stream kept what it may have cost; the chain is exhausted, not unpermitted: a call was made."""
    broken = Pieces(pieces=("disconnect",))
    fleet = fleet_of(tmp_path, chain_toml("a", "b", **DEAR) + borders(budget_day_usd=0.6), a=[broken])
    with pytest.raises(zc.AllCandidatesFailed):
        stream(fleet)
    assert fleet.called == ["a"]
    assert fleet.statuses[0] == ("a", "stream_cut")
    assert {status for _, status in fleet.statuses[1:]} == {"skipped_budget"}


def test_a_lowered_max_tokens_costs_less(tmp_path: Path) -> None:
    """After a 402 that states what the balance affords, the lower limit is what is reserved."""
    words = "This request requires more credits. You requested up to 9000 tokens, but can only afford 300."
    fleet = fleet_of(
        tmp_path,
        chain_toml("a", pricing=DEAR["pricing"]) + borders(budget_day_usd=9.5),
        a=[chat_error(402, words), chat_answer("a")],
    )
    assert ask(fleet, max_tokens=9000).text == "a"
    assert [row.status for row in fleet.rows] == ["http_402", "ok"]
    assert spent(fleet) == PAID


# -- what a row settles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        (chat_answer(tokens=(9, 3)), "cost"),
        (chat_answer("", tokens=(9, 3)), "cost"),
        (chat_answer(tokens=(500, 900)), "cost"),
        (chat_answer(tokens=None), "all"),
        (response(200, b"<html>"), "all"),
        (LOST, "all"),
        (TransportFailure("slow", kind="timeout", sent=True), "all"),
        (chat_error(429), "nothing"),
        (chat_error(503), "nothing"),
        (REFUSED, "nothing"),
    ],
)
@pytest.mark.parametrize("enter", [ask, stream])
def test_the_row_settles_the_reservation(tmp_path: Path, answer: Any, counted: str, enter: Callable[..., Any]) -> None:
    """A known cost replaces what was reserved (even a higher one), an unknown one keeps it all, a refusal frees it."""
    toml = chain_toml("a", **DEAR) + borders(budget_day_usd=5.0) + "[reliability]\nprovider_retries = 0\n"
    fleet = fleet_of(tmp_path, toml, a=[answer])
    most = need(fleet)
    with suppress(zc.CallError):
        enter(fleet)
    rows = [row for row in fleet.rows if row.kind == "attempt"]
    costs = {"cost": sum(Decimal(str(row.cost_usd)) for row in rows if row.cost_usd is not None), "nothing": Decimal(0)}
    assert spent(fleet) == costs.get(counted, most * len(rows))
    day = fleet.chain.budget().periods[0]
    assert (day.reserved_usd, day.at_least) == (0, False)


def test_a_cancelled_call_keeps_what_it_may_have_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is cancelled while its request is out has an unknown cost."""
    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(budget_day_usd=5.0, budget_call_usd=4.0))
    out = asyncio.Event()

    async def hangs(*_: Any, **__: Any) -> Any:
        out.set()
        await asyncio.Event().wait()

    async def run() -> None:
        task = asyncio.ensure_future(fleet.chain.ask("hi"))
        await out.wait()
        assert fleet.chain.budget().periods[0].reserved_usd == need(fleet)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    monkeypatch.setattr(fleet.transport, "send", hangs)
    asyncio.run(run())
    assert (spent(fleet), fleet.statuses) == (need(fleet), [("a", "cancelled")])


def test_nothing_stays_reserved_for_a_request_that_was_never_sent(tmp_path: Path) -> None:
    """A hook that raises before the attempt frees what was set aside."""
    fleet = fleet_of(tmp_path, chain_toml("a", "b", **DEAR) + borders(budget_day_usd=5.0), a=[chat_error(400)])

    def raises(*_: Any) -> None:
        raise RuntimeError("stop here")

    fleet.chain.site.on_failover = raises
    with pytest.raises(RuntimeError, match="stop here"):
        ask(fleet)
    assert (fleet.called, left(fleet)) == (["a"], Decimal(5))


def test_a_request_without_a_row_keeps_what_it_may_have_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong between the answer and its row, the money may be gone."""

    def fails(*_: Any) -> Any:
        raise RuntimeError("a bug")

    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(budget_day_usd=5.0))
    monkeypatch.setattr("zc_notebooks.reliability.reliable.judge", fails)
    with pytest.raises(RuntimeError, match="a bug"):
        ask(fleet)
    assert (fleet.rows, spent(fleet)) == ([], need(fleet))


def test_calls_of_worker_threads_share_one_budget(tmp_path: Path) -> None:
    """Eight threads, money for two at a time and at least: nobody overspends, nothing stays reserved."""
    limit = Decimal("1.0")
    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(budget_day_usd=limit))

    def call(_: int) -> bool:
        try:
            return fleet.chain.ask_sync("hi").text == "a"
        except zc.NoPermittedCandidate:
            return False

    with ThreadPoolExecutor(8) as pool:
        answered = sum(pool.map(call, range(64)))
    assert answered == len(fleet.called) > 2
    assert spent(fleet) == answered * PAID <= limit


def test_concurrent_calls_share_one_budget(tmp_path: Path) -> None:
    """Of ten calls at once only as many are sent as the budget pays for at their highest cost."""
    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(budget_day_usd=1.0))

    async def run() -> list[Any]:
        return await asyncio.gather(*(fleet.chain.ask("hi") for _ in range(10)), return_exceptions=True)

    results = asyncio.run(run())
    assert sum(isinstance(result, zc.Completion) for result in results) == len(fleet.called) == 2
    assert all(isinstance(result, zc.NoPermittedCandidate | zc.Completion) for result in results)
    assert spent(fleet) == 2 * PAID


# -- unknown prices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "options", "words"),
    [
        ({}, {"max_tokens": 5}, "its price is unknown: add pricing to providers.custom.a"),
        ({"tier": '"local"'}, {"max_tokens": 5}, "its price is unknown"),
        ({"pricing": '{ "m.input" = 1.0 }'}, {"max_tokens": 5}, "its price is unknown"),
        ({"pricing": '{ "*" = 1.0 }'}, {}, "its longest answer is unknown: set max_tokens"),
        ({"pricing": '{ "m.input" = 0.0, "m.output" = 1.0 }'}, {}, "its longest answer is unknown"),
    ],
)
def test_unknown_price_both_ways(tmp_path: Path, fields: Any, options: Any, words: str) -> None:
    """``refuse`` skips and says what to do; ``allow`` lets it through, and totals say "at least" (178)."""
    refusing = fleet_of(tmp_path, chain_toml("a", **fields) + borders(budget_day_usd=1.0))
    with pytest.raises(zc.NoPermittedCandidate, match=words):
        ask(refusing, **options)
    assert (refusing.called, refusing.statuses) == ([], [("a", "skipped_budget")])
    allowing = fleet_of(tmp_path, chain_toml("a", **fields) + borders(budget_day_usd=1.0, unknown_price='"allow"'))
    done = ask(allowing, **options)
    assert allowing.called == ["a"]
    assert done.at_least is (done.cost_usd is None)
    assert allowing.chain.budget().periods[0].at_least is done.at_least
    assert ("at least" in repr(allowing.chain.budget())) is done.at_least
    assert spent(allowing) >= (done.cost_usd or 0)


def test_an_allowed_unknown_price_passes_a_spent_budget(tmp_path: Path) -> None:
    """Nothing is known to be needed, so nothing is missing; what is known to be dear is still skipped."""
    toml = chain_toml("a") + profile("b", **DEAR) + '[[chain]]\nprovider = "custom.b"\n'
    fleet = fleet_of(tmp_path, toml + borders(budget_day_usd=0, unknown_price='"allow"'), a=[chat_error(400)])
    with pytest.raises(zc.AllCandidatesFailed):
        ask(fleet, max_tokens=5)
    assert fleet.statuses == [("a", "http_400"), ("b", "skipped_budget")]


@pytest.mark.parametrize("options", [{}, {"max_tokens": 10**9}])
def test_a_known_price_of_zero_always_passes(tmp_path: Path, options: Any) -> None:
    """Whatever the answer's length, with every budget at zero, and without looking at what was spent."""
    zero = borders(budget_call_usd=0, budget_day_usd=0, budget_month_usd=0)
    fleet = fleet_of(tmp_path, chain_toml("a", **FREE) + zero)
    done = ask(fleet, **options)
    assert (done.cost_usd, done.at_least) == (0, False)
    assert not list(Path(zc.open.__globals__["os"].environ["ZC_STATE_DIR"]).glob("spend*"))


# -- periods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "seconds", "day", "month"),
    [
        (datetime(2026, 9, 1, 23, 59, 59, tzinfo=UTC), 0, True, True),
        (datetime(2026, 9, 1, 23, 59, 59, tzinfo=UTC), 1, False, True),
        (datetime(2026, 9, 30, 23, 59, 59, tzinfo=UTC), 1, False, False),
        (datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), 1, False, False),
        (datetime(2028, 2, 28, 23, 0, tzinfo=UTC), 3600, False, True),
        (datetime(2026, 9, 2, 8, 59, tzinfo=UTC), 120, True, True),
    ],
)
@pytest.mark.parametrize("period", ["day", "month"])
def test_a_period_ends_at_utc_midnight(
    tmp_path: Path, start: datetime, seconds: int, day: bool, month: bool, period: str
) -> None:
    """Spent before, fresh after: in UTC, whatever the machine's zone."""
    enough_for_one = need(fleet_of(tmp_path, chain_toml("a", **DEAR)))
    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(**{f"budget_{period}_usd": enough_for_one}))
    fleet.clock.advance((start - fleet.clock.now()).total_seconds())
    assert ask(fleet).text == "a"
    counts = {"day": day, "month": month}[period]
    fleet.clock.advance(seconds)
    assert spent(fleet, period) == (PAID if counts else 0)
    if counts:
        with pytest.raises(zc.NoPermittedCandidate, match=f"budget_{period}_usd"):
            ask(fleet)
    else:
        assert ask(fleet).text == "a"


def test_an_attempt_over_midnight_counts_for_the_day_it_began(tmp_path: Path) -> None:
    """Its reservation was that day's."""
    late = Pieces(pieces=(chat_chunk("Hello"), 7200.0, chat_chunk(finish="stop"), chat_usage(), CHAT_DONE))
    toml = chain_toml("a", idle_timeout_s=9000, first_token_timeout_s=9000, **DEAR) + borders(budget_day_usd=1.0)
    fleet = fleet_of(tmp_path, toml, a=[late])
    fleet.clock.advance((NEXT_DAY - timedelta(hours=1) - fleet.clock.now()).total_seconds())
    stream(fleet, timeout_s=90_000)
    day, month = fleet.chain.budget().periods
    assert (day.spent_usd, month.spent_usd, day.fresh_at) == (0, PAID, NEXT_DAY + timedelta(days=1))


# -- shown ------------------------------------------------------------------------------------------------------------


def test_the_budget_is_shown(tmp_path: Path) -> None:
    """One line as text, a table in a notebook: spent, reserved, left, fresh at."""
    fleet = fleet_of(tmp_path, chain_toml("a", **DEAR) + borders(budget_day_usd=1.0, budget_call_usd=0.5))
    ask(fleet)
    now = fleet.chain.budget()
    assert repr(now) == (
        "Budget(call: up to $0.50; day: $0.012 of $1.00 spent, $0.00 reserved, $0.988 left;"
        " month: $0.012 spent, $0.00 reserved, no limit)"
    )
    html, text = now._repr_html_() or "", now._repr_markdown_() or ""
    for shown in (html, text):
        assert "$0.988" in shown
        assert "2026-09-02 00:00 UTC" in shown
    assert r"One call may cost up to \$0.50." in text


def test_without_a_budget_nothing_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast path: no file, no table of prices, no second encoding; ``budget()`` says that none is set."""
    monkeypatch.setattr("zc_notebooks.budget.spend_file.open_spend", _never)
    monkeypatch.setattr("zc_notebooks.budget.guard.ceiling", _never)
    fleet = fleet_of(tmp_path, chain_toml("a", "b", **DEAR), a=[chat_error(500)])
    assert ask(fleet).text == "b"
    stream(fleet)
    fleet.chain.probe_sync("custom.b")
    assert repr(fleet.chain.budget()) == "Budget(none is set)"
    assert "No budget is set" in (fleet.chain.budget()._repr_markdown_() or "")


def test_a_call_budget_alone_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the call's own business."""
    monkeypatch.setattr("zc_notebooks.budget.spend_file.open_spend", _never)
    fleet = fleet_of(tmp_path, dear_and_free(budget_call_usd=0.01))
    assert ask(fleet).text == "b"


def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("nobody may come here")


def test_the_spent_money_of_a_chain_is_known_to_the_next(tmp_path: Path) -> None:
    """Two chains at one state folder share the day; one with a purse of its own does not."""
    toml = chain_toml("a", **DEAR) + borders(budget_day_usd=1.0)
    first, second = fleet_of(tmp_path, toml), fleet_of(tmp_path, toml)
    ask(first)
    assert spent(second) == PAID
    own = Fleet({"a": [chat_answer()]}, tmp_path, toml=toml, spending=Spending(None, clock=first.clock))
    assert spent(own) == 0
