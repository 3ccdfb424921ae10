"""Charts as specifications: what they show, and what they say to those who do not see them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import altair as alt
import polars as pl
import pytest

from tests.ledger.rows import NOON, row
from zc_notebooks import charts
from zc_notebooks.frames import OUTCOMES, attempts_from_rows

Draw = Callable[[pl.DataFrame], alt.LayerChart]
BOTH = pytest.mark.parametrize("draw", [charts.attempts_chart, charts.timeline], ids=["attempts", "timeline"])


def call(gap_s: float = 0.5) -> pl.DataFrame:
    """A call over four candidates."""
    steps: list[dict[str, Any]] = [
        {"provider_ref": "groq.free", "status": "http_429", "reason": "daily_limit", "secs": 0.13},
        {"provider_ref": "google.free", "status": "http_503", "reason": "capacity", "secs": 0.2},
        {"provider_ref": "credit.one", "status": "skipped_cooldown", "kind": "skip"},
        {"provider_ref": "prepaid.two", "accepted": True, "secs": 1.2},
    ]
    rows = [row("a", number, t=NOON + timedelta(seconds=gap_s * number), **step) for number, step in enumerate(steps)]
    return attempts_from_rows(rows)


def values(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows inside a chart."""
    found = [layer["data"]["values"] for layer in spec["layer"] if "values" in layer.get("data", {})]
    return found[0] if found else next(iter(spec["datasets"].values()))


@BOTH
@pytest.mark.parametrize("rows", [4, 0], ids=["a call", "nothing"])
def test_a_chart_has_size_title_text_and_paper(draw: Draw, rows: int) -> None:
    """Fixed width, a title, a text alternative and a painted background, with or without rows."""
    spec = draw(call()[:rows]).to_dict()
    assert spec["width"] == 460
    assert isinstance(spec["height"], int)
    assert spec["title"].startswith("Attempts")
    assert spec["background"] == "#FFFFFF"
    assert spec["description"]


@BOTH
def test_nothing_yet_is_said(draw: Draw) -> None:
    """An empty frame gives a chart that says so."""
    spec = draw(call()[:0]).to_dict()
    assert spec["description"] == "No attempts yet."
    assert [one["text"] for one in values(spec)] == ["no attempts yet"]


def test_bars_are_named_and_numbered() -> None:
    """Provider and outcome stand in words beside each bar, the count at its end; the domains are stated."""
    frame = pl.concat([call(), call()])
    spec = charts.attempts_chart(frame).to_dict()
    names = ["groq.free: quota spent", "google.free: provider trouble", "credit.one: skipped", "prepaid.two: answered"]
    bars, numbers = spec["layer"]
    assert bars["encoding"]["y"]["scale"]["domain"] == names
    assert bars["encoding"]["x"]["scale"]["domain"] == [0, pytest.approx(2.2)]
    assert numbers["encoding"]["text"]["field"] == "count"
    assert [(one["label"], one["count"]) for one in values(spec)] == [(name, 2) for name in names]
    assert spec["description"] == (
        "Bar chart of 8 attempts and skips by provider and outcome. groq.free: 2 quota spent; "
        "google.free: 2 provider trouble; credit.one: 2 skipped; prepaid.two: 2 answered."
    )


def test_a_call_is_shown_in_seconds_from_its_begin() -> None:
    """Places and lengths are seconds; outcomes have a shape each besides their colour."""
    spec = charts.timeline(call()).to_dict()
    assert [(one["from_s"], round(one["to_s"], 3)) for one in values(spec)] == [
        (0.0, 0.13),
        (0.5, 0.7),
        (1.0, 1.0),
        (1.5, 2.7),
    ]
    marks = spec["layer"][1]["encoding"]
    assert marks["x"]["type"] == "quantitative"
    assert marks["x"]["title"] == "seconds from 2026-11-30 12:00:00 UTC"
    assert marks["shape"]["scale"]["domain"] == ["answered", "quota spent", "provider trouble", "skipped"]
    assert "4 attempts and skips at 4 providers" in spec["description"]
    assert spec["description"].endswith("1 answered, 1 skipped, 2 failed.")


def test_a_period_is_shown_in_utc() -> None:
    """Longer than two minutes, the axis is a clock; the data are whole milliseconds."""
    spec = charts.timeline(call(gap_s=3600)).to_dict()
    marks = spec["layer"][1]["encoding"]
    assert (marks["x"]["type"], marks["x"]["scale"]["type"]) == ("temporal", "utc")
    assert values(spec)[0]["from_s"] == int(NOON.timestamp() * 1000)


def test_colours_and_shapes_tell_all_outcomes_apart() -> None:
    """Each outcome has its own of both."""
    for table in (charts.COLOURS, charts.SHAPES):
        assert tuple(table) == OUTCOMES
        assert len(set(table.values())) == len(OUTCOMES)


def test_one_instant_is_a_period_too() -> None:
    """A single skip without a length can be drawn."""
    spec = charts.timeline(call()[2:3]).to_dict()
    low, high = spec["layer"][1]["encoding"]["x"]["scale"]["domain"]
    assert low < high


@BOTH
def test_a_rendered_chart_carries_its_text(draw: Draw) -> None:
    """SVG and PNG are drawn without network, the same each time, with the words beside the picture."""
    chart = draw(call())
    said = chart.to_dict()["description"]
    svg, png = charts.show(chart), charts.show(chart, kind="png")
    assert svg.data == charts.show(chart).data
    assert svg.data.startswith(b'<svg role="img" aria-label="')
    assert said[:20].encode() in svg.data[:200]
    assert png.data.startswith(b"\x89PNG")
    for picture, mime in ((svg, "image/svg+xml"), (png, "image/png")):
        data, metadata = picture._repr_mimebundle_()
        assert set(data) == {mime, "text/plain"}
        assert data["text/plain"] == said == repr(picture)
        assert metadata[mime]["alt"] == said


def test_names_cannot_break_out_of_the_picture() -> None:
    """A provider's name is text in the picture, whatever it holds."""
    frame = attempts_from_rows([row(provider_ref='<script>"x"&')])
    svg = charts.show(charts.attempts_chart(frame)).data.decode()
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg
