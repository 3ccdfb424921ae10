"""From results to what may be said: quality, reachability and cost of each candidate, and which ones can be told apart.

Quality counts only answers (correct, wrong, unparsed, truncated, refused); reachability counts calls that got one. The
two are never mixed: a candidate whose free tier is out is not wrong, it is not there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import correlation, mean
from typing import Final, Literal

from zc_notebooks.bench.intervals import (
    Interval,
    clustered,
    holm,
    pairs_needed,
    sign_test,
)
from zc_notebooks.bench.results import OUTCOMES, Outcome, Result
from zc_notebooks.bench.robust import quantile
from zc_notebooks.markup import counted
from zc_notebooks.model_names import same_model
from zc_notebooks.records import Record

Told = Literal["better", "worse", "not told apart", "too easy", "too hard", "too little data"]

EASY: Final = 0.9
HARD: Final = 0.1
LEAST_DISCORDANT: Final = 6
"""With fewer tasks that only one of two solves, no exact test at 95 % can tell them apart."""
LEAST_TASKS: Final = 6
SIGNIFICANT: Final = 0.05
_LEAST_P: Final = 0.001
"""Smaller ones are said to be smaller."""


class Candidate(Record, frozen=True, kw_only=True):
    """One candidate's figures."""

    candidate: str
    calls: int
    outcomes: Mapping[Outcome, int]
    accuracy: Interval
    """Correct among answered, clustered by task."""
    reachability: Interval
    """Answered among calls, clustered by task."""
    truncated: Interval
    """Cut at the token limit, among answered."""
    cost_usd: float | None
    """Of all cells, rejected and failed attempts included; ``None``: no part is known."""
    at_least: bool
    cost_per_task: float | None
    cost_per_correct: float | None
    """Effective price: everything spent over the correct answers."""
    tokens_out: float | None
    """Mean of an answer, reasoning included."""
    reasoning_share: float | None
    p50_s: float | None
    p95_s: float | None
    wrong_model: int
    """Answers whose response named another model than was asked for."""
    missed: str = ""
    """Why calls got no answer, the most frequent reason in words; blank when all did."""

    def price(self) -> str:
        """What a right answer costs, in words."""
        if self.cost_usd is None:
            return "cost unknown"
        if self.cost_per_correct is None:
            return "no right answer"
        return f"{'at least ' if self.at_least else ''}${self.cost_per_correct:.6f} for a right answer"


class Pair(Record, frozen=True, kw_only=True):
    """Two candidates on the tasks both answered, by as many answers of the one as of the other.

    Of three answers one is sooner wrong than of one: whoever can be reached less would win by that alone.
    """

    first: str
    second: str
    tasks: int
    wins: int
    """Tasks that the first solves more often."""
    losses: int
    difference: float
    """Mean difference of their shares of right answers over these tasks."""
    p: float
    """Exact, two-sided, corrected for the number of pairs (Holm)."""
    told: Told
    """About the first. ``too easy`` and ``too hard``: these tasks cannot tell, which is not "equal"."""
    needed: int | None = None
    """Tasks of this kind that would tell with 80 % power, where a difference was seen at all."""
    least: int = LEAST_DISCORDANT
    """Tasks that would tell if only one of the two solved them: the exact test's least, for so many pairs."""

    def sentence(self) -> str:
        """What may be said."""
        names = f"{self.first} and {self.second}"
        if self.told in ("better", "worse"):
            return f"{self.first} is {self.told} than {self.second} ({self.difference:+.0%}, {_p(self.p)})"
        more = (
            f"; about {counted(self.needed, 'such task')} would tell"
            if self.needed is not None
            else f"; take harder tasks: {self.least} that only one of them solves would tell"
        )
        if self.told == "too easy":
            return f"these tasks are too easy to tell {names} apart (that is not: equal){more}"
        if self.told == "too hard":
            return f"these tasks are too hard to tell {names} apart (that is not: equal){more}"
        if self.told == "too little data":
            both = f"{counted(self.tasks, 'task')} both answered"
            return f"too little data to tell {names} apart: {both}, {LEAST_TASKS} are needed"
        return f"{names} are not told apart by {counted(self.tasks, 'task')} (p = {self.p:.2f}){more}"


class TaskFigures(Record, frozen=True, kw_only=True):
    """What one task tells."""

    task: str
    kind: str
    level: int
    share: float
    """Mean share of right answers over candidates."""
    low: float
    """The worst candidate's share."""
    high: float
    """The best candidate's."""
    item_rest: float | None
    """Correlation with the candidates' results on all other tasks; negative: look at the task or its grader."""

    @property
    def spread(self) -> float:
        """Between the best and the worst candidate: 0 tells nobody apart."""
        return self.high - self.low


