"""The order in which a failure's cause is looked for, and what a verdict carries (spec 4 and 14)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from zc_notebooks.chat import Answer, WireFailure
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import Verdict
from zc_notebooks.reliability.classify import (
    MAX_TEXT,
    classify,
    classify_exception,
    classify_failure,
    classify_wire_failure,
)
from zc_notebooks.reliability.families import NAMES, known_failures
from zc_notebooks.reliability.instants import MAX_WAIT_S

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def verdict(
    status: int | None = 429,
    body: Any = "",
    *,
    family: str = "custom",
    headers: dict[str, str] | None = None,
    in_band: bool = False,
) -> Verdict:
    """A verdict at :data:`NOW`; a body that is no text becomes JSON."""
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    return classify(status=status, headers=headers or {}, body=text, family=family, now=NOW, in_band=in_band)


def error(message: str, **fields: Any) -> dict[str, Any]:
    """An error object of OpenAI's form."""
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "word"),
    [(None, "retry"), (429, "retry"), (500, "retry"), (503, "retry"), (599, "retry"), (200, "next"), (400, "next"),
     (401, "next"), (402, "next"), (403, "next"), (404, "next"), (408, "next"), (428, "next"), (600, "next")],
)  # fmt: skip
def test_the_two_words(status: int | None, word: str) -> None:
    """No response, 429 and 5xx are worth a retry; everything else is not."""
    assert classify_failure(status) == word


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "bad_request", "final"),
        (401, "auth", "final"),
        (402, "balance", "final"),
        (403, "permission", "final"),
        (404, "not_found", "final"),
        (410, "not_found", "final"),
        (413, "context_window", "final"),
        (418, "bad_request", "final"),
        (408, "network", "transient"),
        (429, "minute_limit", "limit"),
        (500, "server_error", "transient"),
        (502, "server_error", "transient"),
        (503, "capacity", "transient"),
        (524, "server_error", "transient"),
        (529, "capacity", "transient"),
        (302, "server_error", "transient"),
    ],
)
def test_status_alone(status: int, reason: str, kind: str) -> None:
    """Behaviours 43, 44, 45: without a body the status decides."""
    found = verdict(status)
    assert (found.reason, found.failure_class) == (reason, kind)


@pytest.mark.parametrize("body", ["", "<html>Moved</html>"])
def test_a_redirect_says_where_to(body: str) -> None:
    """It is not followed, and mostly means an address that is not quite right; what is private in it is left out."""
    told = verdict(308, body, headers={"Location": "https://me:pw@api.test/v2?key=abc"}).text
    assert told == "redirects to https://api.test/v2, which is not followed: correct the profile's uri"
    assert verdict(302, body).text == "HTTP 302 without a message"


@pytest.mark.parametrize(
    ("text", "reason", "kind"),
    [
        ("invalid api key", "auth", "final"),
        ("authentication failed", "auth", "final"),
        ("model x not found", "not_found", "final"),
        ("unsupported model: x", "not_found", "final"),
        ("timeout", "network", "transient"),
        ("connection reset", "network", "transient"),
        ("model overloaded, try again later", "capacity", "transient"),
        ("429 Too Many Requests", "minute_limit", "limit"),
        ("rate limit exceeded", "minute_limit", "limit"),
        ("429: Quota reached", "minute_limit", "limit"),
        ("HTTP 404", "not_found", "final"),
        ("Error code: 401 - bad", "auth", "final"),
        ("status code: 402", "balance", "final"),
        ("max_tokens 450", "server_error", "transient"),
        ("in 404 ms", "server_error", "transient"),
        ("404 ms elapsed", "server_error", "transient"),
        ("x404 failed", "server_error", "transient"),
        ("port 1429 failed", "server_error", "transient"),
    ],
)
def test_text_without_a_typed_status(text: str, reason: str, kind: str) -> None:
    """Behaviours 44, 45, 50: a number is a status only where the text says so."""
    found = verdict(None, text)
    assert (found.reason, found.failure_class) == (reason, kind)


