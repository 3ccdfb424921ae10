"""What all charts share: size, title, text alternative, colours, and how they are shown.

Colour only repeats what words or marks say already; the colours are Okabe and Ito's, told apart by every common kind of
colour vision. The background is painted, so that a picture reads the same in a light and in a dark notebook.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

PALE: Final = ("#BFE6DA", "#F6DCA6", "#BBD9EC", "#EBCBDC", "#D9D9D9", "#E3D9B8")
"""Grounds that dark words stand on; told apart by lightness too."""
NOTHING: Final = "no attempts yet"

WIDTH: Final = 460
_NAMED: Final = 12
"""Hours named on an axis at most."""
STEP: Final = 22
INK: Final = "#222222"
PAPER: Final = "#FFFFFF"


def said_nothing(nothing: str = NOTHING) -> str:
    """The text alternative of a chart without rows."""
    return f"{nothing[0].upper()}{nothing[1:]}."


class Picture:
    """A rendered chart with its text alternative, as notebooks show it. Needs no network and no script to be seen."""

    def __init__(self, data: bytes, kind: Literal["svg", "png"], text: str) -> None:
        self.data = data
        """The file's bytes."""
        self.kind = kind
        self.text = text
        """What the picture says, in words."""

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        mime = "image/png" if self.kind == "png" else "image/svg+xml"
        data = self.data if self.kind == "png" else self.data.decode()
        return {mime: data, "text/plain": self.text}, {mime: {"alt": self.text}}

    def __repr__(self) -> str:
        return self.text


def show(chart: alt.TopLevelMixin, *, kind: Literal["svg", "png"] = "svg") -> Picture:
    """Renders a chart of this module for a notebook or a file, without network; its description goes with it.

    An SVG of one call is 20 kB, sharp at any size and carries its text alternative inside; a PNG is the same 100 kB
    however many rows it shows.
    """
    import vl_convert

    spec: dict[str, Any] = chart.to_dict()
    text = spec.get("description") or "Chart."
    if kind == "png":
        return Picture(vl_convert.vegalite_to_png(spec, scale=2), kind, text)
    svg: str = vl_convert.vegalite_to_svg(spec)
    label = f'<svg role="img" aria-label={quoteattr(text)} '
    return Picture(svg.replace("<svg ", label, 1).encode(), kind, text)


def data_of(frame: pl.DataFrame) -> alt.InlineData:
    """The rows inside the chart, so that it stands alone."""
    import altair as alt

    return alt.InlineData(values=frame.to_dicts())


def rows_axis(field: str, domain: list[str]) -> alt.Y:
    """Names down the left side, in the given order."""
    import altair as alt

    axis = alt.Axis(labelLimit=320, ticks=False, domain=False, labelPadding=8)
    return alt.Y(f"{field}:N", sort=None, title=None, scale=alt.Scale(domain=domain), axis=axis)


def whole(top: int) -> alt.Axis:
    """Whole numbers only."""
    import altair as alt

    return alt.Axis(format="d", tickMinStep=1, tickCount=min(top, 6), grid=True)


def empty(title: str, nothing: str = NOTHING, *, told: str = "") -> alt.LayerChart:
    """A chart of the same kind with a few words in it; ``told``: what can be said all the same."""
    import altair as alt

    text = alt.Chart(alt.InlineData(values=[{"text": nothing}])).mark_text(size=14, color=INK).encode(text="text:N")
    return dress([text], title, told or said_nothing(nothing), height=60)


def dress(layers: list[alt.Chart], title: str, description: str, *, height: int) -> alt.LayerChart:
    """Size, title, text alternative and colours that do not depend on the notebook's theme."""
    import altair as alt

    chart = alt.LayerChart(layer=layers, width=WIDTH, height=height, title=title, description=description)
    chart.background, chart.padding = PAPER, 12
    chart.config = alt.Config(
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(labelColor=INK, titleColor=INK, gridColor="#E4E4E4", labelFontSize=12),
        title=alt.TitleConfig(color=INK, anchor="start", fontSize=14),
        legend=alt.LegendConfig(labelColor=INK, titleColor=INK),
    )
    return chart


def above() -> alt.Axis:
    """Names above the columns."""
    import altair as alt

    return alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)


def hours_axis(field: str, count: int, first: datetime | None) -> alt.X:
    """``count`` hours from ``first``, or (``None``) the hours of any day, as columns with every few of them named."""
    import altair as alt

    every = next((step for step in (1, 2, 3, 6) if count / step <= _NAMED), 12)
    places = list(range(count))
    if first is None:
        title, names = "hour of the day, UTC", [f"{place:02d}" for place in places]
    else:
        title = f"UTC, from {first:%Y-%m-%d %H:%M}"
        names = [f"{first + timedelta(hours=place):%H}" for place in places]
    named = [place for place in places if int(names[place]) % every == 0]
    words = " : ".join([f"datum.value == {place} ? '{names[place]}'" for place in named] + ["''"])
    axis = alt.Axis(values=named, labelExpr=words, labelAngle=0, ticks=False, domain=False)
    return alt.X(f"{field}:O", title=title, sort=None, scale=alt.Scale(domain=places), axis=axis)
