"""The views: small ledgers with what they must say, computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.ledger.rows import NOON, row
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.columns import polars_schema
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.ledger.views import CUTS, DERIVED, VIEWS, view_sql
from zc_notebooks.ledger.views.documented import VIEWS_TABLE, views_table
from zc_notebooks.ledger.views.schema import VIEW_COLUMNS
from zc_notebooks.testing import ManualClock

Open = Callable[..., Ledger]
LIMIT: dict[str, Any] = {"status": "http_429", "reason": "daily_limit", "input_tokens": 0, "output_tokens": 0}
SKIP: dict[str, Any] = {"kind": "skip", "status": "skipped_cooldown", "reason": "daily_limit", "usage_state": "none"}
GOOD: dict[str, Any] = {"accepted": True, "input_tokens": 80, "output_tokens": 20}


def at(minutes: float) -> datetime:
    """Minutes after noon."""
    return NOON + timedelta(minutes=minutes)


EVENING = at(360)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Open]:
    """Writes rows and opens them as a ledger whose clock stands at 18:00."""
    opened: list[Ledger] = []

    def write(rows: Iterable[AttemptRow], now: datetime = EVENING) -> Ledger:
        writer = LedgerWriter(tmp_path / f"ledger-{len(opened)}")
        for one in rows:
            writer.write(one)
        writer.close()
        opened.append(Ledger(writer.folder, clock=ManualClock(now)))
        return opened[-1]

    yield write
    for one in opened:
        one.close()


def dicts(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of some columns."""
    return frame.select(columns).rows()


# -- names and types ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VIEW_COLUMNS)
def test_an_empty_ledger_gives_empty_frames_with_the_right_types(ledger: Open, name: str) -> None:
    """Names and types are the schema's, with rows or without, with a period or without."""
    for frame in (ledger([]).view(name), ledger([row(**GOOD)]).view(name, "7d"), ledger([]).view(name, "24h", "1h")):
        assert dict(frame.schema) == polars_schema(VIEW_COLUMNS[name])


def test_every_view_has_columns_a_cut_and_a_file() -> None:
    """One constant names the columns, one says how periods cut; a file stands behind each."""
    assert [*VIEW_COLUMNS] == [*VIEWS, *DERIVED] == [*CUTS]
    assert all(view_sql(name).startswith("-- ") for name in CUTS)


def test_the_documented_table_is_the_schema() -> None:
    """The table people read is made from the constant and from the heads of the files."""
    assert VIEWS_TABLE.read_text(encoding="utf-8") == views_table()


@pytest.mark.parametrize("name", [*VIEWS, *DERIVED])
def test_people_query_every_view_by_its_name(ledger: Open, name: str) -> None:
    """``zc ledger sql`` sees what :meth:`Ledger.view` shows."""
    opened = ledger([row("a", 0, **LIMIT), row("a", 1, t=at(1), provider_ref="b.two", **GOOD)])
    found = opened.sql(f"set variable now = timestamptz '{at(360).isoformat()}'; from {name}")
    assert found.sort(found.columns).equals(opened.view(name).sort(found.columns))


@pytest.mark.parametrize("name", [*VIEWS, *DERIVED])
def test_a_view_is_the_same_over_lines_and_over_parquet(ledger: Open, name: str) -> None:
    """Compaction changes no row of any view, over everything and over a period; the open reader sees the new files."""
    rows = [row("a", 0, secs=0.1, **LIMIT, **STATED), row("a", 1, t=at(1), provider_ref="b.two", secs=1.0, **GOOD)]
    opened = ledger([*rows, row("b", 0, t=at(90), cost_usd=0.1, **GOOD), row("c", 0, t=at(99), **MINUTE)])
    before = [opened.view(name), opened.view(name, at(30))]
    compact(opened.folder)
    assert not list(opened.folder.glob("*.jsonl"))
    after = [opened.view(name), opened.view(name, at(30))]
    assert all(one.equals(other) for one, other in zip(before, after, strict=True))
    assert opened.sql(f"from {name}").height == before[0].height


def test_a_view_that_is_not_there_is_named(ledger: Open) -> None:
    """One sentence with the names there are."""
    with pytest.raises(LedgerError, match=r"no view 'call'; there are attempts, .*calls"):
        ledger([]).view("call")


# -- calls ----------------------------------------------------------------------------------------------------------


