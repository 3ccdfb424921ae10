"""Our client against fake providers that nobody here wrote: all six wires, streams, tools, faults.

``aimock`` encodes every answer itself, and its journal says how it read our requests.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.live.asking import PLACES, Asker, config_text
from tests.live.processes import aimock, started
from zc_notebooks.chain import Chain
from zc_notebooks.chat import ImagePart, Message, TextPart, ToolCall, text_message
from zc_notebooks.clock import SystemClock
from zc_notebooks.config.load import parse_config
from zc_notebooks.errors import AllCandidatesFailed, StreamInterruptedAfterOutput
from zc_notebooks.events import Reasoning, Redraft
from zc_notebooks.records import WireName
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import ManualClock

PLAIN = "Seventeen times twenty-three is 391. Ünïcode – 数 🎉 too."
THOUGHT = "Seventeen by twenty, and seventeen by three."
TEN = "One two three four five six seven eight nine ten."
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": PARAMETERS}},
    {"type": "function", "function": {"name": "get_time", "description": "Time", "parameters": {"type": "object"}}},
]
CALLS = [("get_weather", {"city": "Oslo", "days": 3}), ("get_time", {"zone": "Europe/Oslo"})]
PNG = b"\x89PNG\r\n\x1a\n of a test"

wires = pytest.mark.parametrize("wire", PLACES)
both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = aimock()
    if command is None:
        pytest.skip("aimock is not installed (npm package @copilotkit/aimock; ZC_AIMOCK names its folder)")
    fixtures = str(Path(__file__).with_name("aimock.json"))
    options = ["--port", "0", "--fixtures", fixtures, "--strict", "--validate-on-load"]
    with started([str(command), *options], r"listening on (http://\S+)") as found:
        yield found


@pytest.fixture
def asker(url: str, tmp_path: Path) -> Asker:
    return Asker(url, tmp_path)


@both
@wires
def test_a_plain_answer(asker: Asker, wire: WireName, *, streamed: bool) -> None:
    """Text, finish reason, usage and request id, in one attempt."""
    done = asker.ask("plain", wire, streamed=streamed)
    assert (done.text, done.finish_reason, len(done.attempts)) == (PLAIN, "stop", 1)
    assert done.usage is not None
    told = (0, 0) if wire == "ollama" else (21, 13)  # what it says itself; it has no tokens for Ollama
    assert (done.usage.input_tokens, done.usage.output_tokens) == told
    assert (done.request_id or "").startswith("req-")
    assert not streamed or (len(asker.pieces) > 1 and "".join(asker.pieces) == PLAIN)


@both
@wires
def test_tool_calls(asker: Asker, wire: WireName, *, streamed: bool) -> None:
    """Two calls in one turn, with their arguments as objects and an id each."""
    done = asker.ask("weather", wire, streamed=streamed, tools=TOOLS)
    assert [(call.name, dict(call.arguments or {})) for call in done.tool_calls] == CALLS
    assert (done.text, done.finish_reason) == ("", "tool_calls")
    ids = [call.id for call in done.tool_calls]
    assert len(set(ids)) == len(CALLS)
    assert wire == "ollama" or ids == ["call_weather", "call_time"]  # Ollama has none on the wire
    assert not streamed or [event for event in asker.shown if isinstance(event, ToolCall)] == list(done.tool_calls)


@both
@wires
def test_text_and_a_tool_call_in_one_turn(asker: Asker, wire: WireName, *, streamed: bool) -> None:
    """Neither hides the other."""
    done = asker.ask("say and call", wire, streamed=streamed, tools=TOOLS)
    assert (done.text, [call.name for call in done.tool_calls]) == ("Let me look.", ["get_weather"])


@pytest.mark.parametrize("second", PLACES)
@pytest.mark.parametrize("first", PLACES)
def test_a_conversation_with_tools_goes_on_at_another_wire(asker: Asker, first: WireName, second: WireName) -> None:
    """Calls made on one wire and their results are understood on every other (multi-turn tools survive a swap)."""
    asked = text_message("user", "weather")
    calling = asker.ask([asked], first, tools=TOOLS)
    results = [
        Message(role="tool", parts=(TextPart(text=text),), tool_call_id=call.id, name=call.name)
        for call, text in zip(calling.tool_calls, ("rain", "noon"), strict=True)
    ]
    turn = Message(role="assistant", tool_calls=calling.tool_calls, reasoning=calling.reasoning or None)
    done = asker.ask([asked, turn, *results], second, streamed=True, tools=TOOLS)
    assert done.text == "It rains in Oslo, at noon."


@wires
def test_a_conversation_is_read_as_it_was_meant(asker: Asker, url: str, wire: WireName) -> None:
    """Its journal has the same turns, calls, arguments, results and settings; ids wherever the wire has them."""
    calls = tuple(
        ToolCall(id=f"call_{place}", name=name, arguments=arguments, raw=json.dumps(arguments))
        for place, (name, arguments) in enumerate(CALLS)
    )
    picture = ImagePart(data=PNG)
    conversation = [
        text_message("system", "be short"),
        Message(role="user", parts=(TextPart(text="weather?"), picture)),
        Message(role="assistant", parts=(TextPart(text="looking"),), tool_calls=calls),
        Message(role="tool", parts=(TextPart(text="rain"),), tool_call_id="call_0", name="get_weather"),
        Message(role="tool", parts=(TextPart(text="noon"),), tool_call_id="call_1", name="get_time"),
    ]
    asker.ask(conversation, wire, tools=TOOLS, max_tokens=77)
    read = journal(url)
    assert [(turn["role"], said(turn)) for turn in read["messages"] if said(turn)] == [
        ("system", "be short"),
        ("user", "weather?"),
        ("assistant", "looking"),
        ("tool", "rain"),
        ("tool", "noon"),
    ]
    made = [call for turn in read["messages"] for call in turn.get("tool_calls", ())]
    assert [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in made] == CALLS
    assert [call["id"] for call in made] == ["call_0", "call_1"]
    if wire != "ollama":  # it drops the ids of results
        answered = [turn["tool_call_id"] for turn in read["messages"] if turn["role"] == "tool"]
        assert answered == ["call_0", "call_1"]
    assert [tool["function"]["name"] for tool in read["tools"]] == ["get_weather", "get_time"]
    assert read["tools"][0]["function"]["parameters"]["properties"]["city"] == {"type": "string"}
    assert 77 in (read.get("max_tokens"), read.get("max_completion_tokens"))


def journal(url: str) -> Any:
    """The last request as it was read."""
    entries = httpx.get(f"{url}/__aimock/journal", timeout=5).json()
    return entries[-1]["body"]


def said(turn: Any) -> str:
    """Text of a turn in the journal; Gemini's results stand in an object."""
    content = turn["content"] or ""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return json.loads(content)["result"] if content.startswith('{"result"') else content