@pytest.mark.parametrize("phrase", ["tool call validation failed", "x was not in request.tools", "invalid_tool_call"])
def test_tool_schema_is_worth_another_try(phrase: str) -> None:
    """Behaviour 46: an invalid tool call is retried on the same entry, any other 400 is not."""
    assert verdict(400, error(phrase)).failure_class == "transient"
    assert verdict(400, error("messages is required")).failure_class == "final"


def test_context_phrase_in_a_400_but_not_in_a_429() -> None:
    """Behaviour 47: "too many tokens" is a window on a 400 and a limit on a 429."""
    found = verdict(400, error("too many tokens"))
    assert (found.reason, found.limit_kind, found.failure_class) == ("context_window", "window", "overflow")
    assert verdict(429, error("too many tokens")).reason == "minute_limit"


def test_a_request_above_the_limit_never_waits() -> None:
    """Behaviour 48: no wait is taken from a request that can never be served."""
    text = "Request too large for model `m` on tokens per minute (TPM): Limit 7000, Requested 12903, try again in 50s"
    found = verdict(429, error(text, code="rate_limit_exceeded"), family="groq", headers={"retry-after": "50"})
    assert (found.reason, found.limit_kind, found.limit_tokens) == ("context_window", "request", 7000)
    assert (found.stated_wait_s, found.resets_at, found.failure_class) == (None, None, "final")


@pytest.mark.parametrize("limit", ["Limit 100000, Used 97050, Requested 3619", "limit: 30, requested: 30"])
def test_a_request_within_the_limit_is_a_limit(limit: str) -> None:
    """The figures alone say nothing: only "Requested" above "Limit" is impossible."""
    assert verdict(429, error(f"Rate limit reached on tokens per minute: {limit}")).reason == "minute_limit"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (error("x", code="1311"), "permission"),
        (error("Your plan does not include glm-5"), "permission"),
        (error("x", code="1113"), "balance"),
        (error("Insufficient balance"), "balance"),
        (error("Quota exceeded for metric: m, limit: 0, model: g\nPlease retry in 25s."), "permission"),
    ],
)
def test_money_and_plan_inside_a_429(body: dict[str, Any], reason: str) -> None:
    """Behaviour 49: one call, zero wait, no mark."""
    found = verdict(429, body, family="zai", headers={"retry-after": "30"})
    assert (found.reason, found.failure_class) == (reason, "final")
    assert (found.stated_wait_s, found.resets_at) == (None, None)


def test_numbers_in_a_503_do_not_matter() -> None:
    """Behaviour 51: a 503 is capacity whatever its text says."""
    for text in ("429", "error 404: rate limit", "insufficient balance"):
        assert verdict(503, text).reason == "capacity"


@pytest.mark.parametrize("wait", ["37s", "57.2s", "0s"])
def test_a_minutes_wait_on_a_days_quota_is_dropped(wait: str) -> None:
    """Behaviour 52: the day ends at midnight Pacific, not in a minute."""
    details = [
        {"@type": "google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]},
        {"@type": "google.rpc.RetryInfo", "retryDelay": wait},
    ]
    found = verdict(429, error("quota", code=429, details=details), family="google")
    assert (found.reason, found.stated_wait_s, found.reset_source) == ("daily_limit", None, "inferred")
    assert found.resets_at == datetime(2026, 6, 2, 7, tzinfo=UTC)
    assert any("false" in one.means for one in found.evidence)


@pytest.mark.parametrize(("rpm", "wait"), [(3, None), (200, 1.0)])
def test_a_second_at_three_requests_a_minute_is_false(rpm: int, wait: float | None) -> None:
    """Moonshot says "after 1 seconds" at any rate; a reset header beside it is believed."""
    body = error(f"request reached organization max RPM: {rpm}, please try again after 1 seconds")
    assert verdict(429, body, family="moonshot").stated_wait_s == wait
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "20"}
    assert verdict(429, body, family="moonshot", headers=headers).stated_wait_s == (wait or 20)


