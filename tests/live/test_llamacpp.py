"""Our client against a real language model: SmolLM2-135M in llama.cpp's own server, on its three wires.

Its answers are poor, so shape, usage and ending are asserted, never meaning.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.local.helpers import fake_server
from zc_notebooks.clock import SystemClock
from zc_notebooks.config.load import parse_config
from zc_notebooks.errors import TransportFailure
from zc_notebooks.events import Event, Text
from zc_notebooks.local.model import SMOLLM2
from zc_notebooks.local.server import LocalServer, Servers
from zc_notebooks.local.transport import LocalTransport
from zc_notebooks.records import HttpRequest
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.transport import AsyncTransport

missing = SMOLLM2.missing()
pytestmark = pytest.mark.skipif(missing is not None, reason=missing or "")

WIRES = ("openai_chat", "openai_responses", "anthropic_messages")
QUESTION = "What is a lighthouse?"
KEY = "zzlocal-0123456789abcdef-localzz"
LIMIT_S = 60.0

wires = pytest.mark.parametrize("wire", WIRES)
both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A model that all tests may ask."""
    server = LocalServer(SMOLLM2)
    yield server.start().result(LIMIT_S)
    server.stop()


@pytest.fixture
def mortal() -> Iterator[LocalServer]:
    """A model of the test's own, to be killed."""
    server = LocalServer(SMOLLM2)
    server.start().result(LIMIT_S)
    yield server
    server.stop()


ENDLESS = "[providers.llamacpp.box.provider_extra]\nignore_eos = true\n"
"""The model goes on until its limit."""


def profile(url: str, wire: str = "openai_chat", alias: str = "box", **fields: Any) -> str:
    lines = [f"[providers.llamacpp.{alias}]", f'uri = "{url}"', f'wire_api = "{wire}"']
    fields = {"model": "smollm2", "temperature": 0.2} | fields
    return "\n".join([*lines, *(f"{name} = {json.dumps(value)}" for name, value in fields.items())]) + "\n"


class Asker:
    """A chain of its own for each call; ``events`` are those of the last stream."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[Event] = []

    def chain(self, toml: str, environ: Mapping[str, str] | None = None, **options: Any) -> zc.Chain:
        if "[[chain]]" not in toml:
            toml = f'default_provider = "llamacpp.box"\n{toml}'
        config = parse_config(toml, base_dir=self.folder)
        marks = Marks(None, clock=SystemClock())
        return zc.Chain(config, ledger=self.folder / "ledger", marks=marks, environ=environ or {}, **options)

    def __call__(
        self,
        toml: str,
        prompt: Any = QUESTION,
        *,
        streamed: bool = False,
        seen: Callable[[Event], object] = lambda _: None,
        environ: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> zc.Completion:
        async def ask() -> zc.Completion:
            async with self.chain(toml, environ) as chain:
                if not streamed:
                    return await chain.ask(prompt, **settings)
                async with chain.stream(prompt, **settings) as events:
                    async for event in events:
                        self.events.append(event)
                        seen(event)
                assert events.completion is not None
                return events.completion

        self.events = []
        return asyncio.run(ask())

    @property
    def shown(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Text))


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(tmp_path)


# -- answers -----------------------------------------------------------------------------------------------------------


@both
@wires
def test_an_answer(asker: Asker, url: str, wire: str, *, streamed: bool) -> None:
    """Text, an ending, usage and the model's name, in one attempt; the same text as events and as a whole."""
    done = asker(profile(url, wire), streamed=streamed, max_tokens=24)
    assert done.text.strip()
    assert done.finish_reason in ("stop", "length")
    assert (done.served.model_reported, len(done.attempts)) == ("smollm2", 1)
    (usage,) = done.usage_by_provider
    assert usage.input_tokens is not None
    assert usage.output_tokens is not None
    assert 30 < usage.input_tokens < 60, "the prompt with its template, the cached part included"
    assert 0 < usage.output_tokens <= 24
    if streamed:
        assert asker.shown == done.text
        assert len([event for event in asker.events if isinstance(event, Text)]) > 1


@both
@pytest.mark.parametrize("wire", ["openai_chat", "anthropic_messages"])
def test_cut_at_the_limit(asker: Asker, url: str, wire: str, *, streamed: bool) -> None:
    """An answer that ends at ``max_tokens`` says so (on Responses this server calls it completed)."""
    done = asker(profile(url, wire) + ENDLESS, streamed=streamed, max_tokens=8)
    assert done.finish_reason == "length"
    assert done.usage_by_provider[0].output_tokens == 8