@both
@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses", "anthropic_messages", "gemini"])
def test_reasoning_is_not_the_answer(asker: Asker, wire: WireName, *, streamed: bool) -> None:
    """It stands beside the text (Ollama and Cohere are given none)."""
    done = asker.ask("think", wire, streamed=streamed)
    assert (done.text, done.reasoning) == ("391", THOUGHT)
    assert not streamed or "".join(event.text for event in asker.shown if isinstance(event, Reasoning)) == THOUGHT


@both
@pytest.mark.parametrize("wire", ["openai_chat", "anthropic_messages", "gemini", "cohere_v2"])
def test_an_answer_at_its_limit(asker: Asker, wire: WireName, *, streamed: bool) -> None:
    """Its finish reason is ``length`` (Ollama is told ``stop``)."""
    done = asker.ask("long", wire, streamed=streamed)
    assert (done.text, done.finish_reason) == ("cut off by the lim", "length")


@both
def test_an_incomplete_response_without_a_reason_is_cut(asker: Asker, *, streamed: bool) -> None:
    """It leaves out why a response is incomplete, which OpenAI always says: no answer, and the text so far is kept."""
    with pytest.raises(AllCandidatesFailed if not streamed else StreamInterruptedAfterOutput) as failed:
        asker.ask("long", "openai_responses", streamed=streamed)
    assert failed.value.last_reason == "stream_cut"
    assert "".join(asker.pieces) == ("cut off by the lim" if streamed else "")


@both
@wires
@pytest.mark.parametrize(
    ("prompt", "status", "reason", "stated_s", "words"),
    [
        ("a limit", 429, "minute_limit", 7.0, "Rate limit reached for requests"),
        ("no money", 402, "balance", None, "Insufficient balance"),
        ("no luck", 500, "server_error", None, "The server had an error"),
        ("no key", 401, "auth", None, "Incorrect API key provided"),
        ("nothing fits this", 503, "capacity", None, "Strict mode: no fixture matched"),
    ],
)
def test_a_refusal(
    asker: Asker,
    wire: WireName,
    prompt: str,
    status: int,
    reason: str,
    stated_s: float | None,
    words: str,
    *,
    streamed: bool,
) -> None:
    """Each status is the same reason on every wire, with the stated wait and the server's own words.

    A stream alone with its limit is asked once more when the stated wait is over, as behaviour 145 has it.
    """
    asker.clock = clock = ManualClock()
    with pytest.raises(AllCandidatesFailed) as failed:
        asker.ask(prompt, wire, streamed=streamed)
    first = failed.value.attempts[0]
    assert first.verdict is not None
    assert (first.verdict.status, first.verdict.reason, first.verdict.stated_wait_s) == (status, reason, stated_s)
    assert first.verdict.text == words
    assert words in str(failed.value)
    assert len(clock.slept) == (streamed and stated_s is not None)
    assert all(slept >= (stated_s or 0) for slept in clock.slept)