def test_a_long_wait_on_a_days_quota_is_believed() -> None:
    """Hours may well be the time until the provider's midnight."""
    body = error("Requests per day exceeded. Please retry in 5h2m.", code=429)
    found = verdict(429, body, family="google")
    assert (found.reason, found.stated_wait_s, found.reset_source) == ("daily_limit", 18_120.0, "stated")


def test_retry_after_on_a_success_is_ignored() -> None:
    """Behaviour 53: an error inside a 200 takes no wait from the 200's headers; HTML and emptiness are no answer."""
    headers = {"retry-after": "31", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "9s"}
    found = verdict(200, error("rate limit exceeded"), headers=headers, in_band=True)
    assert (found.reason, found.stated_wait_s) == ("minute_limit", None)
    assert verdict(200, "<html><title>Sign in</title></html>").reason == "server_error"
    assert verdict(200, "").reason == "stream_cut"


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("Retry-After: 5", 5),
        ("retry_after: 2.5 seconds", 2.5),
        ("Retry-After 7", 7),
        ("Retry-After: 0", 0),
        ("try again in 9m38.016s", 578.016),
        ("try again later in 20 seconds", 20.0),
        ("your quota refreshes in 2 hours", 7200.0),
        ("later", None),
    ],
)
def test_waits_of_the_body(text: str, wait: float | None) -> None:
    """Behaviour 68."""
    assert verdict(429, error(f"Rate limit. {text}")).stated_wait_s == wait


@pytest.mark.parametrize(
    ("headers", "text", "wait"),
    [
        ({"retry-after": "2"}, "try again in 7.5s", 7.5),
        ({"retry-after": "9"}, "try again in 7.5s", 9),
        ({"retry-after": "1", "retry-after-ms": "0"}, "", 1),
        ({"retry-after": "-1"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "1e308"}, "", MAX_WAIT_S),
        ({"retry-after": "3", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "50s"}, "", 3),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "50s"}, "", 50),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "50s"}, "", None),
        ({"x-ratelimit-reset": "4"}, "", 4),
    ],
)
def test_which_source_counts(headers: dict[str, str], text: str, wait: float | None) -> None:
    """Behaviours 69, 70, 72: the longest of Retry-After and the body; the exhausted header only without either."""
    assert verdict(429, error(f"Rate limit. {text}"), headers=headers).stated_wait_s == wait


def test_a_past_reset_is_a_stated_zero() -> None:
    """Behaviour 99: nothing is left to wait for, and no mark follows."""
    found = verdict(429, error("Usage limit reached. Your limit will reset at 2026-05-01 00:00:00"), family="zai")
    assert (found.stated_wait_s, found.reset_source) == (0.0, "stated")
    assert found.resets_at == datetime(2026, 4, 30, 16, tzinfo=UTC)


def test_a_reset_far_ahead_is_pulled_in() -> None:
    """Behaviour 92: nothing stated lies more than 32 days ahead."""
    found = verdict(429, error("quota exhausted, resets at 2026-12-01T00:00:00Z"))
    assert found.resets_at == NOW + timedelta(days=32)


@pytest.mark.parametrize(
    ("body", "headers", "family", "expected"),
    [
        (error("requests per day"), {"retry-after": "7200"}, "custom", (7200.0, None, "stated")),
        (error("requests per day"), {}, "cloudflare", (None, datetime(2026, 6, 2, tzinfo=UTC), "inferred")),
        (error("requests per day"), {}, "custom", (None, None, None)),
        (error("1000 calls / month"), {}, "cloudflare", (None, None, None)),
    ],
)
def test_where_a_period_quota_ends(
    body: dict[str, Any], headers: dict[str, str], family: str, expected: tuple[Any, ...]
) -> None:
    """Behaviour 91: stated, else the provider's known midnight for a day (not a month), else unknown."""
    found = verdict(429, body, headers=headers, family=family)
    assert (found.stated_wait_s, found.resets_at, found.reset_source) == expected


