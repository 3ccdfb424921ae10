"""Quotas, money and concurrency on the lab's clock: what is refused, what is stated, and that it comes back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.lab import Lab, LabClock, parse_scenario
from zc_notebooks.lab.quota import Counter
from zc_notebooks.lab.scenario import Quota

NOON = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


def ask(
    lab: Lab, client: httpx.Client, name: str, model: str | None = None, prompt: str = "hello", **more: Any
) -> httpx.Response:
    model = model or lab.scenario.provider(name).models[0].id
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], **more}
    return client.post(lab.base_url(name, "openai_chat") + "/chat/completions", json=body)


def use_up(lab: Lab, client: httpx.Client, name: str, **more: Any) -> httpx.Response:
    """Asks until refused and returns the refusal."""
    for _ in range(60):
        response = ask(lab, client, name, **more)
        if response.status_code != 200:
            return response
    raise AssertionError(f"{name} never refused")


def test_a_rolling_day_of_tokens_comes_back_when_it_said(lab: Lab, client: httpx.Client) -> None:
    """Groq's wait is exact: a second before it the limit holds, after it one request fits."""
    message = ask(lab, client, "a", max_tokens=100).json()["error"]["message"]
    minutes, seconds = re.search(r"try again in (\d+)m([\d.]+)s", message).groups()  # type: ignore[union-attr]
    wait = int(minutes) * 60 + float(seconds)
    assert "tokens per day (TPD): Limit 100000, Used 100669" in message
    lab.clock.advance(wait - 1)
    assert ask(lab, client, "a", max_tokens=100).status_code == 429
    lab.clock.advance(1.01)
    assert ask(lab, client, "a", max_tokens=100).status_code == 200


@pytest.mark.parametrize(
    ("name", "answered", "before", "after"),
    [
        ("google", "google.requests_per_minute", "12:00:59", "12:01:00"),
        ("cerebras", "cerebras.requests_per_minute", "12:00:59", "12:01:00"),
        ("cohere", "cohere.requests_per_minute", "12:00:59", "12:01:00"),
        ("moonshot", "moonshot.requests_per_minute", "12:00:59", "12:01:00"),
        ("cloudflare", "cloudflare.neurons", "23:59:59", "2026-09-02 00:00:00"),
        ("openrouter", "openrouter.free_per_minute", "12:00:59", "12:01:00"),
    ],
)
def test_windows_end_by_their_rule(
    tiers: Lab, client: httpx.Client, name: str, answered: str, before: str, after: str
) -> None:
    """A fixed minute ends with the minute, a day at its midnight; a second earlier it still holds."""
    use_up(tiers, client, name)
    assert tiers.requests[-1].answered == answered
    tiers.clock.set(_at(before))
    assert ask(tiers, client, name).status_code == 429
    tiers.clock.set(_at(after))
    assert ask(tiers, client, name).status_code == 200


def _at(text: str) -> datetime:
    stamp = text if " " in text else f"2026-09-01 {text}"
    return datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)


def test_a_pacific_day_ends_at_seven_utc_in_summer(tiers: Lab, client: httpx.Client) -> None:
    """Gemini's 20 requests a day come back at midnight in Los Angeles, not at the stated 56 seconds."""
    for place in range(20):
        assert ask(tiers, client, "google").status_code == 200, place
        tiers.clock.advance(60)
    refusal = ask(tiers, client, "google")
    assert "Please retry in 56.281940557s" in refusal.json()[0]["error"]["message"]
    tiers.clock.advance(57)
    assert ask(tiers, client, "google").status_code == 429
    tiers.clock.set(_at("2026-09-02 06:59:59"))
    assert ask(tiers, client, "google").status_code == 429
    tiers.clock.set(_at("2026-09-02 07:00:00"))
    assert ask(tiers, client, "google").status_code == 200


def test_a_session_of_five_hours_starts_with_its_first_use(tiers: Lab, client: httpx.Client) -> None:
    """Z.ai's window opens at the first request and its reset is told in Beijing time."""
    tiers.clock.set(_at("12:30:00"))
    for _ in range(80):
        assert ask(tiers, client, "zai").status_code == 200
    message = ask(tiers, client, "zai").json()["error"]["message"]
    assert message.endswith("reset at 2026-09-02 01:30:00")
    tiers.clock.set(_at("17:30:00"))
    assert ask(tiers, client, "zai").status_code == 200


def test_a_limit_of_zero_never_comes_back(tiers: Lab, client: httpx.Client) -> None:
    """A model outside the plan is refused for ever, whatever wait is stated."""
    refusal = ask(tiers, client, "google", "gemini-3.1-pro").json()[0]["error"]["message"]
    assert "limit: 0" in refusal
    mistral = ask(tiers, client, "mistral", "mistral-large-latest")
    assert mistral.headers["x-ratelimit-limit-req-minute"] == "0"
    tiers.clock.advance(40 * 86_400)
    assert ask(tiers, client, "google", "gemini-3.1-pro").status_code == 429
    assert ask(tiers, client, "mistral", "mistral-large-latest").status_code == 429


