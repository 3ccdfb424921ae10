"""The outlook as a frame and as a picture."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.bench.outlook import NOTHING, Outlook, RunOut
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

_INK: Final = "#222222"
_PAPER: Final = "#FFFFFF"
_BAND: Final = "#F6DCA6"
_DAY: Final = "#E69F00"
_NEXT: Final = "#0072B2"
_WIDTH: Final = 460
_STEP: Final = 46
_HOURS: Final = 24.0


def outlook_frame(found: Outlook) -> pl.DataFrame:
    """One line per free tier: how often and when it runs out (hours of its own day), for how long, and the next time.

    Columns with ``_low`` and ``_high`` are 95 % intervals, ``_q1`` and ``_q3`` quartiles; null is "not known".
    """
    import polars as pl

    return pl.DataFrame([_line(tier) for tier in found.tiers], schema=_schema(), orient="row")


def outlook_chart(found: Outlook, *, title: str = "When free tiers run out") -> alt.LayerChart:
    """One line per tier over its own day: every run-out, where half of them lie, the median, and the next one expected.

    Circles are past run-outs, the bar reaches from quartile to quartile, the upright stroke is the median; a diamond
    with its line is the next run-out and where it may lie. What is not known is said in words on the line.
    """
    import altair as alt

    if not found.tiers:
        text = alt.Chart(alt.InlineData(values=[{"text": NOTHING}])).mark_text(size=14, color=_INK)
        return _dress([text.encode(text="text:N")], title, f"{NOTHING[0].upper()}{NOTHING[1:]}.", height=60)
    names = [_name(tier) for tier in found.tiers]
    y = alt.Y("tier:N", sort=None, title=None, scale=alt.Scale(domain=names), axis=_names())
    layers = [
        _chart([_words(tier) for tier in found.tiers])
        .mark_text(align="left", baseline="bottom", dy=-9, fontSize=11, color=_INK)
        .encode(x=alt.value(0), y=y, text="text:N")
    ]
    bands = [_band(tier) for tier in found.tiers if tier.hour is not None]
    if bands:
        layers += [
            _chart(bands).mark_bar(height=14, color=_BAND, stroke=_DAY).encode(x=_hours("q1"), x2="q3:Q", y=y),
            _chart(bands).mark_tick(size=20, thickness=3, color=_INK).encode(x=_hours("median"), y=y),
        ]
    points = [point for tier in found.tiers for point in _points(tier)]
    if points:
        dots = _chart(points).mark_point(filled=True, size=45, color=_DAY, stroke=_INK, strokeWidth=0.6, opacity=0.75)
        layers.append(dots.encode(x=_hours("hour"), y=y, tooltip=["day:N", "hour:Q", "out_h:Q"]))
    nexts = [line for tier in found.tiers if (line := _next(tier)) is not None]
    if nexts:
        layers += [
            _chart(nexts).mark_rule(color=_NEXT, strokeWidth=2, yOffset=13).encode(x=_hours("low"), x2="high:Q", y=y),
            _chart([line for line in nexts if line["hour"] is not None])
            .mark_point(shape="diamond", filled=True, size=110, color=_NEXT, yOffset=13, opacity=1)
            .encode(x=_hours("hour"), y=y, tooltip=["tier:N", "hour:Q", "low:Q", "high:Q"]),
        ]
    return _dress(layers, title, describe_outlook(found), height=_STEP * len(names))


def describe_outlook(found: Outlook) -> str:
    """The outlook in words: the chart's text alternative and what the command says."""
    if not found.tiers:
        return f"{NOTHING[0].upper()}{NOTHING[1:]}."
    return " ".join(sentence(tier) for tier in found.tiers)


def sentence(tier: RunOut) -> str:
    """One tier in words."""
    low, high = tier.share
    parts = [f"{_name(tier)}: out on {tier.days_out} of {counted(tier.days, 'day')} ({low:.0%} to {high:.0%})"]
    if tier.hour is not None:
        parts.append(
            f"usually at {clock(tier.hour.median)} of its day (half of the days {clock(tier.hour.q1)} to "
            f"{clock(tier.hour.q3)})"
        )
    if tier.out_h is not None:
        parts.append(f"for {tier.out_h.median:.1f} h ({tier.out_h.q1:.1f} to {tier.out_h.q3:.1f})")
    if tier.growth is not None:
        grows = tier.growth
        parts.append(f"{grows.slope:+.1f} calls a day each day ({grows.low:+.1f} to {grows.high:+.1f})")
    if tier.next is not None:
        parts.append(f"next {next_words(tier)}")
    if tier.note:
        parts.append(tier.note)
    return ", ".join(parts) + "."


