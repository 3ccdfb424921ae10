"""What an outage looked like: failures by hour, and who was out when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.charts.drawing import (
    INK,
    PAPER,
    STEP,
    WIDTH,
    data_of,
    dress,
    empty,
    hours_axis,
    rows_axis,
)
from zc_notebooks.charts.names import candidate_names, short_names
from zc_notebooks.frames import judged
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from zc_notebooks.records import Mark

KINDS: Final = {
    "minute_limit": ("minute limit", "#F6DCA6"),
    "token_daily_limit": ("token quota", "#E69F00"),
    "daily_limit": ("day quota", "#D55E00"),
    "balance": ("balance", "#7A3E8E"),
}
"""Reason → what people call it and its colour, from light to dark as it gets graver."""
ENDS: Final = {"success": "circle", "reset": "triangle-right", "still out": "diamond"}
"""How an episode ended → its mark: an answer, a reset that passed, nothing yet."""
_DAY_MS: Final = 86_400_000
_HOUR: Final = 60
"""Minutes."""
_ROOM: Final = 18
"""Pixels a number in a field needs."""
_HOURS: Final = 72
"""Periods up to this many hours are shown hour by hour; longer ones by the hour of the day."""
_MOST: Final = 30
"""Lines of a chart; what is beyond is said in its title and its words."""


def failures_by_hour(frame: pl.DataFrame, *, title: str = "Failed calls by provider and hour") -> alt.LayerChart:
    """A heat map: one line per provider, one column per hour, the failed calls of a hundred as a colour.

    The number stands in each field; where it has no room, a square grows with it, so that colour is not all there is.
    A failed call got no answer at all from that provider; cancelled ones and ones it turned down for what they asked
    are left out.

    Args:
        frame: Rows as :func:`zc_notebooks.frames.reachability` gives them. Over 72 hours they are put together by the
            hour of the day.
        title: Above the chart.
    """
    import altair as alt
    import polars as pl

    counted = judged(frame)
    if counted.is_empty():
        return empty(title, "no calls to judge")
    hours: list[datetime] = counted["hour"].to_list()
    first, last = min(hours), max(hours)
    span = int((last - first) / timedelta(hours=1)) + 1
    daily = span > _HOURS
    column = pl.col("hour").dt.hour().cast(pl.Int64) if daily else (pl.col("hour") - first).dt.total_hours()
    counted = (
        counted.group_by("provider_ref", column.alias("place"), maintain_order=True)
        .agg(pl.col("judged", "failed").sum())
        .with_columns((pl.col("failed") / pl.col("judged") * 100).alias("percent"))
        .with_columns(pl.col("percent").alias("inside"))  # a field of its own: else the two legends become one
        .sort("provider_ref", "place")
    )
    columns = 24 if daily else span
    names = short_names(counted["provider_ref"].unique().sort())
    wide = WIDTH / columns >= _ROOM
    label = pl.col("provider_ref").replace_strict(names, return_dtype=pl.String).alias("provider")
    base = alt.Chart(data_of(counted.with_columns(label))).encode(
        y=rows_axis("provider", list(names.values())),
        x=hours_axis("place", columns, None if daily else first),
        tooltip=["provider_ref:N", "failed:Q", "judged:Q", "percent:Q"],
    )
    scale = alt.Scale(domain=[0, 100], range=["#E6EDF5", "#F6C98A", "#C2410C"], interpolate="lab")
    legend = alt.Legend(  # no gradient: its name differs with every rendering
        title="failed of 100 (pale: none, white: not asked)",
        titleOrient="left",
        type="symbol",
        titleLimit=WIDTH,
        values=[25, 50, 75, 100],
        symbolType="square",
        symbolStrokeWidth=0,
        symbolSize=180,
        orient="bottom",
        direction="horizontal",
    )
    fields = base.mark_rect(stroke=PAPER, strokeWidth=1).encode(
        color=alt.Color("percent:Q", scale=scale, legend=legend)
    )
    inside = (
        base.mark_text(fontSize=9).encode(
            text=alt.Text("percent:Q", format=".0f"),
            color=alt.condition("datum.percent > 75", alt.value(PAPER), alt.value(INK)),
        )
        if wide
        else base.mark_point(filled=True, color=INK, opacity=1, shape="square").encode(
            size=alt.Size("inside:Q", scale=alt.Scale(domain=[0, 100], range=[0, 30]), legend=None)
        )
    )
    told = _told_failures(counted, daily=daily, first=first, last=last)
    return dress([fields, inside], title, told, height=STEP * 5 // 4 * len(names))


def _told_failures(counted: pl.DataFrame, *, daily: bool, first: datetime, last: datetime) -> str:
    parts = []
    for name, line in counted.group_by("provider_ref", maintain_order=True):
        judged, failed = line["judged"].sum(), line["failed"].sum()
        words = f"{name[0]}: {failed:,} of {judged:,} failed"
        if failed:
            worst = line.sort("percent", "failed", "place", descending=[True, True, False]).row(0, named=True)
            when = f"{worst['place']:02d}:00" if daily else f"{first + timedelta(hours=worst['place']):%m-%d %H}:00"
            words += f", worst at {when} with {worst['percent']:.0f} of 100"
        parts.append(words)
    how = "by hour of the day" if daily else "hour by hour"
    return (
        f"Heat map of failed calls by provider, {how}, from {first:%Y-%m-%d %H:%M} to "
        f"{last + timedelta(hours=1):%Y-%m-%d %H:%M} UTC. {'; '.join(parts)}."
    )


def exhaustion_chart(
    frame: pl.DataFrame,
    marks: Sequence[Mark] = (),
    *,
    now: datetime | None = None,
    title: str = "Who was out, and when",
) -> alt.LayerChart:
    """A Gantt chart: one line per credential (and model, where it is out for one) and kind of limit, a bar per episode.

    A sign at its end says how it ended; bars too short for a sign have none.

    Args:
        frame: Episodes as :func:`zc_notebooks.frames.exhaustion` gives them.
        marks: Live marks of the cooldown board (``chain.marks()``): drawn as an outline from when they were set to
            when they end.
        now: Where open episodes are drawn to; the end of the latest bar unless given.
        title: Above the chart.
    """
    import altair as alt
    import polars as pl

    bars = _bars(frame, marks, now)
    if bars.is_empty():
        return empty(title, "nobody was out")
    lines = bars["line"].unique(maintain_order=True).to_list()
    shown = bars.filter(pl.col("line").is_in(lines[:_MOST]))
    low, high = min(shown["from_ms"].to_list()), max(shown["to_ms"].to_list())
    margin = max((high - low) // 25, 1000)
    form = "%H:%M" if high - low <= _DAY_MS else "%m-%d %H:%M"
    x = alt.X(
        "from_ms:T",
        title=f"UTC, from {datetime.fromtimestamp(low / 1000, UTC):%Y-%m-%d %H:%M}",
        scale=alt.Scale(type="utc", domain=[low - margin, high + margin], nice=False),
        axis=alt.Axis(format=form, tickCount=5, labelOverlap=True),
    )
    kinds = [words for words, _ in KINDS.values() if words in set(shown["kind"])]
    colours = alt.Scale(domain=kinds, range=[colour for words, colour in KINDS.values() if words in kinds])
    ends = [end for end in ENDS if end in set(shown["ended_by"])]
    signs = alt.Scale(domain=ends, range=[ENDS[end] for end in ends])
    legend = alt.Legend(title="ended by", orient="bottom", titleOrient="left", symbolFillColor=INK)
    y = rows_axis("line", lines[:_MOST])
    tooltip = ["line:N", "kind:N", "ended_by:N", "calls:Q"]
    episodes = alt.Chart(data_of(shown.filter(~pl.col("mark")))).encode(y=y, x=x, tooltip=tooltip)
    layers = [
        episodes.mark_bar(height=13, stroke=INK, strokeWidth=0.6).encode(
            x2="to_ms:T", color=alt.Color("kind:N", scale=colours, legend=None)
        ),
        alt.Chart(data_of(shown.filter(~pl.col("mark") & (pl.col("to_ms") - pl.col("from_ms") >= (high - low) // 80))))
        .mark_point(filled=True, size=45, color=INK, opacity=1)
        .encode(y=y, x=alt.X("to_ms:T"), tooltip=tooltip, shape=alt.Shape("ended_by:N", scale=signs, legend=legend)),
    ]
    if marks:
        board = alt.Chart(data_of(shown.filter(pl.col("mark")))).encode(y=y, x=x, tooltip=tooltip)
        layers.append(board.mark_bar(height=19, filled=False, stroke=INK, strokeDash=[3, 2]).encode(x2="to_ms:T"))
    left = f" ({len(lines) - _MOST} more are not drawn)" if len(lines) > _MOST else ""
    return dress(layers, title + left, _told_episodes(bars, left), height=STEP * 3 // 2 * min(len(lines), _MOST))


def _bars(frame: pl.DataFrame, marks: Sequence[Mark], now: datetime | None) -> pl.DataFrame:
    """Episodes and marks in one shape."""
    import polars as pl

    rows: list[tuple[Any, ...]] = [
        (
            (one["provider_ref"], one["model"], one["credential_id"]),
            KINDS[one["kind"]][0],
            one["ended_by"],
            one["calls"],
            one["begin_at"],
            one["end_at"],
            one["last_at"],
            False,
        )
        for one in frame.sort("begin_at", "provider_ref", "model", "kind", "credential_id").to_dicts()
    ]
    rows += [
        (
            (mark.provider_ref or mark.key.pool, mark.key.model, mark.key.credential_id),
            _kind(mark.reason),
            "mark",
            0,
            mark.set_at,
            mark.until,
            mark.until,
            True,
        )
        for mark in marks
    ]
    latest = max([now] if now else [end or last for *_, end, last, _ in rows], default=None)
    names = candidate_names((line for line, *_ in rows), models=True)
    columns = ("line", "kind", "ended_by", "calls", "from_ms", "to_ms", "mark")
    shaped = [
        (f"{names[line]}, {kind}", kind, ended_by, calls, _ms(begin), _ms(end or max(last, latest or last)), mark)
        for line, kind, ended_by, calls, begin, end, last, mark in rows
    ]
    types = [pl.String, pl.String, pl.String, pl.Int64, pl.Int64, pl.Int64, pl.Boolean]
    return pl.DataFrame(shaped, schema=dict(zip(columns, types, strict=True)), orient="row")


def _kind(reason: str) -> str:
    return KINDS[reason][0] if reason in KINDS else reason.replace("_", " ")


def _lasted(ms: int) -> str:
    minutes = ms / 60_000
    if minutes < 1:
        return "less than a minute"
    return counted(round(minutes), "minute") if minutes < _HOUR else f"{minutes / _HOUR:.1f} hours"


def _ms(when: datetime) -> int:
    return int(when.timestamp() * 1000)


def _told_episodes(bars: pl.DataFrame, left: str) -> str:
    import polars as pl

    parts = []
    for name, line in bars.filter(~pl.col("mark")).group_by("line", maintain_order=True):
        lasted = _lasted(int((line["to_ms"] - line["from_ms"]).sum()))
        still = ", still out" if "still out" in set(line["ended_by"]) else ""
        parts.append(
            f"{name[0]}: {counted(line.height, 'episode')}, {lasted} in all, "
            f"{counted(int(line['calls'].sum()), 'call')} turned away{still}"
        )
    marks = int(bars["mark"].sum())
    if marks:
        parts.append(f"{counted(marks, 'live mark')} outlined")
    return f"Chart of when credentials were out{left}. {'; '.join(parts)}."
