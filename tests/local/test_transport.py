"""A transport that knows this machine: models started on the way, and what a call found out remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pytest

from tests.local.helpers import Making, profile
from zc_notebooks.clock import SystemClock
from zc_notebooks.errors import TransportFailure
from zc_notebooks.local.presence import shared
from zc_notebooks.local.server import Servers
from zc_notebooks.local.transport import LocalTransport, aware, local_of
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.testing import ManualClock, ScriptedTransport, chat_answer
from zc_notebooks.transport import AsyncTransport

LIMITS = {"connect_s": 20.0, "read_s": 20.0}
OWN = profile("local")
OLLAMA = profile("ollama")
REFUSED = TransportFailure("127.0.0.1:11434: no connection: Connection refused", kind="connect", sent=False)


def request(url: str) -> HttpRequest:
    return HttpRequest(method="POST", url=url, headers={}, body=b"{}")


@pytest.fixture
def made() -> Iterator[list[Making]]:
    """Whatever a test has made is ended after it."""
    found: list[Making] = []
    yield found
    for making in found:
        for server in making.made:
            server.stop()


def local(making: Making, made: list[Making], inner: Any = None) -> LocalTransport:
    made.append(making)
    return LocalTransport(inner or AsyncTransport(), [OWN, OLLAMA], ManualClock(), servers=Servers(making))


def test_a_model_is_started_by_its_first_request(made: list[Making]) -> None:
    """Nothing runs before; the second request finds it running."""
    making = Making()
    transport = local(making, made)
    assert making.made == []

    async def twice() -> list[HttpResponse]:
        try:
            url = "managed://smollm2/v1/chat/completions"
            return [await transport.send(request(url), **LIMITS) for _ in range(2)]
        finally:
            await transport.aclose()

    answers = asyncio.run(twice())
    assert [answer.status for answer in answers] == [200, 200]
    assert b"/v1/chat/completions was asked" in answers[0].body
    assert len(making.made) == 1


def test_a_stream_starts_it_too(made: list[Making]) -> None:
    """The same by stream, with the same address."""
    transport = local(Making(), made)

    async def body() -> bytes:
        asked = HttpRequest(
            method="POST", url="managed://smollm2/v1/chat/completions", headers={}, body=b'{"stream": true}'
        )
        try:
            async with transport.stream(asked, connect_s=20.0, first_byte_s=20.0) as response:
                return b"".join([chunk async for chunk in response.chunks()])
        finally:
            await transport.aclose()

    assert asyncio.run(body()).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("stream", [False, True])
def test_a_start_that_fails(made: list[Making], *, stream: bool) -> None:
    """A failed connection with the process's own words, and the calls that follow pass the model over."""
    transport = local(Making("wrong"), made)

    async def ask() -> None:
        if stream:
            async with transport.stream(request("managed://smollm2/v1/x"), connect_s=20.0, first_byte_s=1.0):
                raise AssertionError
        await transport.send(request("managed://smollm2/v1/x"), **LIMITS)

    with pytest.raises(TransportFailure) as caught:
        asyncio.run(ask())
    assert (caught.value.kind, caught.value.sent) == ("connect", False)
    assert str(caught.value) == "SmolLM2 could not be started: the weights are torn"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zc_notebooks.local.model.LocalModel.missing", lambda _: None)
        absent = asyncio.run(transport.presence.look([OWN]))
    assert absent == {OWN.base_url: str(caught.value)}


def test_a_start_that_outlasts_the_callers_patience(made: list[Making]) -> None:
    """The attempt ends in time; the start goes on for the next one."""
    making = Making("dumb")
    transport = local(making, made)
    with pytest.raises(TransportFailure, match="smollm2 has not started within") as caught:
        asyncio.run(transport.send(request("managed://smollm2/v1/x"), connect_s=0.01, read_s=1.0))
    assert (caught.value.kind, caught.value.sent) == ("timeout", False)
    assert not making.made[0].start().done()


class Started:
    """A server that is up already, after a while."""

    def __init__(self) -> None:
        self.ready: Future[str] = Future()

    def get(self, _: str) -> Started:
        return self

    def start(self) -> Future[str]:
        return self.ready


class Keeps:
    """Keeps the limits it was given."""

    def __init__(self) -> None:
        self.limits: dict[str, Any] = {}

    async def send(self, _: HttpRequest, **limits: Any) -> HttpResponse:
        self.limits = limits
        return chat_answer()


def test_the_start_counts_against_the_limits() -> None:
    """A call's deadline holds although the model was started within it."""
    inner, servers = Keeps(), Started()
    transport = LocalTransport(inner, [OWN], ManualClock(), servers=servers)  # type: ignore[arg-type]

    async def ask() -> None:
        asyncio.get_running_loop().call_later(0.02, servers.ready.set_result, "http://127.0.0.1:1")
        await transport.send(request("managed://smollm2/v1/x"), connect_s=5.0, read_s=5.0)

    asyncio.run(ask())
    assert inner.limits["connect_s"] == 5.0
    assert 4.0 < inner.limits["read_s"] <= 4.98


def test_what_a_call_finds_out() -> None:
    """A refused connection is remembered as absent, an answer as present, a timeout as not known."""
    slow = TransportFailure("127.0.0.1:11434: no answer", kind="timeout", sent=False)
    inner = ScriptedTransport({"127.0.0.1": [chat_answer(), REFUSED, slow, chat_answer()]})
    transport = LocalTransport(inner, [OLLAMA], ManualClock())
    seen = []

    async def asks() -> None:
        for _ in range(3):
            with suppress(TransportFailure):
                await transport.send(request("http://127.0.0.1:11434/api/chat"), **LIMITS)
            seen.append((len(inner.requests), bool(await transport.presence.look([OLLAMA]))))

    asyncio.run(asks())
    assert seen == [(1, False), (2, True), (3, False)]
    assert inner.requests[-1].url.endswith("/api/tags")


def test_other_machines_pass_untouched() -> None:
    """Requests to anybody else go straight through."""
    inner = ScriptedTransport({"api.groq.com": [chat_answer()]})
    transport = LocalTransport(inner, [OLLAMA], ManualClock())
    asked = request("https://api.groq.com/openai/v1/chat/completions")
    assert asyncio.run(transport.send(asked, **LIMITS)).status == 200
    assert inner.requests == [asked]


def test_only_where_there_is_something_to_know() -> None:
    """A transport is wrapped once, and not at all without a candidate on this machine."""
    inner = AsyncTransport()
    assert aware(inner, [profile("groq")], SystemClock()) is inner
    assert local_of(inner) is None
    wrapped = aware(inner, [profile("groq"), OLLAMA], SystemClock())
    assert local_of(wrapped) is wrapped
    assert aware(wrapped, [OLLAMA], SystemClock()) is wrapped


def test_chains_of_a_process_share_what_was_seen() -> None:
    """On the system's clock the memory is the process's; on any other it is the transport's own."""
    origin = "http://127.0.0.1:11434"
    first, second = (aware(AsyncTransport(), [OLLAMA], SystemClock()) for _ in range(2))
    try:
        first.presence.lost(origin, "gone")
        assert set(asyncio.run(second.presence.look([OLLAMA]))) == {OLLAMA.base_url}
    finally:
        shared.pop(origin, None)
    other = aware(ScriptedTransport({"127.0.0.1": [chat_answer()]}), [OLLAMA], ManualClock())
    other.presence.lost(origin, "gone")
    assert origin not in shared
