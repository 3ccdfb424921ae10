"""The control panel as a widget, without a page: its trait, its messages and its clicks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet
from tests.notebook.here import KeptControls, settled, until
from zc_notebooks.notebook.controls_state import ControlsState
from zc_notebooks.notebook.trouble import Trouble
from zc_notebooks.testing import Pieces, chat_answer, chat_chunk, chat_error, chat_usage

SECRET = "what-only-the-author-knows"
DONE = b"data: [DONE]\n\n"
STREAM = Pieces(pieces=(chat_chunk("Light"), chat_chunk(SECRET), chat_chunk(finish="stop"), chat_usage(), DONE))


def with_panel(
    folder: Path, script: Mapping[str, Any], act: Callable[[KeptControls], Awaitable[None]], **options: Any
) -> tuple[Fleet, KeptControls]:
    """A panel on a loop, driven by ``act``; no task is left when it ends."""
    fleet = Fleet(script, folder, **options)

    async def run() -> KeptControls:
        view = KeptControls(ControlsState(fleet.chain))
        await act(view)
        await settled(view)
        view.close()
        await until(lambda: not view.tasks.running)
        assert len(asyncio.all_tasks()) == 1
        return view

    return fleet, asyncio.run(run())


def test_the_trait_holds_what_the_page_shows(tmp_path: Path) -> None:
    """Rows with lamp and words, settings, choices: plain data, and instants as numbers."""

    async def act(view: KeptControls) -> None:
        await view.state.probe("custom.a")
        view.click({"do": "set", "name": "fallback", "value": False})

    _, view = with_panel(tmp_path, {"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [chat_answer()]}, act)
    shown = json.loads(json.dumps(view.panel))
    row = shown["rows"][0]
    assert (row["ref"], row["lamp"], row["busy"]) == ("custom.a", "limited", False)
    assert row["marks"][0]["until"] - shown["now"] == 90_000
    assert shown["fallback"] is False
    assert shown["says"].startswith("Fallback is off: the next call goes to custom.a/m alone")
    assert shown["choices"]["start"] == ["custom.a", "custom.b"]


def test_200_quick_clicks_are_one_action_each(tmp_path: Path) -> None:
    """Clicks of a page that has not yet seen that the action began are the same click, also when it has ended since."""

    async def act(view: KeptControls) -> None:
        seen = view.panel["version"]
        for _ in range(200):
            view.click({"do": "probe", "ref": "custom.b", "seen": seen})
            view.click({"do": "send", "prompt": "hi", "seen": seen})
            view.click({"do": "clear", "ref": "custom.a", "seen": seen})
            await asyncio.sleep(0)
        await settled(view)
        view.click({"do": "probe", "ref": "custom.b", "seen": view.panel["version"]})

    fleet, view = with_panel(tmp_path, {"a": [STREAM], "b": [chat_answer()]}, act)
    assert sorted(fleet.called) == ["a", "b", "b"]
    assert view.code.count("chain.probe") == 2
    assert view.code.count("chain.ask") == view.code.count("chain.clear") == 1


def test_an_answer_goes_out_piece_by_piece(tmp_path: Path) -> None:
    """Put together, the pieces are the answer; the last message says how it ended."""

    async def act(view: KeptControls) -> None:
        view.click({"do": "send", "prompt": "hi", "seen": view.panel["version"]})

    _, view = with_panel(tmp_path, {"a": [STREAM]}, act)
    text = ""
    for message in view.said("turn"):
        text = text[: message["keep"]] + message["text"]
    assert text == f"Light{SECRET}"
    assert view.said("turn")[-1]["phase"] == "answered"


def test_stop_can_be_pressed_from_the_first_moment(tmp_path: Path) -> None:
    """The page is told that a prompt is being answered before anything of it is."""
    order: list[tuple[bool, bool]] = []

    async def act(view: KeptControls) -> None:
        view.state.observe(lambda _: order.append((bool(view.panel["asking"]), view.state.asking)))
        view.click({"do": "send", "prompt": "hi"})

    with_panel(tmp_path, {"a": [STREAM]}, act)
    assert order[0] == (True, True)
    assert order[-1] == (False, False)


def test_stop_is_a_click(tmp_path: Path) -> None:
    """In mid-stream: the row says cancelled and the page that it was stopped."""

    async def act(view: KeptControls) -> None:
        view.state.observe(
            lambda topic: view.click({"do": "stop"}) if topic == "turn" and view.state.turn.text else None
        )
        view.click({"do": "send", "prompt": "hi"})

    fleet, view = with_panel(tmp_path, {"a": [STREAM], "b": [STREAM]}, act)
    assert fleet.statuses == [("a", "cancelled")]
    assert view.said("turn")[-1]["phase"] == "stopped"


def test_no_prompt_and_no_answer_in_what_a_notebook_saves(tmp_path: Path) -> None:
    """Saved widget state holds traits; prompts, answers, hops and tracebacks are none."""

    async def act(view: KeptControls) -> None:
        view.click({"do": "send", "prompt": f"prompt {SECRET}"})
        await settled(view)
        view.click({"do": "code"})

    _, view = with_panel(tmp_path, {"a": [STREAM]}, act)
    saved = json.dumps({name: value for name, value in view.get_state().items() if name not in ("_esm", "_css")})
    assert SECRET not in saved
    assert "custom.a" in saved
    assert SECRET in view.said("code")[-1]["text"]
    assert SECRET not in repr(view)


def test_where_no_widget_can_be_there_is_a_table(tmp_path: Path) -> None:
    """An export and a page of a repository show the providers and the next call, and no prompt."""

    async def act(view: KeptControls) -> None:
        await view.state.send(f"prompt {SECRET}")
        bundle = view._repr_mimebundle_()
        assert bundle is not None
        assert "custom.a" in bundle[0]["text/html"]
        assert "reachable" in bundle[0]["text/html"]
        assert SECRET not in json.dumps(bundle[0])

    with_panel(tmp_path, {"a": [STREAM]}, act)


def test_a_callback_that_raises_is_shown(tmp_path: Path, troubles: list[Trouble]) -> None:
    """A hook of the user's own, an unknown button: one sentence, the details beside it, and the panel goes on."""

    def broken(_: object) -> None:
        raise RuntimeError("my hook is broken")

    async def act(view: KeptControls) -> None:
        view.click({"do": "paint"})
        assert view.said("trouble")[-1]["trouble"]["sentence"].startswith("paint did not work: ValueError")
        view.chain.on_attempt = broken
        view.click({"do": "send", "prompt": "hi"})
        await settled(view)
        shown = view.said("trouble")[-1]["trouble"]
        assert shown["sentence"] == "the prompt did not work: RuntimeError: my hook is broken"
        assert "Traceback" in shown["details"]
        view.click({"do": "dismiss"})
        assert view.said("trouble")[-1]["trouble"] is None

    with_panel(tmp_path, {"a": [STREAM]}, act)
    assert [trouble.doing for trouble in troubles] == ["paint", "the prompt"]


