"""Streams that are stopped in the middle of a recovery, dropped, or left open at the end of a loop or a process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests import ROOT
from tests.raw_server import RawServer, Request, chunked, raw_server
from tests.streams.holding import LIMIT_S, Holding, config
from zc_notebooks.events import Event, Text
from zc_notebooks.sinks import CallableSink
from zc_notebooks.sync import shared


def rows(folder: Path) -> list[Any]:
    """(mode, status) of every row, in order."""
    return zc.Ledger(folder / "ledger").attempts().sort("ordinal").select("mode", "status").rows()


# -- in the middle of a recovery -------------------------------------------------------------------------------------


@asynccontextmanager
async def recovering(folder: Path) -> AsyncIterator[tuple[RawServer, Any, asyncio.Future[Any]]]:
    """A turn whose stream was cut before output and whose recovery waits for an answer that does not come."""
    waiting = asyncio.Event()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if b'"stream":true' in request.body:
            writer.write(chunked())
        else:
            waiting.set()

    async with raw_server(answer) as server:
        (folder / "zc.toml").write_text(config(server), encoding="utf-8")
        async with zc.open(folder / "zc.toml", ledger=folder / "ledger") as chain, asyncio.timeout(LIMIT_S):
            stream = chain.stream("x")
            turn = asyncio.ensure_future(stream.into(CallableSink(lambda _: None)))
            await waiting.wait()
            yield server, stream, turn
            await server.client_left.wait()


@pytest.mark.parametrize(
    ("stop", "error"),
    [
        (lambda stream, _: stream.cancel(), zc.TurnCancelled),
        (lambda _, turn: turn.cancel(), asyncio.CancelledError),
    ],
    ids=["Stop", "a cancelled task"],
)
def test_134_a_cancel_during_recovery_aborts_it(
    stop: Callable[[Any, Any], object], error: type[BaseException], tmp_path: Path
) -> None:
    """134: the recovery's socket is closed, its row says cancelled, and nobody else is asked."""

    async def run() -> None:
        async with recovering(tmp_path) as (server, stream, turn):
            stop(stream, turn)
            done, _ = await asyncio.wait([turn], timeout=5)
            assert done, "it goes on"
            with pytest.raises(error):
                turn.result()
            assert len(server.requests) == 2
            assert asyncio.all_tasks() - {asyncio.current_task()} <= _of_the_server()

    asyncio.run(run())
    assert rows(tmp_path) == [
        ("stream", "stream_cut"),
        ("recovery", "skipped_failed_stream"),
        ("recovery", "cancelled"),
    ]


def _of_the_server() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if "raw_server" in repr(task.get_coro())}


# -- dropped ---------------------------------------------------------------------------------------------------------


def test_136_a_loop_left_without_a_with(tmp_path: Path, server: Holding) -> None:
    """136: ``break`` out of ``async for`` over a stream nobody holds closes parser and socket."""

    async def run() -> None:
        async with zc.open(tmp_path / "zc.toml", ledger=tmp_path / "ledger") as chain:
            async for event in chain.stream("hold"):
                if isinstance(event, Text):
                    break
            assert await asyncio.to_thread(server.left.wait, LIMIT_S)

    asyncio.run(run())
    assert rows(tmp_path) == [("stream", "cancelled")]


def test_a_synchronous_stream_dropped_on_the_loops_own_thread(tmp_path: Path, server: Holding) -> None:
    """The collector may run anywhere: it closes the stream there too, and the loop goes on."""
    with zc.open(tmp_path / "zc.toml", ledger=tmp_path / "ledger") as chain:
        held: list[Iterator[Event]] = [iter(chain.stream_sync("hold"))]
        assert isinstance(next(held[0]), Text)
        shared.call_soon(held.clear)
        assert server.left.wait(LIMIT_S)
        assert chain.ask_sync("hello").text == "answered"
    assert sorted(rows(tmp_path)) == [("chat", "ok"), ("stream", "cancelled")]


# -- closed by somebody else ------------------------------------------------------------------------------------------


