"""Five hundred streams at once in one process over real loopback HTTP, cut at random: each ends as specified."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import struct
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

import zc_notebooks as zc
from tests.fleet import KEYS
from tests.open_files import FOLDER, open_files
from tests.raw_server import RawServer, Request, chunk, raw_server, until, whole
from zc_notebooks.clock import SystemClock
from zc_notebooks.config.load import parse_config
from zc_notebooks.events import Event, Final, Redraft, Text
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import CHAT_DONE, chat_answer, chat_chunk

CROWD = 500
SEED = 20261201
PEAK_PER_STREAM = 96 * 1024
"""Bytes both ends of one stream may take at the worst moment of the crowd, all its text and rows included."""
IDLE_S = 0.5
LIMIT_S = 60.0

End = Literal["none", "clean", "close", "reset", "stall", "error", "refused"]
ENDS: tuple[End, ...] = ("none", "clean", "close", "reset", "stall", "error", "refused")
STATUS = {
    "none": "ok",
    "clean": "stream_cut",
    "close": "stream_cut",
    "reset": "stream_cut",
    "stall": "timeout",
    "error": "stream_error",
    "refused": "http_503",
}
BACKUP = "from the backup"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ERROR = b'data: {"error":{"message":"boom","code":500}}\n\n'


@dataclass
class Case:
    """One stream of the crowd: how many words come, how it ends, who listens."""

    number: int
    words: int
    end: End
    draft: bool
    heard: list[Event] = field(default_factory=list)
    error: BaseException | None = None
    attempts: tuple[AttemptRow, ...] = ()
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    """The listener has all words: a reset throws away what was not read."""

    @property
    def text(self) -> str:
        """What the server says before it ends."""
        return "".join(f"{self.number}.{place} " for place in range(self.words))

    @property
    def outcome(self) -> str:
        """What must come of it (spec 8.4)."""
        if self.end == "none" and self.words:
            return "complete"
        if self.end in ("none", "refused") or not self.words or self.draft:
            return "recovered"
        return "interrupted"

    @property
    def status(self) -> str:
        """Status of the stream's row."""
        return "empty" if self.end == "none" and not self.words else STATUS[self.end]


def cases() -> list[Case]:
    chance = random.Random(SEED)  # noqa: S311 (chance, not secrecy)
    return [
        Case(
            number=number,
            words=chance.choice((0, 0, 1, 7, 30)),
            end=ENDS[number % len(ENDS)],
            draft=chance.random() < 0.3,
        )
        for number in range(CROWD)
    ]


def test_the_crowd_has_every_kind() -> None:
    """Each ending comes before and after text, before an event sink and a draft."""
    kinds = Counter((case.end, bool(case.words), case.draft) for case in cases())
    assert len(kinds) == len(ENDS) * 4
    assert min(kinds.values()) >= 2


# -- the server ------------------------------------------------------------------------------------------------------


class Crowd:
    """Answers each request as its case says; the backup answers in full."""

    def __init__(self, members: list[Case]) -> None:
        self.members = members
        self.stalled: list[asyncio.StreamWriter] = []

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        body = msgspec.json.decode(request.body)
        case = self.members[int(body["messages"][-1]["content"])]
        if not body.get("stream"):
            writer.write(whole(200, chat_answer(BACKUP).body, "Content-Type: application/json"))
            return
        if case.end == "refused":
            writer.write(whole(503, ERROR.removeprefix(b"data: ").strip(), "Content-Type: application/json"))
            return
        writer.write(HEAD + chunk(chat_chunk(role="assistant")))
        for place in range(case.words):
            writer.write(chunk(chat_chunk(f"{case.number}.{place} ")))
            if place % 5 == 0 and case.end != "stall":  # whose idle limit is short: a busy loop must not strike it
                await asyncio.sleep(0)
        await getattr(self, case.end)(case, writer)

    async def none(self, _: Case, writer: asyncio.StreamWriter) -> None:
        writer.write(chunk(chat_chunk(finish="stop") + CHAT_DONE) + b"0\r\n\r\n")

    async def clean(self, _: Case, writer: asyncio.StreamWriter) -> None:
        writer.write(b"0\r\n\r\n")

    async def error(self, _: Case, writer: asyncio.StreamWriter) -> None:
        writer.write(chunk(ERROR) + b"0\r\n\r\n")

    async def close(self, _: Case, writer: asyncio.StreamWriter) -> None:
        writer.write(b"ff\r\ndata: half")
        await writer.drain()
        writer.close()

    async def reset(self, case: Case, writer: asyncio.StreamWriter) -> None:
        await writer.drain()
        await case.caught_up.wait()
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def stall(self, _: Case, writer: asyncio.StreamWriter) -> None:
        self.stalled.append(writer)  # and nothing more: the client's limit is what ends it


# -- the listeners ---------------------------------------------------------------------------------------------------


