"""When a provider says it will be back: every form of header, field and sentence (spec 6.2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from zc_notebooks.reliability.instants import MAX_WAIT_S, Stated, parse_instant
from zc_notebooks.reliability.reset_time import (
    Headroom,
    headroom,
    in_text,
    longest,
    next_midnight,
    parse_duration,
    parse_reset,
    parse_retry_after,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
EPOCH = int(NOW.timestamp())
ABOUT = 1e-3


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("7.66", 7.66),
        ("1.5", 1.5),
        (" 5 ", 5),
        ("0", 0),
        ("30s", 30),
        ("2m59.56s", 179.56),
        ("5, 10", 10),
        (f"{NOW + timedelta(seconds=90):%a, %d %b %Y %H:%M:%S} GMT", 90),
        (f"{NOW - timedelta(seconds=90):%a, %d %b %Y %H:%M:%S} GMT", 0),
        ((NOW + timedelta(seconds=45)).isoformat(), 45),
        (str(EPOCH + 60), 60),
        (str((EPOCH + 60) * 1000), 60),
        (str(EPOCH - 60), 0),
        ("1e308", MAX_WAIT_S),
        ("9" * 300, MAX_WAIT_S),
        ("-5", None),
        ("+5", None),
        ("inf", None),
        ("Infinity", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("1_000", None),
        ("0x10", None),
        ("12:30", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    """Behaviours 68, 69, 72: seconds, fractions, dates and epochs; anything else is not stated."""
    assert parse_retry_after({"retry-after": value}, NOW) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "0", "retry-after": "1"}, 1),
        ({"retry-after-ms": "2500", "retry-after": "2"}, 2.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2),
        ({"retry-after-ms": "-1"}, None),
        ({}, None),
    ],
)
def test_both_forms_of_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """Behaviour 69: the longest of the two forms counts, so a zero in milliseconds never wins."""
    assert parse_retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7.66s", 7.66),
        ("26ms", 0.026),
        ("17.399999999s", 17.399999999),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723),
        ("49m14.015999999s", 2954.015999999),
        ("156h14m36s", 562_476),
        ("1d2h", 93_600),
        ("0s", 0),
        ("33011.382867", 33_011.382867),
        ("5631 seconds", 5631),
        ("1 minute and 30 seconds", 90),
        ("2 hours, 5 minutes", 7500),
        ("500 milliseconds", 0.5),
        ("PT1M30S", 90),
        ("P1DT1H", 90_000),
        ("30 秒", 30),
        ("90d", MAX_WAIT_S),
        ("-7s", None),
        ("7 parsecs", None),
        ("s", None),
        ("", None),
        ("PT", None),
        ("1h2", None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    """Go durations, words, ISO 8601 and bare seconds; a unit nobody knows is no duration."""
    assert parse_duration(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("value", "ahead_s"),
    [
        (str((EPOCH + 3600) * 1000), 3600),
        (str(EPOCH + 3600), 3600),
        (f"{EPOCH + 3600}.5", 3600.5),
        ("2026-06-01T13:00:00Z", 3600),
        ("2026-06-01T15:00:00+02:00", 3600),
        ("Mon, 01 Jun 2026 13:00:00 GMT", 3600),
        ("41", 41),
        ("2m59.56s", 179.56),
        ("11.38", 11.38),
        ("2030-01-01T00:00:00Z", MAX_WAIT_S),
    ],
)
def test_reset_headers(value: str, ahead_s: float) -> None:
    """A reset is a wait or an instant, told by its form; none lies more than 32 days ahead."""
    stated = parse_reset(value, NOW)
    assert stated is not None
    assert stated.seconds(NOW) == pytest.approx(ahead_s, abs=ABOUT)


def test_a_zoneless_time_is_in_the_given_zone() -> None:
    """Z.ai writes Beijing time without saying so."""
    assert parse_instant("2026-06-01 20:30:00", zone="Asia/Shanghai") == NOW + timedelta(minutes=30)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 7.66s. Visit the docs", 7.66),
        ("Please try again in 49m14.015999999s.", 2954.015999999),
        ("try again in 1h12m", 4320),
        ("Your quota will reset after 156h14m36s.", 562_476),
        ("try again in 9m38.016s. Need more tokens?", 578.016),
        ("Please try again in 168ms.", 0.168),
        ("Please wait 5631 seconds before retrying.", 5631),
        ("please try again after 1 seconds", 1),
        ("Please retry in 41.265642542s.", 41.265642542),
        ("Please retry after 86400 seconds.", 86_400),
        ("Try again in 60 seconds. Passed model=x", 60),
        ("retry after about 2 minutes", 120),
        ("Limit resets in: 22h7m4s", 79_624),
        ("Resets in 3d 4h", 273_600),
        ("wait for 3 seconds", 3),
        ('{"retry_after": 12}', 12),
        ("Retry-After: 5", 5),
        ("retry_after: 2.5 seconds", 2.5),
        ("Retry-After 7", 7),
        ("Retry-After: 0", 0),
        ("请在30秒后重试", 30),
        ("5 分钟后再试", 300),
        ("İİİİ ß ﬃ Retry-After: 5", 5),
        ("Retry-After: -5", None),
        ("Retry-After: soon", None),
        ("please try again later", None),
        ("await 5", None),
        ("retry after 2026-01-01", None),
        ("try again with 5 seconds of audio", None),
        ("Rate limit of 50 per 86400s exceeded", None),
    ],
)
def test_waits_in_sentences(text: str, seconds: float | None) -> None:
    """Behaviours 68 and 73: the amount right behind the words that ask to wait, whatever letters come before."""
    waits = [one.wait_s for one in in_text(text, NOW) if one.wait_s is not None]
    assert waits == ([] if seconds is None else [pytest.approx(seconds)])


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Usage limit reached. Your limit will reset at 2026-06-02 05:38:28", "2026-06-01T21:38:28Z"),
        ("您的限额将在 2026-06-05 07:41:44 重置。", "2026-06-04T23:41:44Z"),
        ("You will regain access on 2026-06-10 at 00:00 UTC.", "2026-06-10T00:00:00Z"),
        ("The limit will reset at 2026-06-01T13:00:00Z.", "2026-06-01T13:00:00Z"),
        ("Your quota resets on 2026-06-03T00:00:00+02:00", "2026-06-02T22:00:00Z"),
        ("The quota will reset at 06-18 10:07:00 UTC.", "2026-06-18T10:07:00Z"),
        ("The outcome is a limit. It resets at 18:30 UTC.", "2026-06-01T18:30:00Z"),
        ("Upstream limit, resets at midnight PST", "2026-06-02T07:00:00Z"),
        ("limit resets at 1780318800", "2026-06-01T13:00:00Z"),
        ("resets at 1780318800000", "2026-06-01T13:00:00Z"),
        ("will reset at 2026-05-01 08:00:00", "2026-05-01T00:00:00Z"),
        ("The model has reached its end of life on 2026-06-27T00:00:00Z and is gone", None),
        ("model gpt-4-2026-06-02 10:00:00 is slow", None),
        ("will reset at 2026-13-45 99:00:00", None),
    ],
)
def test_instants_in_sentences(text: str, at: str | None) -> None:
    """A date counts only beside a word that says a limit ends then; a zoneless one is in the provider's zone."""
    found = [one.at for one in in_text(text, NOW, zone="Asia/Shanghai") if one.at is not None]
    assert found == ([] if at is None else [datetime.fromisoformat(at)])


