"""Where a stream's time limits begin and how the idle limit ends one that has its signal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, profile
from tests.raw_server import Request, chunk, chunked, raw_server
from tests.streams.test_limits import (
    BACKUP,
    COHERE_START,
    MESSAGE_START,
    PING,
    bare,
    fleet_on,
    gemini,
    line,
    listen,
    named,
)
from zc_notebooks.config.load import parse_config
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.sinks import CallableSink
from zc_notebooks.testing import CHAT_DONE, ManualClock, chat_chunk
from zc_notebooks.transport import AsyncTransport

ENDINGS: dict[str, tuple[bytes, bytes]] = {
    "openai_chat": (chat_chunk("Hi"), chat_chunk(finish="stop")),
    "anthropic_messages": (
        MESSAGE_START + named("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"}),
        named("message_delta", delta={"stop_reason": "end_turn"}),
    ),
    "gemini": (gemini(text="Hi"), bare(candidates=[{"finishReason": "STOP"}])),
    "ollama": (
        line(model="m", message={"content": "Hi"}, done=False),
        line(model="m", message={"content": ""}, done=True, done_reason="stop"),
    ),
    "cohere_v2": (
        COHERE_START + named("content-delta", delta={"message": {"content": {"text": "Hi"}}}),
        named("message-end", delta={"finish_reason": "COMPLETE"}),
    ),
}


@pytest.mark.parametrize("wire", ENDINGS)
def test_comments_after_the_signal_do_not_hold_an_answer_back(wire: str, tmp_path: Path) -> None:
    """Spec 8.2: nothing has to follow the signal, so the idle limit ends the stream as complete, comments or not."""
    beat = b"\n" if wire == "ollama" else PING
    text, end = ENDINGS[wire]
    fleet = fleet_on(wire, tmp_path, text, end, *(part for _ in range(30) for part in (20.0, beat)))
    assert listen(fleet) == ("Hi", None)
    (row,) = fleet.rows
    assert (row.status, row.evidence.split(" > ")[-1]) == ("ok", "idle")
    assert 60 <= row.secs <= 80


def test_who_goes_on_after_the_signal_is_heard_out(tmp_path: Path) -> None:
    """A server may say its finish word with every piece: each event begins the idle limit anew."""
    words = [chat_chunk(f"{place} ", finish="stop") for place in range(5)]
    parts = [part for word in words for part in (word, 20.0, PING, 20.0, PING)]
    fleet = fleet_on("openai_chat", tmp_path, *parts, CHAT_DONE)
    assert listen(fleet) == ("0 1 2 3 4 ", None)
    assert fleet.rows[0].evidence == "finish_reason=stop > [DONE]"


def test_an_empty_answer_behind_comments_is_recovered(tmp_path: Path) -> None:
    """It is judged while there is time to ask somebody else."""
    fleet = fleet_on(
        "openai_chat", tmp_path, chat_chunk(finish="stop"), *(part for _ in range(30) for part in (20.0, PING))
    )
    text, error = listen(fleet)
    assert (text, error, fleet.rows[0].status) == (BACKUP, None, "empty")


def test_the_wait_for_a_free_connection_is_not_the_providers_time(tmp_path: Path) -> None:
    """Spec 2.3: the first token limit begins with the request; who waited for its turn has all of it."""
    clock, begun, go_on = ManualClock(), asyncio.Event(), asyncio.Event()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(chat_chunk("Hi"), end=False))
        if request.number == 1:
            await writer.drain()
            begun.set()
            await go_on.wait()
        writer.write(chunk(chat_chunk(finish="stop") + CHAT_DONE) + b"0\r\n\r\n")

    async def run() -> None:
        async with raw_server(answer) as server:
            toml = profile("a").replace("https://a.test/v1", server.url) + '[[chain]]\nprovider = "custom.a"\n'
            config, transport = parse_config(toml, base_dir=tmp_path), AsyncTransport(max_connections=1)
            marks, ledger = Marks(None, clock=clock), tmp_path / "ledger"
            async with zc.Chain(
                config, transport=transport, clock=clock, marks=marks, ledger=ledger, environ=KEYS
            ) as chain:
                first = asyncio.ensure_future(chain.tell("x", CallableSink(lambda _: None)))
                await begun.wait()
                second = asyncio.ensure_future(chain.tell("x", CallableSink(lambda _: None)))
                for _ in range(20):
                    await asyncio.sleep(0)
                clock.advance(31.0)  # above the first token limit, below the idle limit
                go_on.set()
                assert [(await turn).text for turn in (first, second)] == ["Hi", "Hi"]
                await transport.aclose()
            assert len(server.requests) == 2

    asyncio.run(run())
