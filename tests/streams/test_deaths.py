"""Deaths of a stream on every wire: the provider's process killed, its socket closed by half, ended or reset.

Never a clean success: before any text the backup answers, after text an append-only listener is told of an interruption
and keeps what it saw, and a draft is drawn anew.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import zc_notebooks as zc
from tests import ROOT
from tests.lab.asking import WIRES, ask, events, streamed_text
from tests.raw_server import Request, chunk, raw_server, until, whole
from tests.streams.lab_child import plain
from zc_notebooks.clock import SystemClock
from zc_notebooks.config.load import parse_config
from zc_notebooks.events import Event, Final, Redraft, Text
from zc_notebooks.lab import Lab
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import chat_answer

BACKUP = "from the backup"
LIMIT_S = 10.0
WORDS = 5
"""Pieces of text before a death that comes after text."""

MOMENTS = ("before text", "after text", "after text, on a draft")


class Listener:
    """One turn on a primary that dies and a backup that lives."""

    def __init__(self, folder: Path, wire: str, place: tuple[str, str], backup: str, *, draft: bool) -> None:
        url, model = place
        toml = f'[providers.custom.a]\nuri = "{url}"\nwire_api = "{wire}"\nmodel = "{model}"\nkeyless = true\n'
        toml += f'[providers.custom.b]\nuri = "{backup}"\nmodel = "m"\nkeyless = true\n'
        toml += '[[chain]]\nprovider = "custom.a"\n[[chain]]\nprovider = "custom.b"\n'
        marks = Marks(None, clock=SystemClock())
        self._chain = zc.Chain(parse_config(toml, base_dir=folder), ledger=folder / wire, marks=marks, environ={})
        self._draft = draft
        self.shown = ""
        self.heard: list[Event] = []
        self.error: zc.ZcError | None = None
        self.rows: tuple[AttemptRow, ...] = ()

    async def listen(self, seen: Callable[[str], object]) -> None:
        """Asks; ``seen`` is told all the text so far."""
        async with self._chain as chain:
            stream = chain.stream("Count to 60", draft=self._draft)
            try:
                async with asyncio.timeout(LIMIT_S), stream as heard:
                    async for event in heard:
                        self._take(event)
                        seen(self.shown)
            except zc.CallError as error:
                self.error, self.rows = error, error.rows

    def _take(self, event: Event) -> None:
        self.heard.append(event)
        if isinstance(event, Text):
            self.shown += event.text
        elif isinstance(event, Redraft):
            self.shown = ""
        elif isinstance(event, Final):
            self.rows = event.completion.attempts


def check(one: Listener, moment: str, text: str | None, statuses: tuple[str, ...] = ("stream_cut",)) -> None:
    """What spec 8.4 wants; ``text`` is what was said before the death, where that can be known exactly."""
    ways = [(row.provider_ref[-1], row.mode) for row in one.rows if row.kind == "attempt"]
    assert one.rows[0].status in statuses
    assert not one.rows[0].accepted
    if moment == "after text":
        assert isinstance(one.error, zc.StreamInterruptedAfterOutput)
        assert one.error.partial_text == one.shown
        assert one.shown
        assert text in (None, one.shown)
        assert ways == [("a", "stream")]
        return
    assert one.error is None
    assert isinstance(one.heard[-1], Final)
    assert one.shown == one.heard[-1].completion.text == BACKUP
    assert ways == [("a", "stream"), ("b", "recovery")]
    assert sum(isinstance(event, Redraft) for event in one.heard) == (moment != "before text")


async def backup(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(whole(200, chat_answer(BACKUP).body, "Content-Type: application/json"))


# -- sockets ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bodies() -> dict[str, tuple[str, list[bytes]]]:
    """Of each wire: the content type of a stream, and its events as they stand on the wire."""
    with Lab(plain(), latency=0.0) as lab, httpx.Client() as client:
        answers = {wire: ask(lab, client, wire, "Count to 60", stream=True) for wire in WIRES}
    return {wire: (answer.headers["content-type"], _events(answer.content)) for wire, answer in answers.items()}


def _events(body: bytes) -> list[bytes]:
    mark = next(mark for mark in (b"\r\n\r\n", b"\n\n", b"\n") if mark in body)
    return [event + mark for event in body.split(mark) if event]


class Death:
    """How a connection dies after ``body``; ``caught_up``: the listener has read it all."""

    def __init__(self, kind: str, content_type: str, body: bytes) -> None:
        self._kind = kind
        self._head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n".encode()
        self._body = body
        self.caught_up = asyncio.Event()

    async def __call__(self, _: Request, writer: asyncio.StreamWriter) -> None:
        framing = b"Connection: close\r\n\r\n" if self._kind == "end of file" else b"Transfer-Encoding: chunked\r\n\r\n"
        body = self._body if self._kind == "end of file" else chunk(self._body)
        writer.write(self._head + framing + body)
        await writer.drain()
        await self.caught_up.wait()
        if self._kind == "chunks ended cleanly":
            writer.write(b"0\r\n\r\n")
        elif self._kind == "reset":
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif self._kind == "half a chunk":
            writer.write(b"ff\r\ndata: ha")
            writer.close()
        else:
            writer.write_eof()  # shutdown(SHUT_WR): our ears stay open, the client is to close its end


DEATHS = ("half-closed", "chunks ended cleanly", "end of file", "half a chunk", "reset")


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("wire", WIRES)
def test_a_connection_dies(
    wire: str, death: str, moment: str, bodies: dict[str, tuple[str, list[bytes]]], tmp_path: Path
) -> None:
    """118, 125, 126, 137: on each wire, before text and after, for each kind of listener."""
    content_type, whole_stream = bodies[wire]
    first = next(place for place, event in enumerate(whole_stream) if b"simulated" in event)
    body = b"".join(whole_stream[: first if moment == "before text" else first + WORDS])
    text = streamed_text(wire, events(httpx.Response(200, headers={"content-type": content_type}, content=body)))

    async def run() -> Listener:
        dying = Death(death, content_type, body)
        async with raw_server(dying) as server, raw_server(backup) as second:
            one = Listener(tmp_path, wire, (server.url, "m"), second.url, draft=moment.endswith("draft"))
            if not text:
                dying.caught_up.set()
            await one.listen(lambda shown: dying.caught_up.set() if shown == text else None)
            await until(lambda: not server.open and not second.open, LIMIT_S)
            assert (len(server.requests), len(second.requests)) == (1, moment != "after text")
        return one

    statuses = ("stream_cut", "network") if (death, moment) == ("reset", "before text") else ("stream_cut",)
    check(asyncio.run(run()), moment, text, statuses)


# -- a process -------------------------------------------------------------------------------------------------------


@contextmanager
def lab_process(fault: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, tuple[str, str]]]]:
    """A lab that can be killed, and the base URLs and models of its wires."""
    command = [sys.executable, "-m", "tests.streams.lab_child", fault]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_provider_is_killed(moment: str, tmp_path: Path) -> None:
    """SIGKILL while all six wires stream from one process: each ends as specified, none as a success."""
    reached: set[str] = set()

    async def run(process: subprocess.Popen[str], urls: dict[str, tuple[str, str]]) -> dict[str, Listener]:
        async with raw_server(backup) as second:
            listeners = {
                wire: Listener(tmp_path, wire, urls[name], second.url, draft=moment.endswith("draft"))
                for wire, name in WIRES.items()
            }

            def seen(wire: str, shown: str) -> None:
                reached.update({wire} if shown else ())
                if len(reached) == len(WIRES):
                    process.kill()

            turns = [one.listen(lambda shown, wire=wire: seen(wire, shown)) for wire, one in listeners.items()]
            deaths = [asyncio.to_thread(_kill_when_all_asked, process)] if moment == "before text" else []
            await asyncio.gather(*turns, *deaths)
        return listeners

    with lab_process("stall:0" if moment == "before text" else f"stall:{WORDS}") as (process, urls):
        for wire, one in asyncio.run(run(process, urls)).items():
            assert process.wait(LIMIT_S) == -9, wire
            statuses = ("stream_cut", "network") if moment == "before text" else ("stream_cut",)
            check(one, moment, None, statuses)


def _kill_when_all_asked(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for _ in WIRES:
        process.stdout.readline()
    process.kill()