def test_a_yearless_date_is_the_next_one() -> None:
    """A reset in January, read in December, lies in the year to come."""
    december = datetime(2026, 12, 30, tzinfo=UTC)
    (found,) = in_text("The quota will reset at 01-02 10:00:00 UTC.", december)
    assert found.at == datetime(2027, 1, 2, 10, tzinfo=UTC)


def test_the_longest_statement_counts() -> None:
    """A wait and an instant are compared by their ends."""
    wait, at = Stated(wait_s=60.0), Stated(at=NOW + timedelta(seconds=90))
    assert longest((wait, at), NOW) is at
    assert longest((), NOW) is None


@pytest.mark.parametrize(
    ("rule", "now", "midnight"),
    [
        ("utc_midnight", "2026-06-01T23:59:59Z", "2026-06-02T00:00:00Z"),
        ("utc_midnight", "2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z"),
        ("pacific_midnight", "2026-06-01T12:00:00Z", "2026-06-02T07:00:00Z"),
        ("pacific_midnight", "2026-06-01T06:59:00Z", "2026-06-01T07:00:00Z"),
        ("pacific_midnight", "2026-01-15T12:00:00Z", "2026-01-16T08:00:00Z"),
        ("pacific_midnight", "2026-03-08T09:00:00Z", "2026-03-09T07:00:00Z"),
        ("pacific_midnight", "2026-11-01T08:00:00Z", "2026-11-02T08:00:00Z"),
        ("beijing_midnight", "2026-06-01T12:00:00Z", "2026-06-01T16:00:00Z"),
        ("rolling", "2026-06-01T12:00:00Z", None),
        (None, "2026-06-01T12:00:00Z", None),
    ],
)
def test_midnights(rule: str | None, now: str, midnight: str | None) -> None:
    """Daily quotas end at the provider's own midnight, through both changes of daylight saving."""
    expected = None if midnight is None else datetime.fromisoformat(midnight)
    assert next_midnight(rule, datetime.fromisoformat(now)) == expected


