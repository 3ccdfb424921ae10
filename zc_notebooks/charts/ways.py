"""Which way calls can go and went: who can be reached how fast, and where calls hopped to."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from zc_notebooks.charts.drawing import INK, PALE, data_of, dress, empty
from zc_notebooks.charts.names import Line, candidate_names
from zc_notebooks.frames import judged
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

_APART: Final = 6
"""Percent between two names."""
_HIGHEST: Final = 104.0
"""Where a name can stand at most, in percent."""
_FLOWS: Final = 12
"""Bands of a flow; what is beyond is said in its title and its words."""
_STEPS: Final = 24
_MARGIN: Final = 0.3
"""Of the width, on both sides, for the names."""


def reachability_chart(
    reachability: pl.DataFrame, latency: pl.DataFrame, *, title: str = "Reachable, and how fast"
) -> alt.LayerChart:
    """Each provider and model as a point: how many of its calls it answered against how long an answer takes.

    Right and low is bad. The line at a point goes from the median to the 95 % quantile. Whether the answers were any
    good is another question.

    Args:
        reachability: Rows as :func:`zc_notebooks.frames.reachability` gives them.
        latency: Rows as :func:`zc_notebooks.frames.latency` gives them, of the same period.
        title: Above the chart.
    """
    import altair as alt
    import polars as pl

    points = (
        judged(reachability)
        .group_by("provider_ref", "model")
        .agg(pl.col("judged", "reached").sum())
        .join(latency.select("provider_ref", "model", "p50_s", "p95_s"), on=["provider_ref", "model"], how="left")
        .with_columns((pl.col("reached") / pl.col("judged") * 100).alias("percent"))
        .sort("provider_ref", "model")
    )
    if points.is_empty():
        return empty(title, "no calls to judge")
    told = _told_points(points)
    drawn = points.drop_nulls("p50_s")
    if drawn.is_empty():
        return empty(title, "no call was answered", told=told)
    lines: list[Line] = [(ref, model, None) for ref, model in drawn.select("provider_ref", "model").rows()]
    drawn = _apart(drawn.with_columns(pl.Series("name", map(candidate_names(lines).__getitem__, lines))))
    longest = max(float(value) for value in drawn["p95_s"])
    y = alt.Y("percent:Q", title="answered, of 100 calls", scale=alt.Scale(domain=[0, 106], nice=False))
    x = alt.X(
        "p50_s:Q",
        title="seconds to the end of an answer: median, line to 95 %",
        axis=alt.Axis(tickCount=6),
        scale=alt.Scale(domain=[0, longest * 1.5 or 1.0], nice=False),  # room for the names
    )
    base = alt.Chart(data_of(drawn)).encode(x=x, y=y, tooltip=["name:N", "percent:Q", "p50_s:Q", "p95_s:Q", "judged:Q"])
    size = alt.Size("judged:Q", scale=alt.Scale(type="sqrt", rangeMin=40, rangeMax=400), legend=None)
    layers = [
        base.mark_rule(color="#8A8A8A", strokeWidth=2).encode(x2="p95_s:Q"),
        base.mark_point(filled=True, color="#0072B2", stroke=INK, strokeWidth=0.7, opacity=0.85).encode(size=size),
        base.mark_text(align="left", baseline="middle", dx=11, color=INK, fontSize=11).encode(
            x=alt.X("p95_s:Q"), y=alt.Y("label_at:Q"), text="name:N"
        ),
    ]
    return dress(layers, title, told, height=240)


def _apart(points: pl.DataFrame) -> pl.DataFrame:
    """Heights for the names: those of their points, moved as little as keeps them from lying on each other."""
    import polars as pl

    points = points.sort("percent", "name", descending=[True, False])
    heights = [float(value) for value in points["percent"]]
    for _ in range(len(heights) ** 2):
        for upper, lower in pairwise(range(len(heights))):
            if (over := _APART - (heights[upper] - heights[lower])) > 0:
                heights[upper] += over / 2
                heights[lower] -= over / 2
    lift = max(heights[0] - _HIGHEST, 0.0)
    return points.with_columns(pl.Series("label_at", [height - lift for height in heights]))


def _told_points(points: pl.DataFrame) -> str:
    parts = []
    for one in points.to_dicts():
        took = "never" if one["p50_s"] is None else f"median {one['p50_s']:.2f} s, 95 % within {one['p95_s']:.2f} s"
        parts.append(f"{one['provider_ref']}/{one['model']}: {one['percent']:.0f} of 100 calls answered, {took}")
    return f"Share of answered calls against the time an answer takes. {'; '.join(parts)}."


def hops_chart(frame: pl.DataFrame, *, title: str = "Where calls went instead") -> alt.LayerChart:
    """Hops as a flow: on the left the candidate that failed, on the right the one asked next.

    A band is as thick as the number of hops; the number, and how many of them were answered there, stand at its end.

    Args:
        frame: Rows as :func:`zc_notebooks.frames.hops` gives them.
        title: Above the chart.
    """
    import altair as alt
    import polars as pl

    flows = (
        _with_names(frame)
        .group_by("left", "next")
        .agg(pl.len().cast(pl.Int64).alias("hops"), pl.col("answered").sum().cast(pl.Int64))
        .sort("hops", "left", "next", descending=[True, False, False])
    )
    if flows.is_empty():
        return empty(title, "no hops")
    left = (
        f" ({counted(flows.height - _FLOWS, 'thinner one is', 'thinner ones are')} not drawn)"
        if flows.height > _FLOWS
        else ""
    )
    drawn = flows.head(_FLOWS)
    bands, ends = _bands(drawn)
    scale = alt.Scale(domain=[0, 1], nice=False)
    tall = alt.Scale(domain=[1, 0], nice=False)
    names = drawn["left"].unique().sort().to_list()
    colours = alt.Scale(domain=names, range=[PALE[place % len(PALE)] for place in range(len(names))])
    y = alt.Y("low:Q", axis=None, scale=tall)
    areas = (
        alt.Chart(data_of(bands))
        .mark_area(interpolate="linear", stroke=INK, strokeWidth=0.4, opacity=0.9)
        .encode(
            x=alt.X("x:Q", axis=None, scale=scale),
            y=y,
            y2="high:Q",
            color=alt.Color("left:N", scale=colours, legend=None),
            detail="flow:N",
            tooltip=["left:N", "next:N", "hops:Q", "answered:Q"],
        )
    )
    words = alt.Chart(data_of(ends)).encode(
        x=alt.X("x:Q", axis=None, scale=scale), y=alt.Y("y:Q", axis=None, scale=tall), text="text:N"
    )
    before = words.transform_filter("datum.x < 0.5").mark_text(align="right", dx=-6, color=INK, fontSize=11)
    after = words.transform_filter("datum.x > 0.5").mark_text(align="left", dx=6, color=INK, fontSize=11)
    return dress([areas, before, after], title + left, _told_flows(flows), height=max(40 * drawn.height, 80))


def _with_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Hops with the names of the candidate that was ``left`` and of the ``next`` one."""
    import polars as pl

    ends: list[list[Line]] = [
        list(frame.select(f"{end}_ref", f"{end}_model", f"{end}_credential").iter_rows()) for end in ("from", "to")
    ]
    names = candidate_names(line for lines in ends for line in lines)
    return frame.with_columns(
        pl.Series(column, [names[line] for line in lines], pl.String)
        for column, lines in zip(("left", "next"), ends, strict=True)
    )


