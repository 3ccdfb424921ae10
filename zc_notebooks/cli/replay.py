"""``zc replay``: what another order would have made of the calls on record."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import asdict

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.ledger import Folder, open_ledger
from zc_notebooks.cli.output import answer, emit, fail, report, table
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted

if TYPE_CHECKING:
    from zc_notebooks.bench.replay import Bounds, Figures, Replay


def replay(
    chain: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Candidates in order; as recorded unless given.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="cooldown_and_advance, retry_then_advance, or provider_retries=0,...")
    ] = None,
    since: Annotated[str, typer.Option(help="Begin of the period: 24h, 7d, a date or an instant.")] = "24h",
    until: Annotated[str | None, typer.Option(help="Its end, not included.")] = None,
    calls: Annotated[bool, typer.Option("--calls", help="With --json: every call, and who would have served.")] = False,
    ledger: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Replay recorded calls with another order or policy, against what really happened."""
    from zc_notebooks.bench.from_ledger import replay_ledger
    from zc_notebooks.config.load import configured

    if calls and not as_json:
        fail("--calls goes with --json")
    names = None if chain is None else [name for name in chain.split(",") if name.strip()]
    if names == []:
        fail("--chain names nobody: write family.alias or family.alias/model, with commas between them")
    try:
        config = configured(os.environ)
        found = replay_ledger(open_ledger(ledger), names, since=since, until=until, config=config, policy=policy)
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(replay_json(found, calls=calls))
    else:
        _say(found)


def replay_json(found: Replay, *, calls: bool = False) -> dict[str, Any]:
    """The documented form of ``zc replay --json``."""
    shown = asdict(found)
    if not calls:
        del shown["calls"]
    return shown


def _say(found: Replay) -> None:
    ends = (f"{when:%Y-%m-%d %H:%M}" for when in (found.calls[0].t, found.calls[-1].t))
    span = " to ".join(dict.fromkeys(ends))
    answer(f"{counted(found.really.calls, 'call')}, {span} UTC, through {' > '.join(found.chain)} ({found.rate_limit})")
    answer("")
    table(["", "really", "would have been", "at least", "at most"], list(_lines(found)))
    answer("")
    table(
        ["served by", "really", "would have", "at least", "at most"],
        [
            [one.candidate, *(f"{number:,}" for number in (one.really, one.would_have, one.least, one.most))]
            for one in found.served
        ],
    )
    answer("")
    answer(coverage_words(found))
    for limit in found.limits:
        answer(f"- {limit}")


def coverage_words(found: Replay) -> str:
    """What the estimate rests on."""
    cover = found.coverage
    left = (
        f"; {counted(found.cancelled, 'cancelled call is', 'cancelled calls are')} left out" if found.cancelled else ""
    )
    return (
        f"coverage of {counted(cover.attempts, 'simulated attempt')}: {cover.share('observed'):.0%} observed, "
        f"{cover.share('interpolated'):.0%} interpolated, {cover.share('unknown'):.0%} unknown{left}"
    )


def _lines(found: Replay) -> list[list[str]]:
    def line(words: str, name: str, shown: Callable[[Any], str]) -> list[str]:
        really, would = getattr(found.really, name), getattr(found.would_have, name)
        return [words, *map(shown, (really, would, *getattr(found.bounds, name)))]

    return [
        line("availability", "availability", lambda value: f"{value:.1%}"),
        *(line(words, words, lambda value: f"{value:,}") for words in ("answered", "attempts", "hops")),
        line("waited", "waited_s", lambda value: f"{value:.1f} s"),
        _money(found.really, found.would_have, found.bounds),
    ]


def _money(really: Figures, would: Figures, bounds: Bounds) -> list[str]:
    low, high = bounds.cost_usd
    return ["cost", *(_usd(one.cost_usd, at_least=one.at_least) for one in (really, would)), _usd(low), _usd(high)]


def _usd(value: Any, *, at_least: bool = False) -> str:
    if value is None:
        return "unknown"
    return f"{'at least ' if at_least else ''}${value:.6f}"
