"""A streamed turn on a scripted transport and a manual clock. Numbers are the behaviours of the specification."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet, chain_toml, profile
from zc_notebooks.events import Event, Final, Notice, Reasoning, Redraft, Text, ToolCall
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk, chat_error, chat_usage, response

HELLO = (chat_chunk("Hel"), chat_chunk("lo"))
STOP = chat_chunk(finish="stop")
HM = chat_chunk(reasoning_content="hm")
CUT_OFF = "StreamInterruptedAfterOutput"
OTHER = "from the backup"
GOOD = Pieces(pieces=(*HELLO, STOP, chat_usage(), CHAT_DONE))
BACKUP = chat_answer("from the backup")
ERROR = b'data: {"error":{"message":"boom","code":500}}\n\n'


def pieces(*parts: bytes | float | str) -> Pieces:
    """A stream."""
    return Pieces(pieces=parts)


class Heard:
    """What came out of one turn."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.error: BaseException | None = None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Text))

    @property
    def reasoning(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Reasoning))

    @property
    def done(self) -> zc.Completion | None:
        return next((event.completion for event in self.events if isinstance(event, Final)), None)


def listen(fleet: Fleet, *, cancel_when: Callable[[Event], bool] | None = None, **options: Any) -> Heard:
    """Runs one turn to its end; ``cancel_when`` presses Stop while that event is handled."""
    heard = Heard()

    async def run() -> None:
        stream = fleet.chain.stream("say hello", **options)
        async with stream as events:
            async for event in events:
                heard.events.append(event)
                if cancel_when is not None and cancel_when(event):
                    stream.cancel()

    try:
        asyncio.run(run())
    except (zc.ZcError, RuntimeError) as error:
        heard.error = error
    return heard


def fleet_of(folder: Path, a: Sequence[Any], b: Sequence[Any] | None = (BACKUP,), **reliability: int) -> Fleet:
    """Candidate ``a``, and ``b`` unless it is ``None``."""
    script = {"a": a} if b is None else {"a": a, "b": b}
    extra = "[reliability]\n" + "".join(f"{key} = {value}\n" for key, value in reliability.items())
    return Fleet(script, folder, toml=chain_toml(*script, extra=extra))


def test_a_stream_that_completes(tmp_path: Path) -> None:
    """Events in order, the last one is Final with the completion; one row with its evidence."""
    fleet = fleet_of(tmp_path, [GOOD])
    heard = listen(fleet)
    assert heard.text == "Hello"
    assert heard.done is not None
    assert (heard.done.text, heard.done.finish_reason) == ("Hello", "stop")
    (row,) = fleet.rows
    assert (row.mode, row.status, row.evidence) == ("stream", "ok", "finish_reason=stop > [DONE]")
    assert (row.input_tokens, row.output_tokens, row.accepted) == (9, 3, True)
    assert row.first_token_s is not None
    assert fleet.transport.open == 0


# -- sink x ending x permits ------------------------------------------------------------------------------------------