@wires
def test_a_conversation(asker: Asker, url: str, wire: str) -> None:
    """Several turns under a system message."""
    turns = [
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": "Hello Ada."},
        {"role": "user", "content": "What is my name?"},
    ]
    done = asker(profile(url, wire), turns, system="Answer in one word.", max_tokens=16)
    assert done.text.strip()


def test_a_name_it_does_not_know(asker: Asker, url: str) -> None:
    """Whatever name is asked for, the loaded model answers: requested is not served."""
    done = asker(profile(url, model="gpt-99"), max_tokens=4)
    assert (done.served.model, done.served.model_reported) == ("gpt-99", "smollm2")


def test_requests_wait_in_line(asker: Asker, url: str) -> None:
    """Four at once are all answered: there is no 429 here."""

    async def ask() -> list[zc.Completion]:
        async with asker.chain(profile(url)) as chain:
            return await asyncio.gather(*(chain.ask(f"Say {number}.", max_tokens=8) for number in range(4)))

    assert [len(done.attempts) for done in asyncio.run(ask())] == [1, 1, 1, 1]


# -- refusals ----------------------------------------------------------------------------------------------------------

LONG = "lighthouse " * 4200


@both
@wires
def test_a_conversation_that_does_not_fit(asker: Asker, url: str, wire: str, *, streamed: bool) -> None:
    """The server's own numbers reach the verdict, and one request is made."""
    with pytest.raises(zc.ContextWindowExceeded) as caught:
        asker(profile(url, wire), LONG, streamed=streamed)
    (failed,) = [failed for failed in caught.value.attempts if failed.row.kind == "attempt"]
    assert failed.verdict is not None
    assert (failed.verdict.reason, failed.verdict.limit_tokens) == ("context_window", SMOLLM2.context)
    assert failed.row.status == "http_400"


def test_the_next_larger_window(asker: Asker, url: str) -> None:
    """A candidate with a larger window gets the whole conversation at once."""
    server = fake_server()
    try:
        large = server.start().result(LIMIT_S)
        toml = profile(url, context_window=4096) + profile(large, alias="large", context_window=100_000)
        toml += '[[chain]]\nprovider = "llamacpp.box"\n[[chain]]\nprovider = "llamacpp.large"\n'
        done = asker(toml, LONG)
    finally:
        server.stop()
    assert done.served.provider_ref == "llamacpp.large"
    assert [(row.status, row.wait_s) for row in done.attempts] == [("http_400", 0.0), ("ok", 0.0)]


@pytest.fixture(scope="module")
def locked() -> Iterator[str]:
    """A model that wants a key."""
    server = LocalServer(SMOLLM2, api_key=KEY)
    yield server.start().result(LIMIT_S)
    server.stop()


@both
@wires
def test_a_wrong_key(asker: Asker, locked: str, wire: str, *, streamed: bool) -> None:
    """One request, a verdict that names the credential; the right key is let in."""
    toml = profile(locked, wire, api_key_env="BOX_KEY")
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        asker(toml, streamed=streamed, environ={"BOX_KEY": "zzwrong-0123456789abcdef-wrongzz"})
    verdicts = [failed.verdict for failed in caught.value.attempts if failed.verdict is not None]
    assert [(verdict.status, verdict.reason, verdict.scope) for verdict in verdicts] == [(401, "auth", "credential")]
    assert asker(toml, streamed=streamed, environ={"BOX_KEY": KEY}, max_tokens=4).text.strip()