def _bands(flows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The outlines of the bands, and the words at their ends: places between 0 and 1."""
    import polars as pl

    lefts, rights = _stacked(flows, "left"), _stacked(flows, "next")
    outline, words = [], []
    for number, one in enumerate(flows.to_dicts()):
        start, end = lefts[number], rights[number]
        for step in range(_STEPS + 1):
            along = step / _STEPS
            bend = along * along * (3 - 2 * along)
            low, high = (a + (b - a) * bend for a, b in zip(start, end, strict=True))
            x = _MARGIN + along * (1 - 2 * _MARGIN)
            outline.append((number, one["left"], one["next"], one["hops"], one["answered"], x, low, high))
        said = f"{one['next']}: {one['hops']:,}, {one['answered']:,} answered"
        words.append((1 - _MARGIN, sum(end) / 2, said))
    for name in flows["left"].unique(maintain_order=True):
        places = [lefts[number] for number, one in enumerate(flows["left"]) if one == name]
        middle = (min(low for low, _ in places) + max(high for _, high in places)) / 2
        words.append((_MARGIN, middle, name))
    columns = ["flow", "left", "next", "hops", "answered", "x", "low", "high"]
    return pl.DataFrame(outline, schema=columns, orient="row"), pl.DataFrame(words, ["x", "y", "text"], orient="row")


def _stacked(flows: pl.DataFrame, side: str) -> list[tuple[float, float]]:
    """Where each band begins and ends on one side: bands of one candidate together, every band with some room."""
    total = flows["hops"].sum()
    order = sorted(range(flows.height), key=lambda n: (flows[side].to_list().index(flows[side][n]), n))
    room = 0.35 / flows.height
    places: dict[int, tuple[float, float]] = {}
    top = 0.0
    for number in order:
        thick = max(flows["hops"][number] / total * 0.65, 0.004)
        places[number] = (top, top + thick)
        top += thick + room
    return [places[number] for number in range(flows.height)]


def _told_flows(flows: pl.DataFrame) -> str:
    said = "; ".join(
        f"{one['left']} to {one['next']}: {one['hops']:,}, {one['answered']:,} of them answered there"
        for one in flows.to_dicts()
    )
    return f"Flow of {counted(int(flows['hops'].sum()), 'hop')} from the candidate that failed to the next. {said}."