def test_headers_tell_the_period_where_the_body_does_not() -> None:
    """The dimension with nothing left binds; of two, the longer one."""
    day = {"x-ratelimit-remaining-requests-day": "0", "x-ratelimit-reset-requests-day": "900"}
    minute = {"x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "30"}
    found = verdict(429, error("Rate limit exceeded"), headers={**day, **minute})
    assert (found.reason, found.stated_wait_s) == ("daily_limit", 900)
    found = verdict(429, error("Rate limit exceeded"), headers=minute)
    assert (found.reason, found.stated_wait_s) == ("minute_limit", 30)


def test_a_minute_named_in_the_body_never_gets_a_days_reset() -> None:
    """An exhausted day in the headers does not turn a minute limit into a long mark."""
    headers = {"x-ratelimit-remaining-requests-day": "0", "x-ratelimit-reset-requests-day": "33011"}
    found = verdict(429, error("Tokens per minute limit exceeded"), headers=headers, family="google")
    assert (found.reason, found.stated_wait_s, found.resets_at) == ("minute_limit", None, None)


def test_a_zero_limit_in_the_headers_is_no_plan() -> None:
    """Mistral answers 429 for ever when the model is not on the plan."""
    headers = {"x-ratelimit-limit-req-minute": "0", "x-ratelimit-remaining-req-minute": "0", "retry-after": "5"}
    found = verdict(429, {"message": "Rate limit exceeded"}, headers=headers, family="mistral")
    assert (found.reason, found.scope, found.stated_wait_s) == ("permission", "model", None)


@pytest.mark.parametrize(
    ("message", "metadata", "expected"),
    [
        ("Insufficient credits", {}, ("balance", None, None)),
        ("requires more credits, or fewer max_tokens. You can only afford 3,395.", {}, ("balance", 3395, None)),
        ("exceed your available credits given your current in-flight requests.",
         {"reason": "in_flight_budget_exhausted"}, ("minute_limit", None, 5.0)),
    ],
)  # fmt: skip
def test_three_kinds_of_402(message: str, metadata: dict[str, str], expected: tuple[Any, ...]) -> None:
    """Behaviour 98: no credit, credit for fewer tokens, and a budget that other requests hold."""
    body = error(message, code=402, metadata=metadata)
    found = verdict(402, body, family="openrouter", headers={"retry-after": "5"})
    assert (found.reason, found.affordable_tokens, found.stated_wait_s) == expected


def test_capacity_as_429_is_a_limit() -> None:
    """The class depends on the status; inside a 200 on the status that the error carries."""
    assert verdict(429, error("The engine is currently overloaded")).failure_class == "limit"
    assert verdict(503, error("overloaded")).failure_class == "transient"
    found = verdict(200, error("Provider returned error", code=429), family="openrouter", in_band=True)
    assert (found.reason, found.status, found.failure_class) == ("capacity", 429, "limit")


def test_structured_fields_win_over_phrases() -> None:
    """One vendor's insufficient_quota is another's token throttle."""
    body = error(
        "You exceeded your current quota, please check your plan and billing details.", code="insufficient_quota"
    )
    assert verdict(429, body, family="openai").reason == "balance"
    assert verdict(429, body, family="dashscope").reason == "minute_limit"


@pytest.mark.parametrize(
    "body",
    [
        {"id": "insufficient balance", "error": {"message": "Try another seed"}},
        {"error": {"message": "Try another seed", "failed_generation": "rate limit, invalid api key"}},
        {"error": {"message": "Try another seed", "param": "quota"}, "hint": "billing: payment required"},
        {"error": {"message": "Try another seed, see https://x.y/rate-limit/insufficient_quota?forbidden"}},
    ],
)
def test_the_body_is_never_searched_as_a_whole(body: dict[str, Any]) -> None:
    """Loose words beside the message, in a link or in a model's own text decide nothing."""
    assert verdict(400, body).reason == "bad_request"


@pytest.mark.parametrize(
    "body",
    [
        '{"error":{"message":"Rate limit on requests per day"}}',
        '[{"error":{"message":"Rate limit on requests per day"}}]',
        '{"error":"Rate limit on requests per day"}',
        '"Rate limit on requests per day"',
        "Rate limit on requests per day",
        '{"errors":[{"code":1,"message":"Rate limit on requests per day"}],"success":false}',
        '{"detail":"Rate limit on requests per day"}',
        '{"detail":[{"msg":"Rate limit on requests per day"}]}',
        '{"message":{"detail":"Rate limit on requests per day"}}',
        '{"base_resp":{"status_code":1,"status_msg":"Rate limit on requests per day"}}',
        '{"response":{"error":{"message":"Rate limit on requests per day"}}}',
        '{"error":{"message":"x: {\\"error\\":{\\"message\\":\\"Rate limit on requests per day\\"}}"}}',
        'event: error\ndata: {"error":{"message":"Rate limit on requests per day"}}\n\n',
        'error: {"message":"Rate limit on requests per day"}',
        '\ufeff\n\n{"error":{"message":"Rate limit on requests per day"}}',
        '{"error":{"message":"Rate limit on requests per day and it was cut',
    ],
)
def test_every_envelope(body: str) -> None:
    """The same sentence is found in every shape that providers wrap it in."""
    assert verdict(429, body).reason == "daily_limit"


def test_a_backend_of_a_router() -> None:
    """What a backend refused its router is not the caller's own limit, unless the key was the caller's."""
    raw = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "requests per day"}})
    shared = error("Provider returned error", code=429, metadata={"raw": raw, "provider_name": "X"})
    assert verdict(429, shared, family="openrouter").reason == "capacity"
    shared["error"]["metadata"]["is_byok"] = True
    own = verdict(429, shared, family="openrouter")
    assert (own.reason, own.resets_at) == ("daily_limit", None)


