"""Properties of turns, one after the other on one chain: random streams, cuts, errors, listeners, stops and permits."""

from __future__ import annotations

import asyncio
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import zc_notebooks as zc
from tests.fleet import Fleet, chain_toml
from zc_notebooks.events import Event, Final, Notice, Reasoning, Redraft, Text
from zc_notebooks.testing import CHAT_DONE, Pieces, ScriptedTransport, chat_answer, chat_chunk, chat_error, chat_usage

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
GOOD = [
    (chat_chunk(finish="stop"), CHAT_DONE),
    (chat_chunk(finish="stop"),),
    (CHAT_DONE,),
    (chat_chunk(finish="stop"), "disconnect"),
    (chat_chunk(finish="stop"), 61.0, b": late\n\n"),
    (chat_chunk(finish="stop"), CHAT_DONE, ERROR),
]
"""Ends of a stream that is whole, whatever came before."""
BAD = [
    (),
    ("disconnect",),
    (ERROR,),
    (chat_chunk(finish="stop"), ERROR),
    (chat_chunk(finish="stop"), ERROR, CHAT_DONE),
    (chat_chunk(finish="error"),),
    (chat_chunk(finish="stop"), chat_chunk(finish="content_filter"), CHAT_DONE),
    (b"data: {broken\n\n",),
    (61.0, b": late\n\n"),
]
"""Ends of one that is not."""
endings = st.sampled_from(GOOD + BAD)
refusals = st.sampled_from(
    [chat_error(500), chat_error(401), chat_error(402), chat_error(429, "", {"retry-after": "5"})]
)
begun = st.builds(lambda body, end: Pieces(pieces=(*body, *end)), st.lists(pieces, max_size=8), endings)
streams = st.one_of(begun, begun, begun, refusals)
ANSWER = st.just(chat_answer(RECOVERED))
wholes = st.one_of(ANSWER, ANSWER, ANSWER, st.just(chat_answer("")), refusals)
scripts = st.builds(lambda stream, again: [stream, *again], streams, st.lists(wholes, min_size=1, max_size=3))
"""What one server says in a turn: to a stream, and then."""


@dataclass
class Asked:
    """One turn to be played."""

    sinks: Sinks
    stop_at: int | None
    """The event at which somebody presses Stop."""
    how: Literal["stop", "task", "raise"] = "stop"
    drawn: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    requests: int | None = None
    """How many had been made when it was stopped."""


turns = st.builds(
    Asked,
    sinks=st.sampled_from(["event", "draft", "event", "draft", "both", "none"]),
    stop_at=st.sampled_from([None, None, 0, 1, 2, 3, 5, 8]),
    how=st.sampled_from(["stop", "task", "raise"]),
)


class SinkBroke(Exception):
    """What a broken event sink raises."""


class Player:
    """Both kinds of sink; presses Stop, cancels the task or breaks at its event."""

    def __init__(self, asked: Asked, fleet: Fleet) -> None:
        self.asked = asked
        self.fleet = fleet
        self.stream: Any = None
        self.task: asyncio.Task[Any] | None = None

    async def event(self, event: Event) -> None:
        self.asked.events.append(event)
        self._act(len(self.asked.events) - 1)

    async def draft(self, text: str, *, final: bool) -> None:
        self.asked.drawn.append(text)
        if self.asked.sinks == "draft" and self.asked.how != "raise":  # that drops the sink, the turn goes on
            self._act(len(self.asked.drawn) - 1)
        del final

    def _act(self, place: int) -> None:
        if place != self.asked.stop_at:
            return
        self.asked.requests = len(self.fleet.transport.requests)
        if self.asked.how == "raise":
            raise SinkBroke
        if self.asked.how == "task" and self.task is not None:
            self.task.cancel()
        else:
            self.stream.cancel()


async def play(fleet: Fleet, asked: Asked) -> zc.Completion | BaseException:
    """One turn into its sinks; what came out of it, raised or returned. Nothing runs on afterwards."""
    player = Player(asked, fleet)
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


def is_whole(answer: Any) -> bool:
    """Whether a server's words are an answer, be it an empty one, by their end alone."""
    if not isinstance(answer, Pieces):
        return bool(answer.status == 200)
    ends = [end for end in GOOD + BAD if answer.pieces[len(answer.pieces) - len(end) :] == end]
    return max(ends, key=len) in GOOD


class Replayed(ScriptedTransport):
    """Each turn has its own script."""

    def play(self, script: dict[str, list[Any]]) -> None:
        self._script = {f"{name}.test": list(items) for name, items in script.items()}


