"""What a candidate would have answered at a time: from what it did answer, and how sure that is.

Three grades. ``observed``: this very call asked it, or somebody did near enough in time, with no more used of its
quotas than then; the own answer of a paid one that never ran out stands at any load. ``interpolated``: from its quotas
(:mod:`~zc_notebooks.bench.load`) and from what it did before and after. ``unknown``: nobody asked it within reach, or
more is wanted of it than it was ever seen to carry. Unknown is
never success in silence: a candidate nobody ever asked is taken to fail, and so is a free one beyond its known load;
a paid one is taken to carry more, and one that was last seen long ago to be as it was then. All of that is doubtful,
and the bounds of a replay count it both ways.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import fmean, median
from typing import Final, Literal

from msgspec.structs import replace

from zc_notebooks.bench.load import Fit, Levels, Loads, Use, use_of
from zc_notebooks.bench.past import NEAR, Past
from zc_notebooks.bench.recorded import BY_REQUEST, Candidate, Recording, Seen
from zc_notebooks.chat import Usage
from zc_notebooks.ledger.prices import price, totals
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Profile, Record, Variant, Verdict

Grade = Literal["observed", "interpolated", "unknown"]
REACH: Final = timedelta(hours=6)
"""How far a last (or first) observation is carried where there is none on the other side."""
_CLOSE: Final = 1e-6
_ASSUMED_PAID: Final = ("prepaid", "metered", "local")
NEVER_ASKED: Final = Verdict(reason="not_found", scope="model", text="never asked in this period: unknown")
_REFUSED_S: Final = 0.0


class Effect(Record, frozen=True, kw_only=True):
    """What one attempt comes to."""

    verdict: Verdict | None
    """``None``: it answers."""
    secs: float
    cost_usd: Decimal | None
    """``None``: unknown."""
    at_least: bool = False
    """A part of the cost is not known."""
    use: Use = Use()


class Ruling(Record, frozen=True, kw_only=True):
    """What is believed of one attempt."""

    grade: Grade
    likely: Effect
    other: Effect | None = None
    """What could be instead."""
    doubtful: bool = False
    """Whether the bounds count both; else only chance decides between them."""
    chance: float = 1.0
    """Of an answer."""
    counts: tuple[int, int] = (0, 0)
    """Observations of the candidate that chance was seen in: up, down. It is no surer than they are many."""
    lasting: bool = False
    """Its failures come in spells: what holds now holds for a while."""


class Oracle:
    """Answers for every candidate of a recording."""

    def __init__(self, recording: Recording, loads: Loads, profiles: Mapping[str, Profile]) -> None:
        self.loads = loads
        self._profiles = profiles
        self._seen: dict[Candidate, list[Seen]] = defaultdict(list)
        self._times: dict[Candidate, list[datetime]] = {}
        for one in recording.seen:
            if one.verdict is None or one.verdict.reason not in BY_REQUEST:
                self._seen[one.candidate].append(one)
        for candidate, seen in self._seen.items():
            self._times[candidate] = [one.row.t for one in seen]
        self._typical: dict[Candidate, Effect] = {}
        self._pasts: dict[Candidate, Past] = {}

    # -- the ruling ---------------------------------------------------------------------------------------------------

    def ruling(
        self,
        variant: Variant,
        now: datetime,
        levels: Levels,
        own: Seen | None,
        spoken: set[int] = frozenset(),  # type: ignore[assignment]
    ) -> Ruling:
        """What ``variant`` would answer at ``now``.

        Args:
            variant: Who is asked.
            now: Simulated time.
            levels: What is used up of the quotas in the simulation.
            own: What the same call recorded of this attempt, if it made it.
            spoken: Ids of observations this call has heard already; each speaks once.
        """
        if own is not None and self._stands(own, variant, now, levels):
            return Ruling(grade="observed", likely=recorded(own))
        for fit in self.loads.of(account(variant), variant.model):
            ruled = self._by_load(fit, variant, now, levels)
            if ruled is not None:
                return ruled
        if own is not None and own.verdict is not None and not self.loads.by_load(own):
            return Ruling(grade="observed", likely=recorded(own))
        return self._by_time(variant, now, spoken)

    def _stands(self, own: Seen, variant: Variant, now: datetime, levels: Levels) -> bool:
        """Whether the load is on the same side of what was recorded: an answer with less, a refusal with more used."""
        by_load = self.loads.by_load(own)
        for fit in self.loads.of(account(variant), variant.model):
            level, then = levels.level(fit, now), own.levels.get(fit.name)
            if then is None:
                continue
            slack = _CLOSE * max(abs(then), 1.0)
            if by_load:
                if own.verdict is not None and fit.reason == own.verdict.reason and fit.verdict is not None:
                    return level >= then - slack
            elif fit.verdict is None and variant.entry.profile.tier in _ASSUMED_PAID:
                continue  # no limit was ever met: that nobody saw it carry more takes nothing from its own answer
            elif level > then + slack and level > fit.below:
                return False
        return True

    def _by_load(self, fit: Fit, variant: Variant, now: datetime, levels: Levels) -> Ruling | None:
        """A refusal, or a doubt, that follows from what is used up; ``None``: the quota lets it through."""
        level = levels.level(fit, now)
        if not fit.explained or level <= fit.below:
            return None
        refuses = Effect(verdict=refusal(fit, now, levels), secs=_REFUSED_S, cost_usd=Decimal(0))
        answers = self.typical(variant, now)
        if fit.verdict is None:
            paid = variant.entry.profile.tier in _ASSUMED_PAID
            likely, other = (answers, refuses) if paid else (refuses, answers)
            return Ruling(grade="unknown", likely=likely, other=other, doubtful=True, chance=0.5)
        if level >= fit.above:
            return Ruling(grade="interpolated", likely=refuses, chance=0.0)
        likely, other = (
            (refuses, answers)
            if level >= (fit.limit if fit.below < fit.limit else fit.above)
            else (
                answers,
                refuses,
            )
        )
        return Ruling(grade="interpolated", likely=likely, other=other, doubtful=True, chance=0.5)

    def _by_time(self, variant: Variant, now: datetime, spoken: set[int]) -> Ruling:
        """From what it did before and after, its quotas left aside."""
        candidate = self._known(variant)
        if candidate is None:
            effect = Effect(verdict=NEVER_ASKED, secs=0.0, cost_usd=Decimal(0))
            return Ruling(grade="unknown", likely=effect, other=self.typical(variant, now), doubtful=True, chance=0.5)
        before, after = self._around(candidate, now, spoken)
        gaps = [abs(one.row.t - now) for one in (before, after) if one is not None]
        nearest = min((one for one in (before, after) if one is not None), key=lambda one: abs(one.row.t - now))
        likely = self._effect(nearest, variant, now)
        if min(gaps) <= NEAR:
            return self._by_chance("observed", candidate, variant, now, likely)
        if len(gaps) == 1:
            if gaps[0] > REACH:
                return self._unsure("unknown", candidate, variant, now, nearest)
            if self._up(nearest):
                return Ruling(grade="interpolated", likely=likely)
            return self._unsure("interpolated", candidate, variant, now, nearest)
        sides = [self._up(one) for one in (before, after) if one is not None]
        if sides[0] != sides[1]:
            return self._unsure("interpolated", candidate, variant, now, nearest)
        return self._by_chance("interpolated", candidate, variant, now, likely)

    def _unsure(self, grade: Grade, candidate: Candidate, variant: Variant, now: datetime, nearest: Seen) -> Ruling:
        """Both ways; as the nearest is likelier, but trouble that passes lasts no longer than it ever did."""
        answers = self.typical(variant, now)
        failed = nearest if not self._up(nearest) else self._last_failure(candidate, now)
        fails = (
            Effect(verdict=NEVER_ASKED, secs=0.0, cost_usd=Decimal(0))
            if failed is None
            else self._effect(failed, variant, now)
        )
        passes = nearest.verdict is not None and nearest.verdict.failure_class == "transient"
        over = passes and abs(nearest.row.t - now) > self._past(candidate).longest
        likely, other = (answers, fails) if self._up(nearest) or over else (fails, answers)
        return Ruling(grade=grade, likely=likely, other=other, doubtful=True, chance=0.5)

    def _by_chance(self, grade: Grade, candidate: Candidate, variant: Variant, now: datetime, likely: Effect) -> Ruling:
        """Where its neighbours in time differ among themselves, chance could have had it otherwise."""
        past = self._past(candidate)
        if 0 in past.counts:
            return Ruling(grade=grade, likely=likely, chance=float(past.counts[0] > 0))
        near = past.around(now)
        share = sum(map(self._up, near)) / len(near)
        other: Effect | None = None
        if 0 < share < 1:
            down = next(one for one in near if not self._up(one))
            other = self._effect(down, variant, now) if likely.verdict is None else self.typical(variant, now)
        return Ruling(grade=grade, likely=likely, other=other, chance=share, counts=past.counts, lasting=past.lasting)

    # -- observations in time -----------------------------------------------------------------------------------------

    def _known(self, variant: Variant) -> Candidate | None:
        """The observed candidate that speaks for a variant: itself, else the same model with another credential."""
        own = variant.ref, variant.model, variant.key.credential_id
        if own in self._seen:
            return own
        return next((known for known in sorted(self._seen) if known[:2] == own[:2]), None)

    def _around(self, candidate: Candidate, now: datetime, spoken: set[int]) -> tuple[Seen | None, Seen | None]:
        seen, place = self._seen[candidate], bisect_left(self._times[candidate], now)
        after = next((seen[at] for at in range(place, len(seen)) if id(seen[at]) not in spoken), None)
        before = next((seen[at] for at in range(place - 1, -1, -1) if id(seen[at]) not in spoken), None)
        if before is None and after is None:
            return (seen[place - 1], None) if place else (None, seen[0])
        return before, after

    def heard(self, variant: Variant, now: datetime, spoken: set[int]) -> int | None:
        """The id of the observation that speaks for the moment, so that a retry hears the next one."""
        candidate = self._known(variant)
        if candidate is None:
            return None
        before, after = self._around(candidate, now, spoken)
        found = [one for one in (before, after) if one is not None]
        return id(min(found, key=lambda one: abs(one.row.t - now)))

    def _past(self, candidate: Candidate) -> Past:
        if candidate not in self._pasts:
            self._pasts[candidate] = Past(self._seen[candidate], self._up)
        return self._pasts[candidate]

    def _last_failure(self, candidate: Candidate, now: datetime) -> Seen | None:
        down = [one for one in self._seen[candidate] if not self._up(one)]
        return min(down, key=lambda one: abs(one.row.t - now), default=None)

    def _up(self, one: Seen) -> bool:
        """Whether it answered, or would have but for its quota."""
        return one.verdict is None or self.loads.by_load(one)

    def _effect(self, one: Seen, variant: Variant, now: datetime) -> Effect:
        if self._up(one):
            return self.typical(variant, now)
        effect, verdict = recorded(one), one.verdict
        if verdict is not None and verdict.resets_at is not None and not one.row.t <= now < verdict.resets_at:
            wait = max(verdict.resets_at - one.end, timedelta())
            return replace(effect, verdict=replace(verdict, resets_at=now + wait))
        return effect

    # -- what an answer costs ---------------------------------------------------------------------------------------

    def typical(self, variant: Variant, now: datetime) -> Effect:
        """An answer with the middle duration and the average tokens of the candidate's own accepted rows."""
        candidate = variant.ref, variant.model, variant.key.credential_id
        if candidate not in self._typical:
            self._typical[candidate] = self._answer(variant, now)
        return self._typical[candidate]

    def _answer(self, variant: Variant, now: datetime) -> Effect:
        rows = list(self._accepted(variant))
        if not rows:
            return Effect(verdict=None, secs=0.0, cost_usd=None, use=Use(requests=1.0))
        counted = [row for row in rows if row.input_tokens is not None and row.output_tokens is not None]
        tokens = tuple(
            round(fmean(count(row) or 0 for row in counted)) if counted else None
            for count in (_charged_input, _charged_output, _cached)
        )
        cost = _cost(self._profiles.get(variant.ref), variant.model, tokens, now)
        known = [row.cost_usd for row in rows if row.cost_usd is not None]
        if cost is None and known:
            cost = Decimal(str(fmean(known)))
        secs = [row.secs for row in rows if row.secs is not None]
        return Effect(
            verdict=None,
            secs=median(secs) if secs else 0.0,
            cost_usd=cost,
            use=Use(requests=1.0, tokens=float(sum(tokens[:2]) if counted else 0), usd=float(cost or 0)),  # type: ignore[arg-type]
        )

    def _accepted(self, variant: Variant) -> Iterator[AttemptRow]:
        for candidate, seen in self._seen.items():
            if candidate[:2] == (variant.ref, variant.model):
                yield from (one.row for one in seen if one.verdict is None)