def test_an_account_wide_quota_names_what_it_covers() -> None:
    """OpenRouter's free day benches every ``:free`` model and nothing else."""
    found = verdict(429, error("Rate limit exceeded: free-models-per-day", code=429), family="openrouter")
    assert (found.reason, found.covers, found.scope) == ("daily_limit", "*:free", "model")


def test_evidence_says_what_decided() -> None:
    """A verdict shows where the cause and where the time were read."""
    headers = {"retry-after": "7"}
    found = verdict(
        429, error("Rate limit reached on requests per minute", code="rate_limit_exceeded"), headers=headers
    )
    assert [(one.where, one.value) for one in found.evidence] == [
        ("phrase in error.message", "per min"),
        ("header retry-after", "7"),
    ]


def test_text_is_redacted_and_capped() -> None:
    """No key, no bearer value, no query string, at most 4 KiB."""
    key = "sk-" + "a1b2c3d4" * 4
    body = error(f"Bad key {key} at https://api.x.y/v1?key=abc with Bearer abcdefgh " + "x" * 9000)
    found = verdict(401, body)
    assert key not in found.text
    assert "?key" not in found.text
    assert "abcdefgh" not in found.text
    assert len(found.text) <= MAX_TEXT


@pytest.mark.parametrize("kind", ["connect", "timeout", "read", "write", "protocol", "refused_url", "too_large"])
def test_transport_failures(kind: Any) -> None:
    """Behaviour 45: whatever kept the response away is the network's."""
    found = classify_exception(TransportFailure("it broke with Bearer abcdefgh", kind=kind, sent=True))
    assert (found.reason, found.code, found.failure_class, found.status) == ("network", kind, "transient", None)
    assert "abcdefgh" not in found.text


