"""A measurement through the chain's own walk, on a scripted transport and a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import Fleet, profile
from zc_notebooks.bench.results import Result, Results, ResultsError
from zc_notebooks.bench.run import Graded, Measured, Settings, measure, named
from zc_notebooks.bench.statistics import statistics
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import HttpResponse, Record
from zc_notebooks.testing import Pieces, chat_answer, chat_chunk, chat_error, chat_usage

DAY = "Rate limit reached on tokens per day (TPD): Limit 100000, Used 100000. Please try again in 5h12m0s."


class Sum(Record, frozen=True, kw_only=True):
    """A task whose right answer is "42"."""

    task: str
    content: str = "c1"
    kind: str = "arithmetic"
    level: int = 1
    language: str = "en"
    prompt: str = "What is 40 + 2?"
    max_tokens: int = 64

    async def grade(self, answer: str, judged: str) -> Graded:
        del judged
        if not any(letter.isdigit() for letter in answer):
            return Graded(outcome="unparsed", why="no number")
        return Graded(outcome="correct" if "42" in answer else "wrong")


ITEMS = tuple(Sum(task=f"t{place}") for place in range(3))


def answer(text: str = "42", *, finish: str = "stop") -> HttpResponse:
    made = chat_answer(text)
    return HttpResponse(status=200, headers=made.headers, body=made.body.replace(b'"stop"', f'"{finish}"'.encode()))


def fleet_of(folder: Path, script: Mapping[str, Sequence[Any]], extra: str = "", **fields: Any) -> Fleet:
    toml = "".join(profile(name, pricing="{ m = 1.0 }", **fields) for name in script)
    return Fleet(script, folder, toml=f'default_provider = "custom.a"\n{toml}{extra}')


def run(fleet: Fleet, folder: Path, *names: str, **settings: Any) -> tuple[Measured, list[Result]]:
    """One run over the three tasks, and everything in the file afterwards."""
    results = Results(folder / "results.jsonl")
    made = Settings(**{"reps": 1, "concurrency": 1, **settings})
    candidates = [f"custom.{name}" for name in names or ("a",)]
    done = asyncio.run(measure(fleet.chain, ITEMS, candidates, results, made))
    return done, list(results)


@pytest.mark.parametrize(
    ("response", "outcome", "why"),
    [
        (answer("It is 42."), "correct", ""),
        (answer("It is 41."), "wrong", ""),
        (answer("I would say forty-two."), "unparsed", "no number"),
        (answer("It is 42", finish="length"), "truncated", "cut at 64 tokens"),
        (chat_error(400, "bad", code="content_filter"), "refused", "content filter"),
        (chat_error(400, "no such field"), "error", "bad request"),
        (chat_error(401, "who?"), "unreachable", "auth"),
        (chat_error(402, "no money"), "unreachable", "balance"),
        (chat_error(404, "model not found"), "unreachable", "not found"),
    ],
)
def test_outcomes_are_told_apart(tmp_path: Path, response: HttpResponse, outcome: str, why: str) -> None:
    """What the model said, what it refused, what the request had wrong, and that nobody was there."""
    fleet = fleet_of(tmp_path, {"a": [response, *[answer()] * 2]})
    done, rows = run(fleet, tmp_path)
    assert (rows[0].outcome, rows[0].why) == (outcome, why)
    assert (done.cells, done.before, done.done, done.stopped) == (3, 0, 3, "")
    assert {row.mode for row in fleet.rows} == {"bench"}
    assert all(row.turn_id and row.turn_id.startswith("bench:") for row in fleet.rows)


def test_a_failing_candidate_never_falls_back(tmp_path: Path) -> None:
    """Every request goes to the candidate that is measured; its fallback is healthy and is not asked."""
    fleet = fleet_of(tmp_path, {"a": [chat_error(401, "no")] * 3, "b": [answer()] * 3}, fallback='["custom.b"]')
    _, rows = run(fleet, tmp_path)
    assert fleet.called == ["a"] * 3
    assert [row.outcome for row in rows] == ["unreachable"] * 3


def test_a_minutes_limit_is_waited_for(tmp_path: Path) -> None:
    """90 s are above the walk's own cap and within the run's: waited once, then answered."""
    fleet = fleet_of(tmp_path, {"a": [chat_error(429, "slow", {"retry-after": "90"}), *[answer()] * 3]})
    _, rows = run(fleet, tmp_path)
    assert [row.outcome for row in rows] == ["correct"] * 3
    assert rows[0].waited_s == pytest.approx(90.0)
    assert rows[0].attempts == 2


def test_each_cell_may_wait(tmp_path: Path) -> None:
    """Two limits of 90 s are too long for the cell that meets both; the next one waits for the end of the second."""
    slow = chat_error(429, "slow", {"retry-after": "90"})
    fleet = fleet_of(tmp_path, {"a": [answer(), slow, slow, *[answer()] * 9]})
    _, rows = run(fleet, tmp_path, reps=2)
    assert [row.outcome for row in rows] == ["correct", "unreachable", *["correct"] * 4]
    assert [row.waited_s for row in rows[:4]] == pytest.approx([0, 90, 90, 0])


def test_a_stated_end_is_waited_for_whatever_failed(tmp_path: Path) -> None:
    """A full provider that says when to come again; one that does not is simply not reached."""
    full = [chat_error(503, "full", {"retry-after": "20"}), answer(), chat_error(503, "full"), answer()]
    _, rows = run(fleet_of(tmp_path, {"a": full}), tmp_path)
    assert [(row.outcome, row.waited_s) for row in rows] == [("correct", 20.0), ("unreachable", 0.0), ("correct", 0.0)]


def test_a_limit_beyond_the_wait_is_unreachable(tmp_path: Path) -> None:
    """And it is not asked again before its stated end."""
    fleet = fleet_of(tmp_path, {"a": [chat_error(429, "slow", {"retry-after": "900"}), *[answer()] * 3]})
    _, rows = run(fleet, tmp_path)
    assert [row.outcome for row in rows] == ["unreachable"] * 3
    assert fleet.called == ["a"]


def test_a_days_quota_is_unreachable_not_wrong(tmp_path: Path) -> None:
    """One request; the other cells say until when, and count for reachability alone."""
    fleet = fleet_of(tmp_path, {"a": [answer(), chat_error(429, DAY)], "b": [answer("41")] * 3})
    _, rows = run(fleet, tmp_path, "a", "b")
    of_a = [row for row in rows if row.candidate == "custom.a/m"]
    assert [row.outcome for row in of_a] == ["correct", "unreachable", "unreachable"]
    assert of_a[2].attempts == 0
    assert "daily limit until" in of_a[2].why
    figures = statistics(rows)
    best = figures.candidate("custom.a/m")
    assert (best.accuracy.share, best.reachability.share) == (1.0, pytest.approx(1 / 3))
    assert figures.candidate("custom.b/m").accuracy.share == 0.0


def test_an_answer_that_is_no_use_is_part_of_the_cost(tmp_path: Path) -> None:
    """An empty answer was billed: it is not asked again, and the right answers pay for it."""
    fleet = fleet_of(tmp_path, {"a": [chat_answer(""), *[answer()] * 2]})
    _, rows = run(fleet, tmp_path)
    assert [(row.outcome, row.attempts) for row in rows] == [("unparsed", 1), ("correct", 1), ("correct", 1)]
    figures = statistics(rows).candidate("custom.a/m")
    assert figures.cost_per_correct == pytest.approx(3 * (rows[1].cost_usd or 0) / 2)


def test_what_a_limit_cost_is_part_of_the_cell(tmp_path: Path) -> None:
    """Every attempt of the cell is on its account: the refused one at nothing, the answered one at its price."""
    fleet = fleet_of(tmp_path, {"a": [chat_error(429, "slow", {"retry-after": "5"}), *[answer()] * 3]})
    _, rows = run(fleet, tmp_path)
    assert (rows[0].attempts, rows[1].attempts) == (2, 1)
    assert rows[0].cost_usd == rows[1].cost_usd


@pytest.mark.parametrize(("finish", "outcome"), [("length", "truncated"), ("stop", "unparsed")])
def test_reasoning_that_used_up_every_token_is_truncated(tmp_path: Path, finish: str, outcome: str) -> None:
    """Nothing but thinking, cut at the limit."""
    fleet = fleet_of(tmp_path, {"a": [answer("", finish=finish)] * 9})
    _, rows = run(fleet, tmp_path)
    assert [row.outcome for row in rows] == [outcome] * 3
    assert all(row.secs is not None and row.reported_model == "m" for row in rows)


def test_a_refusal_to_call_took_no_time_to_answer(tmp_path: Path) -> None:
    """Who was not reached has no time of an answer, however long that took."""
    _, rows = run(fleet_of(tmp_path, {"a": [chat_error(404, "model not found")] * 3}), tmp_path)
    assert [(row.secs, row.reported_model) for row in rows] == [(None, None)] * 3


def test_a_run_goes_on_with_exactly_the_rest(tmp_path: Path) -> None:
    """Cells in the file are not asked again; a changed task is another cell."""
    fleet = fleet_of(tmp_path, {"a": [answer()] * 8})
    results = Results(tmp_path / "results.jsonl")
    first = asyncio.run(measure(fleet.chain, ITEMS[:2], ["custom.a"], results, Settings(reps=1)))
    again = asyncio.run(measure(fleet.chain, ITEMS, ["custom.a"], results, Settings(reps=2)))
    assert (first.done, again.before, again.done, again.cells) == (2, 2, 4, 6)
    assert len(fleet.called) == 6
    changed = [Sum(task="t0", content="c2")]
    assert asyncio.run(measure(fleet.chain, changed, ["custom.a"], results, Settings(reps=1))).done == 1
    assert len({row.key for row in results}) == 7


def test_a_candidate_named_twice_is_measured_once(tmp_path: Path) -> None:
    """With its model and without: the same cells."""
    fleet = fleet_of(tmp_path, {"a": [answer()] * 6})
    done, _ = run(fleet, tmp_path, "a", "a/m", "a")
    assert (done.cells, done.done, len(fleet.called)) == (3, 3, 3)
    assert named(fleet.chain, ["custom.a", "custom.a/n", "custom.a/m"]) == ["custom.a/m", "custom.a/n"]


def test_a_budget_ends_the_run_before_it_is_spent(tmp_path: Path) -> None:
    """The cells that are left say why; a resume with more money does them."""
    fleet = fleet_of(tmp_path, {"a": [answer()] * 6})
    done, rows = run(fleet, tmp_path, budget_usd=0.000475)
    assert 0 < done.done < 3
    assert "$0.000024 of the run's budget of $0.000475 is spent" in done.stopped
    assert sum(row.cost_usd or 0 for row in rows) <= 0.000475
    done, rows = run(fleet, tmp_path, budget_usd=1.0)
    assert (len(rows), done.stopped) == (3, "")


def test_a_tier_outside_the_border_is_not_measured(tmp_path: Path) -> None:
    """The border holds for measurements too."""
    fleet = fleet_of(tmp_path, {"a": [answer()] * 3}, tier='"prepaid"')
    done, rows = run(fleet, tmp_path, allow_tiers=["free"])
    assert (done.done, rows, fleet.called) == (0, [], [])
    assert "allow_tiers" in done.stopped


def test_a_streamed_run_measures_the_first_token(tmp_path: Path) -> None:
    """With ``stream`` the first token is timed; the answer is judged the same."""
    stream = Pieces(pieces=(chat_chunk("4"), chat_chunk("2"), chat_chunk(finish="stop"), chat_usage()))
    fleet = fleet_of(tmp_path, {"a": [stream] * 3})
    _, rows = run(fleet, tmp_path, stream=True)
    assert [row.outcome for row in rows] == ["correct"] * 3
    assert all(row.first_token_s is not None for row in rows)


def test_a_streamed_run_is_kept_apart_from_work(tmp_path: Path) -> None:
    """Streams and what recovers them: mode ``bench``, as without streaming."""
    stream = Pieces(pieces=(chat_chunk("4"), chat_chunk("2"), chat_chunk(finish="stop"), chat_usage()))
    fleet = fleet_of(tmp_path, {"a": [Pieces(pieces=(chat_usage(),)), answer(), stream, stream]})
    _, rows = run(fleet, tmp_path, stream=True)
    assert [(row.outcome, row.attempts) for row in rows] == [("correct", 2), ("correct", 1), ("correct", 1)]
    assert [row.mode for row in fleet.rows] == ["bench"] * 4


@pytest.mark.parametrize(("name", "words"), [("custom.zz", "zz"), ("custom.n", "custom.n has no model")])
def test_a_wrong_candidate_is_one_sentence(tmp_path: Path, name: str, words: str) -> None:
    """Before anything is asked."""
    extra = '[providers.custom.n]\nuri = "https://n.test/v1"\nkeyless = true\n'
    fleet = fleet_of(tmp_path, {"a": [answer()]}, extra)
    with pytest.raises(ConfigError, match=words):
        asyncio.run(measure(fleet.chain, ITEMS, [name], Results(tmp_path / "r.jsonl")))
    assert fleet.called == []


def test_the_model_that_answered_is_kept(tmp_path: Path) -> None:
    """What was asked for and what the response says."""
    fleet = fleet_of(tmp_path, {"a": [chat_answer("42", model="other-model")] * 3})
    _, rows = run(fleet, tmp_path)
    assert (rows[0].served_model, rows[0].reported_model) == ("m", "other-model")
    assert statistics(rows).candidate("custom.a/m").wrong_model == 3


def test_no_prompt_and_no_answer_is_kept(tmp_path: Path) -> None:
    """Results and ledger hold neither."""
    fleet = fleet_of(tmp_path, {"a": [answer("It is 42, says nobody.")] * 3})
    run(fleet, tmp_path)
    fleet.chain.close()
    text = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
    assert b"says nobody" not in text
    assert b"What is 40" not in text


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """A second one on the same file pays for every cell again: it says so, and asks nobody before the first ends."""
    fleet = fleet_of(tmp_path, {"a": [answer()] * 3})
    results = Results(tmp_path / "results.jsonl")
    with results.held(), pytest.raises(ResultsError, match=r"another run measures into .*results\.jsonl: wait"):
        asyncio.run(measure(fleet.chain, ITEMS, ["custom.a"], Results(results.path), Settings(reps=1)))
    assert fleet.called == []
    assert not results.path.exists()
    assert asyncio.run(measure(fleet.chain, ITEMS, ["custom.a"], results, Settings(reps=1))).done == 3


def test_results_that_cannot_be_written_end_the_run(tmp_path: Path) -> None:
    """One error of ours, not a group of them."""
    fleet = fleet_of(tmp_path, {"a": [answer()] * 3})
    (tmp_path / "results.jsonl").mkdir()
    results = Results(tmp_path / "results.jsonl")
    results.done = frozenset  # type: ignore[method-assign]
    with pytest.raises(ResultsError, match="cannot be written"):
        asyncio.run(measure(fleet.chain, ITEMS, ["custom.a"], results))