@wires
def test_a_stream_that_breaks_off(asker: Asker, wire: WireName) -> None:
    """What was shown is kept, nothing is sent again, and the verdict is a cut."""
    with pytest.raises(StreamInterruptedAfterOutput) as failed:
        asker.ask("break off", wire, streamed=True)
    partial = failed.value.partial_text
    assert partial == "".join(asker.pieces)
    assert 0 < len(partial) < len(TEN)
    assert TEN.startswith(partial)
    assert [(row.status, row.reason) for row in failed.value.rows] == [("stream_cut", "stream_cut")]


@wires
def test_a_draft_that_breaks_off_is_written_anew(asker: Asker, wire: WireName) -> None:
    """A consumer that can rewrite gets the whole answer from a second request."""
    done = asker.ask("break off", wire, streamed=True, draft=True)
    redrafts = [place for place, event in enumerate(asker.shown) if isinstance(event, Redraft)]
    assert (done.text, len(redrafts), len(done.attempts)) == (TEN, 1, 2)


@wires
def test_a_stream_that_never_begins_is_asked_for_whole(asker: Asker, wire: WireName) -> None:
    """A connection closed before the first byte shows nothing, so the same candidate answers once more without one."""
    done = asker.ask("hang up", wire, streamed=True)
    assert done.text == "Nobody reads this."
    assert [(row.mode, row.status) for row in done.attempts] == [("stream", "network"), ("recovery", "ok")]


@both
@wires
@pytest.mark.parametrize(
    ("prompt", "reason"), [("garbled", "stream_cut"), ("disconnected", "network")], ids=["garbled", "disconnected"]
)
def test_chaos(asker: Asker, wire: WireName, prompt: str, reason: str, *, streamed: bool) -> None:
    """Broken JSON with a good status, and a connection that is closed, are transient failures."""
    with pytest.raises(AllCandidatesFailed) as failed:
        asker.ask(prompt, wire, streamed=streamed)
    assert failed.value.last_reason == reason
    assert {row.reason for row in failed.value.rows} == {reason}


@wires
def test_slow_chunks_are_shown_as_they_come(asker: Asker, wire: WireName) -> None:
    """The first piece is there long before the last one."""
    done = asker.ask("slowly", wire, streamed=True)
    row = done.attempts[0]
    assert len(asker.pieces) == 7
    assert row.first_token_s is not None
    assert row.secs is not None
    assert row.secs - row.first_token_s > 0.1


@both
def test_a_chain_over_all_six_wires(asker: Asker, *, streamed: bool) -> None:
    """Five fail, each in its own way and in its own words; the sixth answers, and nobody downstream can tell."""
    done = asker.ask("relay", streamed=streamed)
    assert (done.text, done.served.provider_ref) == ("served by the last one", PLACES["cohere_v2"].ref)
    failed = dict.fromkeys(row.reason for row in done.attempts if row.kind == "attempt" and not row.accepted)
    assert list(failed) == ["minute_limit", "capacity", "server_error", "balance"]


@both
@wires
@pytest.mark.parametrize("border", ["allowlist", "tiers", "hint"])
def test_borders_by_its_own_journal(url: str, tmp_path: Path, wire: WireName, border: str, *, streamed: bool) -> None:
    """Behaviour 157 and spec 2.7: every other wire is healthy and nearer, and the journal has requests to one alone."""
    place = PLACES[wire]
    text = config_text(url)
    for other, at in PLACES.items():
        tier = "trial" if other == wire else "metered"
        text = text.replace(f"[providers.{at.family}.at]\n", f'[providers.{at.family}.at]\ntier = "{tier}"\n')
    text = text.replace(
        f'model = "{place.model}"\nvision', f'model = "{place.model}"\nfallback = [{others(wire)}]\nvision', 1
    )
    text += f'[[model_routes]]\nhint = "one"\nmodel_provider = "{place.ref}"\nmodel = "x"\nallow_tiers = ["trial"]\n'
    config = parse_config(text, base_dir=tmp_path, source="zc.toml")
    clock = SystemClock()
    before = len(entries(url))
    limits = {"allowlist": {}, "tiers": {"allow_tiers": ["trial"]}, "hint": {"hint": "one"}}[border]
    with (
        Chain(config, clock=clock, ledger=tmp_path, marks=Marks(None, clock=clock), environ={}) as chain,
        zc.allowed([place.ref]) if border == "allowlist" else nullcontext(),
        pytest.raises(AllCandidatesFailed) as failed,
    ):
        for _ in chain.stream_sync("no luck", **limits) if streamed else [chain.ask_sync("no luck", **limits)]:
            pass
    asked = entries(url)[before:]
    attempts = [row for row in failed.value.rows if row.kind == "attempt"]
    assert len(asked) == len(attempts) > 0
    assert {row.provider_ref for row in attempts} == {place.ref}
    assert all(wire_path(wire) in entry["path"] for entry in asked)


