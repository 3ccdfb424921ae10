"""Frames of attempts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.rows import NOON, row
from zc_notebooks import frames
from zc_notebooks.frames import OUTCOMES, attempts, attempts_from_rows, by_outcome
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.ledger.views import DERIVED
from zc_notebooks.testing import ManualClock

CASES: list[tuple[dict[str, Any], str]] = [
    ({"status": "ok", "accepted": True}, "answered"),
    ({"status": "ok"}, "no good answer"),
    ({"status": "http_429", "reason": "minute_limit"}, "rate limit"),
    ({"status": "http_429", "reason": "daily_limit"}, "quota spent"),
    ({"status": "http_429", "reason": "token_daily_limit"}, "quota spent"),
    ({"status": "http_429", "reason": "capacity"}, "provider trouble"),
    ({"status": "http_429"}, "rate limit"),
    ({"status": "http_402"}, "no balance"),
    ({"status": "http_403", "reason": "balance"}, "no balance"),
    ({"status": "http_401", "reason": "auth"}, "refused"),
    ({"status": "http_418"}, "refused"),
    ({"status": "http_503"}, "provider trouble"),
    ({"status": "network"}, "provider trouble"),
    ({"status": "timeout"}, "provider trouble"),
    ({"status": "empty", "reason": "empty"}, "no good answer"),
    ({"status": "stream_cut", "reason": "stream_cut"}, "no good answer"),
    ({"status": "body_error", "reason": "daily_limit"}, "quota spent"),
    ({"status": "a word of a newer version"}, "no good answer"),
    ({"status": "cancelled", "reason": "network"}, "cancelled"),
    ({"status": "skipped_cooldown", "kind": "skip", "reason": "daily_limit"}, "skipped"),
]


@pytest.mark.parametrize(("fields", "outcome"), CASES, ids=[str(list(fields.values())) for fields, _ in CASES])
def test_every_row_has_an_outcome_in_words(fields: dict[str, Any], outcome: str) -> None:
    """The verdict decides; without one the status does."""
    assert attempts_from_rows([row(**fields)])["outcome"].to_list() == [outcome]


@given(status=st.text(max_size=20), kind=st.sampled_from(["attempt", "skip"]), accepted=st.booleans())
def test_no_status_is_without_an_outcome(status: str, kind: str, *, accepted: bool) -> None:
    """Whatever a row says, its outcome is one of the known words."""
    assert attempts_from_rows([row(status=status, kind=kind, accepted=accepted)])["outcome"][0] in OUTCOMES


def test_no_rows_give_all_columns() -> None:
    """An empty frame has the schema and the outcome."""
    frame = attempts_from_rows([])
    assert frame.columns == [*DUCKDB_TYPES, "outcome"]
    assert by_outcome(frame).is_empty()


def test_a_ledger_and_its_rows_give_the_same_frame(tmp_path: Path) -> None:
    """What a call returned and what the ledger kept are one and the same."""
    rows = [
        row("a", 0, t=NOON - timedelta(days=2)),
        row("a", 1, secs=0.25, cost_usd=0.1, resets_at=NOON, failover=True),
    ]
    writer = LedgerWriter(tmp_path)
    for one in rows:
        writer.write(one)
    ledger = Ledger(tmp_path, clock=ManualClock(NOON))
    assert attempts(ledger).equals(attempts_from_rows(rows))
    assert attempts(ledger, since="24h").equals(attempts_from_rows(rows[1:]))
    assert attempts(ledger, until="2026-11-29")["ordinal"].to_list() == [0]


def test_outcomes_are_counted_in_the_order_of_the_chain() -> None:
    """Providers in the order they were first met; sums of what is known, null when nothing is."""
    rows = [
        row("a", 0, provider_ref="z.first", status="http_429", secs=0.1),
        row("a", 1, provider_ref="b.second", status="skipped_cooldown", kind="skip"),
        row("a", 2, provider_ref="c.third", accepted=True, secs=1.0, cost_usd=0.25, input_tokens=1, output_tokens=1),
        row("b", 0, provider_ref="z.first", accepted=True, cost_usd=None),
        row("b", 1, provider_ref="c.third", accepted=True, secs=2.0, cost_usd=0.5, input_tokens=1, output_tokens=1),
        row("c", 0, provider_ref="d.fourth", accepted=True, secs=1.0, cost_usd=0.5, input_tokens=1),
    ]
    found = by_outcome(attempts_from_rows(rows))
    assert found.columns == ["provider_ref", "outcome", "count", "secs", "cost_usd", "at_least"]
    assert found.rows() == [
        ("z.first", "answered", 1, None, None, True),
        ("z.first", "rate limit", 1, 0.1, None, False),
        ("b.second", "skipped", 1, None, None, False),
        ("c.third", "answered", 2, 3.0, 0.75, False),
        ("d.fourth", "answered", 1, 1.0, 0.5, True),
    ]
    assert found["count"].sum() == len(rows)


@pytest.mark.parametrize("name", DERIVED)
def test_a_function_stands_for_every_view(tmp_path: Path, name: str) -> None:
    """Over a period, in the view's own order; the same frame as :meth:`Ledger.view`."""
    writer = LedgerWriter(tmp_path)
    for call, hours in (("a", 30), ("b", 2)):
        began = NOON - timedelta(hours=hours)
        writer.write(row(call, 0, t=began, status="http_429", reason="daily_limit"))
        writer.write(row(call, 1, t=began, provider_ref="b.one", accepted=True, secs=1.0))
    ledger = Ledger(tmp_path, clock=ManualClock(NOON))
    frame = getattr(frames, name)
    for bounds in ({}, {"since": "24h"}, {"until": "24h"}, {"since": "2d", "until": NOON}):
        assert frame(ledger, **bounds).equals(ledger.view(name, **bounds))
        assert frame(ledger, **bounds).height
