"""What may be said of a measurement: quality apart from reachability, and "too easy" instead of "equal"."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.bench.results import OUTCOMES, Cell, Result, Results, ResultsError
from zc_notebooks.bench.statistics import statistics

NOW = datetime(2026, 9, 1, tzinfo=UTC)


def result(candidate: str, task: str, outcome: Any, rep: int = 0, **fields: Any) -> Result:
    """One measured cell."""
    content = fields.pop("content", "c")
    cell = Cell(task=task, content=content, candidate=candidate, rep=rep)
    own = {
        "kind": "arithmetic",
        "level": 1,
        "language": "en",
        "attempts": 1,
        "cost_usd": 0.001,
        **fields,
    }
    return Result(
        key=cell.key,
        t=NOW,
        task=task,
        content=content,
        candidate=candidate,
        rep=rep,
        outcome=outcome,
        **own,
    )


def run(candidate: str, outcomes: Iterable[Any], **fields: Any) -> list[Result]:
    """One result for each of the tasks t0, t1 and so on."""
    return [result(candidate, f"t{place}", outcome, **fields) for place, outcome in enumerate(outcomes)]


def test_reachability_is_not_quality() -> None:
    """The best model of all, reachable 5 times in 36, has 100 % quality and 14 % reachability."""
    rows = run("free.best/m", ["correct"] * 5 + ["unreachable"] * 31)
    best = statistics(rows).candidate("free.best/m")
    assert (best.accuracy.share, best.accuracy.of) == (1.0, 5)
    assert best.reachability.share == pytest.approx(5 / 36)
    assert (best.outcomes["unreachable"], best.calls) == (31, 36)


def test_effective_cost_counts_everything() -> None:
    """Cheap by the list, cut off in 10 of 15, dear for each right answer."""
    rows = run(
        "cheap.x/m",
        ["truncated"] * 10 + ["correct"] * 5,
        cost_usd=0.002,
        output_tokens=4000,
        reasoning_tokens=3800,
    )
    rows += run(
        "plain.x/m",
        ["correct"] * 15,
        cost_usd=0.003,
        output_tokens=250,
        reasoning_tokens=0,
    )
    found = statistics(rows)
    cheap, plain = found.candidate("cheap.x/m"), found.candidate("plain.x/m")
    assert cheap.cost_per_task is not None
    assert plain.cost_per_task is not None
    assert cheap.cost_per_task < plain.cost_per_task
    assert (cheap.cost_per_correct, plain.cost_per_correct) == pytest.approx((0.006, 0.003))
    assert cheap.truncated.share == pytest.approx(10 / 15)
    assert cheap.reasoning_share == pytest.approx(0.95)


def test_an_unknown_cost_is_not_zero() -> None:
    """Sums say "at least"; without any known part there is no sum."""
    some = statistics([result("a/m", "t0", "correct"), result("a/m", "t1", "wrong", cost_usd=None)]).candidate("a/m")
    assert (some.cost_usd, some.at_least) == (0.001, True)
    none = statistics([result("a/m", "t0", "correct", cost_usd=None)]).candidate("a/m")
    assert (none.cost_usd, none.cost_per_correct, none.at_least) == (None, None, True)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (["correct"] * 20, ["wrong"] * 20, "better"),
        (["wrong"] * 20, ["correct"] * 20, "worse"),
        (["correct"] * 20, ["correct"] * 20, "too easy"),
        (["correct"] * 19 + ["wrong"], ["correct"] * 19 + ["wrong"], "too easy"),
        (["wrong"] * 20, ["wrong"] * 20, "too hard"),
        (["correct", "wrong"] * 10, ["correct", "wrong"] * 10, "not told apart"),
        (
            ["correct"] * 10 + ["wrong"] * 10,
            ["wrong"] * 10 + ["correct"] * 10,
            "not told apart",
        ),
        (["correct"] * 5, ["wrong"] * 5, "too little data"),
        (["correct"] * 20, ["unreachable"] * 20, "too little data"),
    ],
)
def test_what_may_be_said_of_two(first: list[Any], second: list[Any], told: str) -> None:
    """A tie on easy tasks is not equality, and the sentence says so."""
    pair = statistics(run("a/m", first) + run("b/m", second)).pair("a/m", "b/m")
    assert pair.told == told
    assert ("not: equal" in pair.sentence()) is (told in ("too easy", "too hard"))


@pytest.mark.parametrize(("names", "least"), [("ab", 6), ("abc", 7), ("abcdef", 10)])
def test_how_many_harder_tasks_would_tell(names: str, least: int) -> None:
    """Where no difference was seen: as many as the exact test needs, for so many pairs."""
    pair = statistics([row for name in names for row in run(f"{name}/m", ["correct"] * 20)]).pair("b/m", "a/m")
    assert pair.sentence().endswith(f"take harder tasks: {least} that only one of them solves would tell")
    more = ["correct"] * 20 + ["wrong"] * least
    rows = run("a/m", ["correct"] * (20 + least))
    told = [
        statistics(rows + [r for n in names[1:] for r in run(f"{n}/m", given)]).pairs for given in (more, more[:-1])
    ]
    assert [{pair.told for pair in pairs if pair.first == "a/m"} == {"better"} for pairs in told] == [True, False]


def test_a_small_p_is_no_zero() -> None:
    """And of somebody who never answered nothing is said beside anybody."""
    rows = run("a/m", ["correct"] * 20) + run("b/m", ["wrong"] * 20) + run("c/m", ["unreachable"] * 20)
    assert statistics(rows).sentences() == ["a/m is better than b/m (+100%, p < 0.001)"]
    assert statistics(rows).sentences(decided=False) == []


def test_who_is_reached_less_is_not_favoured() -> None:
    """Of three answers one is sooner wrong than of one; two equals, one of them reached in a third of its calls."""
    chance, runs, told = Random(20261201), 400, 0  # noqa: S311 (a simulation)
    for _ in range(runs):
        rows = []
        for name, reached in (("a/m", 1.0), ("b/m", 0.33)):
            for place, rep in product(range(40), range(3)):
                outcome = "correct" if chance.random() < 0.85 else "wrong"
                rows.append(
                    result(name, f"t{place}", outcome if chance.random() < reached else "unreachable", rep, secs=1.0)
                )
        told += statistics(rows).pair("a/m", "b/m").told in ("better", "worse")
    assert told / runs <= 0.07


def test_instances_are_compared_with_themselves() -> None:
    """Of a template's instances only those that both answered; another one may be easier."""
    rows = [result("a/m", f"t{place}", "correct", content="easy") for place in range(8)]
    rows += [result("a/m", f"t{place}", "wrong", 1, content="hard") for place in range(8)]
    rows += [result("b/m", f"t{place}", "wrong", 1, content="hard") for place in range(8)]
    pair = statistics(rows).pair("a/m", "b/m")
    assert (pair.tasks, pair.wins, pair.losses, pair.difference) == (8, 0, 0, 0.0)
    easy = [row for row in rows if row.content == "easy"]
    assert statistics([*easy, *rows[16:]]).pair("a/m", "b/m").told == "too little data"


