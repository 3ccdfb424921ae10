"""``zc probe``, ``marks``, ``status`` and ``watch``: what is reachable, what is out, and until when."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import ALL_FAILED, OK, answer, emit, fail, report, table
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted
from zc_notebooks.probe import ProbeResult
from zc_notebooks.status import STATUS_COLUMNS, Status, status

Refs = Annotated[list[str] | None, typer.Argument(help="Profile refs; all unless given.")]
REFRESH_S = 2.0


def probe(refs: Refs = None, as_json: AsJson = False) -> None:
    """Ask each provider alone whether it is reachable. Exit status 3 when a named one is not."""
    import zc_notebooks as zc
    from zc_notebooks.watch import targets

    results: list[ProbeResult] = []
    try:
        with zc.open(quiet=as_json) as chain:
            for ref in targets(chain, refs or []):
                results.append(chain.probe_sync(ref))
                if not as_json:
                    answer(probe_line(results[-1]))
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit([probe_json(result) for result in results])
    enough = all if refs else any
    raise typer.Exit(OK if enough(result.reachable for result in results) else ALL_FAILED)


def probe_line(result: ProbeResult) -> str:
    """One probe in one line."""
    until = f" until {result.until:%Y-%m-%d %H:%M:%S} UTC ({result.provenance})" if result.until else ""
    why = f": {result.text}" if result.text else ""
    return f"{result.ref}/{result.model}  {result.state}{until}, {result.ms:.0f} ms ({result.how}){why}"


def probe_json(result: ProbeResult) -> dict[str, Any]:
    """The documented form of ``zc probe --json``."""
    fields = ("ref", "model", "state", "ms", "how", "until", "provenance", "text")
    return {"reachable": result.reachable, **{name: getattr(result, name) for name in fields}}


def marks(
    clear: Annotated[str | None, typer.Option(metavar="REF", help="Clear the marks of a profile.")] = None,
    pool: Annotated[str | None, typer.Option(help="Clear the marks of a billing pool.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Clear every mark.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the cooldown marks of this machine, or clear some."""
    import zc_notebooks as zc

    try:
        with zc.open(quiet=as_json) as chain:
            cleared = chain.clear(clear, pool=pool, everything=everything) if clear or pool or everything else None
            live = chain.marks()
            now = chain.clock.now()
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit({"cleared": cleared, "marks": live})
        return
    if cleared is not None:
        answer(f"cleared {counted(cleared, 'mark')}")
    if not live:
        answer("no marks: every candidate may be asked")
        return
    from zc_notebooks.status import countdown

    rows = [
        (
            mark.provider_ref or mark.key.pool,
            mark.key.pool,
            mark.key.credential_id,
            mark.key.model or "all models",
            f"{mark.until:%Y-%m-%d %H:%M:%S} UTC",
            countdown(mark.until - now),
            mark.provenance,
            mark.reason,
        )
        for mark in live
    ]
    table(("set by", "pool", "credential", "model", "until", "left", "stated by", "reason"), rows)


def show_status(
    watching: Annotated[bool, typer.Option("--watch", help="Refresh every two seconds until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show profiles, tiers, marks with countdown, what is left, and the last outcome."""
    import zc_notebooks as zc

    try:
        with zc.open(quiet=as_json) as chain:
            if as_json:
                emit(status_json(status(chain)))
                return
            while True:
                _print(status(chain), clear=watching and sys.stdout.isatty())
                if not watching:
                    return
                time.sleep(REFRESH_S)
    except ZcError as error:
        report(error, as_json=as_json)


def _print(now: Status, *, clear: bool) -> None:
    if clear:
        sys.stdout.write("\x1b[2J\x1b[H")
    table(STATUS_COLUMNS, now.rows())


def status_json(now: Status) -> dict[str, Any]:
    """The documented form of ``zc status --json``."""
    return {"at": now.at, "profiles": [{**_fields(item), "state": item.words(now.at)} for item in now.profiles]}


def _fields(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__struct_fields__}


def watch(
    refs: Refs = None,
    every: Annotated[str, typer.Option(help="How often each candidate is asked: 30s, 10m, 2h.")] = "10m",
    rounds: Annotated[int | None, typer.Option(min=1, help="End after so many rounds.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask every candidate now and then, for ever, and write each probe to the ledger. Ends cleanly on SIGTERM."""
    import zc_notebooks as zc
    from zc_notebooks.watch import parse_every
    from zc_notebooks.watch import watch as run

    def told(result: ProbeResult) -> None:
        if as_json:
            emit(probe_json(result))
        else:
            answer(probe_line(result))

    async def until_told() -> None:
        async with zc.open(quiet=as_json) as chain:
            task = asyncio.ensure_future(run(chain, refs or [], every_s=seconds, rounds=rounds, told=told))
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    try:
        seconds = parse_every(every)
        asyncio.run(until_told())
    except ZcError as error:
        report(error, as_json=as_json)
    except NotImplementedError:
        fail("this system has no signal handlers for zc watch")
