"""The fallback record: when there is one, what it says, and whose it is (spec 11)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet, chain_toml, profile
from zc_notebooks import attribution
from zc_notebooks.events import Final, Text
from zc_notebooks.result import FallbackRecord
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk, chat_error, response

pytestmark = pytest.mark.filterwarnings("ignore::zc_notebooks.calling.UnknownHintWarning")

OK = chat_answer("forty-two")
POOR = chat_error(402, "no money")
GOOD = Pieces(pieces=(chat_chunk("Hello"), chat_chunk(finish="stop"), CHAT_DONE))
LATE_CUT = Pieces(pieces=(chat_chunk("Hel"),))


def graph(*blocks: str, start: str = "custom.a") -> str:
    """Profiles of a graph with its start."""
    return f'default_provider = "{start}"\n' + "".join(blocks)


def run(fleet: Fleet, *, stream: bool = False, **options: Any) -> zc.Completion:
    """One answer, either way."""
    if not stream:
        return asyncio.run(fleet.chain.ask("what is it?", **options))
    events = list(fleet.chain.stream_sync("what is it?", **options))
    assert isinstance(events[-1], Final)
    return events[-1].completion


def parts(record: FallbackRecord) -> tuple[str, str, str, str, str]:
    """A record in five words."""
    asked, served = record.requested, record.served
    return asked.provider_ref, asked.model, served.provider_ref, served.model, record.cause


@pytest.mark.parametrize("stream", [False, True])
def test_a_pinned_fallback_has_its_whole_record(tmp_path: Path, stream: bool) -> None:
    """169: dotted refs, requested and served model, the reported one, the cause, the hops; aliases stay distinct."""
    text = graph(profile("a", model="big", fallback='["custom.b"]'), profile("b", model="small"))
    fleet = Fleet({"a": [POOR], "b": [chat_answer("yes", model="small-2026-01-01")]}, tmp_path, toml=text)
    done = run(fleet, stream=stream)
    assert done.fallback is not None
    assert parts(done.fallback) == ("custom.a", "big", "custom.b", "small", "balance")
    assert done.fallback.served.model_reported == "small-2026-01-01"
    assert [(hop.origin, hop.to) for hop in done.fallback.hops] == [("custom.a/big", "custom.b/small")]


NO_RECORD: dict[str, tuple[str, dict[str, list[Any]], dict[str, Any]]] = {
    "the first entry": (chain_toml("a", "b"), {"a": [OK], "b": [OK]}, {}),
    "a retry": (chain_toml("a"), {"a": [chat_error(500), OK]}, {}),
    "an empty answer, then a good one": (chain_toml("a", "b"), {"a": [chat_answer(" "), OK], "b": [OK]}, {}),
    "a pin that differs from the request": (
        graph(profile("a", model="pinned"))
        + '[[model_routes]]\nhint = "fast"\nmodel_provider = "custom.a"\nmodel = "wanted"\n',
        {"a": [OK]},
        {"hint": "fast"},
    ),
    "a model named for the call": (chain_toml("a", "b"), {"a": [OK], "b": [OK]}, {"model": "another"}),
    "an unknown hint on a pin": (graph(profile("a", model="pinned")), {"a": [OK]}, {"hint": "nowhere"}),
    "another credential of the entry": (
        '[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\napi_key_envs = ["KEY_A", "KEY_B"]\n'
        '[[chain]]\nprovider = "custom.a"\n',
        {"a": [chat_error(401, "no"), OK]},
        {},
    ),
    "a missing credential of the entry": (
        '[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\napi_key_envs = ["KEY_NONE", "KEY_B"]\n'
        '[[chain]]\nprovider = "custom.a"\n',
        {"a": [OK]},
        {},
    ),
    "a later entry named as the start": (chain_toml("a", "b"), {"a": [OK], "b": [OK]}, {"start": "custom.b"}),
    "one candidate alone": (chain_toml("a", "b"), {"a": [OK], "b": [OK]}, {"fallback": False}),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("toml", "script", "options"), NO_RECORD.values(), ids=NO_RECORD)
def test_no_record(tmp_path: Path, toml: str, script: Any, options: Any, stream: bool) -> None:
    """170: whatever the first entry serves in the end is no fallback, and no mode makes a notice of it."""
    fleet = Fleet(script, tmp_path, toml=f'model_fallback_notice = "detailed"\n{toml}')
    with attribution.scope() as turn:
        done = run(fleet, stream=stream, **options)
    assert (done.fallback, done.notice, turn.record) == (None, None, None)


def test_a_truncation_is_no_fallback(tmp_path: Path) -> None:
    """170: the same entry answers the shortened conversation."""
    too_long = chat_error(400, "This model's maximum context length is 10 tokens.", code="context_length_exceeded")
    toml = chain_toml("a", extra='[reliability]\ncontext_overflow = "truncate"\n')
    fleet = Fleet({"a": [too_long, OK]}, tmp_path, toml=toml)
    turns = [{"role": role, "content": "word " * 50} for role in ("user", "assistant", "user", "assistant", "user")]
    done = asyncio.run(fleet.chain.ask(turns))
    assert (done.context_truncated, done.fallback) == (True, None)


CAUSES: dict[str, tuple[list[Any], dict[str, str], str]] = {
    "a failure": ([POOR], KEYS, "balance"),
    "the last of several failures": ([chat_error(500), POOR], KEYS, "balance"),
    "an empty answer": ([chat_answer(" ")], KEYS, "empty"),
    "a skip": ([OK], {"KEY_B": KEYS["KEY_B"]}, "skipped_no_key"),
}


@pytest.mark.parametrize(("first", "environ", "cause"), CAUSES.values(), ids=CAUSES)
def test_the_cause_is_the_first_entrys_own(tmp_path: Path, first: Any, environ: Any, cause: str) -> None:
    """Why it was left, whatever the entries between said."""
    fleet = Fleet({"a": first, "b": [OK]}, tmp_path, environ=environ)
    done = run(fleet)
    assert done.fallback is not None
    assert done.fallback.cause == cause


def test_a_mark_is_a_skip(tmp_path: Path) -> None:
    """The second call passes the first entry over: its cause is the skip."""
    fleet = Fleet({"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [POOR], "c": [OK]}, tmp_path)
    causes = [done.fallback.cause for done in (run(fleet), run(fleet)) if done.fallback is not None]
    assert causes == ["minute_limit", "skipped_cooldown"]


def test_a_candidate_that_cannot_stream_has_not_failed(tmp_path: Path) -> None:
    """Nobody failed and nobody was skipped: the one that can stream serves, without a record; both names are there."""
    text = profile("a", streaming="false")
    text += profile("b") + '[[chain]]\nprovider = "custom.a"\n[[chain]]\nprovider = "custom.b"\n'
    fleet = Fleet({"a": [OK], "b": [GOOD]}, tmp_path, toml=text)
    done = run(fleet, stream=True)
    assert (done.served.provider_ref, done.requested.provider_ref, done.fallback) == ("custom.b", "custom.a", None)


# -- scopes ----------------------------------------------------------------------------------------------------------


def test_a_success_of_the_first_entry_clears_an_older_record(tmp_path: Path) -> None:
    """171: a fallback, then a success of the first entry in one scope: the old record is gone."""
    fleet = Fleet({"a": [POOR, OK], "b": [OK]}, tmp_path)
    with attribution.scope() as turn:
        run(fleet)
        assert turn.record is not None
        run(fleet)
        assert (turn.record, attribution.take()) == (None, None)


@pytest.mark.parametrize("script", [{"a": [POOR], "b": [LATE_CUT]}, {"a": [POOR], "b": [POOR]}], ids=["cut", "failed"])
def test_a_rejected_response_leaves_no_record(tmp_path: Path, script: Any) -> None:
    """171: a stream that breaks off after output, or a call that fails: nothing was accepted, nothing is written."""
    fleet = Fleet(script, tmp_path)
    fleet.chain.board.clear(all=True)
    with attribution.scope() as turn, pytest.raises(zc.CallError):
        run(fleet, stream=True)
    assert turn.record is None


def test_a_starting_recovery_discards_what_the_stream_would_have_written(tmp_path: Path) -> None:
    """171: the stream of the second gave nothing and the recovery is served by the first: no record at all."""
    fleet = Fleet(
        {"a": [chat_error(429, "slow", {"retry-after": "90"}), OK], "b": [OK, Pieces(pieces=(91.0,))]}, tmp_path
    )
    run(fleet)
    with attribution.scope() as turn:
        done = run(fleet, stream=True, timeout_s=600)
    assert fleet.called == ["a", "b", "b", "a"]
    assert (done.served.provider_ref, done.fallback, turn.record) == ("custom.a", None, None)


def test_a_streams_record_is_written_at_its_end(tmp_path: Path) -> None:
    """While text comes there is none; with Final there is one."""
    fleet = Fleet({"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [OK, GOOD]}, tmp_path)
    run(fleet)
    with attribution.scope() as turn:
        seen = [(type(event), turn.record is not None) for event in fleet.chain.stream_sync("x")]
    assert (Text, False) in seen
    assert seen[-1] == (Final, True)


def test_take_consumes(tmp_path: Path) -> None:
    """Once, by the module or by the scope; without a scope both are nothing."""
    fleet = Fleet({"a": [POOR], "b": [OK]}, tmp_path)
    done = run(fleet)
    assert attribution.take() is None
    with attribution.scope() as turn:
        run(fleet)
        assert attribution.take() == done.fallback
        assert (turn.take(), attribution.take()) == (None, None)
        run(fleet)
    assert attribution.take() is None
    assert turn.take() == done.fallback


def test_nested_wrappers_count_once(tmp_path: Path) -> None:
    """``tell`` over ``stream`` over a turn, a scope within a scope: one record, in the innermost scope alone."""
    fleet = Fleet({"a": [POOR], "b": [OK]}, tmp_path)
    with attribution.scope() as outer:
        with attribution.scope() as inner:
            asyncio.run(fleet.chain.tell("x"))
        assert inner.take() is not None
        assert (inner.take(), outer.take()) == (None, None)


def test_a_scope_is_its_contexts_own(tmp_path: Path) -> None:
    """Two turns at once never see each other's; tasks and threads that carry the context write into it."""
    fleet = Fleet({"a": [POOR], "b": [OK]}, tmp_path)
    plain = Fleet({"a": [OK]}, tmp_path)

    async def turn(which: Fleet) -> FallbackRecord | None:
        with attribution.scope() as own:
            await asyncio.create_task(which.chain.ask("x"))
            return own.take()

    async def both() -> tuple[FallbackRecord | None, FallbackRecord | None]:
        return await asyncio.gather(turn(fleet), turn(plain))

    record, none = asyncio.run(both())
    assert record is not None
    assert none is None
    with attribution.scope() as own:
        context = copy_context()
        worker = threading.Thread(target=lambda: context.run(fleet.chain.ask_sync, "x"))
        worker.start()
        worker.join()
        assert own.take() is not None
        outside = threading.Thread(target=lambda: fleet.chain.ask_sync("x"))
        outside.start()
        outside.join()
        assert own.take() is None


