"""Attempts: how many, when, and who served."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from zc_notebooks.charts.drawing import (
    INK,
    PALE,
    PAPER,
    STEP,
    above,
    data_of,
    dress,
    empty,
    rows_axis,
    said_nothing,
    whole,
)
from zc_notebooks.charts.names import short_names
from zc_notebooks.frames import ANSWERED, OUTCOMES, SKIPPED, by_outcome, with_outcome
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

COLOURS: Final[Mapping[str, str]] = {
    "answered": "#009E73",
    "rate limit": "#E69F00",
    "quota spent": "#D55E00",
    "no balance": "#CC79A7",
    "refused": "#0072B2",
    "provider trouble": "#56B4E9",
    "no good answer": "#7A5C00",
    "cancelled": "#8A8A8A",
    "skipped": "#C8C8C8",
}
SHAPES: Final[Mapping[str, str]] = {
    "answered": "circle",
    "rate limit": "triangle-up",
    "quota spent": "triangle-down",
    "no balance": "diamond",
    "refused": "square",
    "provider trouble": "cross",
    "no good answer": "triangle-left",
    "cancelled": "triangle-right",
    "skipped": "stroke",
}

_SHORT_S: Final = 120
_DAY_S: Final = 86_400


def attempts_chart(frame: pl.DataFrame, *, title: str = "Attempts by provider and outcome") -> alt.LayerChart:
    """One bar per provider and outcome, its number at the end.

    Args:
        frame: Rows as :func:`zc_notebooks.frames.attempts` or ``attempts_from_rows`` give them.
        title: Above the chart.
    """
    import altair as alt
    import polars as pl

    counts = by_outcome(frame)
    if counts.is_empty():
        return empty(title)
    short = pl.col("provider_ref").replace_strict(short_names(counts["provider_ref"]), return_dtype=pl.String)
    name = short + ": " + pl.col("outcome").cast(pl.String)
    counts = counts.with_columns(name.alias("label"), pl.col("outcome").cast(pl.String))
    top = max(counts["count"].to_list())
    base = alt.Chart(data_of(counts.select("label", "provider_ref", "outcome", "count"))).encode(
        y=rows_axis("label", counts["label"].to_list()),
        x=alt.X("count:Q", title="attempts and skips", scale=alt.Scale(domain=[0, top * 1.1]), axis=whole(top)),
        tooltip=["provider_ref:N", "outcome:N", "count:Q"],
    )
    bars = base.mark_bar(stroke=INK, strokeWidth=0.5).encode(color=_colour(counts["outcome"].to_list(), legend=None))
    numbers = base.mark_text(align="left", dx=4, color=INK).encode(text="count:Q")
    return dress([bars, numbers], title, _told_attempts(frame), height=STEP * counts.height)


def timeline(frame: pl.DataFrame, *, title: str = "Attempts over time") -> alt.LayerChart:
    """Each attempt and skip where it happened: one line per provider, a bar as long as it took, a mark for its outcome.

    A period under two minutes is shown in seconds from its first row, a longer one in UTC.

    Args:
        frame: Rows of one call or of a period.
        title: Above the chart.
    """
    import altair as alt

    if frame.is_empty():
        return empty(title)
    shown, x, end = _in_time(frame if "outcome" in frame.columns else with_outcome(frame))
    refs = shown["provider_ref"].unique(maintain_order=True).to_list()
    outcomes = [name for name in OUTCOMES if name in set(shown["outcome"])]
    legend = alt.Legend(title=None, orient="bottom", columns=4, symbolOpacity=1)
    base = alt.Chart(data_of(shown)).encode(
        x=x,
        y=rows_axis("provider_ref", refs),
        color=_colour(outcomes, legend=legend),
        tooltip=["provider_ref:N", "model:N", "status:N", "outcome:N", "secs:Q", "attempt:Q"],
    )
    shapes = alt.Scale(domain=outcomes, range=[SHAPES[name] for name in outcomes])
    bars = base.mark_bar(height=8, opacity=0.5).encode(x2=end)
    marks = base.mark_point(filled=True, size=100, stroke=INK, strokeWidth=0.7, opacity=1).encode(
        shape=alt.Shape("outcome:N", scale=shapes, legend=legend)
    )
    return dress([bars, marks], title, _told_timeline(frame), height=STEP * 3 // 2 * len(refs))


def served(frame: pl.DataFrame, *, row: str, column: str, title: str = "Who served") -> alt.LayerChart:
    """A grid with the name of whoever served in each field; the colour repeats the name.

    Args:
        frame: One line per field: ``row``, ``column`` and ``served``.
        row: Column of the frame that names the lines of the grid.
        column: Column that names its columns.
        title: Above the chart.
    """
    import altair as alt

    if frame.is_empty():
        return empty(title)
    rows, columns, names = (frame[name].unique(maintain_order=True).to_list() for name in (row, column, "served"))
    colours = alt.Scale(domain=names, range=[PALE[place % len(PALE)] for place in range(len(names))])
    base = alt.Chart(data_of(frame.select(row, column, "served"))).encode(
        y=rows_axis(row, rows),
        x=alt.X(f"{column}:N", sort=None, title=None, scale=alt.Scale(domain=columns), axis=above()),
        tooltip=[f"{row}:N", f"{column}:N", "served:N"],
    )
    fields = base.mark_rect(stroke=PAPER, strokeWidth=3).encode(color=alt.Color("served:N", scale=colours, legend=None))
    words = base.mark_text(color=INK, fontSize=12).encode(text="served:N")
    told = "; ".join(
        f"{line[column]}, {line[row]}: {line['served']}" for line in frame.select(row, column, "served").to_dicts()
    )
    return dress([fields, words], title, f"{title}. {told}.", height=STEP * 3 // 2 * len(rows))


def _in_time(frame: pl.DataFrame) -> tuple[pl.DataFrame, alt.X, str]:
    """The rows with their place in time, the axis for it, and the field where a row ends."""
    import altair as alt
    import polars as pl

    begin = pl.col("t").dt.epoch("us") / 1e6
    frame = frame.sort("t", "call_id", "ordinal").with_columns(
        begin.alias("from_s"),
        (begin + pl.col("secs").fill_null(0)).alias("to_s"),
        pl.col("outcome").cast(pl.String),
    )
    first, last = min(frame["from_s"].to_list()), max(frame["to_s"].to_list())
    start = datetime.fromtimestamp(first, UTC)
    margin = max((last - first) * 0.04, 0.02)
    columns = ("provider_ref", "model", "status", "outcome", "secs", "attempt")
    if last - first < _SHORT_S:
        shown = frame.select(pl.col("from_s", "to_s") - first, *columns)
        scale = alt.Scale(domain=[-margin, last - first + margin], nice=False)
        return shown, alt.X("from_s:Q", title=f"seconds from {start:%Y-%m-%d %H:%M:%S} UTC", scale=scale), "to_s:Q"
    shown = frame.select((pl.col("from_s", "to_s") * 1000).cast(pl.Int64), *columns)
    scale = alt.Scale(type="utc", domain=[(first - margin) * 1000, (last + margin) * 1000], nice=False)
    form = "%H:%M" if last - first < _DAY_S else "%m-%d %H:%M"
    axis = alt.Axis(format=form, tickCount=6, labelOverlap=True)
    return shown, alt.X("from_s:T", title=f"UTC, from {start:%Y-%m-%d %H:%M}", scale=scale, axis=axis), "to_s:T"


def _told_attempts(frame: pl.DataFrame) -> str:
    """The chart of attempts in words: its text alternative."""
    counts = by_outcome(frame)
    if counts.is_empty():
        return said_nothing()
    parts: dict[str, list[str]] = {}
    for ref, outcome, count in counts.select("provider_ref", "outcome", "count").rows():
        parts.setdefault(ref, []).append(f"{count} {outcome}")
    said = "; ".join(f"{ref}: {', '.join(words)}" for ref, words in parts.items())
    return f"Bar chart of {_counted(frame)} by provider and outcome. {said}."


def _told_timeline(frame: pl.DataFrame) -> str:
    """The time line in words: its text alternative."""
    if frame.is_empty():
        return said_nothing()
    frame = frame if "outcome" in frame.columns else with_outcome(frame)
    times: list[datetime] = frame["t"].to_list()
    first, last = min(times), max(times)
    answered = frame.filter(frame["outcome"] == ANSWERED).height
    skipped = frame.filter(frame["outcome"] == SKIPPED).height
    return (
        f"Time line of {_counted(frame)} at {counted(frame['provider_ref'].n_unique(), 'provider')} from "
        f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC: {answered} answered, {skipped} skipped, "
        f"{frame.height - answered - skipped} failed."
    )


def _counted(frame: pl.DataFrame) -> str:
    return counted(frame.height, "attempt or skip", "attempts and skips")


def _colour(outcomes: list[str], *, legend: alt.Legend | None) -> alt.Color:
    import altair as alt

    names = [name for name in OUTCOMES if name in set(outcomes)]
    scale = alt.Scale(domain=names, range=[COLOURS[name] for name in names])
    return alt.Color("outcome:N", scale=scale, legend=legend)
