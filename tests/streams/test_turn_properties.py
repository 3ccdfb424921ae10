"""Properties of a turn over random streams, cuts, errors, listeners, stops and permits, on a scripted transport."""

from __future__ import annotations

import asyncio
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.fleet import Fleet, chain_toml
from zc_notebooks.events import Event, Final, Notice, Redraft, Text
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk, chat_error, chat_usage

Sinks = Literal["event", "draft", "both", "none"]

ERROR = b'data: {"error":{"message":"boom","code":500}}\n\n'
WORDS = ("alpha ", "beta", " ", "<think>", "</think>", "gamma")
RECOVERED = "recovered text"

pieces = st.one_of(
    st.sampled_from(WORDS).map(chat_chunk),
    st.sampled_from(
        [
            chat_chunk(""),
            chat_chunk(role="assistant"),
            chat_chunk(reasoning_content="hm"),
            chat_usage(7, 2),
            b": comment\n\n",
            20.0,
        ]
    ),
)
endings = st.sampled_from(
    [
        (chat_chunk(finish="stop"), CHAT_DONE),
        (chat_chunk(finish="stop"),),
        (CHAT_DONE,),
        (),
        ("disconnect",),
        (ERROR,),
        (chat_chunk(finish="stop"), ERROR),
        (chat_chunk(finish="error"),),
        (b"data: {broken\n\n",),
        (61.0, b": late\n\n"),
        (chat_chunk(finish="stop"), 61.0, b": late\n\n"),
    ]
)
refusals = st.sampled_from(
    [chat_error(500), chat_error(401), chat_error(402), chat_error(429, "", {"retry-after": "5"})]
)
streams = st.one_of(
    st.builds(lambda body, end: Pieces(pieces=(*body, *end)), st.lists(pieces, max_size=8), endings),
    refusals,
)
wholes = st.one_of(st.just(chat_answer(RECOVERED)), st.just(chat_answer("")), refusals)


@dataclass
class Asked:
    """One turn to be played."""

    sinks: Sinks
    stop_at: int | None
    """The event at which somebody presses Stop."""
    how: Literal["stop", "task", "raise"] = "stop"
    drawn: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


turns = st.builds(
    Asked,
    sinks=st.sampled_from(["event", "draft", "both", "none"]),
    stop_at=st.one_of(st.none(), st.integers(0, 9)),
    how=st.sampled_from(["stop", "task", "raise"]),
)


class SinkBroke(Exception):
    """What a broken event sink raises."""


class Player:
    """Both kinds of sink; presses Stop, cancels the task or breaks at its event."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.stream: Any = None
        self.task: asyncio.Task[Any] | None = None

    async def event(self, event: Event) -> None:
        self.asked.events.append(event)
        self._act(len(self.asked.events) - 1)

    async def draft(self, text: str, *, final: bool) -> None:
        self.asked.drawn.append(text)
        if self.asked.sinks == "draft":
            self._act(len(self.asked.drawn) - 1)
        del final

    def _act(self, place: int) -> None:
        if place != self.asked.stop_at:
            return
        if self.asked.how == "raise":
            raise SinkBroke
        if self.asked.how == "task" and self.task is not None:
            self.task.cancel()
        else:
            self.stream.cancel()


async def play(fleet: Fleet, asked: Asked) -> zc.Completion | BaseException:
    """One turn into its sinks; what came out of it, raised or returned. Nothing runs on afterwards."""
    player = Player(asked)
    before = len(asyncio.all_tasks())
    events = player if asked.sinks in ("event", "both") else None
    draft = player if asked.sinks in ("draft", "both") else None

    async def tell() -> zc.Completion:
        if asked.sinks == "none":
            return await fleet.chain.tell("x")
        player.stream = fleet.chain.stream("x", draft=events is None)
        return await player.stream.into(events, draft)

    player.task = asyncio.ensure_future(tell())
    try:
        return await player.task
    except (zc.ZcError, SinkBroke, asyncio.CancelledError) as error:
        return error
    finally:
        assert len(asyncio.all_tasks()) == before


OUTCOMES = (
    zc.Completion,
    zc.AllCandidatesFailed,
    zc.StreamInterruptedAfterOutput,
    zc.StreamCancelledAfterOutput,
    zc.TurnCancelled,
    SinkBroke,
    asyncio.CancelledError,
)


@settings(deadline=None)
@given(
    stream=streams,
    again=st.lists(wholes, min_size=1, max_size=3),
    backup=st.one_of(st.none(), wholes),
    retries=st.integers(0, 2),
    asked=turns,
)
def test_a_turn(stream: Any, again: list[Any], backup: Any, retries: int, asked: Asked) -> None:
    """Shown once; at most one recovery; requests = attempts; one outcome; nothing stays open."""
    script = {"a": [stream, *again]} | ({} if backup is None else {"b": [backup]})
    toml = chain_toml(*script, extra=f"[reliability]\nprovider_retries = {retries}\n")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        fleet = Fleet(script, Path(folder), toml=toml)
        result = asyncio.run(play(fleet, asked))
        fleet.chain.close()
    rows = [row for row in fleet.rows if row.kind == "attempt"]
    # requests made = attempt rows, in one call, without gaps; every response was closed
    assert len(fleet.transport.requests) == len(rows)
    assert [row.ordinal for row in fleet.rows] == list(range(len(fleet.rows)))
    assert len({row.call_id for row in fleet.rows}) == 1
    assert fleet.transport.open == 0
    # one stream at most, the first attempt; one recovery at most
    modes = [row.mode for row in rows]
    assert modes.count("stream") == (asked.sinks != "none")
    assert set(modes[1:]) <= {"chat" if asked.sinks == "none" else "recovery"}
    assert sum(isinstance(event, Notice) for event in asked.events) <= 1
    check_outcome(asked, result, rows)
    if asked.sinks in ("event", "both"):
        check_immutable(asked, result, modes)


def check_outcome(asked: Asked, result: Any, rows: list[Any]) -> None:
    """Exactly one of spec 8.4, with the row it leaves."""
    assert isinstance(result, OUTCOMES)
    accepted = [row for row in rows if row.accepted]
    if isinstance(result, zc.Completion):
        assert accepted == [rows[-1]]
        assert result.text.strip()
        return
    if asked.stop_at is None or asked.how != "raise":
        assert not isinstance(result, SinkBroke)
    if asked.stop_at is None or asked.how != "task":
        assert not isinstance(result, asyncio.CancelledError)
    stopped = isinstance(result, (zc.TurnCancelled, zc.StreamCancelledAfterOutput))
    assert stopped <= (asked.stop_at is not None and asked.how == "stop")
    if not isinstance(result, (SinkBroke, asyncio.CancelledError)) and not stopped:
        assert not accepted


def check_immutable(asked: Asked, result: Any, modes: list[str]) -> None:
    """Text at an event sink is the answer's, or the partial's, letter by letter; after text nobody else is asked."""
    texts = [event.text for event in asked.events if isinstance(event, Text)]
    shown = "".join(texts)
    assert not any(isinstance(event, Redraft) for event in asked.events)
    if isinstance(result, zc.Completion):
        assert shown == result.text
        assert [type(event) for event in asked.events].count(Final) == 1
        assert isinstance(asked.events[-1], Final)
    if isinstance(result, (zc.StreamInterruptedAfterOutput, zc.StreamCancelledAfterOutput)):
        assert result.partial_text == shown
    if "recovery" in modes:
        notice = next(place for place, event in enumerate(asked.events) if isinstance(event, Notice))
        assert not any(isinstance(event, Text) for event in asked.events[:notice])
