"""What holds for the views whatever a ledger holds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ledger.rows import NOON, row
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.prices import totals, usage_by_provider
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.testing import ManualClock

COSTS = st.one_of(st.none(), st.just(0.0), st.integers(1, 10**7).map(lambda micros: micros / 1e6))
ENDS: list[dict[str, Any]] = [
    {"status": "ok", "accepted": True},
    {"status": "ok"},
    {"status": "empty", "reason": "empty"},
    {"status": "http_429", "reason": "daily_limit", "scope": "credential"},
    {"status": "http_429", "reason": "daily_limit", "scope": "model"},
    {"status": "http_429", "reason": "minute_limit"},
    {"status": "http_402", "reason": "balance"},
    {"status": "http_503", "reason": "capacity"},
    {"status": "http_400", "reason": "bad_request"},
    {"status": "timeout", "reason": "network"},
    {"status": "cancelled"},
    {"status": "skipped_cooldown", "kind": "skip", "reason": "daily_limit", "scope": "credential"},
    {"status": "skipped_no_key", "kind": "skip"},
]


@st.composite
def ledgers(draw: st.DrawFn) -> list[AttemptRow]:
    """Calls of a few steps at three candidates, over some days, in no order."""
    rows = []
    for call in range(draw(st.integers(0, 8))):
        begin = NOON + timedelta(minutes=draw(st.integers(-3000, 3000)))
        for ordinal in range(draw(st.integers(1, 4))):
            end = draw(st.sampled_from(ENDS))
            ahead = draw(st.one_of(st.none(), st.integers(-60, 2000)))
            fields: dict[str, Any] = {
                "provider_ref": draw(st.sampled_from(["a.one", "b.two", "c.three"])),
                "model": draw(st.sampled_from(["m", "n"])),
                "pool": draw(st.sampled_from(["p", "q"])),
                "resets_at": None if ahead is None else begin + timedelta(minutes=ahead),
                "reset_source": draw(st.sampled_from([None, "stated", "inferred", "guessed"])),
                "secs": draw(st.one_of(st.none(), st.floats(0, 100))),
                **end,
            }
            if fields.get("kind") != "skip":
                tokens = st.one_of(st.none(), st.integers(0, 1000))
                fields |= {"cost_usd": draw(COSTS), "input_tokens": draw(tokens), "output_tokens": draw(tokens)}
            rows.append(row(f"call-{call}", ordinal, t=begin + timedelta(seconds=ordinal), **fields))
    return rows


@contextmanager
def opened(rows: list[AttemptRow]) -> Iterator[Ledger]:
    """The rows as a ledger."""
    with tempfile.TemporaryDirectory() as folder:
        writer = LedgerWriter(folder)
        for one in rows:
            writer.write(one)
        writer.close()
        ledger = Ledger(folder, clock=ManualClock(NOON + timedelta(days=1)))
        yield ledger
        ledger.close()


def money(values: pl.Series) -> Decimal | None:
    """The sum of what is known."""
    known = values.drop_nulls().to_list()
    return sum(known, Decimal(0)) if known else None


@settings(deadline=None, max_examples=20)
@given(ledgers())
def test_totals_equal_the_sum_of_rows_under_any_grouping(rows: list[AttemptRow]) -> None:
    """175: calls, days, providers, accepted or not: one and the same total, and that of the Python side."""
    cost, at_least = totals(rows)
    with opened(rows) as ledger:
        calls, spend = ledger.view("calls"), ledger.view("spend")
        for group in ([], ["provider_ref"], ["day"], ["provider_ref", "model"], ["model", "day"]):
            grouped = spend.group_by(group).agg(pl.col("cost_usd").sum()) if group else spend
            assert sum(grouped["cost_usd"].drop_nulls().to_list(), Decimal(0)) == (cost or 0)
        assert money(calls["cost_usd"]) == money(spend["cost_usd"]) == cost
        assert (calls["at_least"].any(), spend["at_least"].any()) == (at_least, at_least)
        parts = [*spend["accepted_usd"].drop_nulls(), *spend["rejected_usd"].drop_nulls()]
        assert sum(parts, Decimal(0)) == (cost or 0)
        found = spend.group_by("provider_ref", "model").agg(pl.col("attempts", "accepted").sum()).sort(pl.all()).rows()
    items = usage_by_provider(rows)
    assert found == [(item.provider_ref, item.model, item.attempts, item.accepted) for item in items]


@settings(deadline=None, max_examples=20)
@given(ledgers())
def test_every_row_belongs_to_exactly_one_call(rows: list[AttemptRow]) -> None:
    """Attempts and skips of the calls are the rows; a call's cost is that of its own rows; NULL is never 0."""
    with opened(rows) as ledger:
        calls = ledger.view("calls")
    assert calls["call_id"].n_unique() == calls.height
    assert int((calls["attempts"] + calls["skips"]).sum()) == len(rows)
    for call in calls.to_dicts():
        own = [one for one in rows if one.call_id == call["call_id"]]
        assert (call["cost_usd"], call["at_least"]) == totals(own)
        assert call["t"] == min(one.t for one in own)
        assert (call["total_s"] is None) == any(one.secs is None for one in own if one.kind == "attempt")


@settings(deadline=None, max_examples=40)
@given(ledgers())
def test_episodes_of_one_line_never_overlap(rows: list[AttemptRow]) -> None:
    """One after the other, only the last may be open, none ends before it was last seen; no refusal is lost."""
    with opened(rows) as ledger:
        episodes = ledger.view("exhaustion")
    for _, line in episodes.group_by("pool", "credential_id", "model"):
        ordered = line.sort("begin_at", "last_at").to_dicts()
        for one, following in pairwise(ordered):
            assert one["end_at"] is not None
            assert one["begin_at"] <= one["last_at"] <= one["end_at"] <= following["begin_at"]
    open_ones = episodes.filter(pl.col("end_at").is_null())
    assert (open_ones["ended_by"] == "still out").all()
    limits = {"daily_limit", "minute_limit", "balance"}
    assert int((episodes["refused"] + episodes["skipped"]).sum()) == sum(one.reason in limits for one in rows)


@settings(deadline=None, max_examples=20)
@given(ledgers())
def test_reachability_is_a_share(rows: list[AttemptRow]) -> None:
    """Between 0 and 1, or NULL where there is nothing to judge; each call counts once per candidate."""
    with opened(rows) as ledger:
        found = ledger.view("reachability")
    assert all(share is None or 0 <= share <= 1 for share in found["share"])
    judged = found["calls"] - found["refused"] - found["cancelled"]
    assert [share is None for share in found["share"]] == [count == 0 for count in judged]
    asked = {(one.call_id, one.provider_ref, one.model) for one in rows if one.kind == "attempt"}
    assert int(found["calls"].sum()) == len(asked)


@settings(deadline=None, max_examples=15)
@given(ledgers(), st.integers(-3100, 3100))
def test_two_periods_make_the_whole(rows: list[AttemptRow], cut: int) -> None:
    """Calls, hops and money before an instant and from it on are all there are; nothing counts twice."""
    when = NOON + timedelta(minutes=cut)
    with opened(rows) as ledger:
        for name in ("attempts", "calls", "hops"):
            parts = [ledger.view(name, until=when), ledger.view(name, since=when)]
            assert pl.concat(parts).equals(ledger.view(name))
        spent = [*ledger.view("spend", until=when)["cost_usd"], *ledger.view("spend", since=when)["cost_usd"]]
        assert sum(filter(None, spent), Decimal(0)) == sum(filter(None, ledger.view("spend")["cost_usd"]), Decimal(0))
