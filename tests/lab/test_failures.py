"""Every failure by name: valid HTTP at any instant, and lasting until the reset it states."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import product

import httpx
import pytest

from tests.lab.asking import ask
from zc_notebooks.lab import Fault, Lab, failure, failure_response, failures

INSTANTS = (
    datetime(2026, 9, 1, 12, 0, tzinfo=UTC),
    datetime(2026, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
    datetime(2027, 3, 14, 9, 30, tzinfo=UTC),  # the hour that summer time takes away in Los Angeles
)
HEADER = re.compile(r"[a-z0-9-]+")


FAMILIES = sorted({one.family for one in failures().values()})


@pytest.mark.parametrize("family", FAMILIES)
def test_each_failure_is_valid_http_at_any_instant(family: str) -> None:
    """Status, lower-case headers without line breaks, and a body that is what its type says."""
    names = [one.name for one in failures().values() if one.family == family]
    for name, now in product(names, INSTANTS):
        status, headers, body = failure_response(name, now)
        assert 200 <= status < 600, name
        assert all(HEADER.fullmatch(key) and "\n" not in value for key, value in headers.items()), name
        assert body, name
        if headers["content-type"].startswith("application/json"):
            json.loads(body)
        wait = headers.get("retry-after")
        assert wait is None or 0 < int(wait) <= 32 * 86_400, name


def test_the_same_failure_at_the_same_instant_is_the_same() -> None:
    """Ids and times follow from the instant."""
    assert failure_response("zai.five_hours", INSTANTS[0]) == failure_response("zai.five_hours", INSTANTS[0])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("zai.five_hours", "reset at 2026-09-01 22:30:00"),
        ("zai.five_hours_zh", "2026-09-01 22:30:00"),
        ("anthropic.spend_limit", "regain access on 2026-10-01 at 00:00 UTC"),
        ("openrouter.free_daily", str(1000 * int(datetime(2026, 9, 2, tzinfo=UTC).timestamp()))),
        ("groq.tokens_per_day", "try again in 8m52.224s"),
        ("github_models.requests_per_day", "wait 6214 seconds"),
        ("google.limit_zero", "limit: 0"),
        ("openrouter.afford", "can only afford 2917"),
    ],
)
def test_resets_are_computed_from_the_clock(name: str, says: str) -> None:
    """What a body states follows from the lab's time."""
    assert says in failure_response(name, INSTANTS[0])[2].decode()


def test_numbers_can_be_given() -> None:
    """A notebook pastes the failure with its own model and figures."""
    _, headers, body = failure_response("groq.requests_per_day", INSTANTS[0], model="my-model", limit=7, used=7)
    assert b"`my-model`" in body
    assert headers["x-ratelimit-limit-requests"] == "7"


def test_unknown_names_are_told_with_near_ones() -> None:
    """A misspelt name raises an error that names what may be meant; a kind is found for any family."""
    with pytest.raises(KeyError, match=r"groq\.tokens_per_day"):
        failure("groq.token_per_day")
    assert failure("balance", "deepseek").name == "deepseek.balance"
    assert failure("rate", "groq").name == "groq.requests_per_minute"
    assert failure("context", "perplexity").name == "custom.context"


@pytest.mark.parametrize(
    ("fault", "ends"),
    [
        ("google.requests_per_day", datetime(2026, 9, 2, 7, tzinfo=UTC)),
        ("zai.five_hours", datetime(2026, 9, 1, 14, 30, tzinfo=UTC)),
        ("cloudflare.neurons", datetime(2026, 9, 2, tzinfo=UTC)),
        ("cohere.requests_per_month", datetime(2026, 10, 1, tzinfo=UTC)),
        ("groq.tokens_per_minute", datetime(2026, 9, 1, 12, 0, 4, 820_000, tzinfo=UTC)),
    ],
)
def test_a_set_failure_lasts_until_its_reset(pair: Lab, client: httpx.Client, fault: str, ends: datetime) -> None:
    """The reset a failure states is the one that comes, and later hits do not move it."""
    pair.set_fault("primary", fault)
    assert ask(pair, client, "openai_chat", provider="primary").status_code == 429
    pair.clock.set(ends - timedelta(milliseconds=10))
    assert ask(pair, client, "openai_chat", provider="primary").status_code == 429
    pair.clock.set(ends)
    assert ask(pair, client, "openai_chat", provider="primary").status_code == 200


def test_a_failure_without_a_reset_stays_until_taken_away(pair: Lab, client: httpx.Client) -> None:
    """Money does not come back by waiting."""
    pair.set_fault("primary", "balance")
    pair.clock.advance(90 * 86_400)
    assert ask(pair, client, "openai_chat", provider="primary").status_code == 402
    pair.set_fault("primary", None)
    assert ask(pair, client, "openai_chat", provider="primary").status_code == 200


def test_times_and_sequences(pair: Lab, client: httpx.Client) -> None:
    """A fault for so many requests, and one fault for each coming request."""
    pair.set_fault("primary", "server_error", times=2)
    assert [ask(pair, client, "openai_chat", provider="primary").status_code for _ in range(3)] == [500, 500, 200]
    pair.set_fault("primary", ["status:503", None, "rate", "ok"], times=2)
    told = [ask(pair, client, "openai_chat", provider="primary").status_code for _ in range(9)]
    assert told == [503, 200, 429, 200, 503, 200, 429, 200, 200]


def test_a_stated_retry_after(pair: Lab, client: httpx.Client) -> None:
    """A bare status states the wait it is given, or none."""
    pair.set_fault("primary", [Fault(kind="status", status=429, retry_after_s=2), "status:429"])
    first, second = (ask(pair, client, "openai_chat", provider="primary") for _ in range(2))
    assert (first.headers["retry-after"], second.headers.get("retry-after")) == ("2", None)


def test_probes_see_dead_keys_and_no_quotas(pair: Lab, client: httpx.Client) -> None:
    """A list of models is refused to a bad key, and open to an account without quota."""
    models = pair.base_url("primary") + "/models"
    pair.set_fault("primary", "balance")
    assert client.get(models).status_code == 200
    pair.set_fault("primary", "auth")
    assert client.get(models).status_code == 401


def test_wrong_faults_are_refused_at_once(pair: Lab) -> None:
    """An unknown provider or failure is an error where it is set, not where it strikes."""
    with pytest.raises(KeyError, match="primary"):
        pair.set_fault("nobody", "cut")
    with pytest.raises(KeyError, match="no failure"):
        pair.set_fault("primary", "kaput")


def test_in_band_failures_stand_inside_success(wires: Lab, client: httpx.Client) -> None:
    """A blocked Gemini prompt and an overloaded Anthropic stream are HTTP 200."""
    wires.set_fault("gemini", "content_filter")
    blocked = ask(wires, client, "gemini")
    assert (blocked.status_code, "candidates" in blocked.json()) == (200, False)
    wires.set_fault("anthropic", "overloaded_midway")
    cut = ask(wires, client, "anthropic_messages", stream=True)
    assert (cut.status_code, "message_stop" in cut.text) == (200, False)
    assert ask(wires, client, "anthropic_messages").status_code == 529