class Statistics(Record, frozen=True, kw_only=True):
    """Everything that may be said about a measurement."""

    candidates: tuple[Candidate, ...]
    pairs: tuple[Pair, ...]
    tasks: tuple[TaskFigures, ...]
    saturated: bool
    """No pair with enough tasks in common is told apart, and these are to blame: too easy or too hard for all."""

    def candidate(self, name: str) -> Candidate:
        """One candidate's figures. Raises ``KeyError``."""
        for item in self.candidates:
            if item.candidate == name:
                return item
        raise KeyError(f"{name} was not measured")

    def sentences(self, *, decided: bool = True) -> list[str]:
        """What may be said of each two candidates that answered at all; ``decided``: also who is better."""
        spoke = {item.candidate for item in self.candidates if item.accuracy.of}
        pairs = [pair for pair in self.pairs if {pair.first, pair.second} <= spoke]
        return [pair.sentence() for pair in pairs if decided or pair.told not in ("better", "worse")]

    def pair(self, first: str, second: str) -> Pair:
        """Two candidates, seen from the first."""
        for item in self.pairs:
            if (item.first, item.second) == (first, second):
                return item
            if (item.first, item.second) == (second, first):
                return _turned(item)
        raise KeyError(f"{first} and {second} were not compared")


def statistics(results: Iterable[Result]) -> Statistics:
    """The figures of a measurement."""
    found = list(results)
    by_candidate: dict[str, list[Result]] = defaultdict(list)
    for result in found:
        by_candidate[result.candidate].append(result)
    shares = {name: _shares(rows) for name, rows in by_candidate.items()}
    candidates = tuple(_candidate(name, rows) for name, rows in by_candidate.items())
    pairs = _pairs({name: _answers(rows) for name, rows in by_candidate.items()}, shares)
    return Statistics(
        candidates=candidates,
        pairs=pairs,
        tasks=_tasks(found, shares),
        saturated=_saturated(pairs),
    )


# -- one candidate ----------------------------------------------------------------------------------------------------


def _candidate(name: str, rows: Sequence[Result]) -> Candidate:
    answered = [row for row in rows if row.answered]
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    cost = sum(known) if known else None
    correct = sum(row.outcome == "correct" for row in rows)
    times = [row.secs for row in answered if row.secs is not None]
    out = [row.output_tokens for row in answered if row.output_tokens is not None]
    reasoning = [row.reasoning_tokens for row in answered if row.reasoning_tokens is not None]
    return Candidate(
        candidate=name,
        calls=len(rows),
        outcomes={outcome: sum(row.outcome == outcome for row in rows) for outcome in OUTCOMES},
        accuracy=clustered(_by_task(answered, lambda row: row.outcome == "correct")),
        reachability=clustered(_by_task(rows, lambda row: row.answered)),
        truncated=clustered(_by_task(answered, lambda row: row.outcome == "truncated")),
        cost_usd=cost,
        at_least=any(row.at_least or row.cost_usd is None for row in rows if row.attempts),
        cost_per_task=None if cost is None or not answered else cost / len(answered),
        cost_per_correct=None if cost is None or not correct else cost / correct,
        tokens_out=mean(out) if out else None,
        reasoning_share=sum(reasoning) / sum(out) if reasoning and sum(out) else None,
        p50_s=quantile(times, 0.5) if times else None,
        p95_s=quantile(times, 0.95) if times else None,
        wrong_model=sum(_other_model(row) for row in answered),
        missed=_missed(rows),
    )


def _missed(rows: Sequence[Result]) -> str:
    why = Counter(row.why.partition(" until ")[0] for row in rows if not row.answered)
    return why.most_common(1)[0][0] if why else ""


def _other_model(row: Result) -> bool:
    return row.reported_model is not None and not same_model(row.served_model, row.reported_model)


