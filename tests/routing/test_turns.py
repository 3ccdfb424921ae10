"""One decision and one border for everything a turn does, proved by the lab's request log (spec 9, 10)."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.routing.homes import CLOUD, COMPLEX, HOME, SIMPLE, THIRD, House, config_text
from zc_notebooks.events import Event
from zc_notebooks.lab import Lab
from zc_notebooks.routing.router import RouterModelProvider
from zc_notebooks.routing.turns import OpenTurn

Make = Callable[..., House]
Way = Callable[[House], Awaitable[object]]


async def chat(house: House) -> object:
    """One call without a stream."""
    return await house.chain.ask(SIMPLE)


async def streamed(house: House) -> object:
    """One stream to its end."""
    async with house.chain.stream(SIMPLE) as events:
        return [event async for event in events]


async def bare_stream(house: House) -> object:
    """A stream without its block."""
    return [event async for event in house.chain.stream(SIMPLE)]


class Draft:
    """A preview that nobody looks at."""

    async def draft(self, text: str, *, final: bool) -> None:
        """Draws nothing."""


async def told(house: House) -> object:
    """Into a sink that can be rewritten."""
    return await house.chain.tell(SIMPLE, draft=Draft())


async def from_scripts(house: House) -> object:
    """The synchronous forms, as a cell in a running loop uses them."""
    with house.chain.stream_sync(SIMPLE) as events, suppress(zc.ZcError):
        list(events)
    return house.chain.ask_sync(SIMPLE)


WAYS: tuple[Way, ...] = (chat, streamed, bare_stream, told, from_scripts)
FAULTS = ("status:503", "cut:0", "cut:3", "empty", "balance", "reset", "error_event")


async def quietly(call: Awaitable[object]) -> None:
    """Whatever it raises, as long as it is one of ours."""
    with suppress(zc.ZcError):
        await call


def clouds(house: House) -> set[str]:
    """Providers beside the one at home that the lab saw."""
    return set(house.asked()) - {"home"}


# -- 164: local means local -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flat", [False, True], ids=["graph", "chain"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_local_decision_calls_no_cloud(house: Make, fault: str, way: Way, flat: bool) -> None:
    """164, 157: a failing local provider with cloud fallbacks: non-stream, stream and recovery stay at home."""
    one = house(flat=flat)
    one.lab.set_fault("home", fault)
    asyncio.run(quietly(way(one)))
    assert clouds(one) == set()
    assert {row.status for row in one.rows if row.provider_ref != HOME} <= {"skipped_allowlist"}


def test_skips_are_rows(house: Make) -> None:
    """157: what the allowlist forbids stands in the ledger, once for each candidate."""
    one = house()
    one.lab.set_fault("home", "status:503")
    with pytest.raises(zc.AllCandidatesFailed):
        one.chain.ask_sync(SIMPLE)
    assert one.skips() == [(CLOUD, "skipped_allowlist"), (THIRD, "skipped_allowlist")]


async def in_a_task(house: House) -> object:
    """A task begun in the turn."""
    return await asyncio.create_task(house.chain.ask(COMPLEX))


async def in_a_thread(house: House) -> object:
    """A worker thread that gets the context."""
    return await asyncio.to_thread(house.chain.ask_sync, COMPLEX)


async def in_a_thread_streaming(house: House) -> object:
    """A stream read in a worker thread."""
    return await asyncio.to_thread(lambda: list(house.chain.stream_sync(COMPLEX)))


async def in_many(house: House) -> object:
    """Tasks and threads at once."""
    return await asyncio.gather(in_a_task(house), in_a_thread(house), chat(house), return_exceptions=True)


async def by_hint(house: House) -> object:
    """A sub-agent that wants the cloud."""
    return await house.chain.ask(SIMPLE, hint="cloud")


async def by_start(house: House) -> object:
    """Or names a provider."""
    return await house.chain.ask(SIMPLE, start=THIRD)


async def by_hinted_model(house: House) -> object:
    """Or a hint as a model's name."""
    return await house.chain.ask(SIMPLE, model="hint:cloud")


async def by_requested(house: House) -> object:
    """Or a model that whoever is asked may serve."""
    return await house.chain.ask(SIMPLE, requested="large")