def test_a_call_is_one_row_with_all_it_took(ledger: Open) -> None:
    """Requested and served apart; a refusal costs nothing; the total is from the first row to the last byte."""
    asked = {"requested_ref": "groq.free", "requested_model": "big", "turn_id": "t1"}
    rows = [
        row("a", 0, secs=0.2, wait_s=0.0, **asked, **LIMIT),
        row("a", 1, t=at(0.01), provider_ref="b.one", **asked, **SKIP),
        row("a", 2, t=at(0.05), provider_ref="c.two", model="m", secs=2, wait_s=1.5, cost_usd=0.1, **asked, **GOOD),
    ]
    assert ledger(rows).view("calls").to_dicts() == [
        {
            "call_id": "a",
            "t": NOON,
            "turn_id": "t1",
            "mode": "chat",
            "requested_ref": "groq.free",
            "requested_model": "big",
            "served_ref": "c.two",
            "served_model": "m",
            "outcome": "answered",
            "reason": "daily_limit",
            "attempts": 2,
            "skips": 1,
            "wait_s": 1.5,
            "total_s": 5.0,
            "cost_usd": Decimal("0.1"),
            "at_least": False,
        }
    ]


@pytest.mark.parametrize(
    ("rows", "outcome", "reason"),
    [
        ([row("a", 0, **GOOD)], "answered", None),
        ([row("a", 0, **LIMIT), row("a", 1, status="network")], "failed", "network"),
        ([row("a", 0, **LIMIT), row("a", 1, status="cancelled")], "cancelled", "cancelled"),
        ([row("a", 0, **SKIP), row("a", 1, kind="skip", status="skipped_no_key")], "not asked", None),
        ([row("a", 0)], "failed", "ok"),
    ],
    ids=["answered", "failed", "cancelled", "only skips", "an answer that was not accepted"],
)
def test_a_call_ends_in_one_word(ledger: Open, rows: list[AttemptRow], outcome: str, reason: str | None) -> None:
    """And the reason of its last failure."""
    assert dicts(ledger(rows).view("calls"), "outcome", "reason") == [(outcome, reason)]


@pytest.mark.parametrize(
    ("rows", "cost", "at_least"),
    [
        ([row("a", 0, **LIMIT), row("a", 1, **SKIP)], Decimal(0), False),
        ([row("a", 0, **SKIP)], None, False),
        ([row("a", 0, **GOOD)], None, True),
        ([row("a", 0, cost_usd=0.25, **GOOD), row("a", 1, status="timeout")], Decimal("0.25"), True),
        ([row("a", 0, cost_usd=0.25, accepted=True)], Decimal("0.25"), True),
        ([row("a", 0, cost_usd=0.1, **GOOD), row("a", 1, cost_usd=0.2, **GOOD)], Decimal("0.3"), False),
        ([row("a", 0, cost_usd=1e300, **GOOD)], None, True),
    ],
    ids=["refused", "skipped", "no price", "a time limit", "no usage", "two answers", "no amount of money"],
)
def test_178_a_call_costs_what_is_known_and_says_at_least(
    ledger: Open, rows: list[AttemptRow], cost: Decimal | None, *, at_least: bool
) -> None:
    """178: unknown is NULL and sums say "at least"; skips and refusals do not; the same in ``spend``."""
    opened = ledger(rows)
    assert dicts(opened.view("calls"), "cost_usd", "at_least") == [(cost, at_least)]
    if any(one.kind == "attempt" for one in rows):
        assert dicts(opened.view("spend"), "cost_usd", "at_least") == [(cost, at_least)]


def test_a_length_that_is_not_known_is_not_zero(ledger: Open) -> None:
    """Waits and totals are NULL when nothing is known of them."""
    rows = [row("a", 0, **GOOD), row("b", 0, **SKIP), row("c", 0, secs=1.0), row("c", 1, t=at(1))]
    assert dicts(ledger(rows).view("calls"), "wait_s", "total_s") == [(None, None), (None, 0.0), (None, None)]


# -- hops -----------------------------------------------------------------------------------------------------------


