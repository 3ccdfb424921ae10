"""The chain through its public names, on a scripted transport and a manual clock."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet, chain_toml, profile
from tests.ledger.rows import NOON, row
from zc_notebooks.errors import TransportFailure
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import HttpRequest
from zc_notebooks.testing import chat_answer, chat_error, response

OK = chat_answer("forty-two")


def ask(fleet: Fleet, **options: Any) -> zc.Completion:
    """One question."""
    return asyncio.run(fleet.chain.ask("what is it?", **options))


# -- what a chain is for --------------------------------------------------------------------------------------------


def test_a_429_is_retried_on_the_candidate_and_then_next(tmp_path: Path) -> None:
    """Waits 500 and 1,000 ms on the same candidate, then the next one answers (behaviour 60)."""
    fleet = Fleet({"a": [chat_error(429, "Rate limit exceeded")], "b": [OK]}, tmp_path)
    assert ask(fleet).text == "forty-two"
    assert fleet.called == ["a", "a", "a", "b"]
    assert fleet.clock.slept == [0.5, 1.0]


def test_a_402_goes_on_with_zero_waiting(tmp_path: Path) -> None:
    """The fake clock saw no sleep (behaviour 43)."""
    fleet = Fleet({"a": [chat_error(402, "Insufficient balance")], "b": [OK]}, tmp_path)
    assert ask(fleet).served.provider_ref == "custom.b"
    assert (fleet.called, fleet.clock.slept) == (["a", "b"], [])


def test_failover_is_recorded(tmp_path: Path) -> None:
    """The first fails, the second answers: its row says failover (behaviour 174)."""
    fleet = Fleet({"a": [chat_error(401, "bad key")], "b": [OK]}, tmp_path)
    done = ask(fleet)
    assert [(row.ordinal, row.failover, row.accepted) for row in done.attempts] == [(0, False, False), (1, True, True)]


def test_three_failures_are_three_hops(tmp_path: Path) -> None:
    """Each hop starts at the entry that failed and carries that entry's own reason (behaviour 54)."""
    fleet = Fleet({name: [chat_error(402, f"{name} has no money")] for name in "abc"} | {"d": [OK]}, tmp_path)
    done = ask(fleet)
    assert [(origin, to) for origin, to, _ in fleet.hops] == [
        ("custom.a", "custom.b"),
        ("custom.b", "custom.c"),
        ("custom.c", "custom.d"),
    ]
    assert all(name in hop[2] for hop, name in zip(fleet.hops, ["a has", "b has", "c has"], strict=True))
    kept = [(hop.origin.removesuffix("/m"), hop.to.removesuffix("/m"), hop.reason) for hop in done.hops]
    assert kept == fleet.hops


def test_a_candidate_without_a_key_is_skipped(tmp_path: Path) -> None:
    """No exception, a row, the next candidate is called (behaviours 28 and 34)."""
    fleet = Fleet({"a": [OK], "b": [OK]}, tmp_path, environ={"KEY_B": KEYS["KEY_B"]})
    done = ask(fleet)
    assert fleet.statuses == [("a", "skipped_no_key"), ("b", "ok")]
    assert (fleet.called, fleet.hops) == (["b"], [])
    assert done.fallback is not None
    assert done.fallback.cause == "skipped_no_key"


def test_all_fail_with_every_candidates_reason(tmp_path: Path) -> None:
    """One exception, one line for each candidate with its own reason (behaviour 181)."""
    script = {
        "a": [chat_error(402, "a: top up")],
        "b": [chat_error(401, "b: who are you")],
        "c": [chat_error(404, "c: no such model")],
    }
    fleet = Fleet(script, tmp_path)
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        ask(fleet)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(words in line for words, line in zip(["a: top up", "b: who are you", "c: no such"], lines, strict=True))
    assert [line.split(":")[0] for line in lines] == ["custom.a/m", "custom.b/m", "custom.c/m"]


# -- what else a call promises ----------------------------------------------------------------------------------------


