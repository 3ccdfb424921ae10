"""The time limits and the size of a stream, on every wire: what ends it, who is asked then, and the words for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet, chain_toml, profile
from zc_notebooks.errors import TransportFailure
from zc_notebooks.events import Event, Text
from zc_notebooks.records import HttpRequest
from zc_notebooks.reliability.reliable import drive, drive_sync
from zc_notebooks.reliability.steps import Ended, Outcome, OutOfTime, Try
from zc_notebooks.stream_guard.completion import MAX_ANSWER
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk, chat_error

BACKUP = "from the backup"
PING = b": ping\n\n"


def named(kind: str, **fields: Any) -> bytes:
    """An event of a wire whose events have names."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def bare(**fields: Any) -> bytes:
    """An event without a name."""
    return f"data: {json.dumps(fields)}\n\n".encode()


def line(**fields: Any) -> bytes:
    """A line of Ollama's."""
    return json.dumps(fields).encode() + b"\n"


def block(index: int, **fields: Any) -> bytes:
    return named("content_block_start", index=index, content_block=fields)


def item(**fields: Any) -> bytes:
    return named("response.output_item.added", output_index=0, item=fields)


def gemini(**part: Any) -> bytes:
    return bare(candidates=[{"content": {"parts": [part]}}], modelVersion="m")


def call_piece(**function: Any) -> bytes:
    return chat_chunk(tool_calls=[{"index": 0, "id": "c", "function": function}])


ROLE = chat_chunk("", role="assistant")
MESSAGE_START = named("message_start", message={"id": "x", "model": "m", "usage": {"input_tokens": 3}})
CREATED = named("response.created", response={"id": "x", "model": "m", "status": "in_progress"})
COHERE_START = named("message-start", id="x", delta={"message": {"role": "assistant"}})

SAYS_NOTHING: dict[str, tuple[str, bytes]] = {
    "a role": ("openai_chat", ROLE),
    "an empty delta": ("openai_chat", chat_chunk("")),
    "a blank": ("openai_chat", chat_chunk("\n")),
    "usage alone": ("openai_chat", bare(choices=[], usage={"prompt_tokens": 3, "completion_tokens": 0})),
    "message_start": ("anthropic_messages", MESSAGE_START),
    "a ping": ("anthropic_messages", MESSAGE_START + named("ping")),
    "an empty text block": ("anthropic_messages", MESSAGE_START + block(0, type="text", text="")),
    "response.created": ("openai_responses", CREATED + named("response.in_progress", response={"id": "x"})),
    "an empty message": ("openai_responses", CREATED + item(type="message", id="i", content=[])),
    "an empty part": ("gemini", gemini(text="")),
    "an empty line": ("ollama", line(model="m", message={"role": "assistant", "content": ""}, done=False)),
    "message-start": ("cohere_v2", COHERE_START),
    "an empty content": (
        "cohere_v2",
        COHERE_START + named("content-start", index=0, delta={"message": {"content": {"type": "text", "text": ""}}}),
    ),
}

SAYS_SOMETHING: dict[str, tuple[str, bytes]] = {
    "a word": ("openai_chat", chat_chunk("Hi")),
    "reasoning": ("openai_chat", chat_chunk(reasoning_content="hm")),
    "hidden reasoning": ("openai_chat", chat_chunk(reasoning_details=[{"type": "reasoning.encrypted", "data": "x"}])),
    "a tool call begins": ("openai_chat", call_piece(name="f", arguments="")),
    "a thinking block": ("anthropic_messages", MESSAGE_START + block(0, type="thinking", thinking="")),
    "a tool block": ("anthropic_messages", MESSAGE_START + block(0, type="tool_use", id="t", name="f", input={})),
    "a reasoning item": ("openai_responses", CREATED + item(type="reasoning", id="r", summary=[])),
    "a function call": ("openai_responses", CREATED + item(type="function_call", id="f", name="f", arguments="")),
    "a part": ("gemini", gemini(text="Hi")),
    "a line": ("ollama", line(model="m", message={"role": "assistant", "content": "Hi"}, done=False)),
    "a plan": ("cohere_v2", COHERE_START + named("tool-plan-delta", delta={"message": {"tool_plan": "I will"}})),
    "a call of Cohere's": (
        "cohere_v2",
        COHERE_START
        + named("tool-call-start", index=0, delta={"message": {"tool_calls": {"id": "t", "function": {"name": "f"}}}}),
    ),
}