def test_a_wrong_budget_is_a_notice(tmp_path: Path) -> None:
    """What a person typed wrong is a sentence beside the settings, and no trouble."""

    async def act(view: KeptControls) -> None:
        view.click({"do": "set", "name": "budget_usd", "value": "a lot"})

    _, view = with_panel(tmp_path, {"a": [STREAM]}, act)
    assert "is no amount of US dollars" in view.panel["notice"]


def test_it_looks_only_while_it_is_seen(tmp_path: Path) -> None:
    """A page that shows it starts the looking, the last one that goes ends it, and what others did is seen."""
    script = {"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [chat_answer()]}

    async def act(view: KeptControls) -> None:
        assert not view.following
        view.set_trait("_view_count", 1)
        assert view.following
        await view.chain.ask("another notebook's")
        await until(lambda: view.panel["rows"][0]["lamp"] == "limited")
        view.set_trait("_view_count", 0)
        assert not view.following
        await until(lambda: not view.tasks.running)
        view.set_trait("_view_count", 2)
        assert view.following

    with_panel(tmp_path, script, act)


def test_a_look_that_fails_is_said_once_and_looking_goes_on(tmp_path: Path) -> None:
    """A ledger that cannot be read is a sentence in the panel, until it can be: then the rows are right again."""
    script = {"a": [chat_error(429, "slow", {"retry-after": "90"})], "b": [chat_answer()]}

    async def act(view: KeptControls) -> None:
        (tmp_path / "ledger").write_text("no folder", "utf-8")
        view.set_trait("_view_count", 1)
        await until(lambda: "is a file" in view.panel["notice"])
        version = view.panel["version"]
        await view.looks.more(3)
        assert view.panel["version"] == version
        (tmp_path / "ledger").unlink()
        await view.chain.ask("x")
        await until(lambda: view.panel["rows"][0]["lamp"] == "limited")
        await until(lambda: view.panel["notice"] == "")

    with_panel(tmp_path, script, act)


def test_a_page_that_comes_later_is_told_everything(tmp_path: Path) -> None:
    """After a reload: the whole answer so far, the trouble, fresh rows."""

    async def act(view: KeptControls) -> None:
        await view.state.send("hi")
        view.__dict__["sent"].clear()
        view.click({"do": "hello"})
        turn = view.said("turn")[-1]
        assert (turn["keep"], turn["text"]) == (0, f"Light{SECRET}")
        assert view.said("trouble")[-1]["trouble"] is None

    with_panel(tmp_path, {"a": [STREAM]}, act)


def test_controls_without_a_chain_opens_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``zc.controls()`` is ``zc.controls(zc.open())``, and its code says so."""
    monkeypatch.chdir(tmp_path)
    view = zc.controls()
    try:
        view.state.set(fallback=False)
        assert "chain = zc.open()" in view.code
        assert repr(view).startswith("Controls(6 providers; groq.free: unknown")
    finally:
        view.close()
        view.chain.close()
