"""The fault wall: nothing fails on it, it covers what it promises, and it fails where a chain does harm."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from tests import ROOT
from zc_notebooks.chain import Chain
from zc_notebooks.chat import Identity, Text
from zc_notebooks.cli.app import run as zc
from zc_notebooks.errors import StreamInterruptedAfterOutput, TransportFailure
from zc_notebooks.events import Event, Final
from zc_notebooks.records import HttpRequest
from zc_notebooks.result import Completion
from zc_notebooks.streaming import Stream
from zc_notebooks.wall import TRIALS, ScoreCard, Trial, run_wall

README = ROOT / "README.md"

PROMISED = (
    "429 with Retry-After 2",
    "429 for good",
    "one 500",
    "503",
    "connection reset",
    "no answer",
    "first token late",
    "cut after 40 of 60 tokens",
    "stall",
    "malformed chunk",
    "no [DONE]",
    "context length",
    "content filter",
    "backup rejects the request's shape",
    "flapping primary",
    "failover is accounted",
    "402 without credit",
    '402 "can only afford"',
    "in-flight 402",
    "day quota with a lying retry delay",
    "limit: 0",
    "account-wide free quota",
    "Retry-After above the cap",
    "200 with an error body",
    "error event after 200, after 40 tokens",
    "empty",
    "reasoning-only",
    "two processes at one limit",
    "restart in the middle of a cooldown",
    "served model is not the requested one",
)


@pytest.fixture(scope="module")
def card() -> ScoreCard:
    """The whole wall, once."""
    return run_wall()


def test_nothing_fails(card: ScoreCard) -> None:
    """Every fault ends as the specification says, in each mode."""
    assert [score for score in card.scores if score.result != "pass"] == []
    assert card.ok


def test_every_promised_fault_is_there(card: ScoreCard) -> None:
    """The published list is whole, streaming and not where both apply."""
    found = {(score.fault, score.mode) for score in card.scores}
    assert {fault for fault, _ in found} >= set(PROMISED)
    assert {fault for fault, mode in found if mode == "stream"} >= set(PROMISED)


def test_the_readme_shows_this_card(card: ScoreCard) -> None:
    """The table in the README is the one the wall makes."""
    text = README.read_text(encoding="utf-8")
    shown = re.search(r"<!-- wall -->\n(.*?)\n<!-- /wall -->", text, re.DOTALL)
    assert shown is not None
    assert shown[1] == card.markdown()


# -- chains that do harm ----------------------------------------------------------------------------------------------


class Trusting(Chain):
    """Takes a stream that broke for one that ended."""

    def stream(self, prompt: Any, **options: Any) -> Any:
        return _Reader(super().stream(prompt, **options), self._end)

    async def _end(self, error: StreamInterruptedAfterOutput) -> AsyncGenerator[Event, None]:
        nobody = Identity(provider_ref="custom.primary", model="lab-large")
        yield Final(completion=Completion(text=error.partial_text, call_id="-", served=nobody, requested=nobody))


class Replaying(Trusting):
    """Asks again after text had been shown, and shows it all once more."""

    async def _end(self, _: StreamInterruptedAfterOutput) -> AsyncGenerator[Event, None]:
        done = await self.ask("Count up to 59, please.", start="openai.backup")
        yield Text(text=done.text)
        yield Final(completion=done)


class Forgetful(Chain):
    """Leaves its refused attempts out of the record."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        keep = self.on_attempt
        if keep is not None:
            self.on_attempt = lambda row: keep(row) if row.status == "ok" else None
        return await super().ask(prompt, **options)


class Persistent(Chain):
    """Retries behind the chain's back."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        await super().ask(prompt, **options)
        return await super().ask(prompt, **options)


class Crashing(Chain):
    """Has an error of its own."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        raise KeyError(prompt, options)


class Silent(Chain):
    """Answers with nothing at all."""

    async def ask(self, *_: Any, **options: Any) -> Any:
        return options.get("nothing")


class Miscredited(Chain):
    """Gives the first candidate the credit."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        done = await super().ask(prompt, **options)
        return replace(done, served=done.requested)


class Cheap(Chain):
    """Says that an answer of unknown cost cost nothing more."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        return replace(await super().ask(prompt, **options), at_least=False)


class Half(Chain):
    """Returns half an answer as a whole one."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        done = await super().ask(prompt, **options)
        return replace(done, text=done.text[:80])


class Amnesiac(Chain):
    """Forgets every cooldown at the next call."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        self.clear(everything=True)
        return await super().ask(prompt, **options)


class Unrecorded(Chain):
    """Its rows reach whoever listens and never the disk."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.site.writer.write = lambda _: None  # type: ignore[method-assign,assignment]


class Waitless(Chain):
    """Asks again at once where the provider said 2 s: the lab's time does not move."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "random": lambda: -10.0})


