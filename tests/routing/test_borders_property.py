"""Borders and keys, proved from the other side: the lab's own log over random graphs, routes and ways to call."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import zc_notebooks as zc
from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.errors import CallError, ConfigError
from zc_notebooks.lab import Lab, LabClock, LabRequest, parse_scenario
from zc_notebooks.records import TIERS, Record
from zc_notebooks.reliability.cooldown import Marks

pytestmark = pytest.mark.filterwarnings("ignore::zc_notebooks.calling.UnknownHintWarning")

FAMILIES = ("custom", "anthropic", "google", "cohere", "custom", "custom")
NAMES = tuple(f"p{number}" for number in range(len(FAMILIES)))
FAULTS = (
    None,
    None,
    "status:500",
    "status:429",
    "status:403",
    "reset",
    "empty",
    "cut:0",
    "cut:2",
    "cut_clean:2",
    "error_event:0",
    "ok_error_body",
)
PROMPT = "What is 17 * 23?"
START = datetime(2026, 9, 1, tzinfo=UTC)


def own_key(name: str) -> str:
    return f"own-key-of-{name}-0123456789"


def route_key(name: str) -> str:
    return f"route-key-of-{name}-0123456789"


def scenario() -> str:
    """Six providers on four wires; each accepts its own two keys and refuses every other."""
    text = 'name = "borders"\ntitle = "six providers"\nstart = 2026-09-01T00:00:00Z\n'
    for name, family in zip(NAMES, FAMILIES, strict=True):
        text += (
            f'[[provider]]\nname = "{name}"\nfamily = "{family}"\nalias = "{name}"\nlatency_ms = 0\nrefusal_ms = 0\n'
        )
        text += f'chunk_ms = 0\nkeys = ["{own_key(name)}", "{route_key(name)}"]\n[[provider.model]]\nid = "m"\n'
    return text


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(parse_scenario(scenario()), clock=LabClock(START, frozen=True)) as running:
        yield running


Tiers = tuple[str, ...] | None


def tiers_line(tiers: Tiers) -> str:
    return "" if tiers is None else f"allow_tiers = {list(tiers)!r}\n"


class World(Record, frozen=True, kw_only=True):
    """One random configuration, what goes wrong in it, what is permitted, and how it is called."""

    fallbacks: Mapping[str, tuple[str, ...]]
    tiers: Mapping[str, str]
    chain: tuple[tuple[str, Tiers], ...]
    """(candidate, its own tiers); one may stand there twice."""
    routes: tuple[tuple[str, bool, Tiers], ...]
    """(target, whether the route supplies a key, its own tiers), by hint h0, h1, …"""
    two_keys: frozenset[str]
    """Whose own key has a second one behind it."""
    faults: Mapping[str, str | None]
    allowed: frozenset[str] | None
    everywhere: Tiers
    """Tiers of ``[borders]``."""
    allow_tiers: Tiers
    """Tiers of the call."""
    hint: str | None
    way: str

    def toml(self, lab: Lab) -> str:
        text = 'default_provider = "' + ref("p0") + '"\n[reliability]\nprovider_retries = 1\n'
        for name, family in zip(NAMES, FAMILIES, strict=True):
            links = ", ".join(f'"{ref(other)}"' for other in self.fallbacks[name])
            text += (
                f'[providers.{family}.{name}]\nuri = "{lab.base_url(name)}"\nmodel = "m"\ntier = "{self.tiers[name]}"\n'
            )
            names = [f"OWN_{name.upper()}", f"ROUTE_{name.upper()}"]
            text += f"api_key_envs = {names if name in self.two_keys else names[:1]!r}\nfallback = [{links}]\n"
        for name, tiers in self.chain:
            text += f'[[chain]]\nprovider = "{ref(name)}"\n{tiers_line(tiers)}'
        for number, (name, key, tiers) in enumerate(self.routes):
            text += f'[[model_routes]]\nhint = "h{number}"\nmodel_provider = "{ref(name)}"\nmodel = "m"\n'
            text += (f'api_key_env = "ROUTE_{name.upper()}"\n' if key else "") + tiers_line(tiers)
        return text + f"[borders]\n{tiers_line(self.everywhere)}"

    def permitted(self, name: str) -> bool:
        """Whether a candidate may be asked, by the tiers of all that has a say."""
        says = [self.everywhere, self.allow_tiers]
        by_hint = {f"h{number}": tiers for number, (_, _, tiers) in enumerate(self.routes)}
        if self.hint in by_hint:
            says.append(by_hint[self.hint])
        else:
            says.append(dict(reversed(self.chain)).get(name))  # the first one: a later duplicate is dropped
        return all(tiers is None or self.tiers[name] in tiers for tiers in says)


def ref(name: str) -> str:
    return f"{FAMILIES[NAMES.index(name)]}.{name}"


ENVIRON = {f"OWN_{name.upper()}": own_key(name) for name in NAMES} | {
    f"ROUTE_{name.upper()}": route_key(name) for name in NAMES
}
SOME = st.lists(st.sampled_from(NAMES), max_size=4, unique=True).map(tuple)


async def chat(chain: Chain, hint: str | None, **limits: Any) -> None:
    await chain.ask(PROMPT, hint=hint, **limits)


async def stream(chain: Chain, hint: str | None, **limits: Any) -> None:
    async with chain.stream(PROMPT, hint=hint, **limits) as events:
        async for _ in events:
            pass


async def draft(chain: Chain, hint: str | None, **limits: Any) -> None:
    async with chain.stream(PROMPT, hint=hint, draft=True, **limits) as events:
        async for _ in events:
            pass


async def thread(chain: Chain, hint: str | None, **limits: Any) -> None:
    await asyncio.to_thread(chain.ask_sync, PROMPT, hint=hint, **limits)


async def task(chain: Chain, hint: str | None, **limits: Any) -> None:
    calls = [asyncio.create_task(chat(chain, hint, **limits)) for _ in range(2)]
    await asyncio.wait(calls)  # both to their end: a request still under way would stand in the next example's log
    for error in [call.exception() for call in calls]:
        if error is not None:
            raise error


async def sub_calls(chain: Chain, hint: str | None, **limits: Any) -> None:
    with chain.turn(PROMPT) as turn:
        await chat(chain, hint, **limits)
        await asyncio.to_thread(turn.carry(lambda: chain.ask_sync("And 2 + 2?", hint=hint, **limits)))


NARROW = st.none() | st.none() | st.lists(st.sampled_from(TIERS), unique=True).map(tuple)
WAYS: Mapping[str, Callable[..., Coroutine[Any, Any, None]]] = {
    way.__name__: way for way in (chat, stream, draft, thread, task, sub_calls)
}
WORLDS = st.builds(
    World,
    fallbacks=st.fixed_dictionaries(dict.fromkeys(NAMES, SOME)),
    tiers=st.fixed_dictionaries({name: st.sampled_from(TIERS) for name in NAMES}),
    chain=st.lists(st.tuples(st.sampled_from(NAMES), NARROW), max_size=5).map(tuple),
    routes=st.lists(st.tuples(st.sampled_from(NAMES), st.booleans(), NARROW), max_size=3).map(tuple),
    two_keys=st.frozensets(st.sampled_from(NAMES)),
    faults=st.fixed_dictionaries({name: st.sampled_from(FAULTS) for name in NAMES}),
    allowed=st.none() | st.frozensets(st.sampled_from(NAMES)),
    everywhere=NARROW,
    allow_tiers=NARROW,
    hint=st.sampled_from([None, "h0", "h1", "nope"]),
    way=st.sampled_from(sorted(WAYS)),
)


QUIET = World(
    fallbacks=dict.fromkeys(NAMES, ()),
    tiers=dict.fromkeys(NAMES, "metered"),
    chain=(),
    routes=(),
    two_keys=frozenset(),
    faults=dict.fromkeys(NAMES),
    allowed=None,
    everywhere=None,
    allow_tiers=None,
    hint=None,
    way="chat",
)
FREE = ("free",)


async def play(lab: Lab, world: World, folder: str) -> tuple[LabRequest, ...]:
    """The lab's log of one call, whatever came of it."""
    config = parse_config(world.toml(lab), base_dir=Path(folder), source="zc.toml")
    chain = Chain(
        config,
        clock=lab.clock,
        ledger=Path(folder),
        marks=Marks(None, clock=lab.clock),
        random=lambda: 0.0,
        environ=ENVIRON,
    )
    limits = {} if world.allow_tiers is None else {"allow_tiers": world.allow_tiers}
    try:
        if world.allowed is None:
            await WAYS[world.way](chain, world.hint, **limits)
        else:
            with zc.allowed(map(ref, world.allowed)):
                await WAYS[world.way](chain, world.hint, **limits)
    except (CallError, ConfigError):
        pass
    finally:
        await chain.aclose()
    return lab.requests


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(WORLDS)
@example(replace(QUIET, routes=(("p1", False, FREE),), hint="h0"))
@example(replace(QUIET, chain=(("p0", FREE), ("p1", FREE), ("p1", None))))
@example(replace(QUIET, chain=(("p1", None),), everywhere=FREE))
@example(replace(QUIET, everywhere=FREE, allow_tiers=("metered",)))
@example(replace(QUIET, chain=(("p1", None),), two_keys=frozenset(NAMES), allowed=frozenset()))
@example(replace(QUIET, two_keys=frozenset(NAMES), allow_tiers=FREE))
def test_157_nobody_outside_the_borders_is_asked_and_no_key_goes_astray(lab: Lab, world: World) -> None:
    """Behaviours 29, 156 and 157, and spec 2.7: by the lab's log, over every way to call.

    A provider refuses every key but its own two, so a key that went to another endpoint shows as a refusal.
    """
    lab.clock.set(START)
    lab.reset()
    for name in NAMES:
        lab.set_fault(name, world.faults[name])
    with tempfile.TemporaryDirectory() as folder:
        asked = asyncio.run(play(lab, world, folder))
    for request in asked:
        assert world.allowed is None or request.provider in world.allowed, request
        assert world.permitted(request.provider), request
        if request.method == "GET":  # whether a local server runs is asked without a key
            assert (world.tiers[request.provider], request.key_came) == ("local", False), request
            continue
        assert request.key_came, request
        assert request.status != 401, request
        assert "key" not in request.answered, request
        assert "auth" not in request.answered, request


def test_the_lab_tells_a_key_that_went_astray(lab: Lab) -> None:
    """The property can fail: a profile with another one's key is refused, and the log says so."""
    lab.reset()
    lab.set_fault("p0", None)
    toml = f'[providers.custom.p0]\nuri = "{lab.base_url("p0")}"\nmodel = "m"\napi_key_env = "OWN_P1"\n'
    with tempfile.TemporaryDirectory() as folder:
        config = parse_config(f'default_provider = "custom.p0"\n{toml}', base_dir=Path(folder), source="zc.toml")
        chain = Chain(config, clock=lab.clock, ledger=folder, marks=Marks(None, clock=lab.clock), environ=ENVIRON)
        with chain, pytest.raises(CallError):
            chain.ask_sync(PROMPT)
    assert lab.requests[-1].status == 401
