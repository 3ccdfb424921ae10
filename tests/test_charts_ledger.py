"""Charts of the ledger's views: what they show, and what they say to those who do not see them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import altair as alt
import pytest

from tests.ledger.rows import NOON, row
from tests.test_charts import values
from zc_notebooks import charts, frames
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Mark, MarkKey
from zc_notebooks.testing import ManualClock

Draw = Callable[[Ledger], alt.LayerChart]
DRAWN: dict[str, tuple[Draw, str]] = {
    "failures": (lambda ledger: charts.failures_by_hour(frames.reachability(ledger)), "no calls to judge"),
    "exhaustion": (lambda ledger: charts.exhaustion_chart(frames.exhaustion(ledger)), "nobody was out"),
    "spend": (lambda ledger: charts.spend_chart(frames.spend(ledger)), "nothing was spent"),
    "reachability": (
        lambda ledger: charts.reachability_chart(frames.reachability(ledger), frames.latency(ledger)),
        "no calls to judge",
    ),
    "hops": (lambda ledger: charts.hops_chart(frames.hops(ledger)), "no hops"),
}
ALL = pytest.mark.parametrize(("draw", "nothing"), DRAWN.values(), ids=DRAWN)


def outage() -> list[AttemptRow]:
    """Four hours: a day quota ends at noon, its fallback answers badly once, and one attempt was never priced."""
    limit: dict[str, Any] = {"status": "http_429", "reason": "daily_limit", "secs": 0.13, "cost_usd": 0.0}
    good: dict[str, Any] = {"accepted": True, "input_tokens": 10, "output_tokens": 5, "failover": True}
    rows = [row("0", 0, t=NOON - timedelta(hours=1), secs=1.0, cost_usd=0.0, **good)]
    for call in range(1, 4):
        t = NOON + timedelta(hours=call - 1)
        rows.append(row(str(call), 0, t=t, resets_at=NOON + timedelta(hours=12), reset_source="stated", **limit))
        paid = {
            "provider_ref": "credit.one",
            "model": "m",
            "pool": "credit",
            "t": t + timedelta(seconds=1),
            "secs": 2.0,
        }
        if call == 1:
            rows.append(
                row("1", 1, status="empty", reason="empty", input_tokens=9, output_tokens=0, cost_usd=0.5, **paid)
            )
        cost = None if call == 3 else 0.25
        rows.append(row(str(call), len(rows), cost_usd=cost, **paid, **good))
    return rows


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Callable[[list[AttemptRow]], Ledger]]:
    """Rows as a ledger whose clock stands at 15:00."""
    opened: list[Ledger] = []

    def open_with(rows: list[AttemptRow]) -> Ledger:
        writer = LedgerWriter(tmp_path / str(len(opened)))
        for one in rows:
            writer.write(one)
        writer.close()
        opened.append(Ledger(writer.folder, clock=ManualClock(NOON + timedelta(hours=3))))
        return opened[-1]

    yield open_with
    for one in opened:
        one.close()


Open = Callable[[list[AttemptRow]], Ledger]


def rows_of(spec: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What one layer of a chart draws."""
    data = spec["layer"][number].get("data") or spec["data"]
    found: list[dict[str, Any]] = data["values"] if "values" in data else spec["datasets"][data["name"]]
    return found


@ALL
@pytest.mark.parametrize("rows", ["an outage", "nothing"])
def test_a_chart_has_size_title_words_and_paper(ledger: Open, draw: Draw, nothing: str, rows: str) -> None:
    """Fixed width, a title, a text alternative and a painted background; an empty ledger gives a calm chart."""
    spec = draw(ledger(outage() if rows == "an outage" else [])).to_dict()
    assert (spec["width"], spec["background"]) == (460, "#FFFFFF")
    assert isinstance(spec["height"], int)
    assert spec["title"]
    assert spec["description"].endswith(".")
    if rows == "nothing":
        assert [one["text"] for one in values(spec)] == [nothing]
        assert spec["description"] == f"{nothing.capitalize()}."


@ALL
def test_a_chart_is_drawn_and_says_what_it_shows(ledger: Open, draw: Draw, nothing: str) -> None:
    """SVG and PNG without network, the same each time; names of providers stand in the picture as words."""
    chart = draw(ledger(outage()))
    svg = charts.show(chart)
    assert svg.data == charts.show(chart).data
    assert charts.show(chart, kind="png").data.startswith(b"\x89PNG")
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)", svg.data.decode()))
    assert "groq.free" in words or "credit.one" in words
    assert nothing not in words


@ALL
def test_places_have_stated_domains(ledger: Open, draw: Draw, nothing: str) -> None:
    """Every horizontal and vertical place lies on a scale that is written down: nothing moves by itself."""
    spec = draw(ledger(outage())).to_dict()
    for channel in ("x", "y"):
        scales = [
            layer["encoding"][channel].get("scale", {}) for layer in spec["layer"] if channel in layer["encoding"]
        ]
        assert any("domain" in scale for scale in scales), nothing