def next_words(tier: RunOut) -> str:
    """The next run-out in words, in UTC."""
    coming = tier.next
    if coming is None:
        return "-"
    if coming.at is None and coming.earliest is None:
        return f"not on {coming.day:%m-%d}"
    likely = "probably not" if coming.at is None else f"{coming.at:%m-%d %H:%M}"
    latest = "not at all" if coming.latest is None else f"{coming.latest:%m-%d %H:%M}"
    earliest = "now" if coming.earliest is None else f"{coming.earliest:%m-%d %H:%M}"
    return f"{likely} UTC ({earliest} to {latest})"


def clock(hours: float) -> str:
    """``9.5`` as ``09:30``."""
    minutes = round(hours * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _name(tier: RunOut) -> str:
    model = f"/{tier.model}" if tier.model else ""
    return f"{tier.provider_ref}{model}"


def _words(tier: RunOut) -> dict[str, Any]:
    told = f"from midnight {tier.day}: out on {tier.days_out} of {counted(tier.days, 'day')}"
    if tier.out_h is not None:
        told += f", for {tier.out_h.median:.1f} h"
    return {"tier": _name(tier), "text": f"{told}; {tier.note}" if tier.note else told}


def _band(tier: RunOut) -> dict[str, Any]:
    hour = tier.hour
    return {} if hour is None else {"tier": _name(tier), "q1": hour.q1, "q3": hour.q3, "median": hour.median}


def _points(tier: RunOut) -> list[dict[str, Any]]:
    return [
        {"tier": _name(tier), "day": f"{day:%Y-%m-%d}", "hour": round(hour, 3), "out_h": out}
        for day, hour, out in tier.runs
    ]


def _next(tier: RunOut) -> dict[str, Any] | None:
    coming = tier.next
    if coming is None or coming.earliest is None:
        return None

    def hours(instant: datetime | None) -> float | None:
        return None if instant is None else round((instant - coming.day).total_seconds() / 3600, 3)

    high = hours(coming.latest)
    return {
        "tier": _name(tier),
        "hour": hours(coming.at),
        "low": hours(coming.earliest),
        "high": _HOURS if high is None else high,
    }


def _chart(rows: list[dict[str, Any]]) -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.InlineData(values=rows))


def _hours(field: str) -> alt.X:
    import altair as alt

    axis = alt.Axis(values=list(range(0, 25, 3)), format="d", grid=True)
    return alt.X(
        f"{field}:Q",
        title="hours of its own day (circle: a past run-out, bar: half of them, diamond: the next)",
        scale=alt.Scale(domain=[0, _HOURS], nice=False),
        axis=axis,
    )


def _names() -> alt.Axis:
    import altair as alt

    return alt.Axis(labelLimit=260, ticks=False, domain=False, labelPadding=8)


def _dress(layers: list[alt.Chart], title: str, description: str, *, height: int) -> alt.LayerChart:
    import altair as alt

    chart = alt.LayerChart(layer=layers, width=_WIDTH, height=height, title=title, description=description)
    chart.background, chart.padding = _PAPER, 12
    chart.config = alt.Config(
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(labelColor=_INK, titleColor=_INK, gridColor="#E4E4E4", labelFontSize=12, titleFontSize=11),
        title=alt.TitleConfig(color=_INK, anchor="start", fontSize=14),
    )
    return chart


def _schema() -> dict[str, Any]:
    import polars as pl

    number, instant = pl.Float64(), pl.Datetime("us", "UTC")
    return {
        "provider_ref": pl.String(),
        "model": pl.String(),
        "tier": pl.String(),
        "day": pl.String(),
        "days": pl.Int64(),
        "days_out": pl.Int64(),
        "share_low": number,
        "share_high": number,
        **{f"hour{end}": number for end in ("", "_q1", "_q3", "_low", "_high")},
        **{f"out_h{end}": number for end in ("", "_q1", "_q3", "_low", "_high")},
        **{f"growth{end}": number for end in ("", "_low", "_high")},
        **{f"next_{name}": instant for name in ("at", "earliest", "latest")},
        "still_out": pl.Boolean(),
        "note": pl.String(),
    }


def _line(tier: RunOut) -> tuple[Any, ...]:
    spreads = [
        value
        for one in (tier.hour, tier.out_h)
        for value in ((None,) * 5 if one is None else (one.median, one.q1, one.q3, one.low, one.high))
    ]
    grows, coming = tier.growth, tier.next
    return (
        *(tier.provider_ref, tier.model, tier.tier, tier.day, tier.days, tier.days_out, *tier.share),
        *spreads,
        *((None,) * 3 if grows is None else (grows.slope, grows.low, grows.high)),
        *((None,) * 3 if coming is None else (coming.at, coming.earliest, coming.latest)),
        *(tier.still_out, tier.note),
    )