def test_fifty_dead_candidates(tmp_path: Path) -> None:
    """50 hops in the right order, no sleep, one answer."""
    names = [f"n{number}" for number in range(51)]
    script: dict[str, Any] = {name: [chat_error(402, "no money")] for name in names[:-1]} | {names[-1]: [OK]}
    fleet = Fleet(script, tmp_path, toml=chain_toml(*names, key=None))
    done = ask(fleet)
    assert [origin for origin, _, _ in fleet.hops] == [f"custom.{name}" for name in names[:-1]]
    assert (len(done.attempts), fleet.clock.slept) == (51, [])


@pytest.mark.parametrize("status", [401, 402, 403])
def test_one_request_each(tmp_path: Path, status: int) -> None:
    """401, 402 and 403: exactly one request, zero wait (behaviours 42, 43)."""
    fleet = Fleet({"a": [chat_error(status, "no")], "b": [OK]}, tmp_path)
    ask(fleet)
    assert (fleet.called, fleet.clock.slept) == (["a", "b"], [])


def test_a_retry_after_above_the_cap(tmp_path: Path) -> None:
    """Exactly one request, zero sleep, next candidate, and a mark until the stated end (behaviours 71, 91)."""
    fleet = Fleet({"a": [chat_error(429, "slow down", {"retry-after": "61"})], "b": [OK]}, tmp_path)
    ask(fleet)
    assert (fleet.called, fleet.clock.slept) == (["a", "b"], [])
    (mark,) = fleet.chain.marks()
    assert ((mark.until - fleet.clock.now()).total_seconds(), mark.provenance) == (pytest.approx(61, abs=1), "stated")


def test_the_next_call_skips_a_marked_candidate(tmp_path: Path) -> None:
    """A mark outlives the call that set it, and ends (behaviours 56, 102, 104)."""
    fleet = Fleet({"a": [chat_error(429, "slow", {"retry-after": "90"}), OK], "b": [OK]}, tmp_path)
    ask(fleet)
    ask(fleet)
    assert fleet.called == ["a", "b", "b"]
    fleet.clock.advance(91)
    assert ask(fleet).served.provider_ref == "custom.a"
    assert fleet.chain.marks() == ()


def test_a_cleared_mark_is_gone(tmp_path: Path) -> None:
    """Behaviour 102."""
    fleet = Fleet({"a": [chat_error(429, "slow", {"retry-after": "90"}), OK], "b": [OK]}, tmp_path)
    ask(fleet)
    assert fleet.chain.clear("custom.a") == 1
    ask(fleet)
    assert fleet.called[-1] == "a"