def test_the_heat_map_counts_calls_that_got_nothing(ledger: Open) -> None:
    """Per provider and hour; a number stands in each field."""
    spec = charts.failures_by_hour(frames.reachability(ledger(outage()))).to_dict()
    fields = [(one["provider"], one["place"], one["failed"], one["judged"]) for one in values(spec)]
    assert fields == [
        ("credit.one", 1, 0, 1),
        ("credit.one", 2, 0, 1),
        ("credit.one", 3, 0, 1),
        ("groq.free", 0, 0, 1),
        ("groq.free", 1, 1, 1),
        ("groq.free", 2, 1, 1),
        ("groq.free", 3, 1, 1),
    ]
    assert spec["layer"][1]["encoding"]["text"]["field"] == "percent"
    assert spec["description"] == (
        "Heat map of failed calls by provider, hour by hour, from 2026-11-30 11:00 to 2026-11-30 15:00 UTC. "
        "credit.one: 0 of 3 failed; groq.free: 3 of 4 failed, worst at 11-30 12:00 with 100 of 100."
    )


def test_a_long_period_is_put_together_by_the_hour_of_the_day(ledger: Open) -> None:
    """24 columns, however many days; where there is no room for numbers a mark grows with the share."""
    days = [row(f"{day}", 0, t=NOON + timedelta(days=day), status="network") for day in range(5)]
    spec = charts.failures_by_hour(frames.reachability(ledger(days))).to_dict()
    assert [(one["place"], one["failed"]) for one in values(spec)] == [(12, 5)]
    assert "by hour of the day" in spec["description"]
    hours = [row(f"{hour}", 0, t=NOON + timedelta(hours=hour), status="network") for hour in range(0, 60, 6)]
    narrow = charts.failures_by_hour(frames.reachability(ledger(hours))).to_dict()
    assert narrow["layer"][1]["mark"]["type"] == "point"


def test_episodes_are_bars_and_marks_are_outlines(ledger: Open) -> None:
    """The kind stands beside the bar; an open episode goes up to now; a mark from when it was set to its end."""
    now = NOON + timedelta(hours=3)
    key = MarkKey(pool="p", credential_id="-")
    mark = Mark(
        key=key,
        until=NOON + timedelta(hours=12),
        provenance="stated",
        reason="daily_limit",
        set_at=NOON,
        provider_ref="groq.free",
    )
    spec = charts.exhaustion_chart(frames.exhaustion(ledger(outage())), [mark], now=now).to_dict()
    (bar,) = rows_of(spec, 0)
    assert (bar["line"], bar["ended_by"], bar["calls"]) == ("groq.free, day quota", "still out", 3)
    assert (bar["from_ms"], bar["to_ms"]) == (NOON.timestamp() * 1000, now.timestamp() * 1000)
    assert spec["layer"][1]["encoding"]["shape"]["scale"]["domain"] == ["still out"]
    assert [one["to_ms"] for one in rows_of(spec, 2)] == [mark.until.timestamp() * 1000]
    assert "1 episode, 3.0 hours in all, 3 calls turned away, still out; 1 live mark outlined" in spec["description"]


def test_marks_alone_are_drawn(ledger: Open) -> None:
    """A board with a mark and a ledger without an episode; a reason that is no quota is named too."""
    mark = Mark(
        key=MarkKey(pool="pool.of.nobody", credential_id="c", model="org/m"),
        until=NOON + timedelta(hours=1),
        provenance="guessed",
        reason="capacity",
        set_at=NOON,
    )
    spec = charts.exhaustion_chart(frames.exhaustion(ledger([])), [mark]).to_dict()
    assert rows_of(spec, 2)[0]["line"] == "pool.of.nobody/m, capacity"
    assert spec["description"] == "Chart of when credentials were out. 1 live mark outlined."
    assert charts.show(charts.exhaustion_chart(frames.exhaustion(ledger([])), [mark])).data


def test_two_credentials_of_one_provider_have_a_line_each(ledger: Open) -> None:
    """Each with its id, and no key; a mark of one of them stands on its line."""
    limit: dict[str, Any] = {"status": "http_429", "reason": "daily_limit", "pool": "groq"}
    rows = [row(key, 0, t=NOON, credential_id=key, **limit) for key in ("11111111", "22222222")]
    key = MarkKey(pool="groq", credential_id="22222222")
    until = NOON + timedelta(hours=5)
    mark = Mark(key=key, until=until, provenance="stated", reason="daily_limit", set_at=NOON, provider_ref="groq.free")
    spec = charts.exhaustion_chart(frames.exhaustion(ledger(rows)), [mark]).to_dict()
    assert [one["line"] for one in rows_of(spec, 0)] == [
        "groq.free [11111111], day quota",
        "groq.free [22222222], day quota",
    ]
    assert [one["line"] for one in rows_of(spec, 2)] == ["groq.free [22222222], day quota"]
    assert "groq.free [11111111], day quota: 1 episode" in spec["description"]