class Turns(RuleBasedStateMachine):
    """Shown once; at most one recovery; requests = attempts; one outcome; what broke is no answer; nothing stays open.

    What a turn leaves behind (marks, probes, connections) is there at the next one.
    """

    @initialize(retries=st.integers(0, 2), backup=st.booleans())
    def open(self, retries: int, backup: bool) -> None:
        self.folder = tempfile.TemporaryDirectory()
        names = ("a", "b") if backup else ("a",)
        toml = chain_toml(*names, extra=f"[reliability]\nprovider_retries = {retries}\n")
        self.retries, self.names = retries, names
        self.fleet = Fleet(dict.fromkeys(names, ()), Path(self.folder.name), toml=toml, transport=Replayed)

    @rule(seconds=st.sampled_from([1.0, 11.0, 61.0, 3601.0]))
    def wait(self, seconds: float) -> None:
        self.fleet.clock.advance(seconds)

    @rule(scripts=st.tuples(scripts, scripts), asked=turns)
    def turn(self, scripts: tuple[list[Any], list[Any]], asked: Asked) -> None:
        fleet, script = self.fleet, dict(zip(self.names, scripts, strict=False))
        self.cooling = bool(fleet.chain.marks())
        fleet.rows.clear()
        fleet.transport.requests.clear()
        assert isinstance(fleet.transport, Replayed)
        fleet.transport.play(script)
        with warnings.catch_warnings(action="ignore"):
            result = asyncio.run(play(fleet, asked))
        rows = [row for row in fleet.rows if row.kind == "attempt"]
        # requests made = attempt rows, in one call, without gaps; every response was closed
        assert len(fleet.transport.requests) == len(rows)
        assert [row.ordinal for row in fleet.rows] == list(range(len(fleet.rows)))
        assert len({row.call_id for row in fleet.rows}) <= 1
        assert fleet.transport.open == 0
        # one stream at most, the first attempt; one recovery at most
        modes = [row.mode for row in rows]
        streamed = modes[:1] == ["stream"]
        assert streamed <= (asked.sinks != "none")
        assert set(modes[streamed:]) <= {"recovery" if streamed else "chat"}
        assert sum(isinstance(event, Notice) for event in asked.events) <= 1
        check_outcome(asked, result, rows)
        if streamed:
            name = rows[0].provider_ref.removeprefix("custom.")
            assert rows[0].status not in ("ok", "empty") or is_whole(script[name][0])
            self.check_permits(rows, stopped=asked.requests is not None)
        check_shown(asked, result, rows)

    def check_permits(self, rows: list[Any], *, stopped: bool) -> None:
        """Spec 8.5: who may be called again after a stream, and how often."""
        first, again = rows[0], [row for row in rows[1:] if row.provider_ref == rows[0].provider_ref]
        assert len(again) <= 1
        if first.status == "empty" and not stopped:
            assert len(rows) > 1
            assert (
                self.retries == 0 or again == [rows[1]] or first.provider_ref != "custom.a"
            )  # who is asked from the first on
        if len(self.names) > 1 and not self.cooling and (first.status != "empty" or not self.retries):
            assert again == []

    def teardown(self) -> None:
        if hasattr(self, "fleet"):
            self.fleet.chain.close()
            self.folder.cleanup()


TestTurns = Turns.TestCase
TestTurns.settings = settings(deadline=None, max_examples=200, stateful_step_count=8)


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


def check_shown(asked: Asked, result: Any, rows: list[Any]) -> None:
    """Text at an event sink is the answer's, or the partial's, letter by letter; after output nobody else is asked."""
    if asked.requests is not None:  # somebody stopped it: nobody was asked after that
        assert asked.requests == len(rows)
    assert all(text == RECOVERED or RECOVERED not in text for text in asked.drawn)
    if asked.sinks not in ("event", "both"):
        return
    output = [place for place, event in enumerate(asked.events) if isinstance(event, Text | Reasoning)]
    shown = "".join(event.text for event in asked.events if isinstance(event, Text))
    assert not any(isinstance(event, Redraft) for event in asked.events)
    if asked.requests is not None and asked.how != "task":  # which Python delivers at the next wait
        assert all(place <= (asked.stop_at or 0) for place in output)
    if isinstance(result, zc.Completion):
        assert shown == result.text
        assert [type(event) for event in asked.events].count(Final) == 1
        assert isinstance(asked.events[-1], Final)
    if isinstance(result, (zc.StreamInterruptedAfterOutput, zc.StreamCancelledAfterOutput)):
        assert result.partial_text == shown
    notice = next((place for place, event in enumerate(asked.events) if isinstance(event, Notice)), None)
    if notice is not None:
        before = [event for event in asked.events[:notice] if isinstance(event, Text | Reasoning)]
        assert not any(isinstance(event, Text) for event in before)
        assert rows[0].status == "empty" or not before
