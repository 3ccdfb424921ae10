"""Charts of a measurement: quality against effective cost, who is told from whom, what each task tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.charts.drawing import INK, PAPER, STEP, dress, empty, rows_axis
from zc_notebooks.charts.names import candidate_names, short_names
from zc_notebooks.markup import counted
from zc_notebooks.reliability.materialize import parse_start

if TYPE_CHECKING:
    import altair as alt

    from zc_notebooks.bench.statistics import Candidate, Statistics

NOTHING: Final = "nothing was measured"
_BLUE: Final = "#0072B2"
_TOLD: Final = {"better": "#BFE6DA", "worse": "#F6DCA6"}
_MOST_TASKS: Final = 24
_LEAST_USD: Final = 1e-7
"""Where an answer that cost nothing stands on a logarithmic axis."""


def quality_chart(found: Statistics, *, title: str = "Quality, cost and reachability") -> alt.LayerChart:
    """Each candidate: accuracy among its answers with its interval against dollars per right answer.

    The size of a point, and the number beside its name, is the share of calls that got an answer: reachability is an
    axis of its own and no part of the accuracy. An unknown cost is not drawn; the text alternative names it.

    Args:
        found: See :func:`zc_notebooks.bench.statistics.statistics`.
        title: Above the chart.
    """
    import altair as alt

    labels = _labels(found)
    points = [_point(item, labels[item.candidate]) for item in found.candidates if item.accuracy.share is not None]
    drawn = [point for point in points if point["usd"] is not None]
    if not found.candidates:
        return empty(title, NOTHING)
    if not drawn:
        return empty(title, "no right answer of a known cost", told=_told_quality(found))
    prices = [max(float(point["usd"]), _LEAST_USD) for point in drawn]
    scale = alt.Scale(type="log", domain=[min(prices) / 3, max(prices) * 8])
    base = alt.Chart(alt.InlineData(values=drawn)).encode(
        x=alt.X(
            "usd:Q", scale=scale, title="US dollars for a right answer (log)", axis=alt.Axis(format="~g", tickCount=5)
        ),
        y=alt.Y("accuracy:Q", scale=alt.Scale(domain=[0, 100]), title="right, of 100 answers"),
    )
    bars = base.mark_rule(color=INK, strokeWidth=1.2).encode(y="low:Q", y2="high:Q")
    dots = base.mark_circle(color=_BLUE, opacity=0.9, stroke=INK, strokeWidth=0.7).encode(
        size=alt.Size("reached:Q", scale=alt.Scale(domain=[0, 100], range=[20, 260]), legend=None)
    )
    names = base.mark_text(align="left", dx=11, dy=-7, color=INK, fontSize=11).encode(text="label:N")
    return dress([bars, dots, names], title, _told_quality(found), height=300)


def _labels(found: Statistics) -> dict[str, str]:
    """Each candidate (``family.alias/model``) as the charts name it."""
    lines = {item.candidate: (*parse_start(item.candidate), None) for item in found.candidates}
    names = candidate_names(lines.values())
    return {candidate: names[line] for candidate, line in lines.items()}


def _point(item: Candidate, name: str) -> dict[str, Any]:
    share, cost = item.accuracy.share or 0.0, item.cost_per_correct
    reached = 100 * (item.reachability.share or 0.0)
    return {
        "label": f"{name} ({reached:.0f} % reached)",
        "accuracy": 100 * share,
        "low": 100 * item.accuracy.low,
        "high": 100 * item.accuracy.high,
        "usd": None if cost is None else max(cost, _LEAST_USD),
        "reached": reached,
    }


def _told_quality(found: Statistics) -> str:
    lines = (
        f"{item.candidate}: right {item.accuracy}, reached {item.reachability}, {item.price()}"
        for item in found.candidates
    )
    return f"Quality, cost and reachability. {'; '.join(lines)}."


def pairs_chart(found: Statistics, *, title: str = "Who is told from whom") -> alt.LayerChart:
    """A square of all candidates: what may be said of the line's against the column's, in words."""
    import altair as alt

    labels = _labels(found)
    if len(labels) < 2:  # noqa: PLR2004 (a pair)
        return empty(title, "fewer than two candidates were measured")
    cells = [
        {"row": labels[first], "column": labels[second], "told": pair.told, "words": _words(pair.told, pair.difference)}
        for first in labels
        for second in labels
        if first != second
        for pair in [found.pair(first, second)]
    ]
    order = list(labels.values())
    axis = alt.Axis(orient="top", labelAngle=-30, labelLimit=320, ticks=False, domain=False)
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        y=rows_axis("row", order), x=alt.X("column:N", sort=None, title=None, scale=alt.Scale(domain=order), axis=axis)
    )
    colours = alt.Scale(domain=list(_TOLD), range=list(_TOLD.values()))
    grounds = base.mark_rect(stroke=PAPER, strokeWidth=3, fill="#EFEFEF")
    grounds = grounds.encode(fill=alt.Fill("told:N", scale=colours, legend=None))
    words = base.mark_text(color=INK, fontSize=10).encode(text="words:N")
    said = " ".join(f"{pair.sentence()}." for pair in found.pairs)
    return dress([grounds, words], title, f"{title}. {said}", height=STEP * 3 // 2 * len(labels))


def _words(told: str, difference: float) -> str:
    if told in _TOLD:
        return f"{told} {difference:+.0%}"
    return {"not told apart": "not told", "too little data": "too little"}.get(told, told)


def tasks_chart(found: Statistics, *, title: str = "What each task tells") -> alt.LayerChart:
    """Each task: from the worst to the best candidate's share of right answers, the mean between them.

    A line without length tells nobody apart. The tasks that tell most stand first.
    """
    import altair as alt

    told = sorted(found.tasks, key=lambda item: (-item.spread, item.task))[:_MOST_TASKS]
    if not told:
        return empty(title, NOTHING)
    short = short_names(item.task for item in told)
    lines = [
        {
            "task": short[item.task],
            "low": 100 * item.low,
            "high": 100 * item.high,
            "mean": 100 * item.share,
        }
        for item in told
    ]
    x = alt.Scale(domain=[0, 100])
    base = alt.Chart(alt.InlineData(values=lines)).encode(y=rows_axis("task", [str(line["task"]) for line in lines]))
    spans = base.mark_bar(height=8, color="#BBD9EC", stroke=INK, strokeWidth=0.4).encode(
        x=alt.X("low:Q", scale=x, title="right, of 100 answers: worst to best candidate, and the mean"), x2="high:Q"
    )
    means = base.mark_point(filled=True, color=_BLUE, size=50, stroke=INK, strokeWidth=0.6).encode(
        x=alt.X("mean:Q", scale=x)
    )
    words = f"{title}. " + "; ".join(f"{item.task}: {item.low:.0%} to {item.high:.0%}" for item in told)
    more = (
        f"; {counted(len(found.tasks) - len(told), 'more task tells', 'more tasks tell')} less"
        if len(found.tasks) > len(told)
        else ""
    )
    return dress([spans, means], title, f"{words}{more}.", height=STEP * len(told))