async def by_source(house: House) -> object:
    """Or the source of its candidates."""
    return await house.chain.ask(SIMPLE, source="graph")


async def by_model(house: House) -> object:
    """Or a model only."""
    return await house.chain.ask(SIMPLE, model="small-2")


async def by_probe(house: House) -> object:
    """Even a question whether a cloud is reachable."""
    return await house.chain.probe(CLOUD)


async def by_agent(house: House) -> object:
    """An agent's choice made inside the turn steers its calls and widens nothing."""
    with house.chain.use(CLOUD, scope="agent"):
        return await house.chain.ask(SIMPLE)


async def by_wider_list(house: House) -> object:
    """A wider allowlist inside is no way out."""
    with zc.allowed([HOME, CLOUD, THIRD]):
        return await house.chain.ask(SIMPLE, hint="cloud")


async def by_the_function_for_scripts(house: House) -> object:
    """The function for scripts, with candidates of its own."""
    chain = [{"provider": ref, "model": "m"} for ref in (CLOUD, THIRD)]
    options: dict[str, Any] = {"config": house.chain.config, "environ": house.lab.environ()}
    return await asyncio.to_thread(
        lambda: zc.call_with_fallback(chain=chain, payload_for=lambda _candidate: SIMPLE, **options)
    )


async def by_inner_turn(house: House) -> object:
    """Nor is a turn inside the turn: it joins the outer one."""
    with house.chain.turn(COMPLEX):
        return await house.chain.ask(COMPLEX)


SUB_CALLS: tuple[Way, ...] = (
    *WAYS,
    in_a_task,
    in_a_thread,
    in_a_thread_streaming,
    in_many,
    by_hint,
    by_start,
    by_model,
    by_hinted_model,
    by_requested,
    by_source,
    by_probe,
    by_agent,
    by_wider_list,
    by_the_function_for_scripts,
    by_inner_turn,
)


@pytest.mark.parametrize("fault", [None, "status:503", "cut:0"])
@pytest.mark.parametrize("way", SUB_CALLS, ids=lambda way: way.__name__)
def test_every_call_of_a_turn_inherits_its_border(house: Make, way: Way, fault: str | None) -> None:
    """164: sub-agents, tools, tasks and worker threads of a local turn reach no cloud, with ``auto`` as well."""
    one = house(policy="auto")
    one.lab.set_fault("home", fault)

    async def turn() -> None:
        async with one.chain.turn(SIMPLE):
            await quietly(way(one))

    asyncio.run(turn())
    assert clouds(one) == set()
    assert len(one.told) == 1, "one decision for the turn"


def test_tools_called_from_a_sink_belong_to_the_turn(house: Make) -> None:
    """164: a lone call is a turn of its own; what its sinks and its stream's block call inherits the border."""
    one = house(policy="auto")
    seen: list[object] = []

    class Sink:
        async def event(self, _event: Event) -> None:
            if not seen:
                seen.append(await one.chain.ask(COMPLEX))

    async def run() -> None:
        await one.chain.tell(SIMPLE, Sink())
        async with one.chain.stream(SIMPLE) as events:
            await anext(events)
            await one.chain.ask(COMPLEX)

    asyncio.run(run())
    assert (clouds(one), len(one.told), len(seen)) == (set(), 2, 1)
    assert len({row.turn_id for row in one.rows}) == 2


def test_a_plain_thread_is_taken_along(house: Make) -> None:
    """164: a pool or thread that copies no context gets the turn with ``turn.carry``, wherever that is said."""
    one = house(policy="auto")
    with one.chain.turn(SIMPLE) as turn, ThreadPoolExecutor(3) as pool:
        list(pool.map(turn.carry(one.chain.ask_sync), [COMPLEX] * 6))
        thread = threading.Thread(target=turn.carry(one.chain.ask_sync), args=(COMPLEX,))
        late = threading.Thread(target=lambda: turn.carry(one.chain.ask_sync)(COMPLEX))
        for each in (thread, late):
            each.start()
            each.join()
    assert (clouds(one), len(one.told)) == (set(), 1)
    assert {row.turn_id for row in one.rows} == {turn.id}


