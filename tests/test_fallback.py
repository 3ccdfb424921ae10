"""The one function for scripts, with a plain callable as transport and a list as clock."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.raw_server import Answer, RawServer, Request, raw_server
from zc_notebooks.config.load import parse_config
from zc_notebooks.fallback import Candidate
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.testing import ManualClock, chat_answer, chat_error
from zc_notebooks.transport import AsyncTransport

KEYS = {"GROQ_API_KEY": "gsk_aaaaaaaaaaaa", "MISTRAL_API_KEY": "mmmmmmmmmmmmmmm", "DEEPSEEK_API_KEY": "dddddddddddddd"}
CHAIN = [{"provider": "groq", "model": "m1"}, ("mistral", "m2"), Candidate(provider="deepseek", model="m3")]


class Wires:
    """Answers by host and remembers what it was asked."""

    def __init__(self, **by_host: Any) -> None:
        self.by_host = by_host
        self.asked: list[str] = []
        self.requests: list[HttpRequest] = []

    def __call__(self, request: HttpRequest) -> HttpResponse:
        host = next(name for name in self.by_host if name in request.url)
        self.asked.append(host)
        self.requests.append(request)
        answer = self.by_host[host]
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def call(wires: Wires, **options: Any) -> tuple[zc.Completion, list[float]]:
    """One call and the waits it made."""
    slept: list[float] = []
    done = zc.call_with_fallback(
        **{"chain": CHAIN, "payload_for": lambda _: "hello", "environ": KEYS, **options},
        transport=wires,
        sleep=slept.append,
    )
    return done, slept


def test_it_walks_the_chain() -> None:
    """A limit is retried twice with waits, money is not, the third answers."""
    hops: list[tuple[str, str, str]] = []
    rows: list[Any] = []
    wires = Wires(groq=chat_error(429, "slow"), mistral=chat_error(402, "no money"), deepseek=chat_answer("yes"))
    done, slept = call(
        wires, on_attempt=rows.append, on_failover=lambda a, b, why: hops.append((a.provider, b.provider, why))
    )
    assert (done.text, wires.asked) == ("yes", ["groq"] * 3 + ["mistral", "deepseek"])
    assert slept == [0.5, 1.0]
    assert [(origin, to) for origin, to, _ in hops] == [("groq", "mistral"), ("mistral", "deepseek")]
    assert ["slow" in hops[0][2], "no money" in hops[1][2]] == [True, True]
    assert [row.status for row in rows] == ["http_429"] * 3 + ["http_402", "ok"]


def test_whatever_the_transport_raises_is_no_status() -> None:
    """Retried like a lost connection; the text is in the summary."""
    wires = Wires(groq=OSError("cable cut"))
    with pytest.raises(zc.AllCandidatesFailed, match="cable cut"):
        call(wires, chain=CHAIN[:1])
    assert wires.asked == ["groq"] * 3


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_a_call_that_is_ended_has_its_row(ending: type[BaseException]) -> None:
    """133: Ctrl-C inside ``asyncio.run`` cancels the task that waits here, which is no other end than elsewhere."""
    rows: list[AttemptRow] = []

    def send(_: HttpRequest) -> HttpResponse:
        raise ending

    with pytest.raises(ending):
        zc.call_with_fallback(
            chain=CHAIN, payload_for=lambda _: "hello", environ=KEYS, transport=send, on_attempt=rows.append
        )
    assert [(row.provider_ref, row.status) for row in rows] == [("groq", "cancelled")]


def test_the_start_comes_first_and_once() -> None:
    """The start is put in front, its repetition dropped."""
    wires = Wires(groq=chat_answer("g"), mistral=chat_answer("m"), deepseek=chat_error(401, "no"))
    done, _ = call(wires, start=("deepseek", "m3"))
    assert (wires.asked, done.requested.provider_ref) == (["deepseek", "groq"], "deepseek")


def test_a_candidate_without_a_key_is_skipped() -> None:
    """No exception, no request."""
    wires = Wires(groq=chat_answer("g"), mistral=chat_answer("m"), deepseek=chat_answer("d"))
    done, _ = call(wires, environ={"MISTRAL_API_KEY": KEYS["MISTRAL_API_KEY"]})
    assert (done.text, wires.asked) == ("m", ["mistral"])


def test_the_payload_is_made_for_each_candidate() -> None:
    """Messages and settings as OpenAI dictionaries; the candidate decides the model."""

    def payload(candidate: Candidate) -> Any:
        return {"model": "ignored", "messages": [{"role": "user", "content": f"for {candidate.provider}"}], "seed": 7}

    wires = Wires(groq=chat_error(402, "no"), mistral=chat_answer("m"))
    call(wires, payload_for=payload)
    assert [b"for groq" in wires.requests[0].body, b"for mistral" in wires.requests[1].body] == [True, True]
    assert b'"model":"m2"' in wires.requests[1].body


@pytest.mark.parametrize("budget", ["", "[borders]\nbudget_call_usd = 1\nunknown_price = 'allow'\n"])
def test_the_payload_is_made_once_for_each_attempt(tmp_path: Path, budget: str) -> None:
    """What was made is what is sent, retries included, also where a budget has looked at it before."""
    made: list[str] = []

    def payload(candidate: Candidate) -> str:
        made.append(f"number {len(made)} for {candidate.provider}")
        return made[-1]

    wires = Wires(groq=chat_error(503, "busy"), mistral=chat_answer("m"))
    config = parse_config(budget, base_dir=tmp_path, source="zc.toml")
    call(wires, chain=CHAIN[:2], payload_for=payload, config=config)
    sent = [next(words for words in made if words.encode() in request.body) for request in wires.requests]
    assert sorted(sent) == sorted(made)


def test_rows_go_to_a_ledger_when_asked(tmp_path: Path) -> None:
    """Otherwise nothing is written anywhere."""
    wires = Wires(groq=chat_error(402, "no"), mistral=chat_answer("m"))
    call(wires, ledger=tmp_path / "ledger")
    assert zc.Ledger(tmp_path / "ledger").attempts()["status"].to_list() == ["http_402", "ok"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"chain": []}, "chain is empty"),
        ({"chain": [("nobody", "m")]}, "names no known provider"),
        ({"chain": [("custom", "m")]}, "names no known provider"),
        ({"chain": ["groq/m"]}, r"'groq/m' is no candidate: write \(provider, model\)"),
        ({"chain": [("groq", "m", "n")]}, "is no candidate"),
        ({"chain": [("groq", " ")]}, "is no candidate"),
        ({"chain": [("groq", None)]}, "is no candidate"),
        ({"chain": [{"provider": "groq"}]}, "is no candidate"),
        ({"chain": [{"provider": "groq", "model": "m", "modell": "n"}]}, "is no candidate"),
        ({"chain": [Candidate(provider="groq", model="")]}, "is no candidate"),
        ({"start": 3}, "3 is no candidate"),
        ({"payload_for": lambda _: {"messages": "x", "bogus": 1}}, "bogus"),
        ({"payload_for": lambda _: ""}, "prompt"),
    ],
)
def test_mistakes_are_one_sentence(options: dict[str, Any], words: str) -> None:
    """A user's mistake names what is wrong."""
    with pytest.raises((zc.ConfigError, InvalidRequest), match=words):
        call(Wires(groq=chat_answer("g")), **options)