TABLE: list[tuple[str, bool, Any, int, str, int, int]] = [
    # behaviour, draft, stream of a, retries, result, calls to a after its stream, calls to b
    ("125 cut after output", False, pieces(*HELLO, "disconnect"), 2, CUT_OFF, 0, 0),
    ("126 cut after a draft", True, pieces(*HELLO, "disconnect"), 2, OTHER, 0, 1),
    ("137 cut before output", False, pieces(chat_chunk(role="assistant"), "disconnect"), 2, OTHER, 0, 1),
    ("118 end of file before the signal", False, pieces(chat_chunk(role="assistant")), 0, OTHER, 0, 1),
    ("118 end of file after output", False, pieces(*HELLO), 0, CUT_OFF, 0, 0),
    ("121 an error event first", False, pieces(ERROR), 2, OTHER, 0, 1),
    ("121 an error after output", False, pieces(*HELLO, ERROR, CHAT_DONE), 2, CUT_OFF, 0, 0),
    ("121 an error after the signal", False, pieces(*HELLO, STOP, ERROR), 2, CUT_OFF, 0, 0),
    ("119 no [DONE] after the signal", False, pieces(*HELLO, STOP), 2, "Hello", 0, 0),
    ("119 [DONE] without a finish reason", False, pieces(*HELLO, CHAT_DONE), 2, "Hello", 0, 0),
    ("139 empty, retries", False, pieces(STOP, CHAT_DONE), 2, "again", 1, 0),
    ("140 empty, no retries", False, pieces(STOP, CHAT_DONE), 0, OTHER, 0, 1),
    (
        "127 reasoning, then an error",
        False,
        pieces(HM, ERROR),
        2,
        CUT_OFF,
        0,
        0,
    ),
    (
        "128 reasoning, then empty",
        False,
        pieces(HM, STOP, CHAT_DONE),
        0,
        OTHER,
        0,
        1,
    ),
    (
        "127 reasoning on a draft, then an error",
        True,
        pieces(HM, ERROR),
        2,
        OTHER,
        0,
        1,
    ),
    (
        "130 nothing left after stripping",
        False,
        pieces(chat_chunk("<think>x"), "disconnect"),
        2,
        CUT_OFF,
        0,
        0,
    ),
    ("130 an empty delta, then an error", False, pieces(chat_chunk(""), ERROR), 2, OTHER, 0, 1),
    ("122 finish reason error", False, pieces(chat_chunk(finish="error")), 0, OTHER, 0, 1),
    ("a refusal of the stream", False, chat_error(402, "no money"), 2, OTHER, 0, 1),
    ("a refused key", False, chat_error(401, "who?"), 2, OTHER, 0, 1),
    ("a malformed event", False, pieces(b"data: {broken\n\n"), 0, OTHER, 0, 1),
    ("html", False, pieces(b"<html>login</html>"), 0, OTHER, 0, 1),
    ("89 no first token in time", False, pieces(b": wait\n\n", 31.0, b": wait\n\n"), 0, OTHER, 0, 1),
    ("idle after output", False, pieces(*HELLO, 61.0, b": late\n\n"), 0, CUT_OFF, 0, 0),
    ("idle after the signal is complete", False, pieces(*HELLO, STOP, 61.0, b": late\n\n"), 0, "Hello", 0, 0),
]


@pytest.mark.parametrize(
    ("name", "draft", "stream", "retries", "result", "calls_a", "calls_b"), TABLE, ids=[r[0] for r in TABLE]
)
def test_endings(
    name: str, draft: bool, stream: Any, retries: int, result: str, calls_a: int, calls_b: int, tmp_path: Path
) -> None:
    """Who is asked again after a stream, and what comes out."""
    fleet = fleet_of(tmp_path, [stream, chat_answer("again")], provider_retries=retries)
    heard = listen(fleet, draft=draft)
    asked = fleet.called
    assert (asked.count("a") - 1, asked.count("b")) == (calls_a, calls_b), name
    if result.startswith("Stream"):
        assert type(heard.error).__name__ == result
        assert heard.error.partial_text == heard.text  # type: ignore[union-attr]
    else:
        assert heard.error is None
        assert heard.done is not None
        assert heard.done.text == result
    assert sum(row.kind == "attempt" for row in fleet.rows) == len(asked)
    assert len({row.call_id for row in fleet.rows}) == 1
    assert [row.ordinal for row in fleet.rows] == list(range(len(fleet.rows)))
    assert fleet.transport.open == 0


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (pieces(b": wait\n\n", 31.0, b": wait\n\n"), ("timeout", "network")),
        (pieces(*HELLO, 61.0, b": late\n\n"), ("timeout", "network")),
        (pieces(*HELLO, "disconnect"), ("stream_cut", "stream_cut")),
        (pieces(*HELLO), ("stream_cut", "stream_cut")),
        (pieces(*HELLO, ERROR), ("stream_error", "server_error")),
    ],
    ids=["first token", "idle", "disconnect", "end of file", "error"],
)
def test_a_time_limit_is_the_network_and_an_end_is_a_cut(
    stream: Pieces, expected: tuple[str, str], tmp_path: Path
) -> None:
    """Spec 4.2, first match: any time limit is ``network``; a body that ended before its signal is ``stream_cut``."""
    fleet = fleet_of(tmp_path, [stream])
    listen(fleet)
    assert (fleet.rows[0].status, fleet.rows[0].reason) == expected