def test_closed_by_another_task(tmp_path: Path, server: Holding) -> None:
    """To whoever waits for the next event, somebody else's ``aclose`` is a Stop."""

    async def run() -> None:
        async with zc.open(tmp_path / "zc.toml", ledger=tmp_path / "ledger") as chain:
            stream, words = chain.stream("hold"), asyncio.Event()
            taking = asyncio.ensure_future(stream.into(CallableSink(lambda _: words.set())))
            await words.wait()
            while not server.asked.is_set() or not stream.partial_text.endswith("three "):  # noqa: ASYNC110
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            await stream.aclose()
            with pytest.raises(zc.StreamCancelledAfterOutput):
                await asyncio.wait_for(taking, LIMIT_S)
            assert await asyncio.to_thread(server.left.wait, LIMIT_S)

    asyncio.run(run())
    assert rows(tmp_path) == [("stream", "cancelled")]


def test_closed_by_another_thread(tmp_path: Path, server: Holding) -> None:
    """The same for synchronous code, which waits inside ``next``."""
    ended: list[BaseException] = []

    def take() -> None:
        try:
            for _ in stream:
                pass
        except zc.CallError as error:
            ended.append(error)

    with zc.open(tmp_path / "zc.toml", ledger=tmp_path / "ledger") as chain:
        stream = chain.stream_sync("silent")
        taking = threading.Thread(target=take)
        taking.start()
        assert server.asked.wait(LIMIT_S)
        stream.close()
        taking.join(LIMIT_S)
        assert server.left.wait(LIMIT_S)
    assert [type(error) for error in ended] == [zc.TurnCancelled]
    assert rows(tmp_path) == [("stream", "cancelled")]


# -- left open -------------------------------------------------------------------------------------------------------

HEAD = """
import asyncio, sys
import zc_notebooks as zc
from zc_notebooks.events import Text

chain = zc.open()

async def until_text(events):
    async for event in events:
        if isinstance(event, Text):
            return
"""
SCRIPTS = {
    "a loop that ends": 'asyncio.run(until_text(chain.stream("hold")))',
    "a loop that ends, the stream held": 'events = chain.stream("hold")\nasyncio.run(until_text(events))',
    "a process that ends": 'events = iter(chain.stream_sync("hold"))\nnext(events)',
    "a process that fails": 'events = iter(chain.stream_sync("hold"))\nnext(events)\nsys.exit(3)',
    "a chain that is closed": 'events = iter(chain.stream_sync("hold"))\nnext(events)\nchain.close()',
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_left_open(name: str, tmp_path: Path, server: Holding) -> None:
    """136: the process ends by itself and in silence; the stream has its row."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "ZC_CONFIG": str(tmp_path / "zc.toml")}
    command = [sys.executable, "-c", HEAD + SCRIPTS[name]]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, timeout=LIMIT_S, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (3 if name == "a process that fails" else 0, "")
    assert server.left.wait(LIMIT_S)
    assert rows(tmp_path) == [("stream", "cancelled")]
    assert server.requests == 1


FORKS = """
import os
assert chain.ask_sync("hello").text == "answered"
child = os.fork()
if child == 0:
    os._exit(chain.ask_sync("hello").text != "answered")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_asks_by_itself(tmp_path: Path, server: Holding) -> None:
    """A child process has no thread of its parent: its synchronous calls start a loop of their own."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "ZC_CONFIG": str(tmp_path / "zc.toml")}
    command = [sys.executable, "-W", "ignore", "-c", HEAD + FORKS]
    assert subprocess.run(command, cwd=tmp_path, env=environ, timeout=LIMIT_S, check=False).returncode == 0
    assert rows(tmp_path) == [("chat", "ok"), ("chat", "ok")]
    assert server.requests == 2


FORKS_IN_A_STREAM = """
import os
events = iter(chain.stream_sync("hold"))
next(events)
child = os.fork()
if child == 0:
    events.close()
    mine = iter(zc.open().stream_sync("hello"))
    words = [event.text for event in mine if isinstance(event, Text)]
    os._exit(words != ["answered"])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert isinstance(next(events), Text)
events.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_leaves_its_parents_stream_alone(tmp_path: Path, server: Holding) -> None:
    """Closed in the child it stays open in the parent, which reads on; the child's own streams begin and end."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "ZC_CONFIG": str(tmp_path / "zc.toml")}
    command = [sys.executable, "-W", "ignore", "-c", HEAD + FORKS_IN_A_STREAM]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, timeout=LIMIT_S, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(rows(tmp_path)) == [("stream", "cancelled"), ("stream", "ok")]
    assert server.requests == 2