def test_a_hop_has_the_failed_candidate_and_its_own_reason(ledger: Open) -> None:
    """Skips make no hop, retries make none, another key of the same account makes one."""
    rows = [
        row("a", 0, credential_id="k1", secs=0.1, **LIMIT),
        row("a", 1, credential_id="k2", status="http_503", reason="capacity"),
        row("a", 2, credential_id="k2", status="http_503", reason="capacity", secs=0.3, attempt=1),
        row("a", 3, provider_ref="b.one", **SKIP),
        row("a", 4, t=at(1), provider_ref="c.two", credential_id="k3", **GOOD),
        row("b", 0, **GOOD),
        row("c", 0, status="network"),
    ]
    columns = ("call_id", "from_ref", "from_credential", "to_ref", "to_credential", "reason", "lost_s", "answered")
    assert dicts(ledger(rows).view("hops"), *columns) == [
        ("a", "groq.free", "k1", "groq.free", "k2", "daily_limit", 0.1, False),
        ("a", "groq.free", "k2", "c.two", "k3", "capacity", 0.3, True),
    ]


def test_what_follows_an_accepted_answer_is_no_hop(ledger: Open) -> None:
    """A hop leaves a candidate that failed."""
    rows = [row("a", 0, **GOOD), row("a", 1, provider_ref="b.one", **GOOD), row("a", 2, provider_ref="c.one", **GOOD)]
    assert ledger(rows).view("hops").is_empty()


# -- exhaustion -----------------------------------------------------------------------------------------------------

EPISODE = ("kind", "begin_at", "last_at", "end_at", "ended_by", "calls", "refused", "skipped")
MIDNIGHT = datetime(2026, 12, 1, tzinfo=UTC)
STATED: dict[str, Any] = {"resets_at": MIDNIGHT, "reset_source": "stated"}
MINUTE: dict[str, Any] = {"status": "http_429", "reason": "minute_limit"}
EPISODES: list[tuple[str, list[AttemptRow], datetime, list[tuple[Any, ...]]]] = [
    (
        "an answer ends it",
        [
            row("a", 0, **LIMIT, **STATED),
            row("b", 0, t=at(5), **SKIP, **STATED),
            row("b", 1, t=at(5), **SKIP, **STATED),
            row("c", 0, t=at(60), **GOOD),
        ],
        at(90),
        [("daily_limit", NOON, at(5), at(60), "success", 2, 1, 2)],
    ),
    (
        "the stated reset ends it",
        [row("a", 0, **LIMIT, **STATED), row("b", 0, t=at(20 * 60), **GOOD)],
        at(24 * 60),
        [("daily_limit", NOON, NOON, MIDNIGHT, "reset", 1, 1, 0)],
    ),
    (
        "the stated reset ends it though nobody asked since",
        [row("a", 0, **LIMIT, **STATED)],
        MIDNIGHT,
        [("daily_limit", NOON, NOON, MIDNIGHT, "reset", 1, 1, 0)],
    ),
    (
        "still out: the reset lies ahead",
        [row("a", 0, **LIMIT, **STATED)],
        at(60),
        [("daily_limit", NOON, NOON, None, "still out", 1, 1, 0)],
    ),
    (
        "still out: nothing was stated",
        [row("a", 0, status="http_402", reason="balance"), row("b", 0, t=at(1), status="http_402", reason="balance")],
        at(9999),
        [("balance", NOON, at(1), None, "still out", 2, 2, 0)],
    ),
    (
        "a guessed end of a cooldown ends nothing",
        [
            row("a", 0, **LIMIT),
            row("b", 0, t=at(1), resets_at=at(60), reset_source="guessed", **SKIP),
            row("c", 0, t=at(61), **LIMIT),
        ],
        at(90),
        [("daily_limit", NOON, at(61), None, "still out", 3, 2, 1)],
    ),
    (
        "refused again after the reset: the next one",
        [row("a", 0, **LIMIT, **STATED), row("b", 0, t=at(12 * 60), **LIMIT)],
        at(13 * 60),
        [
            ("daily_limit", NOON, NOON, MIDNIGHT, "reset", 1, 1, 0),
            ("daily_limit", MIDNIGHT, MIDNIGHT, None, "still out", 1, 1, 0),
        ],
    ),
    (
        "a minute limit is over after a minute",
        [row("a", 0, **MINUTE), row("a", 1, t=at(0.5), **MINUTE), row("b", 0, t=at(60), **GOOD)],
        at(90),
        [("minute_limit", NOON, at(0.5), at(1.5), "reset", 1, 2, 0)],
    ),
    (
        "the gravest reason names it",
        [row("a", 0, **MINUTE), row("b", 0, t=at(0.5), **LIMIT), row("c", 0, t=at(0.7), **MINUTE)],
        at(0.8),
        [("daily_limit", NOON, at(0.7), None, "still out", 3, 3, 0)],
    ),
    (
        "trouble, refusals for the request and skips for other reasons are no exhaustion",
        [
            row("a", 0, status="http_503", reason="capacity"),
            row("a", 1, kind="skip", status="skipped_cooldown", reason="capacity"),
            row("a", 2, kind="skip", status="skipped_same_credential", reason="balance"),
            row("a", 3, status="http_400", reason="context_window"),
        ],
        at(1),
        [],
    ),
    (
        "a reset that has passed already says nothing",
        [row("a", 0, resets_at=at(-5), reset_source="stated", **LIMIT)],
        at(1),
        [("daily_limit", NOON, NOON, None, "still out", 1, 1, 0)],
    ),
]


