"""The one function for scripts, with a plain callable as transport and a list as clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from zc_notebooks.config.load import parse_config
from zc_notebooks.fallback import Candidate
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.testing import chat_answer, chat_error

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
        ({"payload_for": lambda _: {"messages": "x", "bogus": 1}}, "bogus"),
        ({"payload_for": lambda _: ""}, "prompt"),
    ],
)
def test_mistakes_are_one_sentence(options: dict[str, Any], words: str) -> None:
    """A user's mistake names what is wrong."""
    with pytest.raises((zc.ConfigError, InvalidRequest), match=words):
        call(Wires(groq=chat_answer("g")), **options)