def test_an_account_wide_quota_covers_all_its_models(tiers: Lab, client: httpx.Client) -> None:
    """One counter for all :free models: another one is no way out."""
    refusal = use_up(tiers, client, "openrouter")
    assert refusal.headers["x-ratelimit-reset"] == str(int(_at("12:01:00").timestamp() * 1000))
    assert ask(tiers, client, "openrouter", "qwen/qwen3-8b:free").status_code == 429


def test_success_headers_count_down(lab: Lab, client: httpx.Client) -> None:
    """What is left is stated on every answer, in the family's own names and units."""
    first, second = (ask(lab, client, "f").headers for _ in range(2))
    left = [int(headers["x-ratelimit-remaining-requests"]) for headers in (first, second)]
    assert left == [499, 498]
    assert first["x-ratelimit-reset-requests"] == "120ms"
    assert int(second["x-ratelimit-remaining-tokens"]) < int(first["x-ratelimit-remaining-tokens"]) < 500_000


def test_groq_headers_mix_a_day_of_requests_and_a_minute_of_tokens(tiers: Lab, client: httpx.Client) -> None:
    """The two dimensions of Groq's headers have different periods."""
    headers = ask(tiers, client, "groq").headers
    assert (headers["x-ratelimit-limit-requests"], headers["x-ratelimit-remaining-requests"]) == ("1000", "999")
    assert headers["x-ratelimit-reset-requests"] == "1m26.4s"
    assert headers["x-ratelimit-limit-tokens"] == "12000"


ROUTER = """
name = "router"
title = "A thin balance"
[[provider]]
name = "c"
family = "openrouter"
alias = "c"
balance_usd = 0.05
latency_ms = {latency}
[[provider.model]]
id = "dear"
max_output = 65536
price_in = 1.0
price_out = 5.0
"""


def test_a_thin_balance_affords_fewer_tokens(client: httpx.Client) -> None:
    """The router checks max_tokens times price beforehand, and says what it would still pay for."""
    with Lab(parse_scenario(ROUTER.format(latency=0)), latency=0) as lab:
        refusal = ask(lab, client, "c").json()["error"]
        afford = int(re.search(r"can only afford (\d+)", refusal["message"])[1])  # type: ignore[index]
        assert 9_900 < afford < 10_000
        assert ask(lab, client, "c", max_tokens=afford).status_code == 200
        assert ask(lab, client, "c", max_tokens=afford + 1).status_code == 402


def test_balance_is_spent(client: httpx.Client) -> None:
    """Answers cost money until there is too little of it for any."""
    with Lab(parse_scenario(ROUTER.format(latency=0)), latency=0) as lab:
        for _ in range(40):
            response = ask(lab, client, "c", prompt="400 words", max_tokens=600)
            if response.status_code == 402:
                break
            assert response.json()["usage"]["cost"] > 0
        assert response.status_code == 402
        left = client.get(lab.base_url("c") + "/key").json()["data"]["limit_remaining"]
        assert 0 < left < 0.004


def test_a_request_larger_than_a_minute_is_refused_for_good(tiers: Lab, client: httpx.Client) -> None:
    """A prompt above a whole minute's tokens is too large, not too early."""
    response = ask(tiers, client, "groq", prompt="word " * 12_000)
    assert (response.status_code, tiers.requests[-1].answered) == (413, "groq.request_too_large")


@given(
    st.sampled_from([("rolling", "minute"), ("rolling", "day"), ("fixed", "minute"), ("fixed", "hour")]),
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 20)), max_size=12),
    st.integers(1, 20),
)
def test_a_stated_wait_is_exact(how: Any, limit: int, events: list[tuple[float, int]], wants: int) -> None:
    """Whatever was used before, a request that can fit at all fits after the stated wait, and not before."""
    quota = Quota(counts="requests", per=how[1], limit=limit, reset=how[0])
    counter, now = Counter(quota, NOON), NOON
    for passed, amount in events:
        now += timedelta(seconds=passed)
        if not counter.level(now, amount).exceeded:
            counter.add(amount, now)
    level = counter.level(now, wants)
    if wants > limit or not level.exceeded:
        return
    early = now + timedelta(seconds=level.wait_s * 0.98)
    assert counter.level(early, wants).exceeded
    assert not counter.level(now + timedelta(seconds=level.wait_s + 0.001), wants).exceeded


SESSION = """
name = "per_model"
title = "One counter for each model"
[[provider]]
name = "x"
family = "openai"
alias = "x"
[[provider.model]]
id = "one"
[[provider.model]]
id = "two"
[[provider.quota]]
counts = "requests"
per = "day"
limit = 1
each = "model"
"""


def test_counters_per_model_and_reset(client: httpx.Client) -> None:
    """Each model has its own count, and reset() makes all of them fresh."""
    with Lab(parse_scenario(SESSION), clock=LabClock(NOON, frozen=True), latency=0) as lab:
        assert [ask(lab, client, "x", model).status_code for model in ("one", "two", "one")] == [200, 200, 429]
        lab.reset()
        assert ask(lab, client, "x", "one").status_code == 200
        assert len(lab.requests) == 1