def test_89_comments_after_the_first_event_keep_a_stream_alive(tmp_path: Path) -> None:
    """Behaviour 89: comments every 20 s do not strike the idle limit."""
    waiting = [part for _ in range(6) for part in (20.0, b": alive\n\n")]
    fleet = fleet_of(tmp_path, [pieces(HELLO[0], *waiting, HELLO[1], STOP, CHAT_DONE)])
    assert listen(fleet).text == "Hello"


def test_126_the_recovered_text_replaces_the_draft(tmp_path: Path) -> None:
    """Behaviour 126: Redraft, then the full text."""
    heard = listen(fleet_of(tmp_path, [pieces(*HELLO, "disconnect")]), draft=True)
    kinds = [type(event) for event in heard.events]
    place = kinds.index(Redraft)
    assert heard.events[place + 1] == Text(text="from the backup")
    assert kinds[-1] is Final


def test_128_reasoning_is_shown_once_and_is_not_the_answer(tmp_path: Path) -> None:
    """Behaviours 76 and 128."""
    stream = pieces(HM, STOP, CHAT_DONE)
    heard = listen(fleet_of(tmp_path, [stream], provider_retries=0))
    assert (heard.reasoning, heard.text) == ("hm", "from the backup")


def test_think_spans_are_reasoning(tmp_path: Path) -> None:
    """Visible once, never part of the answer, however the tags are cut."""
    parts = [chat_chunk(text) for text in ("<th", "ink>hm", "</thi", "nk>Hel", "lo")]
    heard = listen(fleet_of(tmp_path, [pieces(*parts, STOP, CHAT_DONE)]))
    assert (heard.reasoning, heard.text) == ("hm", "Hello")
    assert heard.done is not None
    assert heard.done.text == "Hello"


def test_an_event_without_its_empty_line_is_shown(tmp_path: Path) -> None:
    """What only the end of the body completes is forwarded too."""
    last = chat_chunk("lo", finish="stop").rstrip(b"\n")
    heard = listen(fleet_of(tmp_path, [pieces(HELLO[0], last)]))
    assert heard.done is not None
    assert (heard.text, heard.done.text) == ("Hello", "Hello")


def test_141_142_a_single_entry(tmp_path: Path) -> None:
    """Behaviours 141 and 142: permits merge, exactly one chat call."""
    for stream, retries in [(pieces(STOP), 0), (pieces(STOP), 2), (pieces(chat_chunk(role="a"), "disconnect"), 2)]:
        fleet = fleet_of(tmp_path, [stream, chat_error(500)], b=None, provider_retries=retries)
        heard = listen(fleet)
        assert isinstance(heard.error, zc.AllCandidatesFailed)
        assert fleet.called == ["a", "a"]


@pytest.mark.parametrize(
    ("refusal", "calls", "slept"),
    [
        (chat_error(429, "slow", {"retry-after": "5"}), 2, [5.0]),
        (chat_error(429, "slow", {"retry-after": "120"}), 1, []),
        (chat_error(401, "no"), 1, []),
    ],
    ids=["5 s", "120 s", "401"],
)
def test_145_a_sole_entry_after_a_limit(refusal: Any, calls: int, slept: list[float], tmp_path: Path) -> None:
    """Behaviour 145."""
    fleet = fleet_of(tmp_path, [refusal, chat_answer("later")], b=None)
    listen(fleet)
    assert (len(fleet.called), fleet.clock.slept) == (calls, slept)


def test_97_116_a_streams_limit_benches_its_entry(tmp_path: Path) -> None:
    """Behaviours 97 and 116: the next call, streaming or not, skips it, with a row."""
    fleet = fleet_of(tmp_path, [chat_error(429, "slow", {"retry-after": "90"})], [BACKUP, GOOD, BACKUP])
    listen(fleet)
    assert listen(fleet).text == "Hello"
    assert fleet.called == ["a", "b", "b"]
    assert [row.status for row in fleet.rows[-2:]] == ["skipped_cooldown", "ok"]


def test_115_a_candidate_without_streaming_is_not_streamed(tmp_path: Path) -> None:
    """Behaviours 115 and 138: it keeps its place in a walk; a chain without streaming is walked."""
    text = profile("a", streaming="false") + profile("b", streaming="false")
    text += "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in "ab")
    fleet = Fleet({"a": [chat_answer("plain")], "b": [BACKUP]}, tmp_path, toml=text)
    heard = listen(fleet)
    assert (heard.text, [row.mode for row in fleet.rows]) == ("plain", ["chat"])


