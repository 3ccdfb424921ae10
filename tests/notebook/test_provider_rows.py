"""The words of one provider's row."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from zc_notebooks.notebook.provider_rows import row_of
from zc_notebooks.probe import ProbeResult, State
from zc_notebooks.records import Mark, MarkKey, Reason, ResetSource
from zc_notebooks.status import LastOutcome, ProfileStatus
from zc_notebooks.testing import START

NOW = START


def mark(reason: Reason, until: datetime, *, model: str | None = None, source: ResetSource = "stated") -> Mark:
    return Mark(
        key=MarkKey(pool="p", credential_id="-", model=model), until=until, provenance=source, reason=reason, set_at=NOW
    )


def found(*marks: Mark, last: tuple[str, str | None] | None = None, key: str = "found") -> ProfileStatus:
    outcome = None if last is None else LastOutcome(status=last[0], reason=last[1], t=NOW - timedelta(seconds=60))
    return ProfileStatus(ref="a.b", model="m", tier="free", pool="p", key=key, marks=marks, headroom=(), last=outcome)


@pytest.mark.parametrize(
    ("status", "lamp", "words"),
    [
        (found(), "unknown", "unknown (not asked yet)"),
        (found(last=("ok", None)), "on", "reachable"),
        (found(last=("http_402", "balance")), "off", "unpaid"),
        (found(last=("http_401", "auth")), "off", "bad key"),
        (found(last=("network", "network")), "off", "not reachable"),
        (found(last=("http_429", "daily_limit")), "unknown", "unknown (not asked since its limit)"),
        (found(last=("http_500", "server_error")), "unknown", "unknown (last: server error (http 500))"),
        (found(key="KEY_A is not set"), "off", "no key: KEY_A is not set"),
        (
            found(
                mark("token_daily_limit", NOW + timedelta(hours=2, minutes=32)), last=("http_429", "token_daily_limit")
            ),
            "limited",
            'limited until 14:32 UTC by "tokens per day"',
        ),
        (
            found(mark("daily_limit", NOW + timedelta(hours=20), model="m-1", source="inferred")),
            "limited",
            'limited until 09-02 08:00 UTC by "requests per day" for m-1',
        ),
        (
            found(mark("minute_limit", NOW + timedelta(seconds=9), source="guessed")),
            "limited",
            'limited until about 12:00:09 UTC by "requests or tokens per minute"',
        ),
        (found(mark("balance", NOW + timedelta(hours=1))), "off", "unpaid; asked again after 13:00 UTC"),
        (found(mark("auth", NOW + timedelta(hours=1))), "off", "bad key; asked again after 13:00 UTC"),
    ],
)
def test_lamp_and_words(status: ProfileStatus, lamp: str, words: str) -> None:
    """Each state has its lamp and says what it means; a limit says until when and by which one."""
    row = row_of(status, None, None, NOW)
    assert (row.lamp, row.words) == (lamp, words)


@pytest.mark.parametrize(
    ("state", "lamp", "words"),
    [
        ("reachable", "on", "reachable"),
        ("dead", "off", "not reachable"),
        ("unpaid", "off", "unpaid"),
        ("busy", "limited", "busy, try again"),
    ],
)
def test_a_newer_probe_decides(state: State, lamp: str, words: str) -> None:
    """A probe counts until something newer is known of the provider."""
    probe = ProbeResult(ref="a.b", model="m", state=state, ms=1.0, how="one")
    old = found(last=("http_500", "server_error"))
    assert (row_of(old, probe, NOW, NOW).lamp, row_of(old, probe, NOW, NOW).words) == (lamp, words)
    assert row_of(old, probe, NOW - timedelta(seconds=90), NOW).words.startswith("unknown")


def test_every_mark_has_its_line() -> None:
    """Several marks are told apart, the nearest end first; one alone says only who stated it."""
    two = found(
        mark("daily_limit", NOW + timedelta(hours=3), model="x"), mark("minute_limit", NOW + timedelta(seconds=5))
    )
    assert [line.words for line in row_of(two, None, None, NOW).marks] == [
        "stated by the provider (requests or tokens per minute)",
        "stated by the provider (requests per day, x)",
    ]
    one = row_of(found(mark("minute_limit", NOW + timedelta(seconds=5), source="guessed")), None, None, NOW)
    assert [line.words for line in one.marks] == ["nobody said, a guess"]