def test_a_wrapped_stream_that_is_left_early_takes_its_turn_along(house: Make) -> None:
    """A generator of one's own around a stream, and a loop over it that breaks: the next call is a turn of its own."""
    one = house(policy="auto")

    async def answer(prompt: str) -> AsyncGenerator[Event]:
        async with one.chain.stream(prompt) as events:
            async for event in events:
                yield event

    async def run() -> str:
        async for _ in answer(SIMPLE):
            break
        for _ in range(3):
            await asyncio.sleep(0)
        return (await one.chain.ask(COMPLEX)).served.provider_ref

    assert asyncio.run(run()) == CLOUD
    assert [told.tier for told in one.told] == ["simple", "complex"]
    assert len({row.turn_id for row in one.rows}) == 2


@pytest.mark.parametrize("border", ["turn", "allowed"])
@pytest.mark.parametrize("way", ["ask", "tell", "probe", "router", "provider"])
def test_a_call_made_in_a_block_and_awaited_after_it_keeps_the_border(house: Make, way: str, border: str) -> None:
    """157, 164: a list of calls is made in the block and gathered when it has ended."""
    one = house(policy=None if border == "allowed" else "auto")
    one.lab.set_fault("home", "status:503")
    router = zc.RouterModelProvider(one.chain)
    made: dict[str, Callable[[], Any]] = {
        "ask": lambda: one.chain.ask(COMPLEX),
        "tell": lambda: one.chain.tell(COMPLEX, _Deaf()),
        "probe": lambda: one.chain.probe(CLOUD),
        "router": lambda: router.chat(COMPLEX),
        "provider": lambda: router.resolve(None).chat(COMPLEX),
    }

    async def run() -> None:
        with one.chain.turn(SIMPLE) if border == "turn" else zc.allowed(HOME):
            calls = [made[way]() for _ in range(2)]
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(run())
    assert clouds(one) == set()


def test_a_call_made_before_a_block_and_awaited_in_it_keeps_the_border(house: Make) -> None:
    """157: the narrower of the two places counts."""
    one = house(policy=None, flat=True)
    one.lab.set_fault("home", "status:503")

    async def run() -> None:
        call = one.chain.ask(COMPLEX)
        with zc.allowed(HOME):
            await quietly(call)

    asyncio.run(run())
    assert clouds(one) == set()


@pytest.mark.parametrize("way", [zc.Chain.ask, zc.Chain.tell, zc.Chain.probe, RouterModelProvider.chat])
def test_what_keeps_its_border_still_looks_as_it_is(house: Make, way: Any) -> None:
    """A coroutine function with its own signature; one that nobody awaited is named."""
    if sys.version_info >= (3, 12):
        assert inspect.iscoroutinefunction(way)
    assert "options" in (known := inspect.signature(way).parameters) or "timeout_s" in known
    with zc.allowed(HOME):
        work = zc.Chain.ask(house().chain, SIMPLE)
    assert work.__qualname__ == "Chain.ask"
    work.close()


class _Deaf:
    async def event(self, _event: Event) -> None:
        """Hears nothing."""


def test_a_stream_made_in_a_turn_keeps_its_border(house: Make) -> None:
    """164: it is read after the turn has ended, and in another task."""
    one = house(policy="auto")
    one.lab.set_fault("home", "status:503")

    async def run() -> None:
        with one.chain.turn(SIMPLE):
            late = one.chain.stream(COMPLEX, hint="cloud")
            mine = one.chain.stream(COMPLEX)
        for stream in (late, mine):
            with suppress(zc.ZcError):
                async with stream as events:
                    await asyncio.create_task(_read(events))

    asyncio.run(run())
    assert clouds(one) == set()


async def _read(events: Any) -> None:
    async for _ in events:
        pass


RESULT = f"[tool result] the page says: {COMPLEX}"

