"""``model_switch``: what a model may change, for how long, and where it may not (spec 10.4)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.fleet import Fleet
from tests.routing.homes import CLOUD, COMPLEX, HOME, SIMPLE, THIRD, House
from tests.routing.test_scope import OK, fleet_toml, sent
from zc_notebooks.chat import ToolCall

Make = Callable[..., House]


def test_the_switched_profile_is_asked_with_its_own_key(tmp_path: Path) -> None:
    """156: endpoint, key and model of the profile that the model named, until the turn ends."""
    fleet = Fleet({"a": [OK], "b": [OK], "c": [OK]}, tmp_path, toml=fleet_toml())
    with fleet.chain.turn("hi") as turn:
        fleet.chain.ask_sync("hi")
        assert turn.model_switch.handle({"action": "set", "ref": "custom.b", "model": "other"}) == (
            "custom.b/other answers the rest of this turn"
        )
        fleet.chain.ask_sync("hi")
        turn.model_switch.set("custom.c")
        fleet.chain.ask_sync("hi")
    fleet.chain.ask_sync("hi")
    assert sent(fleet) == [("a", "a", "m-a"), ("b", "b", "other"), ("c", "c", "m-c"), ("a", "a", "m-a")]


def test_it_holds_to_the_turns_end_and_the_next_is_classified(house: Make) -> None:
    """167: without an override."""
    one = house(policy="auto")
    with one.chain.turn(COMPLEX) as turn:
        turn.model_switch.set(HOME, "small-2")
        asked = [one.chain.ask_sync(SIMPLE).served.model, one.chain.ask_sync(COMPLEX).served.model]
        asked.append(asyncio.run(asyncio.to_thread(one.chain.ask_sync, SIMPLE)).served.model)
    with one.chain.turn(COMPLEX):
        asked.append(one.chain.ask_sync(SIMPLE).served.model)
    assert asked == ["small-2"] * 3 + ["large"]
    assert len(one.told) == 2


def test_a_switch_is_gone_with_the_turn_for_late_work_too(house: Make) -> None:
    """167: work that was carried out of the turn, and a call awaited after it, go where the turn was decided to go."""
    one = house(policy="auto")
    with one.chain.turn(COMPLEX) as turn:
        turn.model_switch.set(HOME, "small-2")
        carried, call = turn.carry(lambda: one.chain.ask_sync(SIMPLE)), one.chain.ask(SIMPLE)
    assert [carried().served.model, asyncio.run(call).served.model] == ["large"] * 2


def test_with_an_override_classification_stays_off(house: Make) -> None:
    """167: the switch leaves the operator's choice as it was."""
    one = house(policy="auto")
    one.chain.use(THIRD, scope="user")
    with one.chain.turn(COMPLEX) as turn:
        turn.model_switch.set(CLOUD)
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD
        assert str(one.chain.in_use()) == f"{THIRD}/dear (scope user)"
    assert one.chain.ask_sync(SIMPLE).served.provider_ref == THIRD
    assert one.told == []


@pytest.mark.parametrize(("prompt", "ref"), [(SIMPLE, CLOUD), (SIMPLE, THIRD), (COMPLEX, THIRD)])
def test_a_ref_outside_the_allowlist_is_refused(house: Make, prompt: str, ref: str) -> None:
    """167: with a sentence that names what is permitted; nothing changes."""
    one = house(policy="auto")
    with one.chain.turn(prompt) as turn:
        before = turn.model_switch.get()
        said = turn.model_switch.handle({"action": "set", "ref": ref, "model": "x"})
        assert said.startswith(f"refused: model_switch: '{ref}' is outside this turn's allowlist (permitted: {HOME}")
        with pytest.raises(zc.ConfigError, match="outside this turn's allowlist"):
            turn.model_switch.set(ref)
        assert turn.model_switch.get() == before
        assert ref not in turn.model_switch.handle({"action": "list"})
        with zc.allowed([THIRD]):
            assert turn.model_switch.list() == ()
    assert one.asked() == []


def test_get_and_list(house: Make) -> None:
    """What the next call starts with, and every permitted profile with its models."""
    one = house(policy="auto")
    with one.chain.turn(COMPLEX) as turn:
        switch = turn.model_switch
        assert switch.handle({"action": "get"}) == f"{CLOUD}/large"
        assert switch.handle({"action": "list"}) == f"{HOME}: small\n{CLOUD}: large"
        switch.set(f"{HOME}/small-2")
        assert str(switch.get()) == f"{HOME}/small-2"
        assert one.chain.ask_sync(SIMPLE).served.model == "small-2"


def test_an_agents_block_opened_later_is_nearer(house: Make) -> None:
    """A sub-agent keeps the model it was given; the switch holds again behind it."""
    one = house(policy=None)
    with one.chain.turn(SIMPLE) as turn:
        turn.model_switch.set(CLOUD)
        with one.chain.use(THIRD, scope="agent"):
            assert one.chain.ask_sync(SIMPLE).served.provider_ref == THIRD
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD


def test_after_the_turn_there_is_nothing_to_switch(house: Make) -> None:
    """A sentence, not a change of the next turn."""
    one = house(policy=None)
    with one.chain.turn(SIMPLE) as turn:
        pass
    assert "has ended" in turn.model_switch.handle({"action": "set", "ref": CLOUD})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (None, "no JSON object"),
        ("{", "no JSON object"),
        ("[]", "no JSON object"),
        ({}, "the action None does not exist"),
        ({"action": "reset"}, "'reset' does not exist"),
        ({"action": "set"}, "needs ref"),
        ({"action": "set", "ref": 3}, "needs ref"),
        ({"action": "set", "ref": CLOUD, "model": 3}, "needs ref"),
        ({"action": "set", "ref": "groq"}, "no configured profile"),
        ('{"action":"set","ref":"groq.fre"}', "did you mean 'groq.free'"),
    ],
)
def test_whatever_a_model_sends_is_answered(house: Make, arguments: Any, words: str) -> None:
    """A sentence that it can act on."""
    with house(policy=None).chain.turn(SIMPLE) as turn:
        said = turn.model_switch.handle(arguments)
        assert said.startswith("refused: ")
        assert words in said


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda item: st.lists(item, max_size=2))


@given(
    st.text(max_size=40) | st.dictionaries(st.sampled_from(["action", "ref", "model", "x"]), JSON) | st.none(),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tool_call_never_raises(house: Make, arguments: Any) -> None:
    """Over any arguments, parsed or as text."""
    with house(policy="auto").chain.turn(SIMPLE) as turn:
        assert turn.model_switch.handle(arguments)
        assert turn.model_switch.handle(json.dumps(arguments))
        assert turn.model_switch.get().ref == HOME


def test_the_tool_goes_out_and_its_call_is_answered(house: Make) -> None:
    """The definition is an OpenAI tool dictionary; a :class:`ToolCall` as it came is taken."""
    one = house(policy=None)
    with one.chain.turn(SIMPLE) as turn:
        tool = turn.model_switch.tool
        one.chain.ask_sync(SIMPLE, tools=[tool])
        call = ToolCall(id="1", name=tool["function"]["name"], arguments={"action": "get"}, raw='{"action":"get"}')
        assert turn.model_switch.handle(call) == f"{HOME}/small"
        tool["function"]["name"] = "mine"
        assert turn.model_switch.tool["function"]["name"] == "model_switch"