def test_a_pair_seen_from_the_other_side() -> None:
    """Wins are losses, better is worse."""
    found = statistics(run("a/m", ["correct"] * 20) + run("b/m", ["wrong"] * 20))
    one, other = found.pair("a/m", "b/m"), found.pair("b/m", "a/m")
    assert (one.wins, one.difference, one.told) == (
        other.losses,
        -other.difference,
        "better",
    )
    assert other.told == "worse"
    with pytest.raises(KeyError, match="were not compared"):
        found.pair("a/m", "c/m")


def test_saturation_is_said_of_the_whole() -> None:
    """All pairs too easy: the tasks are saturated. One pair told apart: they are not."""
    easy = [row for name in "abc" for row in run(f"{name}/m", ["correct"] * 20)]
    assert statistics(easy).saturated
    assert not statistics(easy + run("d/m", ["wrong"] * 20)).saturated
    assert not statistics(easy[:20]).saturated


def test_what_each_task_tells() -> None:
    """A task that only the weaker candidates solve correlates against the rest: look at its grader."""
    rows = run("a/m", ["correct"] * 10) + run("b/m", ["correct"] * 5 + ["wrong"] * 5) + run("c/m", ["wrong"] * 10)
    rows += [result(name, "odd", outcome) for name, outcome in (("a/m", "wrong"), ("b/m", "wrong"), ("c/m", "correct"))]
    tasks = {item.task: item for item in statistics(rows).tasks}
    assert tasks["t0"].spread == 1.0
    assert tasks["t0"].item_rest is not None
    assert tasks["t0"].item_rest > 0
    assert tasks["odd"].item_rest is not None
    assert tasks["odd"].item_rest < 0


def test_a_wrong_served_model_is_counted() -> None:
    """A dated name of the same model is none; another size is."""
    rows = [
        result(
            "a/m",
            "t0",
            "correct",
            served_model="gpt-5-mini",
            reported_model="gpt-5-mini-2025-08-07",
        ),
        result(
            "a/m",
            "t1",
            "correct",
            served_model="gpt-5-mini",
            reported_model="gpt-5-nano",
        ),
    ]
    assert statistics(rows).candidate("a/m").wrong_model == 1


ROWS = st.lists(
    st.builds(
        result,
        st.sampled_from(["a/m", "b/m", "c/m"]),
        st.sampled_from([f"t{place}" for place in range(8)]),
        st.sampled_from(OUTCOMES),
        st.integers(0, 2),
        cost_usd=st.none() | st.floats(0, 1),
        secs=st.none() | st.floats(0, 100),
        output_tokens=st.none() | st.integers(0, 9999),
        reasoning_tokens=st.none() | st.integers(0, 9999),
    ),
    max_size=60,
)