# -- decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "prompt", "served"),
    [
        ("never", COMPLEX, HOME),
        ("never", SIMPLE, HOME),
        ("auto", COMPLEX, CLOUD),
        ("auto", "explain this", HOME),
        ("auto", SIMPLE, HOME),
        ("auto", [{"role": "user", "content": COMPLEX}, {"role": "assistant", "content": "so"}], CLOUD),
        ("auto", [{"role": "user", "content": COMPLEX}, {"role": "user", "content": SIMPLE}], HOME),
        ("auto", [{"role": "user", "content": SIMPLE}, {"role": "user", "content": RESULT}], HOME),
        ("auto", [{"role": "user", "content": COMPLEX}, {"role": "user", "content": "[tool result] 4"}], CLOUD),
        ("auto", RESULT, CLOUD),
    ],
)
def test_where_a_turn_goes(house: Make, policy: str, prompt: Any, served: str) -> None:
    """163: by the last user message of the prompt; a tool's answer that is written as one is not the user's."""
    one = house(policy=policy)
    assert one.chain.ask_sync(prompt).served.provider_ref == served
    assert one.chain.plan(prompt).entries[0].ref == served
    assert len(one.told) == 1, "a plan tells nobody"


def test_a_cloud_decision_permits_both_its_targets(house: Make) -> None:
    """165: the cloud fails, its fallbacks are a third (skipped) and the one at home (asked)."""
    one = house(policy="auto")
    one.lab.set_fault("cloud", "status:503")
    done = one.chain.ask_sync(COMPLEX)
    assert done.served.provider_ref == HOME
    assert set(one.asked()) == {"cloud", "home"}
    assert one.skips() == [(THIRD, "skipped_allowlist")]


def test_a_cloud_turn_reaches_no_third(house: Make) -> None:
    """165, 158: a hint or start outside the allowlist is refused with zero calls."""
    one = house(policy="auto")
    with one.chain.turn(COMPLEX):
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD
        assert one.chain.ask_sync(SIMPLE, hint="local").served.provider_ref == HOME
        one.asked()
        with pytest.raises(zc.NoPermittedCandidate, match="allowlist"):
            one.chain.ask_sync(SIMPLE, start=THIRD, fallback=False)
    assert one.asked() == []
    assert one.chain.ask_sync(SIMPLE, start=THIRD).served.provider_ref == THIRD, "the turn is over"


@pytest.mark.parametrize(
    "options", [{"hint": "dear"}, {"start": THIRD}, {"start": f"{THIRD}/dear"}, {"model": "hint:dear"}]
)
def test_a_call_that_names_its_candidate_is_not_classified(house: Make, options: dict[str, Any]) -> None:
    """No decision, no allowlist: its own fallbacks are open."""
    one = house()
    one.lab.set_fault("third", "status:503")
    assert one.chain.ask_sync(COMPLEX, **options).served.provider_ref == CLOUD
    assert one.told == []


def test_a_provider_of_the_router_is_inside_the_turn(house: Make) -> None:
    """164, 165: a finished target names itself, so it is not classified; in a turn it stays in the border."""
    one = house()
    router = RouterModelProvider(one.chain)

    async def asked() -> set[str]:
        one.asked()
        await quietly(router.targets[CLOUD].chat(SIMPLE))
        await quietly(router.chat(SIMPLE, model="hint:dear"))
        return clouds(one)

    async def run() -> list[set[str]]:
        outside = await asked()
        async with one.chain.turn(SIMPLE):
            return [outside, await asked()]

    assert asyncio.run(run()) == [{"cloud", "third"}, set()]
    assert len(one.told) == 1
    assert asyncio.run(router.chat(COMPLEX)).served.provider_ref == HOME
    assert len(one.told) == 2, "a router's call that names nothing is a turn of its own"


def test_without_effort_routing_nothing_is_classified(house: Make) -> None:
    """A turn still groups its calls, and there is no border."""
    one = house(policy=None)
    one.lab.set_fault("home", "status:503")
    with one.chain.turn(COMPLEX) as turn:
        assert turn.decision is None
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD
        one.chain.ask_sync(SIMPLE, turn_id="mine")
    one.chain.ask_sync(SIMPLE)
    assert list(dict.fromkeys(row.turn_id for row in one.rows)) == [turn.id, "mine", None]
    assert one.told == []