@pytest.mark.parametrize(
    ("rows", "now", "episodes"), [case[1:] for case in EPISODES], ids=[case[0] for case in EPISODES]
)
def test_an_episode_begins_and_ends(
    ledger: Open, rows: list[AttemptRow], now: datetime, episodes: list[tuple[Any, ...]]
) -> None:
    """From the first refusal to an answer, to the reset that was stated, or open."""
    assert dicts(ledger(rows, now).view("exhaustion"), *EPISODE) == episodes


def test_a_model_is_out_alone_and_a_credential_with_all_its_models(ledger: Open) -> None:
    """The verdict's scope says what is out; an answer of any model shows that the credential is back."""
    rows = [
        row("a", 0, model="big", scope="model", **LIMIT),
        row("b", 0, t=at(1), model="small", **GOOD),
        row("c", 0, t=at(2), model="small", scope="credential", **LIMIT),
        row("d", 0, t=at(3), model="tiny", **GOOD),
        row("e", 0, t=at(4), model="big", **GOOD),
    ]
    assert dicts(ledger(rows).view("exhaustion"), "model", "begin_at", "end_at", "out_s") == [
        ("big", NOON, at(4), 240.0),
        (None, at(2), at(3), 60.0),
    ]


def test_credentials_and_pools_are_out_apart(ledger: Open) -> None:
    """An answer with one key says nothing of another; the length of an open episode is up to now."""
    rows = [
        row("a", 0, credential_id="k1", pool="p", **LIMIT),
        row("b", 0, t=at(1), credential_id="k2", pool="p", **GOOD),
        row("c", 0, t=at(1), credential_id="k1", pool="q", **GOOD),
    ]
    assert dicts(ledger(rows).view("exhaustion"), "pool", "credential_id", "ended_by", "out_s") == [
        ("p", "k1", "still out", 6 * 3600.0)
    ]


# -- reachability, spend, latency -----------------------------------------------------------------------------------


def test_reachable_is_not_correct(ledger: Open) -> None:
    """Calls are counted once; an empty or rejected answer was reached; what cannot be judged does not count."""
    rows = [
        row("a", 0, status="http_503", reason="capacity"),
        row("a", 1, t=at(1), **GOOD),
        row("b", 0, t=at(2), status="empty", reason="empty"),
        row("c", 0, t=at(3)),
        row("d", 0, t=at(4), status="network"),
        row("e", 0, t=at(5), status="cancelled"),
        row("f", 0, t=at(6), status="http_400", reason="context_window"),
        row("g", 0, t=at(7), **SKIP),
        row("h", 0, t=at(60), status="cancelled"),
    ]
    columns = ("hour", "calls", "reached", "refused", "cancelled", "share", "accepted")
    assert dicts(ledger(rows).view("reachability"), *columns) == [
        (NOON, 6, 3, 1, 1, 0.75, 1),
        (at(60), 1, 0, 0, 1, None, 0),
    ]


