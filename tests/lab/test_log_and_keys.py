"""The request log says what came and what went, and never a key."""

from __future__ import annotations

import httpx
import pytest

from tests.lab.asking import WIRES, ask
from zc_notebooks.lab import Lab

PLANTED = "sk-planted-0123456789abcdef"


def test_the_log_tells_each_request(wires: Lab, client: httpx.Client) -> None:
    """Number, provider, path, model, streamed or not, and what was answered."""
    ask(wires, client, "openai_chat")
    wires.set_fault("gemini", "cut:2", times=1)
    with pytest.raises(httpx.RemoteProtocolError):
        ask(wires, client, "gemini", stream=True)
    first, second = wires.requests
    assert (first.number, first.provider, first.status, first.answered) == (1, "chat", 200, "ok")
    assert (first.model, first.stream, first.path) == ("openai/gpt-oss-120b", False, "/openai/v1/chat/completions")
    assert (second.provider, second.stream, second.wire, second.answered) == ("gemini", True, "gemini", "cut")
    assert first.at == wires.clock.now()
    assert first.conversation is not None
    assert first.conversation.last_user == "What is 17*23?"
    assert wires.requests_for("google") == (second,)


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key", "api-key"])
def test_a_key_is_noticed_and_never_kept(wires: Lab, client: httpx.Client, header: str) -> None:
    """The log knows that a key came and by which header, and holds no part of it."""
    client.post(wires.base_url("chat") + "/chat/completions", headers={header: f"Bearer {PLANTED}"}, content=b"{}")
    line = wires.requests[-1]
    assert line.key_came
    assert header in line.header_names
    told = repr(line) + repr([getattr(line, name) for name in line.__struct_fields__])
    assert PLANTED[:9] not in told
    assert PLANTED[-6:] not in told


def test_a_key_in_the_query_is_noticed(wires: Lab, client: httpx.Client) -> None:
    """Google's way of sending a key is a key, and the logged path has no query."""
    client.post(f"{wires.base_url('gemini')}/models/gemini-3.5-flash:generateContent?key={PLANTED}", json={})
    assert wires.requests[-1].key_came
    assert PLANTED not in repr(wires.requests[-1].path)


def test_keys_are_asked_for_where_the_scenario_says(keyed: Lab, client: httpx.Client) -> None:
    """No key and a wrong key get the family's own refusal; a good one an answer."""
    url = keyed.base_url("deepseek") + "/chat/completions"
    body = {"model": "deepseek-v4-flash", "messages": [{"role": "user", "content": "hi"}]}
    statuses = [
        client.post(url, json=body, headers=headers).status_code
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer lab-key-paid"})
    ]
    assert statuses == [401, 401, 200]
    assert client.get(keyed.base_url("deepseek") + "/models").status_code == 401


def test_each_key_has_an_account_of_its_own(keyed: Lab, client: httpx.Client) -> None:
    """The first key's day is used up; the second one answers."""
    url = keyed.base_url("google") + "/chat/completions"
    body = {"model": "gemini-3.5-flash", "messages": [{"role": "user", "content": "hi"}]}
    keys = keyed.environ()
    assert set(keys) == {"LAB_KEY_GOOGLE_1", "LAB_KEY_GOOGLE_2", "LAB_KEY_DEEPSEEK"}
    told = [
        client.post(url, json=body, headers={"authorization": f"Bearer {keys[name]}"}).status_code
        for name in ("LAB_KEY_GOOGLE_1", "LAB_KEY_GOOGLE_2")
    ]
    assert told == [429, 200]
    text = keyed.config_text()
    assert 'api_key_envs = ["LAB_KEY_GOOGLE_1", "LAB_KEY_GOOGLE_2"]' in text
    assert "lab-key" not in text


@pytest.mark.parametrize("wire", WIRES)
def test_paths_are_told_by_their_end(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The same request works below the common origin and the provider's name, whatever prefix it has."""
    spec = wires.scenario.provider(WIRES[wire])
    own = wires.base_url(spec.name)
    common = own.replace(wires.origin(spec.name), f"{wires.url}/{spec.name}/some/proxy")
    assert ask(wires, client, wire).status_code == 200
    path = wires.requests[-1].path.removeprefix(own.removeprefix(wires.origin(spec.name)))
    response = client.post(common + path, json={})
    assert response.status_code in (400, 422)
    assert wires.requests[-1].provider == spec.name
    assert client.post(f"{wires.url}/nobody/v1/chat/completions", json={}).status_code == 404
