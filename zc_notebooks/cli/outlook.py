"""``zc ledger outlook``: when free tiers run out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.ledger import Folder, open_ledger
from zc_notebooks.cli.output import answer, emit, fail, report, table
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    from zc_notebooks.bench.outlook import Outlook, RunOut

_COLUMNS = ("tier", "its day", "out on", "usually at", "for", "growth", "next (UTC)", "")


def add_to(app: typer.Typer) -> None:
    """Puts the command among the ledger's."""
    app.command("outlook")(outlook)


def outlook(
    since: Annotated[str, typer.Option(help="Begin of what is looked at: 30d, a date or an instant.")] = "30d",
    chart: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it into an .svg or .png file.")] = None,
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """When each free tier runs out, for how long, and when next, as far as the rows tell."""
    from zc_notebooks.bench.outlook import NOTHING
    from zc_notebooks.bench.outlook import outlook as look

    if chart is not None and chart.suffix.lower() not in (".svg", ".png"):
        fail(f"--chart {chart}: write a name that ends in .svg or .png")
    try:
        found = look(open_ledger(ledger), since)
    except ZcError as error:
        report(error, as_json=as_json)
    if chart is not None:
        _draw(found, chart)
    if as_json:
        emit(found)
    elif not found.tiers:
        answer(NOTHING)
    else:
        table(_COLUMNS, _lines(found))


def _draw(found: Outlook, path: Path) -> None:
    from zc_notebooks.charts import outlook_chart, show

    picture = show(outlook_chart(found), kind="png" if path.suffix.lower() == ".png" else "svg")
    try:
        path.write_bytes(picture.data)
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")


def _lines(found: Outlook) -> list[list[str]]:
    from zc_notebooks.charts.outlook import tier_names

    return [_line(tier, name) for tier, name in zip(found.tiers, tier_names(found, whole=True), strict=True)]


def _line(tier: RunOut, name: str) -> list[str]:
    from zc_notebooks.charts.outlook import clock, growth_words, next_words

    hour, out, grows = tier.hour, tier.out_h, tier.growth
    low, high = tier.share
    return [
        name,
        tier.day,
        f"{tier.days_out} of {counted(tier.days, 'day')} ({low:.0%} to {high:.0%})" if tier.days else "-",
        "-" if hour is None else f"{clock(hour.median)} ({clock(hour.q1)} to {clock(hour.q3)})",
        "-" if out is None else f"{out.median:.1f} h ({out.q1:.1f} to {out.q3:.1f})",
        "-" if grows is None else growth_words(grows),
        next_words(tier),
        tier.note,
    ]