@pytest.mark.parametrize(
    ("family", "headers", "expected"),
    [
        (
            "groq",
            {
                "x-ratelimit-limit-requests": "14400",
                "x-ratelimit-remaining-requests": "14397",
                "x-ratelimit-reset-requests": "17.5s",
                "x-ratelimit-limit-tokens": "30000",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "26ms",
            },
            [("requests", "day", 14400, 14397, 17.5), ("tokens", "minute", 30000, 0, 0.026)],
        ),
        (
            "cerebras",
            {
                "x-ratelimit-limit-requests-day": "2400",
                "x-ratelimit-remaining-requests-day": "2311",
                "x-ratelimit-reset-requests-day": "33011.382867",
                "x-ratelimit-remaining-tokens-hour": "12",
            },
            [("requests", "day", 2400, 2311, 33_011.382867), ("tokens", "hour", None, 12, None)],
        ),
        (
            "mistral",
            {
                "x-ratelimit-limit-req-minute": "360",
                "x-ratelimit-remaining-req-minute": "359",
                "x-ratelimit-remaining-tokens-month": "7",
                "x-ratelimit-limit-req-10-second": "60",
            },
            [("requests", "minute", 360, 359, None), ("tokens", "month", None, 7, None)],
        ),
        (
            "anthropic",
            {
                "anthropic-ratelimit-requests-limit": "50",
                "anthropic-ratelimit-requests-remaining": "49",
                "anthropic-ratelimit-requests-reset": "2026-06-01T12:00:30Z",
                "anthropic-ratelimit-input-tokens-remaining": "4000",
            },
            [("requests", "unknown", 50, 49, 30), ("input_tokens", "unknown", None, 4000, None)],
        ),
        ("cohere", {"X-Trial-Endpoint-Call-Limit": "20", "X-Trial-Endpoint-Call-Remaining": "8"},
         [("requests", "minute", 20, 8, None)]),
        ("together", {"x-ratelimit-limit": "2", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "2"},
         [("requests", "minute", 2, 1, 2)]),
        ("huggingface", {"ratelimit": '"api";r=999;t=295'}, [("requests", "unknown", None, 999, 295)]),
        ("custom", {"ratelimit": "limit=100, remaining=50, reset=5"}, [("requests", "unknown", 100, 50, 5)]),
        ("fireworks", {"x-ratelimit-limit-tokens-generated": "216000"}, []),
        ("openai", {"x-ratelimit-remaining-requests": "-1"}, [("requests", "unknown", None, 0, None)]),
        ("openai", {"x-ratelimit-remaining-requests": "many"}, []),
        ("deepseek", {"content-type": "application/json"}, []),
    ],
)  # fmt: skip
def test_headroom(family: str, headers: dict[str, str], expected: list[tuple[str, str, int, int, float]]) -> None:
    """What remains is read by each family's own header names; a limit alone says nothing about what remains."""
    found = [
        (one.dimension, one.period, one.limit, one.remaining, resets_s(one)) for one in headroom(family, headers, NOW)
    ]
    assert found == [(*rest, None if at is None else pytest.approx(at, abs=ABOUT)) for *rest, at in expected]


def resets_s(one: Headroom) -> float | None:
    """Seconds until a quota comes back."""
    return None if one.resets_at is None else (one.resets_at - NOW).total_seconds()