def chain_of(folder: Path, server: RawServer, name: str, *, idle_s: float = 60, first_token_s: float = 60) -> zc.Chain:
    """A primary and a backup on the same server; nobody else's time limits."""
    toml = ""
    for who in "ab":
        toml += f'[providers.custom.{who}]\nuri = "{server.url}"\nmodel = "m"\napi_key_env = "KEY_{who.upper()}"\n'
        toml += f"idle_timeout_s = {idle_s}\nfirst_token_timeout_s = {first_token_s}\nread_timeout_s = 60\n"
    toml += '[[chain]]\nprovider = "custom.a"\n[[chain]]\nprovider = "custom.b"\n[reliability]\nprovider_retries = 0\n'
    config = parse_config(toml, base_dir=folder)
    return zc.Chain(config, ledger=folder / name, marks=Marks(None, clock=SystemClock()), environ=KEYS)


async def listen(chain: zc.Chain, case: Case) -> None:
    words = 0
    if not case.words:
        case.caught_up.set()
    try:
        async with chain.stream(str(case.number), draft=case.draft) as events:
            async for event in events:
                case.heard.append(event)
                words += isinstance(event, Text)
                if words == case.words:
                    case.caught_up.set()
                if isinstance(event, Final):
                    case.attempts = event.completion.attempts
    except zc.CallError as error:
        case.error = error
        case.attempts = error.rows


def shown(case: Case) -> str:
    """What stands before the listener at the end: appended, or rewritten by a draft."""
    text = ""
    for event in case.heard:
        text = "" if isinstance(event, Redraft) else text + (event.text if isinstance(event, Text) else "")
    return text


def check(case: Case) -> None:
    """The outcome of spec 8.4 to the letter."""
    final = case.heard[-1] if case.heard else None
    assert case.attempts[0].status == case.status, (case, case.attempts)
    if case.outcome == "interrupted":
        assert isinstance(case.error, zc.StreamInterruptedAfterOutput)
        assert case.error.partial_text == shown(case) == case.text
        assert len(case.attempts) == 1
        return
    assert case.error is None
    assert isinstance(final, Final)
    wanted = case.text if case.outcome == "complete" else BACKUP
    assert shown(case) == final.completion.text == wanted
    ways = [(row.provider_ref[-1], row.mode) for row in case.attempts if row.kind == "attempt"]
    assert ways == [("a", "stream")] + ([("b", "recovery")] if case.outcome == "recovered" else [])
    redrafts = sum(isinstance(event, Redraft) for event in case.heard)
    assert redrafts == (case.outcome == "recovered" and case.draft and case.words > 0 and case.end != "refused")


# -- what is left ----------------------------------------------------------------------------------------------------


def open_sockets() -> set[str]:
    """Sockets of this process by their numbers: an earlier test's may still go, and none of this one's may stay."""
    return {link for link in open_files().values() if link.startswith("socket:")}


@pytest.fixture
def traced() -> Iterator[Any]:
    """Memory as Python allocates it."""
    gc.collect()
    tracemalloc.start()
    yield tracemalloc.get_traced_memory
    tracemalloc.stop()


@pytest.mark.skipif(not FOLDER.is_dir(), reason="counts sockets in /proc")
def test_a_crowd_with_random_cuts(tmp_path: Path, traced: Any) -> None:
    """137, 118, 125, 126: 500 at once end as specified; requests = attempts; sockets, tasks and memory come back."""
    crowd = Crowd(cases())

    async def run() -> None:
        sockets, tasks = open_sockets(), len(asyncio.all_tasks())
        async with raw_server(crowd.answer) as server:
            async with (
                chain_of(tmp_path, server, "patient") as patient,
                chain_of(tmp_path, server, "strict", idle_s=IDLE_S) as strict,
                chain_of(tmp_path, server, "hasty", first_token_s=IDLE_S) as hasty,
            ):
                stalling = {True: strict, False: hasty}  # who has something to say gets all the time to begin
                chains = [stalling[case.words > 0] if case.end == "stall" else patient for case in crowd.members]
                await asyncio.gather(*map(listen, chains, crowd.members))
                await until(lambda: all(writer.is_closing() for writer in crowd.stalled))  # before the client closes
                ledgers = [chain.ledger.attempts() for chain in (patient, strict, hasty)]
                written = sum(ledger.filter(kind="attempt").height for ledger in ledgers)
            attempts = sum(row.kind == "attempt" for case in crowd.members for row in case.attempts)
            assert len(server.requests) == attempts == written
            assert server.most_open > CROWD * 0.9
            await until(lambda: server.open == 0, LIMIT_S)
        assert open_sockets() <= sockets
        assert len(asyncio.all_tasks()) == tasks

    asyncio.run(run())
    _, peak = traced()
    for case in crowd.members:
        check(case)
    assert {case.outcome for case in crowd.members} == {"complete", "recovered", "interrupted"}
    assert peak / CROWD < PEAK_PER_STREAM