def test_spend_keeps_accepted_and_rejected_apart(ledger: Open) -> None:
    """Per day; known sums, NULL when no part is known, and how many parts are missing."""
    rows = [
        row("a", 0, cost_usd=0.1, input_tokens=10, output_tokens=1, reason="empty", status="empty"),
        row("a", 1, cost_usd=0.2, cached_input_tokens=40, **GOOD),
        row("b", 0, **GOOD),
        row("c", 0, **SKIP),
        row("d", 0, t=MIDNIGHT, status="timeout"),
    ]
    columns = ("day", "attempts", "accepted", "rejected", "input_tokens", "cached_input_tokens", "reasoning_tokens")
    money = ("accepted_usd", "rejected_usd", "cost_usd", "unpriced", "at_least")
    assert dicts(ledger(rows).view("spend"), *columns, *money) == [
        (date(2026, 11, 30), 3, 2, 1, 170, 40, None, Decimal("0.2"), Decimal("0.1"), Decimal("0.3"), 1, True),
        (date(2026, 12, 1), 1, 0, 1, None, None, None, None, None, None, 1, True),
    ]


def test_latency_is_that_of_answers(ledger: Open) -> None:
    """Medians between neighbours; failures have their own; what no stream showed is NULL."""
    rows = [row(f"a{n}", 0, secs=float(n), **GOOD) for n in range(1, 5)]
    rows += [row("b", 0, secs=0.13, **LIMIT), row("c", 0, status="cancelled", secs=99.0), row("d", 0, **SKIP)]
    rows += [row("e", 0, provider_ref="s.one", mode="stream", first_token_s=0.25, **GOOD)]
    found = ledger(rows).view("latency").drop("model")
    assert found.rows() == [
        ("groq.free", 4, 2.5, pytest.approx(3.85), None, None, 1, 0.13),
        ("s.one", 1, None, None, 0.25, 0.25, 0, None),
    ]


# -- last_state, headroom -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([row("a", 0, **LIMIT), row("b", 0, t=at(1), **GOOD)], "ok"),
        ([row("b", 0, **GOOD), row("a", 0, t=at(1), **LIMIT, **STATED)], "out"),
        ([row("a", 0, **LIMIT)], "out"),
        ([row("a", 0, resets_at=at(10), **LIMIT)], "due"),
        ([row("a", 0, **MINUTE)], "due"),
        ([row("a", 0, t=EVENING - timedelta(seconds=59), **MINUTE)], "out"),
        ([row("a", 0, **LIMIT), row("b", 0, t=at(1), **SKIP, **STATED)], "out"),
        ([row("a", 0, **GOOD), row("b", 0, t=at(1), status="http_503", reason="capacity")], "failing"),
        ([row("a", 0, **GOOD), row("a", 1, kind="skip", status="skipped_no_key")], "skipped"),
    ],
    ids=[
        "ok",
        "out, stated",
        "out",
        "due",
        "a minute ago",
        "a minute, not over",
        "skipped for it",
        "failing",
        "no key",
    ],
)
def test_the_last_row_of_a_candidate_is_its_state(ledger: Open, rows: list[AttemptRow], state: str) -> None:
    """Rows of one instant count in the order of the call; its NULLs are its own and not an older row's values."""
    found = ledger(rows).view("last_state").row(0, named=True)
    assert (found["state"], found["t"], found["reason"]) == (state, rows[-1].t, rows[-1].reason)


def test_headroom_is_an_estimate_from_days_that_ran_out(ledger: Open) -> None:
    """Median of what such days gave, less today's; NULL where there is nothing to estimate from."""

    def day(back: int, answers: int, *last: dict[str, Any]) -> list[AttemptRow]:
        begin = NOON - timedelta(days=back)
        given = [row(f"{back}-{n}", 0, t=begin + timedelta(seconds=n), **GOOD) for n in range(answers)]
        return given + [row(f"{back}-x", 0, t=begin + timedelta(hours=1), **end) for end in last]

    rows = day(3, 10, LIMIT) + day(2, 20, LIMIT) + day(1, 30) + day(0, 6, {"status": "timeout"})
    rows += [row("other", 0, provider_ref="b.one", pool="q", **LIMIT, **STATED)]
    columns = ("answers_today", "tokens_today", "tokens_at_least", "days", "days_out", "out_after_answers")
    left = ("out_after_tokens", "most_answers", "answers_left", "tokens_left", "out_until")
    assert dicts(ledger(rows).view("headroom"), *columns, *left) == [
        (6, 600, True, 3, 2, 15.0, 1500.0, 30, 9.0, 900.0, None),
        (0, 0, False, 0, 0, None, None, None, None, None, MIDNIGHT),
    ]


