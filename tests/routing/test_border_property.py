"""Over random graphs, chains, turns and ways of asking: nobody outside the allowlist is ever asked."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.fleet import Fleet, profile
from tests.routing.test_scope import sent
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk, chat_error, chat_usage

NAMES = "abcde"
NAME = st.sampled_from(NAMES)
OUTCOMES: dict[str, list[Any]] = {
    "ok": [chat_answer("42")],
    "stream": [Pieces(pieces=(chat_chunk("4"), chat_chunk("2"), chat_chunk(finish="stop"), chat_usage(), CHAT_DONE))],
    "cut": [Pieces(pieces=(chat_chunk("4"), "disconnect"))],
    "silent": [Pieces(pieces=("disconnect",))],
    "limit": [chat_error(429, "slow down")],
    "server": [chat_error(503, "busy")],
    "purse": [chat_error(402, "no credit")],
    "key": [chat_error(401, "bad key")],
    "long": [chat_error(400, "too long", code="context_length_exceeded")],
}
CALL = st.fixed_dictionaries(
    {
        "way": st.sampled_from(["ask", "stream", "tell", "thread", "task", "sync", "probe"]),
        "prompt": st.sampled_from(["hi", "compare and explain", "設計を比較して", "x" * 300]),
        "options": st.sampled_from(
            [
                {},
                {},
                *({"hint": name} for name in NAMES),
                *({"start": f"custom.{name}"} for name in NAMES),
                {"model": "hint:b"},
                {"model": "other"},
                {"requested": "other"},
                {"source": "graph"},
                {"fallback": False},
            ]
        ),
        "agent": st.none() | NAME,
        "switch": st.none() | NAME,
    }
)


def toml(edges: dict[str, list[str]], links: Sequence[str], local: str, cloud: str, policy: str) -> str:
    """Five profiles with random fallbacks, a route to each, perhaps a flat chain, and effort routing over two."""
    parts = ['default_provider = "custom.a"']
    for name in NAMES:
        fallback = json.dumps([f"custom.{other}" for other in edges.get(name, [])])
        parts.append(profile(name, model=f"m-{name}", fallback=fallback))
    parts += [f'[[chain]]\nprovider = "custom.{name}"' for name in links]
    parts += [f'[[model_routes]]\nhint = "{name}"\nmodel_provider = "custom.{name}"\nmodel = "m"' for name in NAMES]
    parts += [f'[effort_routing]\nlocal_hint = "{local}"\ncloud_hint = "{cloud}"\ncloud_escalation = "{policy}"']
    return "\n".join(parts) + "\n[reliability]\nprovider_retries = 1\n"


async def ask_in(way: str, chain: zc.Chain, prompt: str, options: dict[str, Any]) -> None:
    """One call, however it is made."""
    match way:
        case "ask":
            await chain.ask(prompt, **options)
        case "task":
            await asyncio.create_task(chain.ask(prompt, **options))
        case "stream":
            async with chain.stream(prompt, **options) as events:
                async for _ in events:
                    pass
        case "tell":
            await chain.tell(prompt, **options)
        case "sync":
            list(chain.stream_sync(prompt, **options))
        case "thread":
            await asyncio.to_thread(chain.ask_sync, prompt, **options)
        case "probe":
            await chain.probe("custom.e")


async def one_call(fleet: Fleet, turn: Any, call: dict[str, Any]) -> None:
    """After the model's switch and in the agent's block, if there are any."""
    if call["switch"] is not None:
        turn.model_switch.handle({"action": "set", "ref": f"custom.{call['switch']}"})
    with ExitStack() as stack:
        if call["agent"] is not None:
            stack.enter_context(fleet.chain.use(f"custom.{call['agent']}", scope="agent"))
        await ask_in(call["way"], fleet.chain, call["prompt"], call["options"])


@given(
    edges=st.dictionaries(NAME, st.lists(NAME, max_size=3, unique=True)),
    links=st.lists(NAME, max_size=4, unique=True),
    pair=st.lists(NAME, min_size=2, max_size=2, unique=True),
    policy=st.sampled_from(["never", "auto"]),
    outcomes=st.fixed_dictionaries({name: st.sampled_from(sorted(OUTCOMES)) for name in NAMES}),
    outer=st.none() | st.sets(NAME),
    message=st.sampled_from(["hi", "compare and explain"]),
    calls=st.lists(CALL, min_size=1, max_size=3),
)
@settings(deadline=None, max_examples=100)
def test_nobody_outside_the_allowlist_is_asked(
    edges: dict[str, list[str]],
    links: list[str],
    pair: list[str],
    policy: str,
    outcomes: dict[str, str],
    outer: set[str] | None,
    message: str,
    calls: list[dict[str, Any]],
) -> None:
    """157, 164, 165: and whoever is asked gets the key of its own profile (156)."""
    local, cloud = pair
    permitted = {local, cloud} if policy == "auto" and message != "hi" else {local}
    if outer is not None:
        permitted &= outer
    script = {name: OUTCOMES[outcome] for name, outcome in outcomes.items()}

    async def run(fleet: Fleet) -> None:
        with ExitStack() as stack:
            if outer is not None:
                stack.enter_context(zc.allowed(f"custom.{name}" for name in outer))
            turn = stack.enter_context(fleet.chain.turn(message))
            for call in calls:
                with suppress(zc.ZcError):
                    await one_call(fleet, turn, call)

    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(script, Path(folder), toml=toml(edges, links, local, cloud, policy))
        asyncio.run(run(fleet))
        fleet.chain.close()
    requests = sent(fleet)
    assert {host for host, _, _ in requests} <= permitted
    assert all(host == owner for host, owner, _ in requests)
    asked = {row.provider_ref for row in fleet.rows if not row.status.startswith("skipped")}
    assert asked <= {f"custom.{name}" for name in permitted}
    assert len({row.turn_id for row in fleet.rows if row.mode != "probe"}) <= 1
