"""Charts of a measurement: what is drawn and what is said, also of nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.test_statistics import run
from zc_notebooks import charts
from zc_notebooks.bench.statistics import statistics

SOME = statistics(
    run("a.x/m", ["correct"] * 12 + ["unreachable"] * 8)
    + run("b.y/n", ["wrong"] * 20, cost_usd=None)
    + run("c.z/o", ["correct", "wrong"] * 10, cost_usd=0.01)
)
NONE = statistics([])


@pytest.mark.parametrize("chart", [charts.quality_chart, charts.pairs_chart, charts.tasks_chart])
def test_each_chart_says_what_it_shows(chart: Any) -> None:
    """A text alternative with every candidate or task; an empty measurement is a calm picture."""
    made = chart(SOME).to_dict()
    words = made["description"]
    if chart is not charts.tasks_chart:
        assert all(name in words for name in ("a.x/m", "b.y/n", "c.z/o"))
    assert charts.show(chart(SOME)).data.startswith(b"<svg")
    assert len(chart(NONE).to_dict()["description"]) > 10


def test_two_models_of_one_provider_are_told_apart() -> None:
    """Each line, column and point has a name of its own, the shortest there is."""
    found = statistics(
        run("a.x/org/m", ["correct"] * 12)
        + run("a.x/org/n", ["correct", "wrong"] * 6)
        + run("b.y/org/m", ["correct"] * 12)
    )
    names = ["a.x/m", "a.x/n", "b.y"]
    pairs = charts.pairs_chart(found).to_dict()
    encoding = pairs["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["domain"] == encoding["y"]["scale"]["domain"] == names
    quality = charts.show(charts.quality_chart(found)).data.decode()
    assert all(f">{name} (100 % reached)<" in quality for name in names)


def test_an_unknown_cost_is_said_and_not_drawn() -> None:
    """No point at an invented price."""
    made = charts.quality_chart(SOME).to_dict()
    layers = made["layer"]
    inline = made.get("data") or layers[0].get("data") or {}
    rows = inline.get("values") or made["datasets"][inline.get("name") or layers[0]["data"]["name"]]
    drawn = [line["label"] for line in rows]
    assert [label.partition(" ")[0] for label in drawn] == ["a.x", "c.z"]
    assert "b.y/n: right 0% (" in made["description"]
    assert "cost unknown" in made["description"]


def test_a_known_cost_without_a_right_answer_is_no_unknown_one() -> None:
    """It was paid, and for nothing."""
    made = charts.quality_chart(statistics(run("a.x/m", ["wrong"] * 6))).to_dict()
    assert made["description"].endswith("no right answer.")