def test_while_it_loads(asker: Asker) -> None:
    """A 503 is capacity, which is waited for: the same call is answered once the model is there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = LocalServer(SMOLLM2, port=port)
    url = f"http://127.0.0.1:{port}"
    try:
        server.start()
        asyncio.run(_until_it_says(url, 503))
        toml = profile(url) + "[reliability]\nprovider_retries = 20\nbackoff_cap_ms = 500\n"
        done = asker(toml, max_tokens=4)
    finally:
        server.stop()
    loading, (last,) = done.attempts[:-1], done.attempts[-1:]
    assert {(row.status, row.reason) for row in loading} == {("http_503", "capacity")}
    assert last.status == "ok"


async def _until_it_says(url: str, status: int) -> None:
    """Asks until it answers at all, which must be with ``status``."""
    transport = AsyncTransport()
    request = HttpRequest(method="GET", url=f"{url}/health", headers={})
    try:
        while True:
            with suppress(TransportFailure):
                response = await transport.send(request, connect_s=LIMIT_S, read_s=LIMIT_S)
                assert response.status == status
                return
    finally:
        await transport.aclose()


# -- death -------------------------------------------------------------------------------------------------------------


def kill(server: LocalServer) -> None:
    """Ends the process as a crash would, and waits until it is gone."""
    pid, gone = server.pid, threading.Event()
    assert pid is not None
    server.when_ended(gone.set)
    os.kill(pid, signal.SIGKILL)
    assert gone.wait(LIMIT_S)


@wires
def test_death_in_mid_stream(asker: Asker, mortal: LocalServer, wire: str) -> None:
    """What was shown is kept and the stream is a cut one: never a success, never asked again."""

    def seen(event: Event) -> None:
        if isinstance(event, Text) and mortal.pid is not None:
            kill(mortal)

    toml = profile(mortal.start().result(LIMIT_S), wire) + ENDLESS
    with pytest.raises(zc.StreamInterruptedAfterOutput) as caught:
        asker(toml, streamed=True, seen=seen, max_tokens=2000)
    (row,) = caught.value.rows
    assert (row.status, row.accepted, row.reason) == ("stream_cut", False, "stream_cut")
    assert caught.value.partial_text == asker.shown
    assert asker.shown


def test_death_before_the_answer(asker: Asker, mortal: LocalServer) -> None:
    """A whole answer that never comes is a lost connection, and then nobody is there."""
    toml = profile(mortal.start().result(LIMIT_S)) + ENDLESS + "[reliability]\nprovider_backoff_ms = 1\n"
    pid = mortal.pid
    assert pid is not None

    async def ask() -> None:
        async with asker.chain(toml) as chain:
            asyncio.get_running_loop().call_later(0.3, os.kill, pid, signal.SIGKILL)
            await chain.ask(QUESTION, max_tokens=3000)

    with pytest.raises(zc.AllCandidatesFailed) as caught:
        asyncio.run(ask())
    statuses = [(row.status, row.usage_state) for row in caught.value.rows]
    assert statuses == [("network", "unknown"), ("network", "complete"), ("network", "complete")]
    assert "Connection refused" in str(caught.value)


# -- in the product ----------------------------------------------------------------------------------------------------


@wires
def test_started_when_first_asked(asker: Asker, wire: str) -> None:
    """``[providers.local.x]``: nothing runs before, one process serves all calls, a dead one is replaced."""
    servers = Servers()
    config = parse_config(f'[providers.local.x]\nwire_api = "{wire}"\n', base_dir=asker.folder)
    transport = LocalTransport(AsyncTransport(), config.profiles.values(), SystemClock(), servers=servers)
    server = servers.get("smollm2")

    async def asks() -> list[int | None]:
        toml = (
            f'default_provider = "local.x"\n[providers.local.x]\nwire_api = "{wire}"\n[[chain]]\nprovider = "local.x"\n'
        )
        pids = [server.pid]
        async with asker.chain(toml, transport=transport) as chain:
            for turn in range(3):
                done = await chain.ask(QUESTION, max_tokens=4)
                assert (len(done.attempts), done.cost_usd) == (1, 0.0)
                pids.append(server.pid)
                if turn == 1:
                    kill(server)
        return pids

    try:
        before, first, second, third = asyncio.run(asks())
    finally:
        servers.stop()
    assert before is None
    assert first == second
    assert third not in (None, first)


def test_the_default_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a configuration it stands last, and answers when nobody before it may."""
    monkeypatch.chdir(tmp_path)
    with zc.open(environ={"ZC_LOCAL_MODEL": "on"}, quiet=True) as chain:
        assert chain.plan().entries[-1].ref == "local.smollm2"
        done = chain.ask_sync(QUESTION, allow_tiers=["local"], max_tokens=8)
    assert {row.status for row in done.attempts[:-1]} == {"skipped_tier"}
    assert done.served.provider_ref == "local.smollm2"
    assert not done.text.startswith("(simulated)")


def test_zc_local_up(asker: Asker) -> None:
    """A process of its own that any client may ask, until SIGTERM, which it takes for a good end."""
    command = [sys.executable, "-m", "zc_notebooks.cli", "local", "up", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        done = asker(f'{said["config"]}[[chain]]\nprovider = "local.smollm2"\n', max_tokens=8)
        process.terminate()
        assert process.wait(LIMIT_S) == 0
    assert done.text.strip()
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", int(said["base_url"][17:-3]))):
        pass