def test_an_edit_in_the_middle_of_a_decision_is_the_next_ones(house: Make, lab: Lab, tmp_path: Path) -> None:
    """163: a call is decided and made by one configuration, whatever becomes of the file meanwhile."""
    file = tmp_path / "zc.toml"
    file.write_text(config_text(lab), encoding="utf-8")
    one = house()
    moved = config_text(lab).replace(
        f'hint = "local"\nmodel_provider = "{HOME}"', f'hint = "local"\nmodel_provider = "{CLOUD}"'
    )
    one.chain.on_decision = lambda _: file.write_text(moved, encoding="utf-8")
    assert one.chain.ask_sync(SIMPLE).requested.provider_ref == HOME
    assert one.chain.ask_sync(SIMPLE).requested.provider_ref == CLOUD


def test_an_edit_of_the_policy_holds_from_the_next_turn(house: Make, lab: Lab, tmp_path: Path) -> None:
    """163: a turn is decided once; the file as it is then decides the next one."""
    file = tmp_path / "zc.toml"
    file.write_text(config_text(lab), encoding="utf-8")
    one = house()
    with one.chain.turn(COMPLEX):
        file.write_text(config_text(lab, policy="auto"), encoding="utf-8")
        assert one.chain.ask_sync(COMPLEX).served.provider_ref == HOME
    assert one.chain.ask_sync(COMPLEX).served.provider_ref == CLOUD
    assert [facts.policy for facts in one.told] == ["never", "auto"]


def test_telemetry_holds_no_text(house: Make, caplog: pytest.LogCaptureFixture) -> None:
    """168: target, tier, policy and length in the hook and in the log; no model was called for it."""
    one = house(policy="auto")
    caplog.set_level("DEBUG", logger="zc_notebooks")
    secret = "compare and explain the zanzibar plan"
    with one.chain.turn(secret):
        pass
    assert one.asked() == []
    assert [repr(facts) for facts in one.told] == [
        "Telemetry(target='groq.free', tier='complex', policy='auto', length=37)"
    ]
    assert "target=groq.free tier=complex policy=auto length=37" in caplog.text
    assert "zanzibar" not in caplog.text


# -- allowlists -------------------------------------------------------------------------------------------------------


def test_allowlists_narrow(house: Make) -> None:
    """158: an inner list forbids more, never less; the outer one holds again behind it."""
    one = house(policy=None)
    with zc.allowed([HOME, CLOUD]):
        with zc.allowed([CLOUD, THIRD]):
            assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD
            with zc.allowed([THIRD]), pytest.raises(zc.NoPermittedCandidate, match="allowlist"):
                one.chain.ask_sync(SIMPLE, start=THIRD)
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == HOME


def test_one_ref_may_stand_alone(house: Make) -> None:
    """A text is one ref, not a list of letters."""
    one = house(policy=None)
    with zc.allowed(CLOUD):
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD


def test_an_outer_allowlist_narrows_a_turn(house: Make) -> None:
    """158: a decision cannot permit what is forbidden around it."""
    one = house()
    with zc.allowed([CLOUD]), one.chain.turn(SIMPLE) as turn:
        assert turn.allowlist == frozenset()
        with pytest.raises(zc.NoPermittedCandidate):
            one.chain.ask_sync(SIMPLE)
    assert one.asked() == []


def test_two_chains_have_turns_of_their_own(house: Make) -> None:
    """The other chain's call is classified by itself, inside the border of the turn around it."""
    one, other = house(policy="auto"), house(policy="auto")
    with one.chain.turn(COMPLEX), other.chain.turn(SIMPLE) as inner:
        assert inner.allowlist == {HOME}
        with pytest.raises(zc.NoPermittedCandidate):
            one.chain.ask_sync(SIMPLE, fallback=False)
    assert (len(one.told), len(other.told)) == (1, 1)


def test_a_turn_left_elsewhere_ends_quietly(house: Make) -> None:
    """A generator that holds a turn may be closed by another task."""
    one = house()

    async def turns() -> Any:
        with one.chain.turn(SIMPLE) as turn:
            yield turn

    async def run() -> OpenTurn:
        generator = turns()
        turn: OpenTurn = await asyncio.create_task(_first(generator))
        await generator.aclose()
        return turn

    assert asyncio.run(run()).ended


async def _first(generator: Any) -> Any:
    return await anext(generator)
