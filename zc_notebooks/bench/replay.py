"""What would have happened: the walk over the recorded conditions of a period, with another order or policy.

:func:`replay` runs the same generator that decides live calls (:mod:`zc_notebooks.reliability.walk`) for every call of
the period, on a simulated clock and a cooldown board of its own. What a candidate answers comes from the ledger
(:mod:`~zc_notebooks.bench.oracle`): the call's own recorded attempt, else what was observed of the candidate near in
time, else its quotas as they showed themselves and its episodes before and after.

Honest limits. A candidate that was not asked at a time has no observation then: what is said of it is interpolated or
unknown, and the coverage says how much of the result rests on which. The estimate takes a candidate that nobody
asked, and a free one beyond its known load, to fail; a paid one beyond its known load to answer; one that was not
asked for six hours to be as it was last (or next) seen. All of these are marked unknown; the bounds are the least and
the most over runs in which all doubts go against, all go for, each doubtful candidate's go otherwise than the rest's,
and, where neighbours in time disagree, up to twenty drawn by lot. They bound what the rows leave open, not what they
cannot show: answers are taken to be as good as each other, requests to be as acceptable to any candidate, other
programs to use the same quotas as they did, and a quota to be counted by one of a few rules. A row keeps no prompt,
so that a request too large for another candidate is not foreseen, nor one that its wire cannot carry. Tokens and
seconds of an answer nobody gave are the candidate's own typical ones. Streams that break are taken to have shown
output where nobody recorded otherwise. Calls that were cancelled are left out: nobody knows how they would have
ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeVar

from zc_notebooks.bench.candidates import recorded_order, variants_of
from zc_notebooks.bench.load import Loads
from zc_notebooks.bench.mood import Mood
from zc_notebooks.bench.oracle import Oracle
from zc_notebooks.bench.recorded import Candidate, RecordedCall, Recording, hops, named
from zc_notebooks.bench.simulate import Simulation
from zc_notebooks.bench.simulated_call import Simulated
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.prices import totals
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import counted
from zc_notebooks.records import Profile, RateLimitPolicy, Record, Reliability
from zc_notebooks.reliability.steps import WalkPolicy

NOTHING: Final = "no calls in this period: nothing to replay"
LIMITS: Final = (
    "a candidate that was not asked at a time has no observation then; see the coverage",
    "unknown counts in the estimate as failure for a candidate nobody asked and for a free one beyond its known load, "
    "as answered for a paid one beyond it, and as last seen for one not asked for six hours; in the bounds both ways",
    "answers are not compared, and other programs are taken to use the same quotas as they did",
)
_LOTS: Final = 20
_FEW: Final = 4
_MOST_CALLS: Final = 50_000
"""Simulated for the bounds of one replay, about: a fifth of a millisecond each."""
_Number = TypeVar("_Number", int, float)


class Figures(Record, frozen=True, kw_only=True):
    """What a period came to."""

    calls: int
    answered: int
    attempts: int
    hops: int
    waited_s: float
    """Slept before retries, all calls together."""
    cost_usd: Decimal | None
    """``None``: no part is known."""
    at_least: bool
    """A part of the cost is not known."""
    availability: float
    """Answered over calls."""


class Bounds(Record, frozen=True, kw_only=True):
    """The least and the most over all ways to decide what the rows leave open."""

    availability: tuple[float, float]
    answered: tuple[int, int]
    attempts: tuple[int, int]
    hops: tuple[int, int]
    waited_s: tuple[float, float]
    cost_usd: tuple[Decimal | None, Decimal | None]


class Coverage(Record, frozen=True, kw_only=True):
    """What the estimate rests on: its simulated attempts by how their outcome is known."""

    attempts: int
    observed: int
    interpolated: int
    unknown: int

    def share(self, grade: str) -> float:
        """Of the attempts; 1.0 observed when there were none."""
        if not self.attempts:
            return float(grade == "observed")
        return float(getattr(self, grade)) / self.attempts


class Served(Record, frozen=True, kw_only=True):
    """How many calls one candidate answered."""

    candidate: str
    really: int
    would_have: int
    least: int
    most: int


class ReplayedCall(Record, frozen=True, kw_only=True):
    """One call, as it went and as it would have."""

    call_id: str
    t: datetime
    served: str | None
    would_have_served: str | None
    observed: bool
    """Every attempt of the estimate rests on an observation."""


class Replay(Record, frozen=True, kw_only=True):
    """A period with another order, policy or set of candidates, against what really happened."""

    since: datetime | None
    until: datetime | None
    chain: tuple[str, ...]
    rate_limit: RateLimitPolicy
    really: Figures
    would_have: Figures
    bounds: Bounds
    coverage: Coverage
    served: tuple[Served, ...]
    calls: tuple[ReplayedCall, ...] = ()
    cancelled: int = 0
    """Calls left out because somebody stopped them."""
    limits: tuple[str, ...] = LIMITS

    def __repr__(self) -> str:
        low, high = self.bounds.availability
        return (
            f"Replay({counted(self.really.calls, 'call')}: really {self.really.availability:.1%} answered, "
            f"would have been {self.would_have.availability:.1%} ({low:.1%} to {high:.1%}), "
            f"{self.coverage.share('observed'):.0%} of it observed)"
        )


def replay(
    rows: Iterable[AttemptRow],
    chain: Sequence[str] | None = None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    profiles: Mapping[str, Profile] | None = None,
    reliability: Reliability | None = None,
    rate_limit: RateLimitPolicy | None = None,
    flat: bool = True,
) -> Replay:
    """Replays the calls of a period; see the module for what it can and cannot know.

    Args:
        rows: The ledger's rows, also from before the period: quotas are learned from them.
        chain: Candidates in order, ``family.alias`` or ``family.alias/model``; the recorded order by default.
        since: Aware; calls that began before it are not replayed. All by default.
        until: Aware; calls that began then or later are neither replayed nor learned from.
        profiles: Of the configuration, for prices and for candidates that are in no row.
        reliability: Retries, waits and guesses; the defaults of ``[reliability]`` unless given.
        rate_limit: By default that of the flat chain.
        flat: A profile is not tried twice in a call (the flat chain); ``False``: as in a profile graph.

    Raises:
        LedgerError: there are no calls in the period, or a candidate is not known.
    """
    recording = Recording(row for row in rows if until is None or row.t < until)
    asked = recording.demand(since, until)
    demand = [call for call in asked if not call.cancelled]
    if not demand:
        raise LedgerError(NOTHING)
    names = tuple(chain) if chain else recorded_order(recording)
    variants = variants_of(names, recording, profiles)
    reliability = reliability or Reliability()
    policy = WalkPolicy(
        reliability=reliability,
        rate_limit=rate_limit or _usual(reliability, flat=flat),
        overflow=reliability.context_overflow,
        chain=flat,
    )
    loads = Loads(recording.seen, recording.statements)
    oracle = Oracle(recording, loads, {item.ref: item.entry.profile for item in variants})

    def run(mood: Mood) -> tuple[list[Simulated], Simulation]:
        simulation = Simulation(recording, loads, oracle, variants, policy, mood)
        return simulation.run(demand), simulation

    estimate, first = run(Mood())
    runs = [estimate, *(run(mood)[0] for mood in _moods(first, len(demand)))]
    return Replay(
        since=since,
        until=until,
        chain=tuple(dict.fromkeys(f"{item.ref}/{item.model}" for item in variants)),
        rate_limit=policy.rate_limit,
        really=_really(demand),
        would_have=_figures(estimate),
        bounds=_bounds([_figures(one) for one in runs]),
        coverage=_coverage(estimate),
        served=_served(demand, runs),
        calls=tuple(_call(one) for one in estimate),
        cancelled=len(asked) - len(demand),
    )


def _usual(reliability: Reliability, *, flat: bool) -> RateLimitPolicy:
    return reliability.chain_rate_limit_policy if flat else reliability.graph_rate_limit_policy


def _moods(first: Simulation, calls: int) -> list[Mood]:
    """The runs that bound the estimate, the telling ones first: none where nothing is open, fewer for many calls."""
    moods: list[Mood] = []
    if first.doubted:
        moods += [Mood("worst"), Mood("best")]
    lots = [Mood("lot", seed=seed) for seed in range(_LOTS)] if first.chancy else []
    odd = [Mood(kind, odd=who) for who in sorted(first.doubted) for kind in ("worst", "best")]
    moods += lots[:_FEW] + (odd if len(first.doubted) > 1 else []) + lots[_FEW:]
    return moods[: max(_MOST_CALLS // calls, 2 + _FEW)]


def _really(demand: Sequence[RecordedCall]) -> Figures:
    rows = [row for call in demand for row in call.rows]
    cost, at_least = totals(rows)
    answered = sum(call.served is not None for call in demand)
    return Figures(
        calls=len(demand),
        answered=answered,
        attempts=sum(row.kind == "attempt" for row in rows),
        hops=sum(hops(call.rows) for call in demand),
        waited_s=sum(row.wait_s or 0.0 for row in rows),
        cost_usd=_sum([] if cost is None else [cost], at_least=at_least),
        at_least=at_least,
        availability=answered / len(demand),
    )


def _figures(calls: Sequence[Simulated]) -> Figures:
    answered = sum(call.served is not None for call in calls)
    at_least = any(call.at_least for call in calls)
    return Figures(
        calls=len(calls),
        answered=answered,
        attempts=sum(len(call.attempts) for call in calls),
        hops=sum(call.hops for call in calls),
        waited_s=sum(call.waited_s for call in calls),
        cost_usd=_sum([call.cost_usd for call in calls if call.cost_usd is not None], at_least=at_least),
        at_least=at_least,
        availability=answered / len(calls),
    )


def _sum(known: Sequence[Decimal], *, at_least: bool) -> Decimal | None:
    """Nothing that is known beside something that is not is unknown; nothing at all costs nothing."""
    return sum(known, Decimal(0)) if known or not at_least else None


def _bounds(figures: Sequence[Figures]) -> Bounds:
    costs = [one.cost_usd for one in figures if one.cost_usd is not None]
    open_end = any(one.at_least for one in figures)
    return Bounds(
        availability=_span([one.availability for one in figures]),
        answered=_span([one.answered for one in figures]),
        attempts=_span([one.attempts for one in figures]),
        hops=_span([one.hops for one in figures]),
        waited_s=_span([one.waited_s for one in figures]),
        cost_usd=(min(costs, default=None), None if open_end else max(costs, default=None)),
    )


def _span(values: Sequence[_Number]) -> tuple[_Number, _Number]:
    return min(values), max(values)


def _coverage(calls: Sequence[Simulated]) -> Coverage:
    grades = Counter(grade for call in calls for _, grade in call.attempts)
    return Coverage(
        attempts=grades.total(),
        observed=grades["observed"],
        interpolated=grades["interpolated"],
        unknown=grades["unknown"],
    )


def _served(demand: Sequence[RecordedCall], runs: Sequence[Sequence[Simulated]]) -> tuple[Served, ...]:
    really = Counter(_name(call.served) for call in demand)
    each = [Counter(_name(call.served) for call in run) for run in runs]
    names = {name for counts in (really, *each) for name in counts if name is not None}
    return tuple(
        Served(
            candidate=name,
            really=really[name],
            would_have=each[0][name],
            least=min(counts[name] for counts in each),
            most=max(counts[name] for counts in each),
        )
        for name in sorted(names, key=lambda name: (-each[0][name], name))
    )


def _call(one: Simulated) -> ReplayedCall:
    return ReplayedCall(
        call_id=one.call.call_id,
        t=one.call.begin,
        served=_name(one.call.served),
        would_have_served=_name(one.served),
        observed=all(grade == "observed" for _, grade in one.attempts),
    )


def _name(candidate: Candidate | None) -> str | None:
    return None if candidate is None else named(candidate)