def test_headroom_after_an_answer_is_not_out(ledger: Open) -> None:
    """A reset that lies ahead says nothing once something was answered: out_until is NULL."""
    later = {"t": NOON + timedelta(minutes=1)}
    rows = [row("a", 0, **LIMIT, **STATED), row("b", 0, **GOOD, **later)]
    assert ledger(rows).view("headroom")["out_until"].to_list() == [None]


# -- periods --------------------------------------------------------------------------------------------------------


def test_a_period_takes_whole_calls_that_began_in_it(ledger: Open) -> None:
    """A call's rows beyond the end belong to it; a call that began before does not appear in part."""
    rows = [
        row("before", 0, t=at(-1), **LIMIT),
        row("before", 1, t=at(1), provider_ref="b.one", cost_usd=1.0, **GOOD),
        row("inside", 0, t=at(59), **LIMIT),
        row("inside", 1, t=at(61), provider_ref="b.one", cost_usd=2.0, **GOOD),
        row("after", 0, t=at(60), cost_usd=4.0, **GOOD),
    ]
    opened = ledger(rows)
    assert dicts(opened.view("calls", NOON, at(60)), "call_id", "cost_usd") == [("inside", Decimal(2))]
    assert dicts(opened.view("hops", NOON, at(60)), "call_id") == [("before",)]
    assert dicts(opened.view("spend", NOON, at(60)), "provider_ref", "cost_usd") == [
        ("b.one", Decimal(1)),
        ("groq.free", Decimal(0)),
    ]


@pytest.mark.parametrize(
    ("since", "until", "shown"),
    [
        (None, None, 1),
        (at(60), None, 1),
        (at(121), None, 0),
        (at(120), None, 1),
        (None, NOON, 0),
        (None, at(1), 1),
        (at(30), at(40), 1),
    ],
)
def test_a_period_takes_episodes_that_touch_it(
    ledger: Open, since: datetime | None, until: datetime | None, shown: int
) -> None:
    """With their true begin, wherever it lies."""
    rows = [row("a", 0, resets_at=at(120), **LIMIT)]
    found = ledger(rows).view("exhaustion", since, until)
    assert dicts(found, "begin_at") == [(NOON,)] * shown


TOKYO = datetime.fromisoformat("2026-12-01T08:30:00+09:00")


@pytest.mark.parametrize("since", ["2026-11-30T23:30", "2026-12-01T08:30+09:00", TOKYO, "18.5h", timedelta(hours=18.5)])
def test_days_and_hours_are_utc_wherever_one_asks_from(ledger: Open, since: Any) -> None:
    """08:30 in Tokyo on the first of December is 23:30 on the last of November, and the row says so."""
    opened = ledger([row("a", 0, t=TOKYO, cost_usd=1.0, **GOOD)], now=datetime(2026, 12, 1, 18, tzinfo=UTC))
    assert dicts(opened.view("spend", since), "day") == [(date(2026, 11, 30),)]
    assert dicts(opened.view("reachability", since), "hour") == [(datetime(2026, 11, 30, 23, tzinfo=UTC),)]


def test_days_are_utc_in_a_session_of_another_zone(ledger: Open) -> None:
    """The files say UTC themselves: who runs them elsewhere gets the same days."""
    duckdb = pytest.importorskip("duckdb")
    con = duckdb.connect(":memory:")
    con.execute("set TimeZone = 'Asia/Kolkata'")
    con.register("rows", ledger([row("a", 0, t=TOKYO, **GOOD)]).attempts().__arrow_c_stream__())
    con.execute("create table attempts as select * from rows")
    assert con.sql(view_sql("spend")).project("day").fetchall() == [(date(2026, 11, 30),)]
    hour = con.sql(view_sql("reachability")).project("epoch(hour)")
    assert hour.fetchall() == [(datetime(2026, 11, 30, 23, tzinfo=UTC).timestamp(),)]
    con.close()


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize(
    "bounds", [("0001-01-01", "9999-12-31"), ("1970-01-01", None), (None, "9999-12-31T23:59:59"), ("9999-12-31", None)]
)
def test_no_bound_is_too_far_out(ledger: Open, name: str, bounds: tuple[str | None, str | None]) -> None:
    """The edges of what a date can say are periods too."""
    opened = ledger([row("a", 0, **LIMIT), row("a", 1, provider_ref="b.one", **GOOD)])
    assert opened.view(name, *bounds).height == (0 if bounds[0] == "9999-12-31" else opened.view(name).height)
