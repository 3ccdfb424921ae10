"""Ctrl-C in scripts, commands and notebook cells: the socket closes, a row says so, nothing is retried (spec 5.5)."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests import ROOT
from tests.notebook.kernels import Kernel
from tests.notebook.kernels import kernel as started
from tests.streams.holding import LIMIT_S, WORDS, Holding
from zc_notebooks.cli import main
from zc_notebooks.events import Event
from zc_notebooks.sinks import CallableSink
from zc_notebooks.sync import LoopThread

HEAD = """
import sys, threading
import zc_notebooks as zc
from zc_notebooks.events import Text
from zc_notebooks.sinks import CallableSink
from zc_notebooks.sync import LoopThread

def show(event):
    if isinstance(event, Text):
        print(event.text, flush=True)

def stay(event):
    show(event)
    if isinstance(event, Text) and event.text == "three ":
        threading.Event().wait()
"""

SCRIPTS = {
    "a stream that waits": """
for event in zc.open().stream_sync("hold"):
    show(event)
""",
    "a stream with a name that waits": """
chain = zc.open()
stream = chain.stream_sync("hold")
for event in stream:
    show(event)
""",
    "a loop body": """
for event in zc.open().stream_sync("hold"):
    stay(event)
""",
    "a loop body over a named stream": """
chain = zc.open()
stream = chain.stream_sync("hold")
for event in stream:
    stay(event)
""",
    "a stream without its head": """
for event in zc.open().stream_sync("silent"):
    show(event)
""",
    "ask_sync": """
zc.open().ask_sync("silent")
""",
    "ask_sync beside polars": """
import polars  # as in a script that has looked into the ledger: its signal handler has the system restart a wait

zc.open().ask_sync("silent")
""",
    "ask_sync inside asyncio.run": """
import asyncio

async def main():
    zc.open().ask_sync("silent")

asyncio.run(main())
""",
    "asyncio.run": """
import asyncio

async def main():
    async with zc.open().stream("hold") as events:
        async for event in events:
            show(event)

asyncio.run(main())
""",
}
COMMANDS = {
    "zc ask --stream": ["ask", "--stream", "hold"],
    "zc ask --stream without its head": ["ask", "--stream", "silent"],
    "zc ask": ["ask", "silent"],
    "zc ask --json": ["ask", "--json", "silent"],
}


def interrupted(
    command: list[str], folder: Path, server: Holding, by: signal.Signals = signal.SIGINT, **options: Any
) -> tuple[int, str, str]:
    """Runs a process until its provider holds the line and it has shown what it can, then sends it a signal."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "ZC_CONFIG": str(folder / "zc.toml"), "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, bufsize=0, cwd=folder, env=environ, **options) as process:
        assert process.stdout is not None
        try:
            assert server.asked.wait(LIMIT_S), process.stderr
            seen = ""
            while "hold" in " ".join(command) and not seen.rstrip().endswith(WORDS[-1].strip()):
                letter = process.stdout.read(1)
                assert letter, seen
                seen += letter.decode()
            process.send_signal(by)
            out, err = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    return process.returncode, seen + out.decode(), err.decode()


def check(folder: Path, server: Holding, mode: str) -> None:
    """One request, its socket closed, one row that says it was cancelled."""
    assert server.left.wait(LIMIT_S)
    assert server.requests == 1
    rows = zc.Ledger(folder / "ledger").attempts()
    assert rows.select("kind", "mode", "status", "accepted").rows() == [("attempt", mode, "cancelled", False)]