class Straying(Chain):
    """Asks somebody who is not in the chain, and says so."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        return await super().ask(prompt, **{**options, "start": "custom.narrow"})


class Meddling(Chain):
    """Asks once more when nobody waits for it any longer, off the record."""

    async def aclose(self) -> None:
        address = self.config.profiles["openai.backup"].base_url
        with suppress(TransportFailure):
            await self.transport.send(
                HttpRequest(method="GET", url=f"{address}/models", headers={}), connect_s=5, read_s=5
            )
        await super().aclose()


class Hanging(Chain):
    """Never answers, and never gives up."""

    async def ask(self, *_: Any, **__: Any) -> Completion:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


def _nothing() -> Any:
    raise AssertionError("the inner stream begins its own turn")


class _Reader(Stream):
    """A stream whose interruption is covered up."""

    def __init__(
        self, inner: Stream, end: Callable[[StreamInterruptedAfterOutput], AsyncGenerator[Event, None]]
    ) -> None:
        super().__init__(_nothing)
        self._inner = inner
        self._events = self._covered(end)

    async def _covered(
        self, end: Callable[[StreamInterruptedAfterOutput], AsyncGenerator[Event, None]]
    ) -> AsyncGenerator[Event, None]:
        try:
            async for event in self._inner:
                yield event
        except StreamInterruptedAfterOutput as error:
            async for event in end(error):
                yield event

    async def __anext__(self) -> Event:
        assert self._events is not None
        return await anext(self._events)


@pytest.mark.parametrize(
    ("make", "fault", "mode", "words"),
    [
        (Trusting, "cut after 40 of 60 tokens", "stream", "passed as whole"),
        (Trusting, "stall", "stream", "passed as whole"),
        (Replaying, "cut that looks like a clean end", "stream", "the reader saw"),
        (Forgetful, "503", "chat", "on the record"),
        (Persistent, "one 500", "chat", "rows of a call"),
        (Crashing, "503", "chat", "crashed with KeyError"),
        (Silent, "503", "chat", "neither an answer nor an error"),
        (Miscredited, "content filter", "chat", "has the credit"),
        (Cheap, "stall", "chat", "passed as known"),
        (Half, "one 500", "chat", "passed as whole"),
        (Amnesiac, "Retry-After above the cap", "chat", "instead of"),
        (Unrecorded, "429 for good", "chat", "files hold 0 rows"),
        (Waitless, "429 with Retry-After 2", "chat", "2.0 s before the time it had stated"),
        (Straying, "one 500", "chat", "narrow/lab-small was asked, who is not in the chain"),
        (Meddling, "one 500", "chat", "1 request belongs to no call"),
    ],
)
def test_a_chain_that_does_harm_fails(make: type[Chain], fault: str, mode: str, words: str) -> None:
    """The wall can fail: each of these breaks one promise."""
    (score,) = [score for score in run_wall(trial(fault), make=make).scores if score.mode == mode]
    assert score.result == "fail", score
    assert words in score.reason


def test_a_trial_that_hangs_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is run all the same."""
    monkeypatch.setattr("zc_notebooks.wall.score_card.ENDS_WITHIN_S", 0.05)
    hung, other = run_wall(trial("one 500"), make=Hanging).scores
    assert (hung.mode, hung.result, hung.reason) == ("chat", "fail", "it had not ended after 0.05 s")
    assert other.mode == "stream"


class Timid(Chain):
    """Gives up at the first failure, loudly."""

    async def ask(self, prompt: Any, **options: Any) -> Completion:
        return await super().ask(prompt, **{**options, "fallback": False})


def test_another_way_that_harms_nobody_is_safe() -> None:
    """A chain that ends loudly where it could have gone on is no success, and no harm."""
    (score,) = [score for score in run_wall(trial("content filter"), make=Timid).scores if score.mode == "chat"]
    assert score.result == "safe"


def trial(fault: str) -> Sequence[Trial]:
    """The trials of one fault."""
    return [found for found in TRIALS if found.fault == fault]


def test_the_command_prints_the_card(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``zc lab wall --json``: one object, status 0; a fault that did harm: status 1."""
    from zc_notebooks.wall import score_card

    few = score_card.run_wall(trial("one 500"))
    monkeypatch.setattr("zc_notebooks.wall.run_wall", lambda **_: few)
    assert zc(["lab", "wall", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"] is True
    assert {score["result"] for score in shown["scores"]} == {"pass"}
    broken = replace(few, scores=tuple(replace(score, result="fail") for score in few.scores))
    monkeypatch.setattr("zc_notebooks.wall.run_wall", lambda **_: broken)
    assert zc(["lab", "wall"]) == 1
    assert "2 fail" in capsys.readouterr().out


def test_marks_of_a_trial_stay_in_it() -> None:
    """One trial's cooldown never reaches the next one's chain."""
    both = run_wall([*trial("Retry-After above the cap"), *trial("one 500")])
    assert both.count("pass") == len(both.scores)