WAYS = ("whole", "streamed", "draft", "thread", "sub-call")
SOME = st.lists(st.sampled_from(list(PLACES)), max_size=3, unique=True)


async def ask_as(chain: Chain, way: str, prompt: str, **options: Any) -> None:
    """One call, however it is made; a draft that breaks off is recovered by a walk."""
    if way == "thread":
        await asyncio.to_thread(chain.ask_sync, prompt, **options)
    elif way == "sub-call":
        with chain.turn("hi") as turn:
            await asyncio.to_thread(turn.carry(lambda: chain.ask_sync(prompt, **options)))
    elif way == "whole":
        await chain.ask(prompt, **options)
    else:
        async with chain.stream(prompt, draft=way == "draft", **options) as events:
            async for _ in events:
                pass


@settings(deadline=None, max_examples=60)
@given(
    fallbacks=st.fixed_dictionaries(dict.fromkeys(PLACES, SOME)),
    links=SOME,
    allowed=st.none() | st.frozensets(st.sampled_from(list(PLACES))),
    local=st.none() | st.frozensets(st.sampled_from(list(PLACES))),
    free=st.none() | st.frozensets(st.sampled_from(list(PLACES))),
    hint=st.none() | st.sampled_from(list(PLACES)),
    way=st.sampled_from(WAYS),
    prompt=st.sampled_from(["no luck", "plain", "break off", "hang up", "no money"]),
)
def test_borders_over_random_graphs_by_its_own_journal(
    url: str,
    fallbacks: dict[WireName, list[WireName]],
    links: list[WireName],
    allowed: frozenset[WireName] | None,
    local: frozenset[WireName] | None,
    free: frozenset[WireName] | None,
    hint: WireName | None,
    way: str,
    prompt: str,
) -> None:
    """Behaviour 157 and spec 2.7: allowlist, tiers and budget, over every way to call, by somebody else's log.

    ``local`` have the one permitted tier, ``free`` the one price that the budget of 0 pays for.
    """
    text = f'default_provider = "{PLACES["openai_chat"].ref}"\n'
    for number, (wire, place) in enumerate(PLACES.items()):
        text += f'[providers.{place.family}.at]\nuri = "{url}{place.path}"\nwire_api = "{wire}"\nkeyless = true\n'
        text += f'model = "{place.model}"\ntier = "{"metered" if local and wire not in local else "local"}"\n'
        text += f'pricing = {{ "*" = {0 if free is None or wire in free else 5} }}\n'
        text += f"fallback = {json.dumps([PLACES[other].ref for other in fallbacks[wire]])}\n"
        text += f'[[model_routes]]\nhint = "{wire}"\nmodel_provider = "{place.ref}"\nmodel = "m{number}"\n'
    text += "".join(f'[[chain]]\nprovider = "{PLACES[wire].ref}"\n' for wire in links)
    text += "[reliability]\nprovider_retries = 0\n"
    text += "" if free is None else "[borders]\nbudget_call_usd = 0\n"
    permitted = [each for each in (allowed, local or None, free) if each is not None]
    before = len(entries(url))
    with tempfile.TemporaryDirectory() as folder:
        config = parse_config(text, base_dir=Path(folder), source="zc.toml")
        clock = ManualClock()
        chain = Chain(config, clock=clock, ledger=folder, marks=Marks(None, clock=clock), environ={})
        options = {"hint": hint, "max_tokens": 50, "allow_tiers": ["local"] if local else None}
        with chain, suppress(zc.CallError):
            refs = [PLACES[wire].ref for wire in PLACES if allowed is None or wire in allowed]
            with zc.allowed(refs):
                asyncio.run(ask_as(chain, way, prompt, **options))
    for entry in entries(url)[before:]:
        asked = next(wire for wire in PLACES if wire_path(wire) in entry["path"])
        assert all(asked in each for each in permitted), entry["path"]


def others(wire: WireName) -> str:
    """Refs of all other wires, as a TOML list's inside."""
    return ", ".join(f'"{place.ref}"' for other, place in PLACES.items() if other != wire)


def entries(url: str) -> Any:
    """The whole journal."""
    return httpx.get(f"{url}/__aimock/journal", timeout=5).json()


def wire_path(wire: WireName) -> str:
    """What only this wire's addresses have."""
    paths: dict[WireName, str] = {
        "openai_chat": "/chat/completions",
        "openai_responses": "/responses",
        "anthropic_messages": "/messages",
        "gemini": "ateContent",
        "ollama": "/api/chat",
        "cohere_v2": "/v2/chat",
    }
    return paths[wire]
