"""Profiles that share a key, and profiles with several: what probe, watch, status and clear make of their marks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fleet import Fleet, profile
from zc_notebooks.errors import AllCandidatesFailed
from zc_notebooks.testing import chat_answer, chat_error, response
from zc_notebooks.watch import watch

BAD = chat_error(401, "Invalid API Key", code="invalid_api_key")
DAY = chat_error(429, "Limit on tokens per day (TPD)", {"retry-after": "7200"})
FREE_DAY = chat_error(429, "Rate limit exceeded: free-models-per-day", {"retry-after": "7200"}, code=429)
MODELS = response(200, {"data": []})
TWO = """default_provider = "groq.a"
[providers.groq.a]
uri = "https://a.test/v1"
model = "m"
api_key_envs = ["KEY_A", "KEY_B"]
"""


def shared(**second: str) -> str:
    """Two profiles of one pool; the second has the first one's key unless told otherwise."""
    rest = {"model": "m2", "key": "KEY_A"} | second
    return profile("a", billing_pool='"p"') + profile("b", billing_pool='"p"', **rest)


def test_a_bad_first_key_does_not_hide_a_good_second(tmp_path: Path) -> None:
    """The free request goes through the keys until one passes it; the result says what is wrong with the others."""
    fleet = Fleet({"a": [BAD, MODELS, chat_answer()]}, tmp_path, toml=TWO)
    result = fleet.chain.probe_sync("groq.a")
    assert result.reachable
    assert "bad key: Invalid API Key" in result.text
    assert [request.method for request in fleet.transport.requests] == ["GET", "GET", "POST"]


def test_of_several_keys_that_fail_the_one_that_comes_back_is_told(tmp_path: Path) -> None:
    """A limit outranks a bad key: the profile is back when the limit ends."""
    fleet = Fleet({"a": [MODELS, DAY, BAD]}, tmp_path, toml=TWO)
    result = fleet.chain.probe_sync("groq.a")
    assert (result.state, result.provenance) == ("limited", "stated")
    assert result.until is not None
    assert result.text.count("key ") == 2


def test_status_with_one_of_two_keys(tmp_path: Path) -> None:
    """One key's mark does not make the profile look out."""
    fleet = Fleet({"a": [DAY, chat_answer()]}, tmp_path, toml=TWO)
    assert fleet.chain.ask_sync("hi").text
    words = fleet.chain.status()["groq.a"].words(fleet.clock.now())
    assert words.startswith("ready with 1 of 2 keys; ")
    assert words.endswith("token daily limit, back in 2h 00m (stated)")


def test_status_with_both_keys_out(tmp_path: Path) -> None:
    """The profile is back when the first of its keys is."""
    hour = chat_error(429, "Limit on tokens per day (TPD)", {"retry-after": "3600"})
    fleet = Fleet({"a": [DAY, hour]}, tmp_path, toml=TWO)
    with pytest.raises(AllCandidatesFailed):
        fleet.chain.ask_sync("hi")
    words = fleet.chain.status()["groq.a"].words(fleet.clock.now())
    assert words == "token daily limit, back in 1h 00m (stated)"


def test_watch_asks_another_key_of_the_pool(tmp_path: Path) -> None:
    """A mark binds its own credential: a second profile with another key is still asked, one with the same is not."""
    toml = shared(key="KEY_B") + profile("c", billing_pool='"p"', key="KEY_A")
    fleet = Fleet({"a": [DAY], "b": [chat_answer()], "c": []}, tmp_path, toml=toml)
    asyncio.run(watch(fleet.chain, every_s=9, rounds=1))
    assert fleet.called == ["a", "b"]


def test_watch_spares_a_key_that_is_out(tmp_path: Path) -> None:
    """Of two keys only the open one is asked, and with both out nobody is, though a third is not set."""
    toml = TWO.replace('"KEY_B"]', '"KEY_B", "KEY_GONE"]')
    fleet = Fleet({"a": [DAY, chat_answer(), MODELS, DAY]}, tmp_path, toml=toml)
    fleet.chain.ask_sync("hi")
    first, second = (row.credential_id for row in fleet.rows)
    asyncio.run(watch(fleet.chain, every_s=9, rounds=2))
    assert [row.credential_id for row in fleet.rows[2:]] == [second]
    assert first != second


def test_watch_knows_a_mark_of_a_pattern(tmp_path: Path) -> None:
    """``*:free`` keeps every free model out, so none is asked."""
    block = '[providers.openrouter.{0}]\nuri = "https://{0}.test/v1"\napi_key_env = "KEY_A"\nbilling_pool = "p"\n'
    toml = "".join(f'{block.format(name)}model = "{name}:free"\n' for name in "ab")
    fleet = Fleet({"a": [MODELS, FREE_DAY], "b": []}, tmp_path, toml=toml)
    asyncio.run(watch(fleet.chain, every_s=9, rounds=2))
    assert fleet.called == ["a", "a"]


@pytest.mark.parametrize(("second", "cleared"), [({}, 1), ({"key": "KEY_B"}, 0), ({"billing_pool": '"q"'}, 0)])
def test_clearing_a_profile_that_another_has_put_out(tmp_path: Path, second: dict[str, str], cleared: int) -> None:
    """The mark of a shared key and pool goes by either name, nobody else's."""
    toml = shared(**{name: value for name, value in second.items() if name == "key"})
    if "billing_pool" in second:
        toml = toml.replace('billing_pool = "p"', 'billing_pool = "q"', 1)
    fleet = Fleet({"a": [DAY], "b": [chat_answer()]}, tmp_path, toml=toml)
    assert not fleet.chain.probe_sync("custom.a").reachable
    assert fleet.chain.clear("custom.b") == cleared
    assert len(fleet.chain.marks()) == 1 - cleared