def fleet_on(wire: str, folder: Path, *parts: bytes | float | str, **options: Any) -> Fleet:
    """A candidate that speaks ``wire``, and a backup."""
    toml = profile("a", wire_api=f'"{wire}"') + profile("b")
    toml += "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in "ab")
    script = {"a": [Pieces(pieces=parts)], "b": [chat_answer(BACKUP)]}
    return Fleet(script, folder, toml=toml, **options)


def listen(
    fleet: Fleet, *, each: Callable[[Event], object] = lambda _: None, **options: Any
) -> tuple[str, BaseException | None]:
    """The text of one turn and how it failed."""
    texts: list[str] = []

    async def run() -> None:
        async with fleet.chain.stream("hi", **options) as events:
            async for event in events:
                texts.append(event.text if isinstance(event, Text) else "")
                each(event)

    try:
        asyncio.run(run())
    except zc.CallError as error:
        return "".join(texts), error
    return "".join(texts), None


@pytest.mark.parametrize("beat", ["comments", "itself"])
@pytest.mark.parametrize(("wire", "opening"), SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_89_who_says_nothing_has_not_begun(wire: str, opening: bytes, beat: str, tmp_path: Path) -> None:
    """89: an event that shows nothing does not end the wait for the first token; the backup is asked."""
    again = (b"\n" if wire == "ollama" else PING) if beat == "comments" else opening
    waiting = [part for _ in range(40) for part in (1.0, again)]
    fleet = fleet_on(wire, tmp_path, opening, *waiting)
    text, error = listen(fleet)
    assert (text.strip(), error) == (BACKUP, None)
    assert fleet.called == ["a", "b"]
    first = fleet.rows[0]
    assert (first.status, first.reason, round(first.secs)) == ("timeout", "network", 30)


@pytest.mark.parametrize(("wire", "opening"), SAYS_SOMETHING.values(), ids=SAYS_SOMETHING)
def test_89_who_says_something_has_begun(wire: str, opening: bytes, tmp_path: Path) -> None:
    """89: after a word, a thought or a piece of a call every byte keeps the stream open; the call's time ends it."""
    alive = b"\n" if wire == "ollama" else PING
    fleet = fleet_on(wire, tmp_path, opening, *[part for _ in range(20) for part in (20.0, alive)])
    _, error = listen(fleet, timeout_s=300)
    assert isinstance(error, zc.StreamInterruptedAfterOutput | zc.CallTimeout)
    assert fleet.called == ["a"]
    assert round(fleet.rows[0].secs) in (300, 320)


def endless(count: int = 40) -> tuple[bytes, ...]:
    """Words without a pause."""
    return tuple(chat_chunk(f"w{number} ") for number in range(count))


@pytest.mark.parametrize("way", ["async", "sync", "one chunk"])
def test_88_the_time_of_the_call_ends_a_stream_that_never_pauses(way: str, tmp_path: Path) -> None:
    """88: whoever spends the time, and whether or not the next bytes are there already."""
    parts = (b"".join(endless()),) if way == "one chunk" else endless()
    fleet = fleet_on("openai_chat", tmp_path, *parts)

    def slow(_: object) -> None:
        fleet.clock.advance(1.0)

    if way == "sync":
        stream = fleet.chain.stream_sync("hi", timeout_s=3)
        with pytest.raises(zc.StreamInterruptedAfterOutput, match="time limit of 3 s for the whole call"):
            list(map(slow, stream))
    else:
        text, error = listen(fleet, each=slow, timeout_s=3)
        assert isinstance(error, zc.StreamInterruptedAfterOutput)
        assert error.partial_text == text == "w0 w1 w2 "
    assert (fleet.called, fleet.statuses, fleet.transport.open) == (["a"], [("a", "timeout")], 0)


def test_88_a_whole_answer_in_hand_is_delivered(tmp_path: Path) -> None:
    """A consumer that is slow with what has arrived whole loses nothing of it."""
    chunk = b"".join((chat_chunk("one "), chat_chunk("two"), chat_chunk(finish="stop"), CHAT_DONE))
    fleet = fleet_on("openai_chat", tmp_path, chunk)
    assert listen(fleet, each=lambda _: fleet.clock.advance(9.0), timeout_s=5) == ("one two", None)


STRUCK = [
    ("first token", (ROLE, 31.0, PING), "first token limit of 30 s reached"),
    ("idle", (chat_chunk("Hi"), 61.0, PING), "idle limit of 60 s reached"),
    ("total", (chat_chunk("Hi"), 299.0, PING, 2.0, PING), "time limit of 300 s for the whole call reached"),
    ("total, nothing said", (ROLE, 301.0, PING), "time limit of 300 s for the whole call reached"),
]


@pytest.mark.parametrize(("name", "parts", "words"), STRUCK, ids=[row[0] for row in STRUCK])
def test_the_sentence_names_the_limit_that_struck(
    name: str, parts: tuple[bytes | float, ...], words: str, tmp_path: Path
) -> None:
    """And its seconds; it does not blame the provider for our own limit."""
    toml = chain_toml("a", first_token_timeout_s=30 if name != "total, nothing said" else 400, idle_timeout_s=60)
    if name == "total":
        toml = chain_toml("a", idle_timeout_s=400)
    fleet = Fleet({"a": [Pieces(pieces=parts), chat_error(500)]}, tmp_path, toml=toml)
    _, error = listen(fleet)
    assert isinstance(error, zc.CallError)
    told = error.attempts[0].text
    assert told.startswith(words)
    assert "truncated" not in str(error)
    assert (fleet.rows[0].status, fleet.rows[0].reason) == ("timeout", "network")


def test_a_whole_answer_that_took_the_calls_time_says_so(tmp_path: Path) -> None:
    """88: the sentence is the call's limit, not what the transport had left of it."""
    fleet: Fleet

    def late(_: HttpRequest) -> Any:
        fleet.clock.advance(6.0)
        raise TransportFailure("a.test: no connection within 4.99983 s", kind="timeout", sent=False)

    fleet = Fleet({"a": [late]}, tmp_path)
    with pytest.raises(zc.CallTimeout, match="time limit of 5 s for the whole call reached before there was a conn"):
        fleet.chain.ask_sync("hi", timeout_s=5)


# -- no attempt after the deadline ------------------------------------------------------------------------------------


class Spent:
    """A call whose time is over; anything else it is asked is a fault."""

    timeout_s = 5.0

    def remaining_s(self) -> float:
        return -0.001


def one_try(outcomes: list[Outcome | None]) -> Any:
    """A walk that makes one attempt."""

    def steps() -> Any:
        outcomes.append((yield Try(variant=None, attempt=0)))  # type: ignore[arg-type]
        return Ended(kind="timeout")

    return steps()


def test_88_no_attempt_begins_after_the_deadline() -> None:
    """Spec 5.5: the time may end between the walk's look and the request; nothing is sent and no row is made."""
    outcomes: list[Outcome | None] = []
    nobody: Any = None
    board: Any = Spent()
    asyncio.run(drive(one_try(outcomes), nobody, board, nobody))
    drive_sync(one_try(outcomes), nobody, board, nobody, nobody)
    assert outcomes == [OutOfTime(), OutOfTime()]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("cooling", [True, False])
def test_88_time_that_ended_before_the_first_attempt(streamed: bool, cooling: bool, tmp_path: Path) -> None:
    """Spec 5.5, 7.3: a stream is not opened, and the last resort is not tried."""
    fleet = Fleet(
        {"a": [chat_error(429, "slow"), chat_answer()], "b": [chat_answer()]},
        tmp_path,
        toml=chain_toml("b", "a"),
        environ={"KEY_A": KEYS["KEY_A"]},
    )
    if cooling:
        with pytest.raises(zc.AllCandidatesFailed):
            fleet.chain.ask_sync("hi", timeout_s=0.4)
        assert fleet.chain.marks()
    fleet.transport.requests.clear()
    fleet.chain.on_attempt = lambda _: fleet.clock.advance(3.0)
    ask = (
        (lambda: list(fleet.chain.stream_sync("hi", timeout_s=2)))
        if streamed
        else lambda: fleet.chain.ask_sync("hi", timeout_s=2)
    )
    with pytest.raises(zc.CallTimeout):
        ask()
    assert fleet.called == []


# -- size -------------------------------------------------------------------------------------------------------------

LONG = "x" * 2**20
ENDLESS: dict[str, tuple[str, tuple[bytes, ...]]] = {
    "text": ("openai_chat", (chat_chunk(LONG),)),
    "reasoning": ("openai_chat", (chat_chunk(reasoning_content=LONG),)),
    "a refusal": ("openai_chat", (chat_chunk(refusal=LONG),)),
    "arguments": ("openai_chat", (call_piece(name="f", arguments=LONG),)),
    "Anthropic text": (
        "anthropic_messages",
        (named("content_block_delta", index=0, delta={"type": "text_delta", "text": LONG}),),
    ),
    "Anthropic arguments": (
        "anthropic_messages",
        (
            block(1, type="tool_use", id="t", name="f", input={}),
            named("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": LONG}),
        ),
    ),
    "Responses text": ("openai_responses", (named("response.output_text.delta", delta=LONG),)),
    "Responses arguments": (
        "openai_responses",
        (named("response.function_call_arguments.delta", item_id="i", delta=LONG),),
    ),
    "Gemini": ("gemini", (gemini(text=LONG),)),
    "Ollama": ("ollama", (line(model="m", message={"content": LONG}, done=False),)),
    "Cohere": ("cohere_v2", (named("content-delta", delta={"message": {"content": {"text": LONG}}}),)),
    "Cohere arguments": (
        "cohere_v2",
        (named("tool-call-delta", index=0, delta={"message": {"tool_calls": {"function": {"arguments": LONG}}}}),),
    ),
}


