"""The control panel without a widget."""

from __future__ import annotations

import ast
import asyncio
import re
from contextlib import closing
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet, chain_toml
from tests.notebook.here import KeptControls
from zc_notebooks.errors import TransportFailure
from zc_notebooks.notebook.controls_state import ControlsState
from zc_notebooks.notebook.trouble import Trouble
from zc_notebooks.testing import Pieces, chat_answer, chat_chunk, chat_error, chat_usage

DONE = b"data: [DONE]\n\n"
STREAM = Pieces(pieces=(chat_chunk("Light"), chat_chunk("houses"), chat_chunk(finish="stop"), chat_usage(), DONE))
ROUTES = '[[model_routes]]\nhint = "fast"\nmodel_provider = "custom.b"\nmodel = "m"\n'


def panel(folder: Path, script: dict[str, Any], **options: Any) -> tuple[Fleet, ControlsState]:
    fleet = Fleet(script, folder, **options)
    return fleet, ControlsState(fleet.chain, opened="zc.open()")


def test_fallback_off_asks_the_start_alone_and_says_so(tmp_path: Path) -> None:
    """The sentence before, one request, and a loud failure after."""
    fleet, state = panel(tmp_path, {"a": [chat_error(500)], "b": [STREAM]})
    assert state.says == "Fallback is on: the next call has 2 candidates, custom.a/m first."
    state.set(fallback=False)
    assert state.says == "Fallback is off: the next call goes to custom.a/m alone, and fails if that fails."
    assert asyncio.run(state.send("hi")) is None
    assert set(fleet.called) == {"a"}
    assert state.turn.phase == "failed"
    assert state.turn.words.startswith("Fallback is off, and the one candidate gave no answer: custom.a/m: ")
    assert {row[0] for row in state.turn.rows} == {"custom.a/m"}


def test_an_answer_with_its_hops_as_they_happen(tmp_path: Path) -> None:
    """The draft grows, the final text replaces it, and the lines name who failed and who served."""
    fleet, state = panel(tmp_path, {"a": [chat_error(402, "no money")], "b": [chat_answer("42")]})
    seen: list[tuple[str, int]] = []
    state.observe(lambda topic: seen.append((state.turn.phase, len(state.turn.lines))) if topic == "turn" else None)
    done = asyncio.run(state.send("hi"))
    assert done is not None
    assert state.answer is done
    assert (state.turn.phase, state.turn.text) == ("answered", "42")
    assert "custom.b/m" in state.turn.words
    assert [line.split(":")[0] for line in state.turn.lines] == [
        "✗ custom.a/m",
        "note",
        "– custom.a/m",
        "→ hop from custom.a/m to custom.b/m",
        "✓ custom.b/m",
    ]
    assert [count for _, count in seen if count] == sorted(count for _, count in seen if count)
    assert ("asking", 1) in seen
    assert fleet.statuses[-1] == ("b", "ok")


def test_a_skip_says_the_day_until_which_it_holds(tmp_path: Path) -> None:
    """In the form of the provider's row."""
    _, state = panel(tmp_path, {"a": [chat_error(429, "slow", {"retry-after": "86400"})], "b": [chat_answer()] * 2})
    for _ in range(2):
        asyncio.run(state.send("hi"))
    until = state.rows[0].words.partition("limited until ")[2].partition(" by")[0]
    assert re.fullmatch(r"\d\d-\d\d \d\d:\d\d UTC", until)
    assert f"– custom.a/m: skipped (cooldown until {until})" in state.turn.lines


def test_a_line_says_nothing_twice(tmp_path: Path) -> None:
    """Where status and reason are one word it stands there once."""
    dead = TransportFailure("nobody is there", kind="connect", sent=False)
    _, state = panel(tmp_path, {"a": [dead] * 3, "b": [chat_answer("a\u202eb")]})
    asyncio.run(state.send("hi"))
    assert state.turn.lines[0].startswith("✗ custom.a/m: network, 0")
    assert state.turn.text == "a\ufffdb"