@pytest.mark.parametrize("name", SCRIPTS)
def test_ctrl_c_in_a_script(name: str, tmp_path: Path, server: Holding) -> None:
    """133, 136: KeyboardInterrupt comes out of the call, or of the loop's body, and the process ends by itself."""
    status, out, err = interrupted([sys.executable, "-c", HEAD + SCRIPTS[name]], tmp_path, server)
    assert status == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert not [word for word in ("never awaited", "never retrieved", "Exception ignored", "Fatal") if word in err]
    assert out.split() == (["one", "two", "three"] if "hold" in SCRIPTS[name] else [])
    check(tmp_path, server, "chat" if name.startswith("ask_sync") else "stream")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_to_a_command(name: str, by: signal.Signals, tmp_path: Path, server: Holding) -> None:
    """133: status 130 (SIGTERM 143, SIGHUP 129), what was shown stays and ends its line, one word on standard error."""
    command = [sys.executable, "-m", "zc_notebooks.cli", *COMMANDS[name]]
    status, out, err = interrupted(command, tmp_path, server, by)
    assert (status, err) == (128 + by, "cancelled\n")
    if "--json" in command:
        told = json.loads(out)
        assert told["error"]["type"] == "TurnCancelled"
        assert [row["status"] for row in told["attempts"]] == ["cancelled"]
    else:
        assert out == ("one two three \n" if "hold" in command else "")
    check(tmp_path, server, "stream" if "--stream" in command else "chat")


def test_a_chat_that_is_ended(tmp_path: Path, server: Holding) -> None:
    """Ctrl-C ends an answer and the talk goes on; SIGTERM ends both."""
    (tmp_path / "said").write_text("hold\nhello\n", encoding="utf-8")
    with (tmp_path / "said").open("rb") as said:
        command = [sys.executable, "-m", "zc_notebooks.cli", "chat", "--system", "hold"]
        status, out, err = interrupted(command, tmp_path, server, signal.SIGTERM, stdin=said)
    assert (status, out, err) == (143, "one two three \n", "cancelled\n")
    check(tmp_path, server, "stream")


