"""Whatever arrives, a verdict comes out, and it never sends anybody back too early or away for too long."""

from __future__ import annotations

import json
import math
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import load_cases
from tests.reliability.test_classify_bodies import rows
from zc_notebooks.explanation import explain
from zc_notebooks.records import WIRES, Verdict
from zc_notebooks.reliability.classify import classify
from zc_notebooks.reliability.families import NAMES
from zc_notebooks.reliability.instants import MAX_WAIT_S
from zc_notebooks.reliability.reset_time import headroom, in_text, parse_duration, parse_reset, parse_retry_after

EXAMPLES = int(os.environ.get("ZC_HYPOTHESIS_EXAMPLES", "300"))
many = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
LATEST = NOW + timedelta(seconds=MAX_WAIT_S)
LIMITS = {"minute_limit", "daily_limit", "token_daily_limit"}
WORDS = (
    *("error", "errors", "message", "code", "type", "status", "detail", "details", "metadata", "raw", "headers"),
    *("retryDelay", "retry_after", "resets_at", "quotaId", "quotaValue", "base_resp", "status_code", "innererror"),
)
SENTENCES = (
    *("rate limit", "per day", "tokens per minute", "limit: 0", "Limit 5, Requested 9", "try again in 7.66s"),
    *("will reset at 2026-06-09 05:38:28", "insufficient balance", "429", "[1308][x]", "(2056)", "4006: x"),
    *("Retry-After: -5", "retry in 9999999999999h", "resets at 9999999999", "resets on 0000-00-00"),
    *("resets 12-31 23:59:59", "{", '{"a":'),
)
BODIES = [param.values[1].get("text") or json.dumps(param.values[1].get("body")) for param in rows()]
BODIES += [case["body"] for case in load_cases()]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.sampled_from(SENTENCES)
keys = st.sampled_from(WORDS) | st.text(max_size=12)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=20
)
HEADER_VALUES = ("0", "-1", "nan", "1e308", "soon", "2m59s", "1790553600000", "")
header_values = st.sampled_from(HEADER_VALUES) | st.text(max_size=20)
headers = st.dictionaries(
    st.sampled_from(
        (
            *("retry-after", "retry-after-ms", "Retry-After", "x-ratelimit-limit-requests", "ratelimit"),
            *("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", "x-ratelimit-remaining-tokens-day"),
            *("x-ratelimit-reset-tokens-day", "x-ratelimit-limit", "anthropic-ratelimit-tokens-reset", "content-type"),
        )
    ),
    header_values,
    max_size=5,
)
families = st.sampled_from((*sorted(NAMES), "custom", "lab", "", "Ünknown/..", "sglang"))
STATUSES = (None, 200, 400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 503, 529)
statuses = st.sampled_from(STATUSES) | st.integers()


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A recorded body with a piece cut out, doubled or overwritten."""
    body = draw(st.sampled_from(BODIES)).encode()
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(len(body), start + 200)))
    filling = draw(st.binary(max_size=30) | st.just(body[start:end] * 2) | st.sampled_from(SENTENCES).map(str.encode))
    return body[:start] + filling + body[end:]


def plain_json(tree: Any) -> bytes:
    """The tree as JSON text, also of values that are no JSON."""
    return json.dumps(tree, allow_nan=True, default=str).encode(errors="replace")


bodies = st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode(errors="replace"))
bodies = bodies | trees.map(plain_json) | mutated()


def check(verdict: Verdict) -> None:
    """What holds of every verdict."""
    wait, resets = verdict.stated_wait_s, verdict.resets_at
    assert wait is None or (math.isfinite(wait) and 0 <= wait <= MAX_WAIT_S)
    assert resets is None or (resets.tzinfo is not None and resets <= LATEST)
    assert (verdict.reset_source is None) == (wait is None and resets is None)
    assert verdict.failure_class
    assert verdict.evidence
    if verdict.reason == "minute_limit":
        assert verdict.reset_source != "inferred"
    if verdict.failure_class == "final" and verdict.reason != "balance":
        assert (wait, resets) == (None, None)


@many
@given(bodies, statuses, headers, families, st.sampled_from(WIRES), st.booleans())
def test_any_answer_gets_a_verdict(
    body: bytes, status: int | None, sent: dict[str, str], family: str, wire: str, in_band: bool
) -> None:
    """No body, header or status makes the classifier raise, wait for ever or invent a day for a minute."""
    check(classify(status=status, headers=sent, body=body, family=family, wire=wire, now=NOW, in_band=in_band))


@many
@given(bodies, st.sampled_from((200, 204, 400, 429, 500)), headers, families, st.sampled_from(WIRES), st.booleans())
def test_any_answer_is_explained(
    body: bytes, status: int, sent: dict[str, str], family: str, wire: str, stream: bool
) -> None:
    """``explain`` always ends with one of three outcomes, and its plain form is JSON."""
    found = explain(provider=family, status=status, headers=sent, body=body, wire=wire, stream=stream, now=NOW)
    assert found.outcome in ("ok", "error", "truncated")
    json.dumps(found.to_dict())
    assert found.sentence()
    assert repr(found)


@many
@given(
    st.text(max_size=80) | st.sampled_from(SENTENCES),
    st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)),  # noqa: DTZ001 (made aware below)
    st.sampled_from(("UTC", "Asia/Shanghai", "Nowhere/Else")),
)
def test_any_text_is_read_as_a_time_or_not_at_all(text: str, moment: datetime, zone: str) -> None:
    """Behaviour 72: never an exception, never negative, never infinite, never beyond 32 days."""
    now = moment.replace(tzinfo=UTC)
    waits = [parse_duration(text), parse_retry_after({"retry-after": text, "retry-after-ms": text}, now)]
    stated = [parse_reset(text, now, zone=zone), *in_text(text, now, zone=zone)]
    waits += [one.seconds(now) for one in stated if one is not None]
    assert all(wait is None or (math.isfinite(wait) and 0 <= wait <= MAX_WAIT_S) for wait in waits)
    for one in headroom("custom", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": text}, now):
        assert one.remaining == 0


@many
@given(st.floats(0, 10**7), st.floats(0, 10**7), st.sampled_from((429, 503, 529)), families)
def test_nobody_comes_back_earlier_than_stated(header: float, sentence: float, status: int, family: str) -> None:
    """Of a header and a sentence the longer one holds, whatever the family, unless it is known to be false."""
    body = json.dumps({"error": {"message": f"Rate limit. Please try again in {sentence:.3f}s."}})
    found = classify(
        status=status, headers={"retry-after": f"{header:.3f}"}, body=body, family=family, wire="", now=NOW
    )
    known_false = any("false" in one.means for one in found.evidence)
    if found.stated_wait_s is not None and not known_false:
        assert found.stated_wait_s >= min(max(round(header, 3), round(sentence, 3)), MAX_WAIT_S) - 1e-6


@many
@given(
    st.sampled_from(("per minute", "RPM", "per second", "concurrent requests")), headers, families, st.text(max_size=30)
)
def test_a_minute_limit_is_never_a_days(words: str, sent: dict[str, str], family: str, more: str) -> None:
    """A limit that is called a minute's ends when it was said to end, not at a midnight."""
    body = json.dumps({"error": {"message": f"Rate limit {words} reached"}, "note": more})
    found = classify(status=429, headers=sent, body=body, family=family, wire="", now=NOW)
    if found.reason in LIMITS:
        assert found.reason == "minute_limit"
        assert found.reset_source != "inferred"


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"error":' * 20_000,
        b'{"error":{"metadata":{"raw":' * 5000,
        b'{"error":{"message":"' + b"retry in 9" * 20_000,
        b"data:\n\n" * 20_000,
        b'{"errors":[' + b'{"message":"x","code":1},' * 3000 + b"{}]}",
        b"\x00" * 70_000,
        json.dumps({"error": {"message": "limit: 1 requested: " * 5000}}).encode(),
        json.dumps({"error": {"message": '{"error":' * 400 + "1" + "}" * 400}}).encode(),
        b'"\\ud800"',
        "\ud800".encode(errors="surrogatepass"),
    ],
    ids=[
        *("lists", "objects", "raw in raw", "one long sentence", "empty events", "thousands of errors", "zeros"),
        *("figures", "JSON in a message", "surrogate", "no UTF-8"),
    ],
)
def test_hostile_bodies(body: bytes) -> None:
    """Depth, length and repetition cost neither an exception nor a noticeable time."""
    for status in (200, 400, 429, None):
        check(classify(status=status, headers={}, body=body, family="openrouter", wire="", now=NOW))


def test_lone_surrogates_in_text() -> None:
    """A text that is no Unicode is read all the same."""
    assert classify(status=429, headers={}, body="\ud800 rate limit", family="x", now=NOW).reason == "minute_limit"