def test_the_rejected_part_is_hatched(ledger: Open) -> None:
    """Strokes lie inside the rejected part; a day with an unknown part says "at least"."""
    spec = charts.spend_chart(frames.spend(ledger(outage()))).to_dict()
    parts = {one["what"]: (one["from_usd"], one["to_usd"]) for one in rows_of(spec, 0)}
    assert parts == {"accepted": (0.0, 0.5), "rejected": (0.5, 1.0)}
    strokes = [one["from_usd"] for one in rows_of(spec, 1)]
    assert strokes
    assert all(0.5 < stroke < 1.0 for stroke in strokes)
    assert [one["text"] for one in rows_of(spec, 2)] == ["at least"]
    assert "credit.one: at least $1.00, $0.50 of it for rejected answers" in spec["description"]


def test_providers_beyond_the_dearest_are_put_together(ledger: Open) -> None:
    """As many colours as can be told apart; the total stays."""
    good: dict[str, Any] = {"accepted": True, "input_tokens": 1, "output_tokens": 1}
    rows = [row(f"{n}", 0, provider_ref=f"p.{n:02d}", cost_usd=float(n + 1), **good) for n in range(10)]
    parts = values(charts.spend_chart(frames.spend(ledger(rows))).to_dict())
    names = [one["provider"] for one in parts]
    assert names == ["p.09", "p.08", "p.07", "p.06", "p.05", "p.04", "all others"]
    assert sum(one["usd"] for one in parts) == 55.0


def test_reachability_stands_against_the_median(ledger: Open) -> None:
    """One point per provider; who never answered has no point but is said."""
    rows = [*outage(), row("x", 0, provider_ref="dead.one", status="network")]
    opened = ledger(rows)
    spec = charts.reachability_chart(frames.reachability(opened), frames.latency(opened)).to_dict()
    points = [(one["name"], one["percent"], one["p50_s"]) for one in values(spec)]
    assert points == [("credit.one", 100.0, 2.0), ("groq.free", 25.0, 1.0)]
    assert "dead.one/openai/gpt-oss-120b: 0 of 100 calls answered, never" in spec["description"]


def test_a_flow_is_as_thick_as_its_hops(ledger: Open) -> None:
    """Both ends of a band are equally thick, the number stands at its end."""
    rows = outage()
    rows += [
        row("n", 0, status="network"),
        row("n", 1, provider_ref="other.one", status="network"),
    ]
    spec = charts.hops_chart(frames.hops(ledger(rows))).to_dict()
    outline = rows_of(spec, 0)
    thick = {flow: [one["high"] - one["low"] for one in outline if one["flow"] == flow] for flow in (0, 1)}
    for band in thick.values():
        assert band == pytest.approx([band[0]] * len(band))
    assert thick[0][0] == pytest.approx(3 * thick[1][0])
    said = [one["text"] for one in rows_of(spec, 1)]
    assert said == ["credit.one: 3, 2 answered", "other.one: 1, 0 answered", "groq.free"]


def test_a_flow_between_models_and_keys_of_one_provider_says_which(ledger: Open) -> None:
    """From one model to another, and from one credential to the other, of the same provider."""
    limit: dict[str, Any] = {"status": "http_429", "reason": "minute_limit"}
    rows = [
        row("a", 0, model="m", credential_id="11111111", **limit),
        row("a", 1, model="m", credential_id="22222222", **limit),
        row("a", 2, model="n", credential_id="11111111", accepted=True),
    ]
    spec = charts.hops_chart(frames.hops(ledger(rows))).to_dict()
    assert spec["description"].endswith(
        "groq.free [22222222] to groq.free/n: 1, 1 of them answered there; "
        "groq.free/m [11111111] to groq.free [22222222]: 1, 0 of them answered there."
    )


def test_names_cannot_break_out_of_a_picture(ledger: Open) -> None:
    """A provider's name is text in every picture, whatever it holds."""
    rows = [
        row("a", 0, provider_ref="<script>\"x'&", status="http_429", reason="daily_limit"),
        row("a", 1, provider_ref="</svg>", accepted=True, cost_usd=1.0, secs=1.0, input_tokens=1, output_tokens=1),
    ]
    opened = ledger(rows)
    for draw, _ in DRAWN.values():
        svg = charts.show(draw(opened)).data.decode()
        assert "<script" not in svg
        assert svg.count("</svg>") == 1
