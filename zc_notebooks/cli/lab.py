"""``zc lab``: the simulated fleet by itself."""

from __future__ import annotations

import signal
import threading
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import answer, emit, fail, table
from zc_notebooks.markup import counted

HARM: Final = 1
"""Exit status of a fault wall on which some fault did harm."""

app = typer.Typer(help="Run the simulated providers by themselves.", no_args_is_help=True)


@app.command()
def up(
    scenario: Annotated[str, typer.Argument(help="Name of a scenario, or a .toml file.")] = "default",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    config: Annotated[Path | None, typer.Option(help="Write a zc.toml for the fleet here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Serve a fleet of simulated providers on loopback until Ctrl-C or SIGTERM."""
    from zc_notebooks.lab import describe, serve

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        lab = serve(scenario, port=port, seed=seed)
    except ValueError as error:
        fail(str(error))
    except OSError as error:
        fail(f"port {port} cannot be served on 127.0.0.1 ({error.strerror}): name another, or 0 for a free one")
    with ExitStack() as stack:
        stack.enter_context(lab)
        if scenario == "bench":
            stack.enter_context(_taught())
        if config is not None:
            _write_config(config, lab.config_text())
        addresses = {item.provider: lab.base_url(item.provider) for item in describe(scenario)}
        if as_json:
            emit({"scenario": scenario, "providers": addresses, "config": lab.config_text()})
        else:
            table(("provider", "base URL"), list(addresses.items()))
            answer(f"lab {scenario} is up; Ctrl-C ends it" + ("" if config is None else f"; wrote {config}"))
        stop.wait()


def _taught() -> AbstractContextManager[None]:
    """The bench fleet knows the shipped tasks: a hundred instances of each template."""
    from zc_notebooks.bench.lab_book import taught
    from zc_notebooks.bench.tasks import instances, load_tasks

    return taught(instances(load_tasks(), range(100)))


def _write_config(path: Path, text: str) -> None:
    from zc_notebooks.config.starter import write_new

    try:
        write_new(path, text)
    except FileExistsError:
        fail(f"{path} exists already: name another file, or move it away")
    except OSError as error:
        fail(f"{path} cannot be written ({error.strerror})")


@app.command()
def wall(as_json: AsJson = False) -> None:
    """Break a primary in every way this package knows, and see where its chain goes.

    Real loopback HTTP, with a healthy backup, with and without a stream. Ends with status 1 if a fault did harm.
    """
    from tqdm import tqdm

    from zc_notebooks.wall import MODES, TRIALS, run_wall

    total = sum(len(trial.ways) for trial in TRIALS)
    with tqdm(total=total, desc="fault wall", unit="trial", disable=None, leave=False) as progress:
        card = run_wall(told=lambda _: progress.update())
    if as_json:
        emit({"summary": card.summary(), "ok": card.ok, "scores": card.scores})
    else:
        table(("fault on the primary", *MODES, "what happened"), card.rows())
        answer(f"{counted(len(card.rows()), 'fault')}, {counted(len(card.scores), 'trial')}: {card.summary()}")
    if not card.ok:
        raise typer.Exit(HARM)


@app.command()
def sample(
    folder: Annotated[Path, typer.Argument(help="A new folder for the ledger.")],
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Write the sample ledger: three days of a batch in which nothing fails and the bill grows."""
    from tqdm import tqdm

    from zc_notebooks.sample import write_sample

    with tqdm(desc="sample ledger", unit="call", disable=None, leave=False) as progress:

        def told(_: int, total: int) -> None:
            progress.total = total
            progress.update()

        calls = write_sample(folder, seed=seed, told=told)
    if as_json:
        emit({"folder": str(folder), "calls": calls})
    else:
        look = f"look at them with zc ledger sql --ledger {folder} or zc.Ledger"
        answer(f"{counted(calls, 'call')} written to {folder}; {look}")


@app.command()
def scenarios(as_json: AsJson = False) -> None:
    """List the fleets that can be served."""
    from zc_notebooks.lab import describe, scenario_names

    rows = [row for name in scenario_names() for row in describe(name)]
    if as_json:
        emit(rows)
        return
    table(
        ("scenario", "provider", "profile", "tier", "wire", "what it does"),
        [(row.scenario, row.provider, row.ref, row.tier, row.wire, row.title) for row in rows],
    )
