"""Sinks as somebody hands them over: the wrong kind, an async function, an event sink on a stream made for a draft."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet
from zc_notebooks.events import Event, Final, Redraft, Text
from zc_notebooks.sinks import CallableSink
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk

HELLO = (chat_chunk("Hel"), chat_chunk("lo"))
GOOD = Pieces(pieces=(*HELLO, chat_chunk(finish="stop"), CHAT_DONE))
CUT = Pieces(pieces=(*HELLO, "disconnect"))
BACKUP = chat_answer("from the backup")


class Drafts:
    """A draft sink that counts what it is given."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def draft(self, text: str, *, final: bool) -> None:
        self.shown.append(f"{text}{'.' if final else ''}")


@pytest.mark.parametrize("with_draft", [False, True])
def test_what_reached_an_event_sink_is_immutable_on_a_draft_stream_too(with_draft: bool, tmp_path: Path) -> None:
    """Behaviour 125: an event sink makes the turn append-only, whatever the stream was made for."""
    fleet = Fleet({"a": [CUT], "b": [BACKUP]}, tmp_path)
    heard: list[Event] = []
    stream = fleet.chain.stream("x", draft=True)
    with pytest.raises(zc.StreamInterruptedAfterOutput) as caught:
        asyncio.run(stream.into(CallableSink(heard.append), Drafts() if with_draft else None))
    assert (caught.value.partial_text, fleet.called) == ("Hello", ["a"])
    assert not any(isinstance(event, Redraft) for event in heard)
    assert "".join(event.text for event in heard if isinstance(event, Text)) == "Hello"


def test_a_stream_under_way_becomes_append_only(tmp_path: Path) -> None:
    """The same when events were taken from it before."""
    fleet = Fleet({"a": [CUT], "b": [BACKUP]}, tmp_path)
    heard: list[Event] = []

    async def run() -> None:
        stream = fleet.chain.stream("x", draft=True)
        heard.append(await anext(stream))
        await stream.into(CallableSink(heard.append))

    with pytest.raises(zc.StreamInterruptedAfterOutput):
        asyncio.run(run())
    assert [type(event) for event in heard] == [Text, Text]
    assert fleet.called == ["a"]


def test_an_async_function_is_awaited(tmp_path: Path) -> None:
    """``CallableSink`` takes both kinds of function; its exception ends the turn either way."""
    fleet = Fleet({"a": [GOOD, GOOD]}, tmp_path)
    heard: list[Event] = []

    async def take(event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event)

    async def broken(_: Event) -> None:
        raise OSError("full")

    asyncio.run(fleet.chain.tell("x", CallableSink(take)))
    assert isinstance(heard[-1], Final)
    with pytest.raises(OSError, match="full"):
        asyncio.run(fleet.chain.tell("x", CallableSink(broken)))
    assert fleet.transport.open == 0


@pytest.mark.parametrize(
    ("sinks", "words"),
    [
        ({"events": print}, r"print is no event sink: it has no method event\(\); .*CallableSink"),
        ({"events": Drafts()}, r"Drafts is no event sink: it has no method event\(\)$"),
        ({"draft": CallableSink(print)}, r"CallableSink is no draft sink: it has no method draft\(\)$"),
    ],
)
def test_what_is_no_sink_is_refused_before_anybody_is_asked(sinks: dict[str, Any], words: str, tmp_path: Path) -> None:
    """One sentence, and no request was made."""
    fleet = Fleet({"a": [GOOD]}, tmp_path)
    with pytest.raises(TypeError, match=words):
        asyncio.run(fleet.chain.tell("x", **sinks))
    assert (fleet.called, fleet.rows) == ([], [])
