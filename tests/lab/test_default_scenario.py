"""Six providers at one moment, as the default scenario plays them."""

from __future__ import annotations

import tomllib
from typing import Any

import httpx
import pytest

from zc_notebooks.lab import Lab, scenario_names


def ask(lab: Lab, client: httpx.Client, name: str, prompt: str = "What is 17*23?", **more: Any) -> httpx.Response:
    spec = lab.scenario.provider(name)
    body = {"model": spec.models[0].id, "messages": [{"role": "user", "content": prompt}], **more}
    return client.post(lab.base_url(name, "openai_chat") + "/chat/completions", json=body)


@pytest.mark.parametrize(
    ("name", "statuses", "answered"),
    [
        ("a", [429, 429], "groq.tokens_per_day"),
        ("b", [503, 429], "google.requests_per_day"),
        ("c", [402, 402], "openrouter.balance"),
        ("d", [429, 429], "mistral.requests_per_minute"),
        ("e", [200, 200], "ok"),
        ("f", [200, 200], "ok"),
    ],
)
def test_each_provider(lab: Lab, client: httpx.Client, name: str, statuses: list[int], answered: str) -> None:
    """Four walls, and two prepaid providers that answer."""
    assert [ask(lab, client, name).status_code for _ in statuses] == statuses
    assert lab.requests_for(name)[-1].answered == answered


def test_the_answer_is_marked_and_right(lab: Lab, client: httpx.Client) -> None:
    """A text says that it is simulated, and what a sum comes to."""
    text = ask(lab, client, "f").json()["choices"][0]["message"]["content"]
    assert text == "(simulated) 17*23 = 391"


def test_the_credit_router_still_serves_free_models(lab: Lab, client: httpx.Client) -> None:
    """Without credit the dear models are refused and the free one answers."""
    assert ask(lab, client, "c", model="anthropic/claude-haiku-4.5").status_code == 402
    assert ask(lab, client, "c", model="openai/gpt-oss-20b:free").status_code == 200


def test_the_config_text_names_the_fleet(lab: Lab) -> None:
    """The written zc.toml is TOML with every provider, the chain in order, and no key."""
    config = tomllib.loads(lab.config_text())
    assert [link["provider"] for link in config["chain"]] == [
        "groq.free",
        "openrouter.credit",
        "google.free",
        "mistral.metered",
        "deepseek.prepaid",
        "openai.prepaid",
    ]
    groq = config["providers"]["groq"]["free"]
    assert groq["keyless"] is True
    assert groq["uri"] == lab.base_url("a")
    assert "default" in scenario_names()