def test_146_a_stream_never_polled_sends_nothing(tmp_path: Path) -> None:
    """Behaviour 146: opened is not asked."""
    fleet = fleet_of(tmp_path, [GOOD])

    async def run() -> None:
        async with fleet.chain.stream("x"):
            pass

    asyncio.run(run())
    assert (fleet.called, fleet.rows) == ([], [])


# -- cancel -----------------------------------------------------------------------------------------------------------


def test_133_stop_after_text(tmp_path: Path) -> None:
    """Behaviour 133: the partial is kept exactly as forwarded, a row is written, nothing is retried."""
    fleet = fleet_of(tmp_path, [GOOD])
    heard = listen(fleet, cancel_when=lambda event: isinstance(event, Text))
    assert isinstance(heard.error, zc.StreamCancelledAfterOutput)
    assert heard.error.partial_text == heard.text == "Hel"
    assert (fleet.called, [row.status for row in fleet.rows]) == (["a"], ["cancelled"])
    assert fleet.transport.open == 0


def test_132_stop_before_text(tmp_path: Path) -> None:
    """Behaviour 132: TurnCancelled, the usage on a row that is not accepted."""
    fleet = fleet_of(tmp_path, [pieces(chat_usage(7, 1), *HELLO, STOP)])
    heard = listen(fleet, cancel_when=lambda event: isinstance(event, zc.events.Usage))
    assert isinstance(heard.error, zc.TurnCancelled)
    (row,) = fleet.rows
    assert (row.status, row.accepted, row.input_tokens) == ("cancelled", False, 7)


@pytest.mark.parametrize("recovered", [False, True])
def test_stop_between_tool_calls(tmp_path: Path, recovered: bool) -> None:
    """Spec 8.3: cancel is looked at before each event, so whoever stops at one call is not given the next one."""
    names = ("look", "leap")
    calls = [{"index": i, "id": f"c{i}", "function": {"name": name, "arguments": "{}"}} for i, name in enumerate(names)]
    whole = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    streamed = pieces(chat_chunk(tool_calls=calls), chat_chunk(finish="tool_calls"), CHAT_DONE)
    fleet = fleet_of(tmp_path, [pieces(CHAT_DONE), response(200, whole)] if recovered else [streamed], None)
    heard = listen(fleet, cancel_when=lambda event: isinstance(event, ToolCall))
    assert [event.name for event in heard.events if isinstance(event, ToolCall)] == ["look"]
    assert isinstance(heard.error, zc.TurnCancelled)
    assert [row.status for row in fleet.rows] == (["stream_cut", "ok"] if recovered else ["cancelled"])