def _by_task(rows: Sequence[Result], hit: Callable[[Result], bool]) -> list[tuple[int, int]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        counts[row.task][0] += hit(row)
        counts[row.task][1] += 1
    return [(hits, of) for hits, of in counts.values()]


# -- pairs ------------------------------------------------------------------------------------------------------------


def _shares(rows: Iterable[Result]) -> dict[str, float]:
    """Task → share of right answers among the answered ones."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        if row.answered:
            counts[row.task][0] += row.outcome == "correct"
            counts[row.task][1] += 1
    return {task: hits / of for task, (hits, of) in counts.items()}


Answers = Mapping[str, Mapping[str, Sequence[bool]]]
"""Task → instance → whether each answer was right, by repetition."""


def _answers(rows: Iterable[Result]) -> Answers:
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda row: (row.rep, row.key)):
        if row.answered:
            found[row.task][row.content].append(row.outcome == "correct")
    return found


def _pairs(answers: Mapping[str, Answers], shares: Mapping[str, Mapping[str, float]]) -> tuple[Pair, ...]:
    counted = {pair: _count(answers[pair[0]], answers[pair[1]]) for pair in combinations(answers, 2)}
    corrected = holm({pair: sign_test(wins, losses) for pair, (wins, losses, _, _) in counted.items()})
    return tuple(
        Pair(
            first=first,
            second=second,
            tasks=tasks,
            wins=wins,
            losses=losses,
            difference=difference,
            p=corrected[first, second],
            told=_told(
                shares[first],
                shares[second],
                wins,
                losses,
                tasks,
                corrected[first, second],
            ),
            needed=_needed(wins, losses, tasks, len(counted)),
            least=_least(len(counted)),
        )
        for (first, second), (wins, losses, difference, tasks) in counted.items()
    )


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= _LEAST_P else f"p < {_LEAST_P}"


def _needed(wins: int, losses: int, tasks: int, pairs: int) -> int | None:
    """Tasks that would tell, corrected for the number of pairs; always more than there were."""
    found = pairs_needed(wins, losses, tasks, confidence=1 - SIGNIFICANT / pairs) if tasks else None
    return None if found is None else max(found, tasks + 1)


def _least(pairs: int) -> int:
    """The fewest tasks on which one of two is always better that the exact test tells, as the first of many pairs."""
    return next(count for count in range(LEAST_DISCORDANT, 99) if 2.0 ** (1 - count) < SIGNIFICANT / pairs)


def _count(first: Answers, second: Answers) -> tuple[int, int, float, int]:
    """Tasks the first wins, loses, the mean difference, and how many tasks both answered."""
    found = (_difference(first[task], second[task]) for task in first if task in second)
    differences = [difference for difference in found if difference is not None]
    wins = sum(difference > 0 for difference in differences)
    losses = sum(difference < 0 for difference in differences)
    return wins, losses, mean(differences) if differences else 0.0, len(differences)


def _difference(first: Mapping[str, Sequence[bool]], second: Mapping[str, Sequence[bool]]) -> float | None:
    """Between the shares of right answers in one task: of each instance the first answers, as many as both gave."""
    hits = of = 0
    for content in first.keys() & second.keys():
        count = min(len(first[content]), len(second[content]))
        hits += sum(first[content][:count]) - sum(second[content][:count])
        of += count
    return hits / of if of else None


def _told(
    first: Mapping[str, float],
    second: Mapping[str, float],
    wins: int,
    losses: int,
    tasks: int,
    p: float,
) -> Told:
    if tasks < LEAST_TASKS:
        return "too little data"
    if p < SIGNIFICANT:
        return "better" if wins > losses else "worse"
    level = [mean(shares[task] for task in first if task in second) for shares in (first, second)]
    if wins + losses < LEAST_DISCORDANT and min(level) >= EASY:
        return "too easy"
    if wins + losses < LEAST_DISCORDANT and max(level) <= HARD:
        return "too hard"
    return "not told apart"


def _turned(pair: Pair) -> Pair:
    other: dict[Told, Told] = {"better": "worse", "worse": "better"}
    return Pair(
        first=pair.second,
        second=pair.first,
        tasks=pair.tasks,
        wins=pair.losses,
        losses=pair.wins,
        difference=-pair.difference,
        p=pair.p,
        told=other.get(pair.told, pair.told),
        needed=pair.needed,
        least=pair.least,
    )


def _saturated(pairs: Sequence[Pair]) -> bool:
    compared = [pair for pair in pairs if pair.told != "too little data"]
    return bool(compared) and all(pair.told in ("too easy", "too hard") for pair in compared)


# -- tasks ------------------------------------------------------------------------------------------------------------


def _tasks(found: Sequence[Result], shares: Mapping[str, Mapping[str, float]]) -> tuple[TaskFigures, ...]:
    about = {result.task: result for result in found}
    figures = []
    for task, sample in about.items():
        of_task = {name: given[task] for name, given in shares.items() if task in given}
        if not of_task:
            continue
        values = list(of_task.values())
        figures.append(
            TaskFigures(
                task=task,
                kind=sample.kind,
                level=sample.level,
                share=mean(values),
                low=min(values),
                high=max(values),
                item_rest=_item_rest(task, of_task, shares),
            )
        )
    return tuple(figures)


def _item_rest(task: str, of_task: Mapping[str, float], shares: Mapping[str, Mapping[str, float]]) -> float | None:
    rest = {name: [share for other, share in shares[name].items() if other != task] for name in of_task}
    names = [name for name in of_task if rest[name]]
    return _correlation([of_task[name] for name in names], [mean(rest[name]) for name in names])


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's, or ``None`` where one side does not vary or there are fewer than three."""
    if len(first) <= 2 or 1 in (len(set(first)), len(set(second))):  # noqa: PLR2004 (two points always correlate)
        return None
    return correlation(first, second)