@pytest.mark.parametrize(("by", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_chat_that_is_ended_at_its_prompt(
    by: signal.Signals, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C leaves like Ctrl-D; who ends the process gets its status."""

    class Prompt(io.StringIO):
        def readline(self, _: int | None = -1, /) -> str:
            signal.raise_signal(by)
            return ""

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Prompt())
    with pytest.raises(SystemExit) as left:
        main(["chat"])
    assert left.value.code == status


# -- a kernel --------------------------------------------------------------------------------------------------------

CELLS = {
    "stream_sync waits": 'for event in chain.stream_sync("hold"):\n    show(event)',
    "the body of stream_sync": 'for event in chain.stream_sync("hold"):\n    stay(event)',
    "the body of a with": 'with chain.stream_sync("hold") as events:\n    for event in events:\n        stay(event)',
    "ask_sync": 'print("three", flush=True)\nchain.ask_sync("silent")',
    "an awaited stream": 'async with chain.stream("hold") as all:\n    async for event in all:\n        show(event)',
    "an awaited ask": 'print("three", flush=True)\nawait chain.ask("silent")',
    "sinks": 'await chain.tell("hold", events=CallableSink(show))',
}
NEXT = 'print(chain.ask_sync("hello").text, chain.ledger.attempts()["status"].to_list(), flush=True)'


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """One kernel for all cells: after each interrupt it has to go on."""
    with started(ROOT, os.environ) as one:
        yield one


def interrupted_cell(kernel: Kernel, source: str, server: Holding) -> tuple[str, str]:
    """How a cell ended that was interrupted when it had printed its last word, and what it had printed."""
    key, printed = kernel.send(source), ""
    while WORDS[-1].strip() not in printed:
        message = kernel.client.get_iopub_msg(timeout=LIMIT_S)
        if message["parent_header"].get("msg_id") == key and message["msg_type"] == "stream":
            printed += message["content"]["text"]
    assert server.asked.wait(LIMIT_S)
    kernel.manager.interrupt_kernel()
    ran = kernel.result(key)
    return ran.ename or ran.status, printed + ran.printed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CELLS)
def test_a_kernel_interrupt(name: str, tmp_path: Path, server: Holding, kernel: Kernel) -> None:
    """133: the cell ends with KeyboardInterrupt or a cancel, and the next cell is answered over the same chain."""
    assert kernel.run(f"{HEAD}\nchain = zc.open({str(tmp_path / 'zc.toml')!r})").status == "ok"
    ended, printed = interrupted_cell(kernel, CELLS[name], server)
    assert ended in ("KeyboardInterrupt", "CancelledError")
    assert printed.split() == (["one", "two", "three"] if "hold" in CELLS[name] else ["three"])
    check(tmp_path, server, "stream" if "hold" in CELLS[name] else "chat")
    after = kernel.run(NEXT)
    assert (after.status, after.printed) == ("ok", "answered ['cancelled', 'ok']\n")
    assert kernel.run("chain.close()").status == "ok"


# -- Stop ------------------------------------------------------------------------------------------------------------


def test_132_stop_while_not_a_byte_has_come(tmp_path: Path, server: Holding) -> None:
    """132: Stop does not wait for the provider's first word: the socket closes at once, and the turn is cancelled."""

    async def run(chain: zc.Chain) -> None:
        async with chain:
            stream = chain.stream("silent")
            turn = asyncio.ensure_future(stream.into(CallableSink(print)))
            await asyncio.to_thread(server.asked.wait, LIMIT_S)
            stream.cancel()
            async with asyncio.timeout(5):
                await turn

    with pytest.raises(zc.TurnCancelled):
        asyncio.run(run(zc.open(tmp_path / "zc.toml", ledger=tmp_path / "ledger")))
    check(tmp_path, server, "stream")


class Stuck:
    """A sink that takes two words and then waits for ever, as one does whose reader is gone."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()
        self.taken = 0

    async def _take(self) -> None:
        self.taken += 1
        if self.taken > 2:
            self.waits.set()
            await asyncio.Event().wait()

    async def event(self, _: Event) -> None:
        """An event sink's."""
        await self._take()

    async def draft(self, _: str, **__: bool) -> None:
        """A draft sink's."""
        await self._take()


@pytest.mark.parametrize("kind", ["event", "draft"])
def test_132_stop_does_not_wait_for_a_sink(kind: str, tmp_path: Path, server: Holding) -> None:
    """132: Stop ends what a sink is at, the socket closes, and the turn ends as a cancelled one."""

    async def run(chain: zc.Chain) -> None:
        async with chain:
            sink = Stuck()
            stream = chain.stream("hold", draft=kind == "draft")
            turn = asyncio.ensure_future(stream.into(sink) if kind == "event" else stream.into(draft=sink))
            await asyncio.wait_for(sink.waits.wait(), LIMIT_S)
            stream.cancel()
            stream.cancel()
            kind_of_end = zc.errors.StreamCancelledAfterOutput if kind == "event" else zc.errors.TurnCancelled
            with pytest.raises(kind_of_end):
                await asyncio.wait_for(turn, LIMIT_S)
            assert stream.partial_text == "".join(WORDS)

    asyncio.run(run(zc.open(tmp_path / "zc.toml")))
    check(tmp_path, server, "stream")


def test_132_stop_waits_for_neither_of_two_sinks(tmp_path: Path, server: Holding) -> None:
    """132: the draft is not waited for either when Stop came while the event sink was busy."""

    async def run(chain: zc.Chain) -> None:
        async with chain:
            sink, gone = Stuck(), asyncio.Event()

            class Gone:
                async def draft(self, text: str, *, final: bool) -> None:
                    del final
                    if text == "".join(WORDS):
                        await gone.wait()

            stream = chain.stream("hold")
            turn = asyncio.ensure_future(stream.into(sink, Gone()))
            await asyncio.wait_for(sink.waits.wait(), LIMIT_S)
            stream.cancel()
            with pytest.raises(zc.errors.StreamCancelledAfterOutput):
                await asyncio.wait_for(turn, LIMIT_S)

    asyncio.run(run(zc.open(tmp_path / "zc.toml")))
    check(tmp_path, server, "stream")


def test_ctrl_c_between_the_start_of_a_call_and_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop's thread may have sent the request before ours begins to wait: the call is ended all the same."""
    started, ended = threading.Event(), threading.Event()
    schedule = asyncio.run_coroutine_threadsafe

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    def interrupted(*arguments: Any) -> None:
        schedule(*arguments)
        started.wait(LIMIT_S)
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LoopThread().run(work())
    assert ended.is_set()


@pytest.mark.filterwarnings("error")
def test_ctrl_c_before_the_loop_knows_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was begun: it ends at once and in silence."""

    async def work() -> None:
        raise AssertionError("it was begun")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    thread = LoopThread()
    monkeypatch.setattr("zc_notebooks.sync.CLEANUP_S", LIMIT_S)
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", interrupted)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        thread.run(work())
    assert time.monotonic() - began < LIMIT_S / 2
    gc.collect()