def test_fallback_off_asks_the_start_alone(tmp_path: Path) -> None:
    """Behaviour 38: a failing start raises, the others are not called, a live mark does not block it."""
    fleet = Fleet({"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [OK]}, tmp_path)
    ask(fleet)
    with pytest.raises(zc.AllCandidatesFailed):
        ask(fleet, fallback=False)
    assert fleet.called == ["a", "b", "a"]


def test_a_start_is_asked_first_and_once(tmp_path: Path) -> None:
    """Behaviour 33."""
    fleet = Fleet({"a": [OK], "b": [chat_error(402, "no")]}, tmp_path)
    ask(fleet, start="custom.b")
    assert fleet.called == ["b", "a"]


def test_chain_entries_bring_no_fallbacks(tmp_path: Path) -> None:
    """Behaviour 36."""
    text = profile("a", fallback='["custom.c"]') + profile("b") + profile("c")
    text += '[[chain]]\nprovider = "custom.a"\n[[chain]]\nprovider = "custom.b"\n'
    fleet = Fleet({"a": [chat_error(402, "no")], "b": [OK], "c": [OK]}, tmp_path, toml=text)
    ask(fleet)
    assert fleet.called == ["a", "b"]


def test_credentials_fail_over_to_the_next_one(tmp_path: Path) -> None:
    """Behaviours 110 and 113: zero wait, only the first is marked, no hop, the row names the second's id."""
    text = (
        '[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\napi_key_envs = ["KEY_A", "KEY_B"]\n'
        '[[chain]]\nprovider = "custom.a"\n'
    )

    def by_key(request: HttpRequest) -> Any:
        first = KEYS["KEY_A"] in request.headers["authorization"]
        return chat_error(429, "slow", {"retry-after": "30"}) if first else OK

    fleet = Fleet({"a": [by_key]}, tmp_path, toml=text)
    done = ask(fleet)
    first, second = done.attempts
    assert (fleet.clock.slept, fleet.hops, done.fallback) == ([], [], None)
    assert first.credential_id != second.credential_id
    assert len(second.credential_id) == 8
    assert [mark.key.credential_id for mark in fleet.chain.marks()] == [first.credential_id]


def test_nothing_of_another_profile_is_in_a_request(tmp_path: Path) -> None:
    """Behaviour 29: endpoint, headers, options and key are the candidate's own."""
    text = profile("a", extra_headers='{x-own = "a"}', provider_extra="{only_a = true}") + profile("b")
    text += '[[chain]]\nprovider = "custom.a"\n[[chain]]\nprovider = "custom.b"\n'
    fleet = Fleet({"a": [chat_error(402, "no")], "b": [OK]}, tmp_path, toml=text)
    ask(fleet)
    first, second = fleet.transport.requests
    assert KEYS["KEY_A"] in first.headers["authorization"]
    assert KEYS["KEY_B"] in second.headers["authorization"]
    assert "x-own" not in second.headers
    assert b"only_a" not in second.body


def test_a_deadline_ends_the_call(tmp_path: Path) -> None:
    """Behaviour 88: the running attempt is closed, usage unknown."""

    def hang(_: HttpRequest) -> Any:
        fleet.clock.advance(5)
        raise TransportFailure("no answer in time", kind="timeout", sent=True)

    fleet = Fleet({"a": [hang], "b": [OK]}, tmp_path)
    with pytest.raises(zc.CallTimeout) as caught:
        ask(fleet, timeout_s=5)
    assert (fleet.called, caught.value.rows[0].usage_state) == (["a"], "unknown")


def test_empty_answers_spend_the_budget_and_keep_their_usage(tmp_path: Path) -> None:
    """Behaviours 75 to 79."""
    fleet = Fleet({"a": [chat_answer("<think>hm</think>", tokens=(10, 5))], "b": [OK]}, tmp_path)
    done = ask(fleet)
    assert fleet.called == ["a", "a", "a", "b"]
    rejected = next(item for item in done.usage_by_provider if item.provider_ref == "custom.a")
    assert (rejected.input_tokens, rejected.output_tokens, rejected.accepted) == (30, 15, 0)
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        ask(Fleet({"a": [chat_answer("  ")]}, tmp_path))
    assert caught.value.last_reason == "empty"


def test_a_broken_body_is_a_verdict(tmp_path: Path) -> None:
    """A NUL byte, invalid UTF-8, HTML, an empty body: no crash, the next candidate answers (behaviour 53)."""
    for body in (b"\x00\x00", b"\xff\xfe{", b"<html>hello</html>", b"", b"[]", b'"text"', b"{}", b"1" * 70_000):
        fleet = Fleet({"a": [response(200, body)], "b": [OK]}, tmp_path)
        assert ask(fleet).served.provider_ref == "custom.b", body[:20]


def test_nothing_says_where_to_start(tmp_path: Path) -> None:
    """A sentence that says what to add."""
    fleet = Fleet({"a": [OK]}, tmp_path, toml=profile("a"))
    with pytest.raises(zc.ConfigError, match="default_provider"):
        ask(fleet)


@pytest.mark.parametrize("start", ["custom.z", "", "custom", "custom.z/m"])
def test_an_unknown_start(tmp_path: Path, start: str) -> None:
    """Named, with what is configured."""
    fleet = Fleet({"a": [OK]}, tmp_path)
    with pytest.raises(zc.ConfigError, match=r"custom\.a"):
        ask(fleet, start=start)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"start": 5}, "start: expected text, got a int"),
        ({"start": ("custom.a", "m")}, "start: expected text, got a tuple"),
        ({"model": 5}, "model: expected text"),
        ({"requested": b"m"}, "requested: expected text"),
        ({"hint": 5}, "hint: expected text"),
        ({"source": "tree"}, "source: 'tree' is none of graph, chain"),
        ({"fallback": "no"}, "fallback: 'no' is neither True nor False"),
        ({"fallback": 0}, "fallback: 0 is neither"),
        ({"turn_id": 5}, "turn_id: expected text"),
        ({"retries": -1}, "retries: -1 is no whole number of at least 0"),
        ({"retries": "2"}, "retries: '2' is no whole number"),
        ({"mode": "stream"}, "mode: 'stream' is none of chat, bench"),
    ],
)
def test_a_wrong_option_is_a_sentence(tmp_path: Path, option: dict[str, Any], words: str) -> None:
    """Before anybody is asked, whole and streamed: no option means what it does not say, and no row is spoiled."""
    fleet = Fleet({"a": [OK]}, tmp_path)
    with pytest.raises(InvalidRequest) as whole:
        ask(fleet, **option)
    with pytest.raises(InvalidRequest) as streamed:
        fleet.chain.stream("x", **option)
    assert words in str(whole.value)
    assert str(streamed.value) == str(whole.value)
    assert fleet.rows == []


