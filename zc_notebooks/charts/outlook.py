"""When free tiers run out, as a picture and in words."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.bench.outlook import NOTHING, Outlook, RunOut
from zc_notebooks.bench.robust import Trend
from zc_notebooks.charts.drawing import INK, dress, empty, rows_axis, said_nothing
from zc_notebooks.charts.names import Line, candidate_names
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    import altair as alt

_BAND: Final = "#F6DCA6"
_DAY: Final = "#E69F00"
_NEXT: Final = "#0072B2"
_STEP: Final = 46
_HOURS: Final = 24.0


def outlook_chart(found: Outlook, *, title: str = "When free tiers run out") -> alt.LayerChart:
    """One line per tier over its own day: every run-out, where half of them lie, the median, and the next one expected.

    Circles are past run-outs, the bar reaches from quartile to quartile, the upright stroke is the median; a diamond
    with its line is the next run-out and where it may lie. What is not known is said in words on the line.
    """
    import altair as alt

    if not found.tiers:
        return empty(title, NOTHING)
    names = tier_names(found)
    tiers = list(zip(found.tiers, names, strict=True))
    y = rows_axis("tier", names)
    layers = [
        _chart([_words(tier, name) for tier, name in tiers])
        .mark_text(align="left", baseline="bottom", dy=-9, fontSize=11, color=INK)
        .encode(x=alt.value(0), y=y, text="text:N")
    ]
    bands = [
        {"tier": name, "q1": tier.hour.q1, "q3": tier.hour.q3, "median": tier.hour.median}
        for tier, name in tiers
        if tier.hour is not None
    ]
    if bands:
        layers += [
            _chart(bands).mark_bar(height=14, color=_BAND, stroke=_DAY).encode(x=_hours("q1"), x2="q3:Q", y=y),
            _chart(bands).mark_tick(size=20, thickness=3, color=INK).encode(x=_hours("median"), y=y),
        ]
    points = [point for tier, name in tiers for point in _points(tier, name)]
    if points:
        dots = _chart(points).mark_point(filled=True, size=45, color=_DAY, stroke=INK, strokeWidth=0.6, opacity=0.75)
        layers.append(dots.encode(x=_hours("hour"), y=y, tooltip=["day:N", "hour:Q", "out_h:Q"]))
    nexts = [line for tier, name in tiers if (line := _next(tier, name)) is not None]
    if nexts:
        layers += [
            _chart(nexts).mark_rule(color=_NEXT, strokeWidth=2, yOffset=13).encode(x=_hours("low"), x2="high:Q", y=y),
            _chart([line for line in nexts if line["hour"] is not None])
            .mark_point(shape="diamond", filled=True, size=110, color=_NEXT, yOffset=13, opacity=1)
            .encode(x=_hours("hour"), y=y, tooltip=["tier:N", "hour:Q", "low:Q", "high:Q"]),
        ]
    return dress(layers, title, _told(found), height=_STEP * len(names))


def _told(found: Outlook) -> str:
    """The outlook in words: the chart's text alternative."""
    if not found.tiers:
        return said_nothing(NOTHING)
    return " ".join(_sentence(tier, name) for tier, name in zip(found.tiers, tier_names(found), strict=True))


def tier_names(found: Outlook, *, whole: bool = False) -> list[str]:
    """The name of each tier; ``whole`` where there is room for whole models."""
    lines: list[Line] = [(tier.provider_ref, tier.model, tier.credential_id) for tier in found.tiers]
    names = candidate_names(lines, models=True, whole=whole)
    return [names[line] for line in lines]


def _sentence(tier: RunOut, name: str) -> str:
    low, high = tier.share
    span = f" ({low:.0%} to {high:.0%})" if tier.days else ""
    parts = [f"{name}: out on {tier.days_out} of {counted(tier.days, 'day')}{span}"]
    if tier.hour is not None:
        parts.append(
            f"usually at {clock(tier.hour.median)} of its day (half of the days {clock(tier.hour.q1)} to "
            f"{clock(tier.hour.q3)})"
        )
    if tier.out_h is not None:
        parts.append(f"for {tier.out_h.median:.1f} h ({tier.out_h.q1:.1f} to {tier.out_h.q3:.1f})")
    if tier.growth is not None:
        parts.append(growth_words(tier.growth))
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
    if coming.earliest is None:
        return f"not on {coming.day:%m-%d}"
    likely = "probably not" if coming.at is None else f"{coming.at:%m-%d %H:%M}"
    latest = "not at all" if coming.latest is None else f"{coming.latest:%m-%d %H:%M}"
    return f"{likely} UTC ({coming.earliest:%m-%d %H:%M} to {latest})"


def growth_words(grows: Trend) -> str:
    """How the calls of a day change from day to day."""
    slope, low, high = (f"{round(value, 1) + 0.0:+.1f}" for value in (grows.slope, grows.low, grows.high))
    return f"{slope} calls each day ({low} to {high})"


def clock(hours: float) -> str:
    """``9.5`` as ``09:30``."""
    minutes = round(hours * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _words(tier: RunOut, name: str) -> dict[str, Any]:
    told = f"from midnight {tier.day}: out on {tier.days_out} of {counted(tier.days, 'day')}"
    if tier.out_h is not None:
        told += f", for {tier.out_h.median:.1f} h"
    return {"tier": name, "text": f"{told}; {tier.note}" if tier.note else told}


def _points(tier: RunOut, name: str) -> list[dict[str, Any]]:
    return [
        {"tier": name, "day": f"{day:%Y-%m-%d}", "hour": round(hour, 3), "out_h": out} for day, hour, out in tier.runs
    ]


def _next(tier: RunOut, name: str) -> dict[str, Any] | None:
    coming = tier.next
    if coming is None or coming.earliest is None:
        return None

    def hours(instant: datetime | None) -> float | None:
        return None if instant is None else round((instant - coming.day).total_seconds() / 3600, 3)

    high = hours(coming.latest)
    return {
        "tier": name,
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