@given(ROWS)
def test_any_measurement_has_figures(rows: list[Result]) -> None:
    """Nothing raises, counts add up, and the order of the results does not matter."""
    found = statistics(rows)
    assert sum(item.calls for item in found.candidates) == len(rows)
    assert all(sum(item.outcomes.values()) == item.calls for item in found.candidates)
    again = statistics(list(reversed(rows)))
    for item in found.candidates:
        assert again.candidate(item.candidate).accuracy.count == item.accuracy.count
    for pair in found.pairs:
        assert again.pair(pair.first, pair.second).told == pair.told
        assert pair.sentence()


# -- the file ---------------------------------------------------------------------------------------------------------


def test_the_newest_result_of_a_cell_counts(tmp_path: Path) -> None:
    """A cell measured again replaces the older result; the key is the same in every run."""
    file = Results(tmp_path / "runs" / "results.jsonl")
    file.append(result("a/m", "t0", "unreachable"))
    file.append(result("a/m", "t1", "correct"))
    file.append(result("a/m", "t0", "correct"))
    assert [(item.task, item.outcome) for item in file] == [
        ("t0", "correct"),
        ("t1", "correct"),
    ]
    assert file.done() == {Cell(task=f"t{place}", content="c", candidate="a/m").key for place in range(2)}


@pytest.mark.parametrize(("cut", "kept"), [(1, ["t0", "t1"]), (2, ["t0"]), (20, ["t0"]), (200, ["t0"])])
def test_a_torn_line_spoils_nothing(tmp_path: Path, cut: int, kept: list[str]) -> None:
    """``kill -9`` in the middle of a write: that cell is measured again, every whole one is kept."""
    file = Results(tmp_path / "results.jsonl")
    file.append(result("a/m", "t0", "correct"))
    file.append(result("a/m", "t1", "correct"))
    data = file.path.read_bytes()
    file.path.write_bytes(data[: -min(cut, len(data) // 3)])
    assert [item.task for item in Results(file.path)] == kept
    file.append(result("a/m", "t2", "wrong"))
    assert [item.task for item in Results(file.path)] == [*kept, "t2"]


def test_a_file_of_something_else(tmp_path: Path) -> None:
    """One sentence with the line, not a traceback from a decoder."""
    path = tmp_path / "results.jsonl"
    path.write_text('{"hello": 1}\n', encoding="utf-8")
    with pytest.raises(ResultsError, match=r"results.jsonl, line 1 is no result"):
        list(Results(path))
    with pytest.raises(ResultsError, match="cannot be read"):
        list(Results(tmp_path))


@pytest.mark.parametrize("line", ["root:x:0:0:root", "hello", "[1]", '{"key":"k","cost_usd":-5}'])
def test_a_line_of_something_else(tmp_path: Path, line: str) -> None:
    """Not passed over as if it had been cut off."""
    path = tmp_path / "results.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(ResultsError, match="line 1 is no result"):
        list(Results(path))


@pytest.mark.parametrize(("field", "value"), [("cost_usd", -5.0), ("secs", 1e308), ("output_tokens", -1)])
def test_impossible_figures_are_no_result(tmp_path: Path, field: str, value: float) -> None:
    """They would spoil every sum."""
    file = Results(tmp_path / "results.jsonl")
    file.append(result("a/m", "t0", "correct"))
    text = file.path.read_text(encoding="utf-8")
    made = text.replace('"cost_usd":0.001', f'"{field}":{value}') if field == "cost_usd" else text
    made = made.replace(f'"{field}":null', f'"{field}":{value:g}')
    file.path.write_text(made, encoding="utf-8")
    with pytest.raises(ResultsError, match=field):
        list(Results(file.path))


@given(st.integers(0, 12), st.integers(0, 12))
def test_what_would_tell_is_always_more(wins: int, losses: int) -> None:
    """That 4 tasks would tell is no sentence about 7 that did not."""
    outcomes = ["correct"] * wins + ["wrong"] * losses + ["correct"] * 3
    others = ["wrong"] * wins + ["correct"] * losses + ["correct"] * 3
    pair = statistics(run("a/m", outcomes) + run("b/m", others)).pair("a/m", "b/m")
    assert pair.needed is None or pair.needed > pair.tasks


def test_why_nobody_answered_is_kept() -> None:
    """A wrong model name is not "reached 0 %" alone."""
    rows = [result("a/m", f"t{n}", "unreachable", why="not found") for n in range(3)]
    assert statistics(rows).candidate("a/m").missed == "not found"
    assert statistics(run("a/m", ["correct"])).candidate("a/m").missed == ""