def _charged_input(row: AttemptRow) -> int | None:
    return row.input_tokens if row.billed_input_tokens is None else row.billed_input_tokens


def _charged_output(row: AttemptRow) -> int | None:
    return row.output_tokens if row.billed_output_tokens is None else row.billed_output_tokens


def _cached(row: AttemptRow) -> int | None:
    return row.cached_input_tokens


def account(variant: Variant) -> tuple[str, str]:
    """Whose money and quota an attempt on ``variant`` uses."""
    return variant.key.pool, variant.key.credential_id


def recorded(one: Seen) -> Effect:
    """What an attempt came to, as its row says."""
    cost, at_least = totals([one.row])
    return Effect(verdict=one.verdict, secs=one.row.secs or 0.0, cost_usd=cost, at_least=at_least, use=use_of(one))


def _cost(profile: Profile | None, model: str, tokens: tuple[int | None, ...], now: datetime) -> Decimal | None:
    if profile is None or not profile.base_url or tokens[0] is None:
        return None
    usage = Usage(input_tokens=tokens[0], output_tokens=tokens[1], cached_tokens=tokens[2])
    return price(profile, model, usage, at=now).cost_usd


def refusal(fit: Fit, now: datetime, levels: Levels) -> Verdict:
    """What the quota says when it refuses at ``now``, with its reset moved there."""
    ends = levels.ends(fit, now) if fit.rule.kind != "sliding" else None
    if fit.verdict is None:
        words = "more than it was ever seen to carry in a day: unknown"
        return Verdict(reason="daily_limit", resets_at=ends, reset_source="inferred", text=words)
    if fit.verdict.reset_source is None:
        return replace(fit.verdict, resets_at=None)
    if ends is None and fit.wait_s is not None:
        ends = now + timedelta(seconds=fit.wait_s)
    return replace(fit.verdict, resets_at=ends)
