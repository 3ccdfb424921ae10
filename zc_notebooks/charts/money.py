"""What was spent by day, and which part of it on rejected answers."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.charts.drawing import INK, WIDTH, data_of, dress, empty
from zc_notebooks.charts.names import short_names

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

FILLS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A8A8A")
OTHERS: Final = "all others"
_HATCHES: Final = 30
"""Strokes across a rejected part that is as high as the chart's highest day."""


def spend_chart(frame: pl.DataFrame, *, title: str = "Spend by day") -> alt.LayerChart:
    """Bars by day, stacked by provider; the hatched part was paid for answers that were rejected.

    Providers beyond the six that cost most are put together. A day with attempts whose cost or usage is not known
    has "at least" above it.

    Args:
        frame: Rows as :func:`zc_notebooks.frames.spend` gives them.
        title: Above the chart.
    """
    import altair as alt
    import polars as pl

    if frame.is_empty():
        return empty(title, "nothing was spent")
    parts = _parts(frame)
    days = _days(frame)
    names = parts.filter(pl.col("usd") > 0)["provider"].unique(maintain_order=True).to_list()
    sums = parts.group_by("day").agg(pl.col("usd").sum())
    unsure = frame.filter(pl.col("at_least"))["day"].unique().sort().to_list()
    top = max([float(value) for value in sums["usd"]], default=0.0) or 0.01
    colours = alt.Scale(domain=names, range=list(FILLS[: len(names)]))
    every = -(-len(days) // 7)
    x = alt.X(
        "day:O",
        title=f"day, UTC, {days[0]} to {days[-1]}" if len(days) > 1 else "day, UTC",
        sort=None,
        scale=alt.Scale(domain=days, paddingInner=0.25),
        axis=alt.Axis(values=days[::every], labelExpr="slice(datum.label, 5)", labelAngle=0, ticks=False),
    )
    y = alt.Y(
        "from_usd:Q",
        title="US dollars",
        scale=alt.Scale(domain=[0, top * (1.3 if unsure else 1.1)], nice=False),
        axis=alt.Axis(tickCount=5, format="~g"),
    )
    legend = alt.Legend(
        title="from below in this order; hatched: paid for rejected answers",
        orient="bottom",
        columns=3,
        titleLimit=WIDTH,
    )
    tooltip = ["day:O", "provider:N", "what:N", "usd:Q"]
    base = alt.Chart(data_of(parts)).encode(x=x, tooltip=tooltip)
    bars = base.mark_bar(stroke=INK, strokeWidth=0.6).encode(
        y=y, y2="to_usd:Q", color=alt.Color("provider:N", scale=colours, legend=legend)
    )
    layers = [bars, *_hatched(parts, x, y, top)]
    if unsure:
        heights = dict(zip(sums["day"], sums["usd"], strict=True))
        signs = [{"day": str(day), "from_usd": float(heights.get(str(day), 0)), "text": "at least"} for day in unsure]
        words = alt.Chart(alt.InlineData(values=signs)).encode(x=x, y=y, text="text:N")
        narrow = WIDTH / len(days) < 50  # noqa: PLR2004 (pixels of the two words)
        layers.append(
            words.mark_text(angle=270, align="left", dx=5, baseline="middle", color=INK, fontSize=10)
            if narrow
            else words.mark_text(dy=-7, color=INK, fontSize=10)
        )
    return dress(layers, title, _told(frame), height=220)


def _days(frame: pl.DataFrame) -> list[str]:
    """Every day from the first to the last, those without a row too."""
    import polars as pl

    days: list[date] = frame["day"].to_list()
    return [str(day) for day in pl.date_range(min(days), max(days), eager=True)]


def _parts(frame: pl.DataFrame) -> pl.DataFrame:
    """One rectangle per day, provider, and accepted or rejected: from where to where it goes."""
    import polars as pl

    whole = (
        frame.group_by("provider_ref")
        .agg(pl.col("cost_usd").sum())
        .sort(pl.col("cost_usd").fill_null(0), "provider_ref", descending=[True, False])
    )
    named = whole["provider_ref"].to_list()
    kept = named if len(named) < len(FILLS) else named[: len(FILLS) - 1]
    short = short_names(kept)
    name = pl.col("provider_ref").replace_strict(short, default=OTHERS, return_dtype=pl.String)
    order = {name: place for place, name in enumerate([*short.values(), OTHERS])}
    money = frame.select(pl.col("day").cast(pl.String), name.alias("provider"), "accepted_usd", "rejected_usd")
    long = money.unpivot(index=["day", "provider"], variable_name="what", value_name="usd").with_columns(
        pl.col("what").str.strip_suffix("_usd")
    )
    summed = (
        long.group_by("day", "provider", "what")
        .agg(pl.col("usd").sum().cast(pl.Float64))
        .with_columns(pl.col("provider").replace_strict(order, return_dtype=pl.Int64).alias("place"))
        .sort("place", "day", "what")
    )
    to = pl.col("usd").cum_sum().over("day")
    return (
        summed.with_columns((to - pl.col("usd")).alias("from_usd"), to.alias("to_usd"))
        .filter(pl.col("usd") > 0)
        .drop("place")
    )


def _hatched(parts: pl.DataFrame, x: alt.X, y: alt.Y, top: float) -> list[alt.Chart]:
    """Strokes across the rejected parts: a pattern that stays visible in any colour."""
    import altair as alt
    import polars as pl

    strokes = []
    for one in parts.filter((pl.col("what") == "rejected") & (pl.col("usd") > 0)).to_dicts():
        count = max(int((one["to_usd"] - one["from_usd"]) / top * _HATCHES), 1)
        gap = (one["to_usd"] - one["from_usd"]) / count
        strokes += [{"day": one["day"], "from_usd": one["from_usd"] + (n + 0.5) * gap} for n in range(count)]
    if not strokes:
        return []
    marks = alt.Chart(alt.InlineData(values=strokes)).mark_tick(color=INK, thickness=1.1, orient="horizontal")
    return [marks.encode(x=x, y=y)]


def _told(frame: pl.DataFrame) -> str:
    import polars as pl

    days = frame["day"].to_list()
    by = frame.group_by("provider_ref").agg(
        pl.col("cost_usd").sum(),
        pl.col("rejected_usd").sum(),
        pl.col("at_least").any(),
        pl.col("cost_usd").count().alias("known"),
    )
    parts = []
    for one in by.sort("provider_ref").to_dicts():
        if not one["known"]:
            parts.append(f"{one['provider_ref']}: cost not known")
            continue
        least = "at least " if one["at_least"] else ""
        parts.append(f"{one['provider_ref']}: {least}{dollars(one['cost_usd'])}{_rejected(one['rejected_usd'])}")
    return f"Spend by day and provider from {min(days)} to {max(days)} (UTC). {'; '.join(parts)}."


def _rejected(amount: Decimal | None) -> str:
    return f", {dollars(amount)} of it for rejected answers" if amount else ""