def test_an_allowlist_leaves_nothing(tmp_path: Path) -> None:
    """Behaviours 157 and 158: zero calls, skips are rows, the message names the border."""
    fleet = Fleet({"a": [OK], "b": [OK]}, tmp_path)
    with zc.allowed(["custom.x"]), pytest.raises(zc.NoPermittedCandidate, match="allowlist"):
        ask(fleet)
    assert (fleet.called, {status for _, status in fleet.statuses}) == ([], {"skipped_allowlist"})


def test_allowed_tiers(tmp_path: Path) -> None:
    """A tier border is never crossed by a hop."""
    text = profile("a", tier='"free"') + profile("b", tier='"metered"') + profile("c", tier='"free"')
    text += "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in "abc")
    fleet = Fleet({"a": [chat_error(402, "no")], "b": [OK], "c": [OK]}, tmp_path, toml=text)
    assert ask(fleet, allow_tiers=["free", "local"]).served.provider_ref == "custom.c"
    assert fleet.statuses == [("a", "http_402"), ("b", "skipped_tier"), ("c", "ok")]


def test_ask_sync_works_in_a_script_and_inside_a_running_loop(tmp_path: Path) -> None:
    """A private loop thread: nothing is patched."""
    fleet = Fleet({"a": [OK]}, tmp_path)

    async def cell() -> str:
        return fleet.chain.ask_sync("hello").text

    assert fleet.chain.ask_sync("hello").text == "forty-two"
    assert asyncio.run(cell()) == "forty-two"


def test_a_hook_that_asks_synchronously_is_told_so(tmp_path: Path) -> None:
    """It runs on the thread that would have to answer it: an error at once, not a wait without an end."""
    fleet = Fleet({"a": [OK]}, tmp_path)
    fleet.chain.on_attempt = lambda _row: fleet.chain.ask_sync("again")
    with pytest.raises(RuntimeError, match="a hook of a synchronous call cannot make another one"):
        fleet.chain.ask_sync("hello")
    fleet.chain.on_attempt = None
    assert fleet.chain.ask_sync("hello").text == "forty-two"


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("way", ["ask_sync", "stream_sync"])
def test_a_hook_may_end_the_program(tmp_path: Path, way: str, ending: type[BaseException]) -> None:
    """What it raises reaches the caller, not the loop's thread: the next call is answered."""
    fleet = Fleet({"a": [chat_error(402, "no"), OK], "b": [OK]}, tmp_path)

    def leave(*_: object) -> None:
        raise ending

    fleet.chain.site.on_failover = leave
    with pytest.raises(ending):
        fleet.chain.ask_sync("x") if way == "ask_sync" else list(fleet.chain.stream_sync("x"))
    fleet.chain.site.on_failover = None
    assert fleet.chain.ask_sync("x").text == "forty-two"