def test_the_one_function_for_scripts_has_it_too() -> None:
    """``call_with_fallback`` accepts an answer like a chain does."""
    answers = {"groq": response(402, {"error": {"message": "no"}}), "mistral": OK}
    with attribution.scope() as turn:
        done = zc.call_with_fallback(
            chain=[("groq", "m1"), ("mistral", "m2")],
            payload_for=lambda _: "hello",
            environ={"GROQ_API_KEY": "gsk_aaaaaaaaaaaa", "MISTRAL_API_KEY": "mmmmmmmmmmmmmmm"},
            transport=lambda request: next(answer for name, answer in answers.items() if name in request.url),
        )
    assert done.fallback is not None
    assert turn.take() == done.fallback


def test_a_scope_left_elsewhere_ends_quietly() -> None:
    """A generator that is closed by another task, as fixtures and dropped generators are."""

    async def block() -> AsyncGenerator[attribution.Scope]:
        with attribution.scope() as own:
            yield own

    async def run() -> None:
        opened = block()
        await asyncio.create_task(anext(opened))  # type: ignore[arg-type]
        await asyncio.create_task(opened.aclose())  # type: ignore[arg-type]

    asyncio.run(run())
    assert attribution.take() is None


def test_a_scope_in_a_loop_left_early_is_gone(tmp_path: Path) -> None:
    """The next answer's record is that of the scope around the loop."""
    fleet = Fleet({"a": [POOR], "b": [OK]}, tmp_path)

    async def block() -> AsyncGenerator[None]:
        with attribution.scope():
            yield

    async def run() -> None:
        with attribution.scope() as outer:
            async for _ in block():
                break
            for _ in range(3):
                await asyncio.sleep(0)
            done = await fleet.chain.ask("hello")
            assert done.fallback is not None
            assert outer.take() == done.fallback

    asyncio.run(run())