@pytest.mark.parametrize(("wire", "parts"), ENDLESS.values(), ids=ENDLESS)
def test_a_stream_is_as_bounded_as_a_whole_answer(wire: str, parts: tuple[bytes, ...], tmp_path: Path) -> None:
    """Whatever grows, the stream ends as the provider's fault after 8 MiB, in words."""
    fleet = fleet_on(wire, tmp_path, *(parts * 20))
    text, error = listen(fleet)
    assert len(text) <= MAX_ANSWER + len(LONG)
    row = fleet.rows[0]
    assert (row.status, row.reason, row.evidence) == ("stream_error", "server_error", "answer too large")
    if error is None:
        assert text == BACKUP
    else:
        assert "the answer is larger than 8,388,608 characters" in str(error)


MANY = json.dumps({"a": "x" * (MAX_ANSWER // 2 + 2**18)})
WHOLE_CALLS: dict[str, tuple[bytes, ...]] = {
    "openai_chat": (call_piece(name="f", arguments=MANY), chat_chunk(finish="tool_calls"), CHAT_DONE),
    "anthropic_messages": (
        MESSAGE_START,
        block(0, type="tool_use", id="t", name="f", input={}),
        named("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": MANY}),
        named("content_block_stop", index=0),
        named("message_delta", delta={"stop_reason": "tool_use"}),
        named("message_stop"),
    ),
    "openai_responses": (
        CREATED,
        item(type="function_call", id="i", call_id="c", name="f", arguments=""),
        named("response.function_call_arguments.done", item_id="i", arguments=MANY),
        named("response.output_item.done", item={"type": "function_call", "id": "i", "name": "f", "arguments": MANY}),
        named("response.completed", response={"id": "x", "status": "completed", "output": []}),
    ),
    "gemini": (
        bare(
            candidates=[
                {
                    "content": {"parts": [{"functionCall": {"name": "f", "args": json.loads(MANY)}}]},
                    "finishReason": "STOP",
                }
            ]
        ),
    ),
    "ollama": (
        line(
            model="m",
            message={"tool_calls": [{"function": {"name": "f", "arguments": json.loads(MANY)}}]},
            done=True,
            done_reason="stop",
        ),
    ),
    "cohere_v2": (
        COHERE_START,
        named("tool-call-start", index=0, delta={"message": {"tool_calls": {"id": "t", "function": {"name": "f"}}}}),
        named("tool-call-delta", index=0, delta={"message": {"tool_calls": {"function": {"arguments": MANY}}}}),
        named("message-end", delta={"finish_reason": "TOOL_CALL"}),
    ),
}


@pytest.mark.parametrize("wire", WHOLE_CALLS)
def test_the_arguments_of_a_call_count_once(wire: str, tmp_path: Path) -> None:
    """A call of more than half of what an answer may have is one."""
    parts = WHOLE_CALLS[wire]
    fleet = fleet_on(wire, tmp_path, *parts)
    listen(fleet)
    assert [row.status for row in fleet.rows] == ["ok"]


def responses_call(number: int) -> bytes:
    call = {"type": "function_call", "id": f"i{number}", "name": "f", "arguments": json.dumps({"a": LONG})}
    return named("response.output_item.done", item=call)


@pytest.mark.parametrize(
    ("wire", "parts"),
    [
        ("gemini", [bare(candidates=[{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": LONG}}}]}}])]),
        ("ollama", [line(model="m", message={"tool_calls": [{"function": {"name": "f", "arguments": {"a": LONG}}}]})]),
        ("openai_responses", [responses_call(number) for number in range(10)]),
    ],
)
def test_calls_that_come_whole_are_bounded_too(wire: str, parts: list[bytes], tmp_path: Path) -> None:
    """A wire without pieces counts its calls as they come."""
    fleet = fleet_on(wire, tmp_path, *parts * 10)
    listen(fleet)
    assert fleet.rows[0].evidence == "answer too large"


class Enough:
    """A response whose transport gives up after a word."""

    status = 200
    headers: ClassVar[dict[str, str]] = {}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield chat_chunk("Hi")
        raise TransportFailure("a.test: the answer is larger than 268,435,456 bytes", kind="too_large", sent=True)


@asynccontextmanager
async def enough(*_: object, **__: object) -> AsyncIterator[Enough]:
    """Opens one."""
    yield Enough()


def test_a_transport_that_has_had_enough_is_the_providers_fault(tmp_path: Path) -> None:
    """Its own limit of raw bytes ends a stream of empty deltas the same way."""
    fleet = fleet_on("openai_chat", tmp_path)
    fleet.transport.stream = enough  # type: ignore[method-assign,assignment]
    _, error = listen(fleet)
    assert "268,435,456 bytes" in str(error)
    assert (fleet.rows[0].status, fleet.rows[0].reason) == ("stream_error", "server_error")


def test_many_small_pieces_are_joined_once(tmp_path: Path) -> None:
    """The forwarded text is what was forwarded, whenever somebody looks."""
    fleet = fleet_on("openai_chat", tmp_path, *endless(500), chat_chunk(finish="stop"))
    seen: list[str] = []

    async def run() -> None:
        stream = fleet.chain.stream("hi")
        async with stream as events:
            async for event in events:
                if isinstance(event, Text):
                    seen.append(event.text)
                    assert stream.partial_text == "".join(seen)

    asyncio.run(run())
    assert len(seen) == 500