def test_a_cancel_is_a_row(tmp_path: Path) -> None:
    """Cancelling the task closes the attempt; it is recorded and nothing else is tried (behaviours 90 and 133)."""

    async def scene() -> list[tuple[str, str]]:
        started = asyncio.Event()

        async def hang(_request: HttpRequest, **_limits: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

        fleet = Fleet({"a": [OK], "b": [OK]}, tmp_path)
        fleet.transport.send = hang  # type: ignore[method-assign]
        task = asyncio.ensure_future(fleet.chain.ask("x"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return fleet.statuses

    assert asyncio.run(scene()) == [("a", "cancelled")]


def test_two_concurrent_calls_do_not_mix_rows(tmp_path: Path) -> None:
    """Behaviour 177."""

    async def scene() -> tuple[zc.Completion, zc.Completion]:
        fleet = Fleet({"a": [chat_error(402, "no")], "b": [OK]}, tmp_path)
        return await asyncio.gather(fleet.chain.ask("one"), fleet.chain.ask("two"))

    first, second = asyncio.run(scene())
    assert {row.call_id for row in first.attempts} == {first.call_id}
    assert first.call_id != second.call_id
    assert [row.ordinal for row in second.attempts] == [0, 1]


def test_rows_reach_the_ledger(tmp_path: Path) -> None:
    """Behaviours 174 and 176: one row each, with no prompt or answer text (180)."""
    fleet = Fleet({"a": [chat_error(402, "secret-body-text")], "b": [OK]}, tmp_path)
    ask(fleet)
    frame = fleet.chain.ledger.attempts()
    assert frame["status"].to_list() == ["http_402", "ok"]
    fleet.chain.close()
    written = b"".join(path.read_bytes() for path in (tmp_path / "ledger").iterdir() if path.is_file())
    assert not any(text in written for text in (b"what is it", b"forty-two", b"secret-body-text"))


def test_a_ledger_that_cannot_be_written(tmp_path: Path) -> None:
    """Behaviour 180: the answer arrives, with one warning that says which rows are missing."""
    (tmp_path / "ledger").write_text("a file where the folder should be")
    fleet = Fleet({"a": [chat_error(402, "no")], "b": [OK]}, tmp_path)
    with pytest.warns(UserWarning, match="2 rows") as caught:
        done = ask(fleet)
    assert (done.text, len(caught)) == ("forty-two", 1)
    assert done.call_id in str(caught[0].message)


def test_a_router_that_prechecks_gets_a_limit_and_one_lowered_retry(tmp_path: Path) -> None:
    """``max_tokens`` is sent although nobody asked for one; a 402 that can afford fewer gets exactly one retry."""
    text = (
        '[providers.openrouter.credit]\nuri = "https://a.test/v1"\nmodel = "m"\nkeyless = true\n'
        + profile("b")
        + '[[chain]]\nprovider = "openrouter.credit"\n[[chain]]\nprovider = "custom.b"\n'
    )
    words = "This request requires more credits, or fewer max_tokens. You requested up to 4096, but can only afford {}."
    poor, poorer = (chat_error(402, words.format(amount), code=402) for amount in (900, 700))
    fleet = Fleet({"a": [poor, poorer], "b": [OK]}, tmp_path, toml=text)
    done = ask(fleet)
    limits = [json.loads(request.body)["max_tokens"] for request in fleet.transport.sent_to("a.test")]
    assert (len(limits), limits[1]) == (2, 900)
    assert [row.status for row in done.attempts] == ["http_402", "http_402", "ok"]
    assert (fleet.clock.slept, fleet.chain.marks()) == ([], ())


def test_an_in_flight_402_waits_as_stated(tmp_path: Path) -> None:
    """The 402 that does recover by waiting (behaviour 98)."""
    text = (
        '[providers.openrouter.credit]\nuri = "https://a.test/v1"\nmodel = "m"\nkeyless = true\n'
        '[[chain]]\nprovider = "openrouter.credit"\n'
    )
    metadata = {"reason": "in_flight_budget_exhausted", "limit_source": "openrouter_in_flight_budget"}
    busy = chat_error(402, "would exceed your available credits", {"retry-after": "5"}, code=402, metadata=metadata)
    fleet = Fleet({"a": [busy, OK]}, tmp_path, toml=text)
    done = ask(fleet)
    assert (fleet.called, fleet.clock.slept) == (["a", "a"], [5.0])
    assert done.attempts[0].reason == "minute_limit"


@pytest.mark.parametrize(
    ("header", "body", "back_s"),
    [
        ("7.5", "slow down", 7.5),
        ("90", "slow down", 90.0),
        ("", "Please try again in 1h12m.", 4320.0),
        ("", "slow down", None),
    ],
)
def test_a_row_names_the_instant_that_a_wait_stated_in_seconds_leads_to(
    tmp_path: Path, header: str, body: str, back_s: float | None
) -> None:
    """12.1: ``resets_at`` from the verdict; a wait counts from the end of the attempt, which took 2 s here."""

    def slow(_: HttpRequest) -> Any:
        fleet.clock.advance(2.0)
        return chat_error(429, body, {"retry-after": header} if header else {})

    fleet = Fleet({"a": [slow], "b": [OK]}, tmp_path)
    refused = next(row for row in ask(fleet).attempts if row.status == "http_429")
    back = None if back_s is None else refused.t + timedelta(seconds=2.0 + back_s)
    assert (refused.secs, refused.resets_at, refused.reset_source) == (2.0, back, None if back is None else "stated")


def test_an_account_wide_quota_benches_its_models_and_nothing_else(tmp_path: Path) -> None:
    """OpenRouter's free daily quota covers every ``:free`` model of the account, and no paid one."""
    head = '[providers.openrouter.x]\nuri = "https://a.test/v1"\nkeyless = true\n'
    links = "".join(
        f'[[chain]]\nprovider = "openrouter.x"\nmodel = "{model}"\n' for model in ("m:free", "n:free", "paid")
    )
    metadata = {"limit_source": "openrouter_free_tier_daily", "headers": {"X-RateLimit-Reset": "1788307200000"}}
    quota = chat_error(429, "Rate limit exceeded: free-models-per-day.", code=429, metadata=metadata)

    def by_model(request: HttpRequest) -> Any:
        return quota if b":free" in request.body else OK

    fleet = Fleet({"a": [by_model]}, tmp_path, toml=head + links)
    assert ask(fleet).served.model == "paid"
    assert [mark.key.model for mark in fleet.chain.marks()] == ["*:free"]
    again = ask(fleet).attempts
    assert [row.status for row in again] == ["skipped_cooldown", "skipped_cooldown", "ok"]
    assert [row.scope for row in again] == ["model", "model", None]  # 12.1: from the verdict or the mark


def test_a_stated_remaining_of_zero_is_not_asked(tmp_path: Path) -> None:
    """Quota headroom: what a success says is left saves the next call a request."""
    spent = response(200, OK.body, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "90s"})
    fleet = Fleet({"a": [spent], "b": [OK]}, tmp_path)
    assert [ask(fleet).served.provider_ref, ask(fleet).served.provider_ref] == ["custom.a", "custom.b"]
    assert fleet.called == ["a", "b"]
    fleet.clock.advance(91)
    assert ask(fleet).served.provider_ref == "custom.a"


def test_a_status_has_its_reason_from_the_same_row(tmp_path: Path) -> None:
    """A key that was refused before says nothing of the newest attempt, which has no reason."""
    fleet = Fleet({"a": [OK]}, tmp_path)
    for later, failed in enumerate(({"status": "http_401", "reason": "auth"}, {"status": "cancelled"})):
        fleet.chain.writer.write(
            row(f"call-{later}", t=NOON + timedelta(seconds=later), provider_ref="custom.a", **failed)
        )
    last = fleet.chain.status()["custom.a"].last
    assert last is not None
    assert (last.status, last.reason, last.t) == ("cancelled", None, NOON + timedelta(seconds=1))


def test_a_swap_between_wires_keeps_the_tool_conversation(tmp_path: Path) -> None:
    """The first candidate calls a tool on one wire, the second continues on another."""
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [
        {"role": "user", "content": "add"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "2"},
    ]
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]
    text = profile("a") + profile("b", wire_api='"anthropic_messages"')
    text += '[[chain]]\nprovider = "custom.a"\n[[chain]]\nprovider = "custom.b"\n'
    answer = {"content": [{"type": "text", "text": "two"}], "stop_reason": "end_turn", "model": "m"}
    fleet = Fleet({"a": [chat_error(402, "no")], "b": [response(200, answer)]}, tmp_path, toml=text)
    done = asyncio.run(fleet.chain.ask(messages, tools=tools))
    assert done.text == "two"
    sent = json.loads(fleet.transport.sent_to("b.test")[0].body)["messages"]
    assert [block["type"] for message in sent for block in message["content"] if isinstance(block, dict)][-2:] == [
        "tool_use",
        "tool_result",
    ]
