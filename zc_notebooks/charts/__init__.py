"""Charts as functions of a frame: fixed size, stated domains, a title, a text alternative."""

from zc_notebooks.charts.attempts import (
    COLOURS,
    SHAPES,
    attempts_chart,
    served,
    timeline,
)
from zc_notebooks.charts.drawing import Picture, show
from zc_notebooks.charts.measured import pairs_chart, quality_chart, tasks_chart
from zc_notebooks.charts.money import spend_chart
from zc_notebooks.charts.outages import exhaustion_chart, failures_by_hour
from zc_notebooks.charts.outlook import outlook_chart
from zc_notebooks.charts.ways import hops_chart, reachability_chart

__all__ = [
    "COLOURS",
    "SHAPES",
    "Picture",
    "attempts_chart",
    "exhaustion_chart",
    "failures_by_hour",
    "hops_chart",
    "outlook_chart",
    "pairs_chart",
    "quality_chart",
    "reachability_chart",
    "served",
    "show",
    "spend_chart",
    "tasks_chart",
    "timeline",
]