@pytest.mark.parametrize(
    ("at", "told", "error"),
    [(Reasoning, [Reasoning], zc.TurnCancelled), (Text, [Reasoning, Text], zc.StreamCancelledAfterOutput)],
)
def test_stop_at_an_answer_that_came_whole(at: type[Event], told: list[Any], error: Any, tmp_path: Path) -> None:
    """Spec 8.3: the same where nobody streams; whoever stops at the reasoning is not given the text."""
    message = {"content": "Hi", "reasoning_content": "hm"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    whole = response(200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
    fleet = Fleet({"a": [whole]}, tmp_path, toml=chain_toml("a", streaming="false"))
    heard = listen(fleet, cancel_when=lambda event: isinstance(event, at))
    assert [type(event) for event in heard.events] == told
    assert type(heard.error) is error
    assert getattr(heard.error, "partial_text", "") == heard.text


def test_what_stop_held_back_was_not_forwarded(tmp_path: Path) -> None:
    """Reasoning and text may come in one piece: Stop between them leaves the text out of what was forwarded."""
    fleet = fleet_of(tmp_path, [pieces(chat_chunk("<think>hm</think>Hi"), STOP, CHAT_DONE)])
    heard = listen(fleet, cancel_when=lambda event: isinstance(event, Reasoning))
    assert isinstance(heard.error, zc.TurnCancelled)
    assert heard.text == ""


def test_134_a_cancel_before_recovery(tmp_path: Path) -> None:
    """Behaviour 134: no recovery call."""
    fleet = fleet_of(tmp_path, [pieces(STOP, CHAT_DONE)])
    heard = listen(fleet, cancel_when=lambda event: isinstance(event, Notice))
    assert isinstance(heard.error, zc.TurnCancelled)
    assert fleet.called == ["a"]


def test_133_a_cancelled_task(tmp_path: Path) -> None:
    """Behaviour 133: CancelledError comes out; the row is there and the socket closed."""
    fleet = fleet_of(tmp_path, [GOOD])

    async def run() -> None:
        async def consume() -> None:
            async with fleet.chain.stream("x") as events:
                async for event in events:
                    if isinstance(event, Text):
                        await asyncio.Event().wait()

        task = asyncio.ensure_future(consume())
        for _ in range(30):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ([row.status for row in fleet.rows], fleet.transport.open) == (["cancelled"], 0)


def test_136_a_dropped_iterator(tmp_path: Path) -> None:
    """Behaviour 136: leaving the block closes the socket and writes the row."""
    fleet = fleet_of(tmp_path, [GOOD])

    async def run() -> None:
        async with fleet.chain.stream("x") as events:
            async for _ in events:
                break

    asyncio.run(run())
    assert ([row.status for row in fleet.rows], fleet.transport.open) == (["cancelled"], 0)


@pytest.mark.parametrize("left", ["the block", "aclose"])
def test_136_a_closed_stream_stays_closed(left: str, tmp_path: Path) -> None:
    """Behaviour 136: whoever left a stream and takes it up again gets no event, and nobody is asked."""
    fleet = fleet_of(tmp_path, [GOOD])

    async def run() -> list[Event]:
        stream = fleet.chain.stream("x")
        if left == "aclose":
            await stream.aclose()
        else:
            async with stream:
                pass
        return [event async for event in stream]

    assert (asyncio.run(run()), fleet.called) == ([], [])


def test_synchronous_streams(tmp_path: Path) -> None:
    """The same events; a loop left early closes the socket."""
    fleet = fleet_of(tmp_path, [GOOD])
    stream = fleet.chain.stream_sync("x")
    assert "".join(event.text for event in stream if isinstance(event, Text)) == "Hello"
    assert stream.completion is not None
    with fleet.chain.stream_sync("x") as events:
        for _ in events:
            break
    assert ([row.status for row in fleet.rows], fleet.transport.open) == (["ok", "cancelled"], 0)


# -- sinks ------------------------------------------------------------------------------------------------------------


class Broken:
    """A sink of either kind that raises."""

    async def event(self, event: Event) -> None:
        raise RuntimeError(f"no room for {event}")

    async def draft(self, text: str, *, final: bool) -> None:
        raise RuntimeError(f"no room for {text}, {final}")


class Drafts:
    """Keeps every draft."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, bool]] = []

    async def draft(self, text: str, *, final: bool) -> None:
        self.shown.append((text, final))


def test_135_an_event_sink_that_raises_ends_the_turn(tmp_path: Path) -> None:
    """Behaviour 135: with its own exception, and no replay."""
    fleet = fleet_of(tmp_path, [GOOD])
    with pytest.raises(RuntimeError, match="no room"):
        asyncio.run(fleet.chain.tell("x", events=Broken()))
    assert (fleet.called, fleet.transport.open) == (["a"], 0)


def test_135_a_draft_sink_that_raises_is_dropped(tmp_path: Path) -> None:
    """Behaviour 135: the turn goes on, with a warning."""
    fleet = fleet_of(tmp_path, [GOOD])
    with pytest.warns(UserWarning, match="dropped"):
        assert asyncio.run(fleet.chain.tell("x", draft=Broken())).text == "Hello"


def test_a_draft_sink_gets_the_whole_text_each_time(tmp_path: Path) -> None:
    """Rewritten in place; a broken stream's draft is replaced by the recovered text."""
    drafts = Drafts()
    asyncio.run(fleet_of(tmp_path, [pieces(*HELLO, "disconnect")]).chain.tell("x", draft=drafts))
    assert drafts.shown == [
        ("Hel", False),
        ("Hello", False),
        ("", False),
        ("from the backup", False),
        ("from the backup", True),
    ]


def test_the_request_asks_for_a_stream_with_usage(tmp_path: Path) -> None:
    """What is sent."""
    fleet = fleet_of(tmp_path, [GOOD])
    listen(fleet)
    body = json.loads(fleet.transport.requests[0].body)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_the_usage_of_a_cut_stream_is_unknown(tmp_path: Path) -> None:
    """Spec 12.1: what an Anthropic stream counts at its start says nothing about the whole; a cancel keeps it (132)."""
    start = b'data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
    text = profile("a", wire_api='"anthropic_messages"') + '[[chain]]\nprovider = "custom.a"\n'
    fleet = Fleet({"a": [pieces(start, "disconnect"), chat_error(500)]}, tmp_path, toml=text)
    listen(fleet)
    row = fleet.rows[0]
    assert (row.status, row.usage_state, row.input_tokens, row.cost_usd) == ("stream_cut", "unknown", None, None)


def test_117_a_fallbacks_stream_is_on_record_when_it_ends_well(tmp_path: Path) -> None:
    """Behaviour 117: a record when Final was reached; none, and no answer, when the stream failed after output."""
    script = {"a": [GOOD], "b": [GOOD, pieces(*HELLO, ERROR)]}
    fleet = Fleet(script, tmp_path, environ={"KEY_B": "bbbbbbbbbbbbbbbb"})
    done = listen(fleet).done
    assert done is not None
    assert done.fallback is not None
    assert (done.fallback.cause, done.fallback.served.provider_ref) == ("skipped_no_key", "custom.b")
    second = listen(fleet)
    assert (second.done, type(second.error)) == (None, zc.StreamInterruptedAfterOutput)


def test_147_one_recovery_and_no_second(tmp_path: Path) -> None:
    """Behaviour 147: a recovery that failed ends the call; all its rows share the stream's call id."""
    fleet = fleet_of(tmp_path, [pieces(STOP, CHAT_DONE), chat_error(500)], [chat_error(500)], provider_retries=1)
    heard = listen(fleet)
    assert isinstance(heard.error, zc.AllCandidatesFailed)
    assert [row.mode for row in fleet.rows] == ["stream", "recovery", "recovery", "recovery"]
    assert len({row.call_id for row in fleet.rows}) == 1
    assert sum(isinstance(event, Notice) for event in heard.events) == 1


def test_129_after_tools_ran_on_the_providers_side_nobody_is_asked(tmp_path: Path) -> None:
    """Behaviour 129: an empty end or an error, with an event sink or a draft, makes no further call."""
    block = b'data: {"type":"content_block_start","index":0,"content_block":%s}\n\n'
    head = b'data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
    used = block % b'{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}'
    stop = b'data: {"type":"content_block_stop","index":0}\n\n'
    end = b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n'
    text = profile("a", wire_api='"anthropic_messages"') + profile("b")
    text += "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in "ab")
    for draft in (False, True):
        for last, error in ((end, zc.PreExecutedToolsWithoutAnswer), ("disconnect", zc.StreamInterruptedAfterOutput)):
            fleet = Fleet({"a": [pieces(head, used, stop, last)], "b": [BACKUP]}, tmp_path, toml=text)
            heard = listen(fleet, draft=draft)
            assert (type(heard.error), fleet.called) == (error, ["a"])


def test_the_final_event_carries_the_money_of_every_attempt(tmp_path: Path) -> None:
    """12.3, 175: what a rejected stream used is paid on its own route; the turn's cost is the sum of its rows."""
    empty = pieces(STOP, chat_usage(), CHAT_DONE)
    toml = chain_toml("a", "b", pricing='{ "*.input" = 2.0, "*.output" = 8.0 }')
    fleet = Fleet({"a": [empty, empty, empty], "b": [GOOD, BACKUP]}, tmp_path, toml=toml)
    done = listen(fleet).done
    assert done is not None
    assert done.served.provider_ref == "custom.b"
    rejected, accepted = done.usage_by_provider
    assert [(item.provider_ref, item.attempts, item.accepted) for item in done.usage_by_provider] == [
        ("custom.a", len(fleet.called) - 1, 0),
        ("custom.b", 1, 1),
    ]
    assert rejected.cost_usd == accepted.cost_usd * rejected.attempts
    assert done.cost_usd == rejected.cost_usd + accepted.cost_usd
    assert done.cost_usd == sum(Decimal(str(row.cost_usd)) for row in fleet.rows)
    assert not done.at_least