def test_other_exceptions_are_read_by_their_text() -> None:
    """An exception of somebody else's client says what it says."""
    assert classify_exception(ConnectionResetError("reset")).reason == "network"
    assert classify_exception(TimeoutError()).reason == "network"
    assert classify_exception(RuntimeError("429 Too Many Requests")).reason == "minute_limit"
    assert classify_exception(RuntimeError("")).reason == "server_error"


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (WireFailure(kind="finish", reason="content_filter", detail="finish_reason=sensitive"), "content_filter"),
        (WireFailure(kind="finish", reason="bad_request", code="tool_schema"), "bad_request"),
        (WireFailure(kind="finish", reason="context_window"), "context_window"),
        (WireFailure(kind="error_body", payload='{"error":{"message":"x","code":503}}'), "capacity"),
        (WireFailure(kind="error_body", payload='{"error":{"message":"Insufficient credits","code":402}}'), "balance"),
        (WireFailure(kind="not_protocol", payload="<html></html>"), "server_error"),
        (WireFailure(kind="empty_body"), "stream_cut"),
        (WireFailure(kind="cut", detail="stream closed before [DONE]", answer=Answer(text="half")), "stream_cut"),
    ],
)
def test_wire_failures(failure: WireFailure, expected: str) -> None:
    """Behaviours 121 and 122: a 2xx that was no answer gets a verdict like an HTTP error."""
    found = classify_wire_failure(
        failure, status=200, headers={"retry-after": "31"}, family="custom", wire="openai_chat", now=NOW
    )
    assert (found.reason, found.stated_wait_s) == (expected, None)
    if failure.reason == "context_window":
        assert found.failure_class == "overflow"
    if failure.code:
        assert (found.code, found.failure_class) == ("tool_schema", "transient")


@pytest.mark.parametrize(
    ("kind", "payload", "says"),
    [
        ("cut", '{"choices": [{"message": {"content": "half an ans', "the body ends early"),
        ("not_protocol", '{"choices": [{"delta": {"content": "bro', 'the body ends early: {"choices"'),
        ("not_protocol", "", "the body ends early"),
    ],
)
def test_a_broken_body_is_told_by_what_is_wrong_with_it(kind: Any, payload: str, says: str) -> None:
    """Its reason begins with a sentence; a half answer is no reason."""
    failure = WireFailure(kind=kind, payload=payload, detail="the body ends early")
    found = classify_wire_failure(failure, status=200, headers={}, family="custom", wire="openai_chat", now=NOW)
    assert found.text.startswith(says)
    assert "half an ans" not in found.text


@pytest.mark.parametrize("status", [[1], {"a": 1}])
def test_a_status_that_is_no_word(status: object) -> None:
    """An error whose status is an array or an object has a verdict like others."""
    assert verdict(429, {"error": {"status": status, "message": "slow down"}}).reason == "minute_limit"


def test_every_family_has_a_table() -> None:
    """Each named family's table can be read; an unknown one has none and still gets verdicts."""
    for name in NAMES:
        assert known_failures(name).codes or known_failures(name).phrases, name
    assert not known_failures("nobody").codes
    assert known_failures("nobody", "gemini") == known_failures("google")


@pytest.mark.parametrize(
    ("family", "message", "kind", "reason"),
    [
        ("deepseek", "Insufficient Balance", "unknown_error", "balance"),
        (
            "ollama",
            "you (x) have reached your session usage limit, upgrade for higher limits",
            "api_error",
            "daily_limit",
        ),
        ("ollama", "Unauthorized", "api_error", "auth"),
        ("groq", "m is currently over capacity. Please try again and back off", "internal_server_error", "capacity"),
        ("openai", "The server had an error", "server_error", "server_error"),
    ],
)
def test_words_of_an_error_inside_a_success(family: str, message: str, kind: str, reason: str) -> None:
    """Spec 4.2: inside a 2xx the phrases are looked at, also where the error's type is a general one."""
    found = verdict(200, error(message, type=kind), family=family, in_band=True)
    assert found.reason == reason