def test_a_key_of_another_vendor_is_not_sent() -> None:
    """As everywhere else: it fails before anybody is asked, and no part of it is shown."""
    wires = Wires(groq=chat_answer("g"))
    with pytest.raises(zc.ConfigError, match="form of a key of Anthropic") as refused:
        call(wires, chain=CHAIN[:1], environ={"GROQ_API_KEY": "sk-ant-0123456789abcdef"})
    assert (wires.asked, "0123456789abcdef" in str(refused.value)) == ([], False)


def own_transport(toml: str, answer: Answer, **options: Any) -> tuple[Any, RawServer]:
    """What a call over the package's own transport came to, and the server that answered it."""

    async def scene() -> tuple[Any, RawServer]:
        async with raw_server(answer) as server:
            config = parse_config(toml.replace("URL", server.url), base_dir=Path(), source="zc.toml")
            names = [(ref, "m") for ref in config.profiles]
            ask = partial(zc.call_with_fallback, chain=names, config=config, payload_for=lambda _: "x", **options)
            done = await asyncio.to_thread(ask)
            await asyncio.wait_for(server.client_left.wait(), 10)
            return done, server

    return asyncio.run(scene())


SERVER = '[providers.custom.{0}]\nuri = "URL"\nkeyless = true\n{1}\n'


async def good(_request: Request, writer: asyncio.StreamWriter) -> None:
    """An answer."""
    body = chat_answer("fine").body
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))


async def good_at_last(request: Request, writer: asyncio.StreamWriter) -> None:
    """Nothing to the first request, an answer to the next."""
    if request.number > 1:
        await good(request, writer)


def test_no_connection_is_left_open() -> None:
    """A script may call it a thousand times."""
    done, server = own_transport(SERVER.format("a", ""), good)
    assert (done.text, server.accepted) == ("fine", 1)


def test_a_profile_has_its_own_limits() -> None:
    """A silent candidate is left when its read limit is over."""
    slow = SERVER.format("a", "read_timeout_s = 0.05") + SERVER.format("b", "")
    policy = "[reliability]\nprovider_retries = 0\n"
    done, _ = own_transport(slow + policy, good_at_last)
    assert [row.status for row in done.attempts] == ["timeout", "ok"]


def test_the_time_of_the_call_is_that_of_all_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later candidate gets what is left, and a server on one's own network is asked where the profile permits it."""
    clock = ManualClock()
    given: list[dict[str, Any]] = []

    async def send(_self: AsyncTransport, _request: HttpRequest, **limits: Any) -> HttpResponse:
        given.append(limits)
        clock.advance(7)
        return chat_error(400, "no") if len(given) == 1 else chat_answer("yes")

    monkeypatch.setattr(AsyncTransport, "send", send)
    toml = SERVER.replace("URL", "http://model.lan/v1").format("a", "allow_plain_http = true") + SERVER.format("b", "")
    config = parse_config(toml.replace("URL", "https://b.test/v1"), base_dir=Path(), source="zc.toml")
    names = [("custom.a", "m"), ("custom.b", "m")]
    zc.call_with_fallback(chain=names, config=config, payload_for=lambda _: "x", clock=clock, timeout_s=15)
    assert [(limits["connect_s"], limits["read_s"]) for limits in given] == [(10.0, 15.0), (8.0, 8.0)]
    assert [limits["allow_plain_http"] for limits in given] == [True, False]
