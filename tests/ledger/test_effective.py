"""Effective cost per answered call: everything a period was charged, over its answers."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ledger.rows import NOON, row
from tests.ledger.test_prices import many
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.effective import EffectiveCost, effective_cost
from zc_notebooks.ledger.prices import totals
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow


def ledger_of(folder: Path, rows: list[AttemptRow]) -> Ledger:
    writer = LedgerWriter(folder)
    for one in rows:
        assert writer.write(one)
    writer.close()
    return Ledger(folder)


def paid(call: str, ordinal: int, cost: float | None, **fields: Any) -> AttemptRow:
    counts = {"input_tokens": 10, "output_tokens": 5} if cost is not None else {}
    return row(call, ordinal, cost_usd=cost, **{**counts, **fields})


WORKED: list[tuple[str, list[AttemptRow], tuple[int, int, str | None, str | None, str | None, bool], str]] = [
    ("nothing", [], (0, 0, None, None, None, False), "no attempts"),
    (
        "an empty answer that was paid, then the answer",
        [
            paid("a", 0, 0.002, status="empty"),
            paid("a", 1, 0.004, accepted=True),
            paid("b", 0, 0.003, accepted=True),
        ],
        (2, 2, "0.009", "0.002", "0.0045", False),
        "2 of 2 calls answered, $0.009000 in all, $0.002000 of it rejected: $0.004500 an answered call",
    ),
    (
        "a call that nobody answered is paid by those that were",
        [
            paid("a", 0, 0.0, status="http_429"),
            paid("b", 0, 0.006, status="stream_error"),
            paid("c", 0, 0.1, accepted=True),
        ],
        (3, 1, "0.106", "0.006", "0.106", False),
        "1 of 3 calls answered, $0.106000 in all, $0.006000 of it rejected: $0.106000 an answered call",
    ),
    (
        "a cut stream makes it a lower bound",
        [paid("a", 0, None, status="stream_cut"), paid("a", 1, 0.1, accepted=True)],
        (1, 1, "0.1", None, "0.1", True),
        "1 of 1 call answered, at least $0.100000 in all: at least $0.100000 an answered call",
    ),
    (
        "no price is known",
        [paid("a", 0, None, accepted=True)],
        (1, 1, None, None, None, True),
        "1 of 1 call answered, cost unknown",
    ),
    (
        "no answer, no figure per answer",
        [paid("a", 0, 0.25, status="empty")],
        (1, 0, "0.25", "0.25", None, False),
        "0 of 1 call answered, $0.250000 in all, $0.250000 of it rejected",
    ),
    (
        "a probe is paid and is no call; a skip is neither",
        [
            paid("p", 0, 0.001, mode="probe", accepted=True),
            row("s", 0, kind="skip", status="skipped_cooldown"),
            paid("a", 0, 0.002, accepted=True),
        ],
        (1, 1, "0.003", None, "0.003", False),
        "1 of 1 call answered, $0.003000 in all: $0.003000 an answered call",
    ),
    (
        "a refusal without figures is a known zero",
        [row("a", 0, status="http_402")],
        (1, 0, "0", "0", None, False),
        "0 of 1 call answered, $0.000000 in all",
    ),
]


@pytest.mark.parametrize(("rows", "figures", "words"), [case[1:] for case in WORKED], ids=[case[0] for case in WORKED])
def test_by_hand(tmp_path: Path, rows: list[AttemptRow], figures: tuple[object, ...], words: str) -> None:
    """Behaviour 178: rejected attempts count, unknown is none and makes the rest "at least"."""
    found = effective_cost(ledger_of(tmp_path, rows))
    calls, answered, cost, rejected, each, at_least = figures
    assert (found.calls, found.answered, found.at_least) == (calls, answered, at_least)
    assert (found.cost_usd, found.rejected_usd, found.per_answer_usd) == tuple(
        None if amount is None else Decimal(str(amount)) for amount in (cost, rejected, each)
    )
    assert str(found) == words


def test_a_period_counts_what_began_in_it(tmp_path: Path) -> None:
    """The begin is included, the end is not."""
    hours = [paid(str(hour), 0, 0.1, accepted=True, t=NOON + timedelta(hours=hour)) for hour in range(4)]
    found = effective_cost(ledger_of(tmp_path, hours), since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=3))
    assert (found.answered, found.cost_usd) == (2, Decimal("0.2"))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(many, st.integers(1, 4))
def test_it_is_the_sum_of_the_rows(rows: list[AttemptRow], per_call: int) -> None:
    """The period's cost and its bound are those of :func:`totals`, and its halves add up to it."""
    from msgspec.structs import replace

    rows = [replace(one, call_id=str(place // per_call), ordinal=place) for place, one in enumerate(rows)]
    attempts = [one for one in rows if one.kind == "attempt"]
    with tempfile.TemporaryDirectory() as folder:
        found = effective_cost(ledger_of(Path(folder), rows))
    assert (found.cost_usd, found.at_least) == totals(attempts)
    rejected, _ = totals(one for one in attempts if not one.accepted)
    assert found.rejected_usd == rejected
    assert found.attempts == len(attempts)


def test_its_record_can_be_sent_as_json() -> None:
    """A record with open bounds and unknown figures has words too."""
    empty = EffectiveCost(
        since=None, until=None, calls=0, answered=0, attempts=0, unpriced=0, cost_usd=None, rejected_usd=None
    )
    assert str(empty) == "no attempts"
    assert empty.per_answer_usd is None