def test_the_chains_own_hooks_still_hear(tmp_path: Path) -> None:
    """Panels listen beside the hooks of the chain, and hear nothing of calls that are not theirs."""
    fleet, state = panel(tmp_path, {"a": [chat_error(402)], "b": [chat_answer("42")]})
    second = ControlsState(fleet.chain)
    asyncio.run(fleet.chain.ask("not the panel's"))
    assert state.turn.lines == ()
    asyncio.run(second.send("the second panel's"))
    assert (bool(state.turn.lines), bool(second.turn.lines)) == (False, True)
    assert fleet.rows
    assert fleet.hops


def test_a_hook_set_later_is_heard_beside_the_panels(tmp_path: Path) -> None:
    """Set anew, also around the one before: panels made before and after hear every attempt and hop once."""
    fleet, first = panel(tmp_path, {"a": [chat_error(402)], "b": [chat_answer("42")]})
    asyncio.run(first.send("hi"))
    lines, rows, before = first.turn.lines, [], fleet.chain.on_attempt
    assert before is not None

    def around(row: Any) -> None:
        rows.append(row)
        before(row)

    fleet.chain.clear(everything=True)
    fleet.chain.on_attempt = around
    for state in (first, ControlsState(fleet.chain)):
        asyncio.run(state.send("hi"))
        fleet.chain.clear(everything=True)
        assert _untimed(state.turn.lines) == _untimed(lines)
    assert rows == fleet.rows[len(fleet.rows) // 3 :]


def test_what_a_hook_asks_is_not_the_panels(tmp_path: Path) -> None:
    """A call made by a hook of the chain is its own, also while the panel's turn is under way."""
    fleet, state = panel(tmp_path, {"a": [chat_error(402)], "b": [chat_answer("42")]})
    asked: list[str] = []

    def ask(*_: object) -> None:
        fleet.chain.site.on_failover = None
        asked.append(fleet.chain.ask_sync("why").text)

    fleet.chain.site.on_failover = ask
    asyncio.run(state.send("hi"))
    assert asked == ["42"]
    assert sum(line.startswith("✓") for line in state.turn.lines) == 1


def test_stop_keeps_what_was_shown(tmp_path: Path) -> None:
    """Stop in mid-stream: the text stays, nobody else is asked, the row says cancelled; it may be pressed twice."""
    fleet, state = panel(tmp_path, {"a": [STREAM], "b": [STREAM]})
    state.observe(lambda topic: state.stop() if topic == "turn" and state.turn.text else None)
    assert asyncio.run(state.send("hi")) is None
    assert (state.turn.phase, state.turn.text) == ("stopped", "Light")
    assert state.turn.words == "stopped after 5 characters; nothing else was tried"
    assert fleet.statuses == [("a", "cancelled")]
    state.stop()
    assert not state.asking


def test_one_prompt_at_a_time(tmp_path: Path) -> None:
    """200 quick presses are one call."""
    fleet, state = panel(tmp_path, {"a": [STREAM]})

    async def press() -> list[Any]:
        return await asyncio.gather(*(state.send("hi") for _ in range(200)))

    assert sum(done is not None for done in asyncio.run(press())) == 1
    assert fleet.called == ["a"]


def test_a_probe_asks_one_and_only_once(tmp_path: Path) -> None:
    """200 quick presses of Probe are one probe of that provider; its row and the notice say how it went."""
    fleet, state = panel(tmp_path, {"a": [chat_error(429, "slow down", {"retry-after": "90"})], "b": [chat_answer()]})

    async def press() -> None:
        await asyncio.gather(*(state.probe("custom.a") for _ in range(200)))

    asyncio.run(press())
    assert fleet.called == ["a"]
    row = next(row for row in state.rows if row.ref == "custom.a")
    assert row.words.startswith("limited until 12:01:30 UTC by")
    assert "minute limit (http 429)" in row.last
    assert state.notice.startswith("custom.a: limited")
    assert state.probing == frozenset()


def test_probe_all_counts_on(tmp_path: Path) -> None:
    """Bar and words: how many were asked, how many were not reachable; twice at once is once."""
    fleet, state = panel(tmp_path, {"a": [chat_answer()], "b": [chat_error(401)], "c": [chat_answer()]})
    words: list[str] = []
    state.observe(lambda _: words.append(state.progress.words) if state.progress else None)

    async def twice() -> Any:
        return await asyncio.gather(state.probe_all(), state.probe_all())

    first, second = asyncio.run(twice())
    assert (len(first), second) == (3, ())
    assert sorted(fleet.called) == ["a", "b", "c"]
    assert "3 of 3 asked, 1 not reachable" in words
    assert state.notice == "Probe all: 3 of 3 asked, 1 not reachable"
    assert state.progress is None
    assert [row.words for row in state.rows] == ["reachable", "bad key", "reachable"]


def test_clear_a_mark(tmp_path: Path) -> None:
    """The row loses its mark at once, and the sentence says how many there were."""
    fleet, state = panel(tmp_path, {"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [chat_answer()]})
    asyncio.run(fleet.chain.ask("x"))
    state.refresh()
    assert state.rows[0].marks
    assert state.clear("custom.a") == 1
    assert state.rows[0].marks == ()
    assert state.notice == "custom.a: 1 mark cleared"
    assert state.clear("custom.a") == 0
    assert state.notice == "custom.a: no mark to clear"


def test_a_mark_of_the_same_purse_is_cleared_too(tmp_path: Path) -> None:
    """A row shows the marks of its billing pool, whoever set them, so its button clears those."""
    toml = chain_toml("a", "b", key="KEY_A", billing_pool='"one"')
    fleet, state = panel(tmp_path, {"a": [chat_error(402, "no money")], "b": [chat_answer()]}, toml=toml)
    fleet.chain.board.set_from(
        zc.Verdict(reason="daily_limit", scope="credential", stated_wait_s=60.0),
        _variant(fleet, "custom.a"),
        now=fleet.clock.now(),
    )
    state.refresh()
    assert [len(row.marks) for row in state.rows] == [1, 1]
    assert state.clear("custom.b") == 1
    assert [len(row.marks) for row in state.rows] == [0, 0]


def test_a_mark_counts_down_to_its_end(tmp_path: Path) -> None:
    """When its time is over the mark is gone and the row says so, without anybody pressing anything."""
    fleet, state = panel(tmp_path, {"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [chat_answer()]})
    asyncio.run(fleet.chain.ask("x"))
    told: list[str] = []
    state.observe(told.append)
    state.refresh()
    assert (state.rows[0].marks[0].until - fleet.clock.now()).total_seconds() == 90.0
    assert told == ["panel"]
    state.refresh()
    assert told == ["panel"]
    fleet.clock.advance(91)
    state.refresh()
    assert state.rows[0].words == "unknown (not asked since its limit)"
    assert told == ["panel", "panel"]


def test_settings_narrow_the_next_call(tmp_path: Path) -> None:
    """Start, hint, tiers and budget are options of the call, and the sentence names them."""
    _, state = panel(tmp_path, {"a": [STREAM], "b": [STREAM]}, toml=chain_toml("a", "b", extra=ROUTES))
    assert state.choices == {"start": ("custom.a", "custom.b"), "hint": ("fast",), "tiers": ("metered",)}
    state.set(budget_usd="1")
    assert state.settings.options() == {"budget_usd": Decimal(1)}
    state.set(start="custom.b", tiers=["free"], budget_usd="0.01")
    assert state.settings.options() == {"start": "custom.b", "allow_tiers": ("free",), "budget_usd": Decimal("0.01")}
    assert "Allowed: only the free tier, at most $0.01." in state.says
    assert "None of them is open now" in state.says
    state.set(start=None, hint="fast", tiers=["metered"], budget_usd="")
    assert state.settings.options() == {"hint": "fast"}
    assert "custom.b/m first" in state.says
    state.set(start="custom.a")
    assert "custom.a/m first" in state.says
    assert state.says.endswith("The hint 'fast' counts only without a start.")
    state.only("custom.a")
    assert (state.settings.start, state.settings.fallback) == ("custom.a", False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget_usd": "much"}, "is no amount of US dollars"),
        ({"budget_usd": "-1"}, "is no amount"),
        ({"budget_usd": Decimal("1e9")}, "is no amount"),
        ({"start": "custom.z"}, "is not configured"),
        ({"hint": "nope"}, r"the hint 'nope' belongs to no route \(fast\)"),
        ({"tiers": ["gold"]}, "is no tier"),
        ({"colour": "red"}, "there is no setting"),
    ],
)
def test_a_wrong_setting_is_a_sentence(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    """It says what is wrong and changes nothing."""
    _, state = panel(tmp_path, {"a": [STREAM]}, toml=chain_toml("a", "b", extra=ROUTES))
    before = state.settings
    with pytest.raises(zc.ConfigError, match=words):
        state.set(**change)
    assert state.settings == before


@pytest.mark.filterwarnings("ignore::zc_notebooks.live_config.BrokenEditWarning")
@pytest.mark.parametrize(("edit", "words"), [("[providers", "zc.toml"), (None, "zc.toml is gone")])
def test_a_broken_configuration_is_said_until_it_is_mended(tmp_path: Path, edit: str | None, words: str) -> None:
    """A sentence that stands beside where the next call goes."""
    path = tmp_path / "zc.toml"
    text = '[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\nkeyless = true\n'
    path.write_text(text, "utf-8")
    with closing(zc.open(path, ledger=tmp_path / "ledger")) as chain:
        state = ControlsState(chain)
        view = KeptControls(state)
        told: list[str] = []
        state.observe(told.append)
        path.unlink() if edit is None else path.write_text(edit, "utf-8")
        state.refresh()
        assert state.problem.startswith("What was read before is in force, because: ")
        assert words in view.panel["problem"]
        assert told == ["panel"]
        assert state.problem in view.sheet().lines
        path.write_text(text, "utf-8")
        state.refresh()
        assert view.panel["problem"] == state.problem == ""
        view.close()


@pytest.mark.parametrize(
    "text", ["1e400", "1e999999", "1e-400", "-0", "1e9", "9" * 401, "0." + "1" * 30, "0.0000000001", "inf", "nan"]
)
def test_no_amount(tmp_path: Path, text: str) -> None:
    """What is too much, too little or too long for an amount is refused in a short sentence."""
    _, state = panel(tmp_path, {"a": [STREAM]})
    with pytest.raises(zc.ConfigError, match="is no amount of US dollars") as caught:
        state.set(budget_usd=text)
    assert len(str(caught.value)) < 120
    assert state.settings.budget_usd is None


@pytest.mark.parametrize(
    "text", ["0", "0.000000001", "1e2", "100000000", "0.1", "$ 12345678.1234567", "0.30000000000000004"]
)
def test_an_amount_is_the_same_in_code(tmp_path: Path, text: str) -> None:
    """What is typed is what the code says."""
    _, state = panel(tmp_path, {"a": [STREAM]})
    state.set(budget_usd=text)
    state.clear("custom.a")
    said = state.code.partition('options["budget_usd"] = ')[2].partition("\n")[0]
    assert state.settings.budget_usd == Decimal(text.strip("$ ")) == Decimal(said)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tiers": []}, "Allowed: no tier."),
        ({"tiers": ["free"]}, "Allowed: only the free tier."),
        ({"tiers": ["trial", "free"]}, "Allowed: only the free and the trial tier."),
        ({"fallback": False, "tiers": ["free"]}, "It cannot be asked now (its tier is not allowed). Allowed:"),
    ],
)
def test_limits_in_words(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    """What is allowed, and what stands in the way."""
    _, state = panel(tmp_path, {"a": [STREAM]})
    state.set(**changes)
    assert words in state.says


def test_a_notice_says_what_happened(tmp_path: Path) -> None:
    """A probe in the words of its row, a refusal without what the program was doing."""
    _, state = panel(tmp_path, {"a": [TransportFailure("nobody is there", kind="connect", sent=False)]})
    asyncio.run(state.probe("custom.a"))
    assert state.notice.startswith("custom.a: not reachable (")
    assert state.rows[0].words == "not reachable"
    state.failed("set", zc.ConfigError("it is no amount"))
    assert state.notice == "it is no amount"


def test_nobody_can_be_asked(tmp_path: Path) -> None:
    """Borders that leave nothing make a loud failure, and no request."""
    fleet, state = panel(tmp_path, {"a": [STREAM]})
    state.set(tiers=["free"])
    asyncio.run(state.send("hi"))
    assert state.turn.phase == "failed"
    assert fleet.called == []


def test_what_was_pressed_is_code_that_runs(tmp_path: Path) -> None:
    """Pasted into a cell it makes the same requests with the same options, in the same order."""
    fleet, state = panel(
        tmp_path, {"a": [chat_error(402)], "b": [chat_answer("42")]}, toml=chain_toml("a", "b", extra=ROUTES)
    )
    assert state.code == ""

    async def press() -> None:
        await state.send('say "hi"\n{now}')
        state.set(fallback=False)
        state.set(fallback=True)
        state.set(start="custom.b")
        await state.probe("custom.b")
        await state.send("again")
        state.clear("custom.a")
        await state.probe_all()

    asyncio.run(press())
    pressed, text = list(fleet.called), state.code
    assert text.startswith("import zc_notebooks as zc\n\nchain = zc.open()\n\noptions = {}\n")
    assert text.count('options["fallback"]') + text.count('options.pop("fallback"') == 1
    again = Fleet(
        {"a": [chat_error(402)], "b": [chat_answer("42")]}, tmp_path / "again", toml=chain_toml("a", "b", extra=ROUTES)
    )
    code = compile(text.replace("zc.open()", "fleet.chain"), "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, Any] = {"fleet": again}
    asyncio.run(eval(code, names))  # noqa: S307 (the code is ours)
    assert [host for host, _ in groupby(again.called)] == [host for host, _ in groupby(pressed)]
    assert names["answer"].text == "42"


def test_the_history_is_bounded(tmp_path: Path) -> None:
    """After thousands of presses the newest stay, and begin with the options that were in force."""
    _, state = panel(tmp_path, {"a": [STREAM]})
    state.set(start="custom.a")
    for _ in range(600):
        state.clear("custom.a")
    assert state.code.count("chain.clear") == 500
    assert "options = {\"start\": 'custom.a'}" in state.code
    state.set(start=None, budget_usd="0.5")
    for _ in range(600):
        state.clear("custom.a")
    assert 'options = {"budget_usd": 0.5}' in state.code


def test_an_observer_that_raises_is_shown(tmp_path: Path, troubles: list[Trouble]) -> None:
    """One sentence and the details; the call it watched goes on to its answer."""
    _, state = panel(tmp_path, {"a": [STREAM]})

    def told(topic: str) -> None:
        if topic == "turn":
            raise ValueError("the observer is broken")

    state.observe(told)
    assert asyncio.run(state.send("hi")) is not None
    assert state.trouble is not None
    assert state.trouble.sentence == "showing the turn did not work: ValueError: the observer is broken"
    assert "in told" in state.trouble.details
    assert troubles
    state.dismiss()
    assert state.trouble is None


def test_no_key_is_shown(tmp_path: Path) -> None:
    """A key in a prompt or in a provider's words never reaches what the panel shows or the code."""
    key = KEYS["KEY_A"]
    _, state = panel(tmp_path, {"a": [chat_error(401, f"bad key {key}")]})
    asyncio.run(state.send(f"my key is {key}"))
    asyncio.run(state.probe("custom.a"))
    texts = [state.code, repr(state.turn), repr(state.rows), state.notice, state.says]
    assert [text for text in texts if key in text or key[:12] in text] == []


def _untimed(lines: tuple[str, ...]) -> list[str]:
    return [line.rpartition(",")[0] if line.endswith(" s") else line for line in lines]


def _variant(fleet: Fleet, ref: str) -> Any:
    from zc_notebooks.reliability.materialize import variants

    return variants(fleet.chain.plan(start=ref, fallback=False), fleet.chain.keys)[0]
