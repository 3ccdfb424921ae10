"""From a measurement to the order of a chain, with the reason for each place, or the reason why not.

Quality first and the next one when it falls; second place the same model by another route, so that nothing changes
downstream; neighbours draw on different purses; at the end somebody prepaid or local who was reachable
throughout. Where the measurement cannot tell, it does not decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from zc_notebooks.bench.statistics import LEAST_TASKS, Candidate, Statistics
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ZcError
from zc_notebooks.markup import counted
from zc_notebooks.model_names import same_model
from zc_notebooks.records import Profile, Record
from zc_notebooks.reliability.materialize import parse_start

By = Literal["quality", "cost", "worth"]

REACHABLE: Final = 0.5
"""Somebody who is surely reached less often than this does not lead, however good the answers are."""
PART_OF_THE_BEST: Final = 0.8
"""Cost first: at least this part of the best accuracy, or the cheapest wrong answers would win."""


class CannotOrder(ZcError):
    """The measurement decides nothing; the message says why and what to do. ``zc bench order`` ends with status 3."""


class Place(Record, frozen=True, kw_only=True):
    """One place of the proposed chain."""

    candidate: str
    """``family.alias/model``."""
    pool: str
    reason: str


class Proposal(Record, frozen=True, kw_only=True):
    """The proposed chain."""

    by: By
    places: tuple[Place, ...]
    remarks: tuple[str, ...] = ()
    """What the measurement could not tell, and who was left out."""

    def __repr__(self) -> str:
        return f"Proposal({' -> '.join(place.candidate for place in self.places)})"


def propose(found: Statistics, config: Config, *, by: By = "quality", worth_usd: float | None = None) -> Proposal:
    """The order of the measured candidates.

    Args:
        found: See :func:`~zc_notebooks.bench.statistics.statistics`.
        config: Pools and tiers of the candidates.
        by: ``quality`` (accuracy, then effective cost), ``cost`` (effective cost of a right answer, among those with at
            least 80 % of the best accuracy of those that can be reached) or ``worth``: what a right answer is worth
            decides between them.
        worth_usd: For ``worth``: dollars of a right answer; accuracy times this minus the cost of a task is maximised.

    Raises:
        CannotOrder: The tasks are saturated, there is too little data, or a candidate did not serve what it was asked.
    """
    _check(found, config)
    able = [item for item in found.candidates if _leads(item)] or list(found.candidates)
    score = _score(able, by, worth_usd)
    left = sorted(found.candidates, key=score)
    leaders = [item for item in left if item in able]
    places = [_first(leaders[0], by, of_all=leaders[0] is left[0] and _best(able) == _best(left))]
    left.remove(leaders[0])
    twin = _twin(leaders[0], left, config)
    if twin is not None:
        places.append(
            (twin, f"the same model as {leaders[0].candidate} by another way: a swap changes nothing downstream")
        )
        left.remove(twin)
    last = _anchor(left, config)
    if last is not None:
        left.remove(last)
    places += _middle(left, places[-1][0], found, config)
    if last is not None:
        places.append(
            (last, f"{_profile(config, last).tier}, and reachable in every one of {counted(last.calls, 'call')}")
        )
    made = [Place(candidate=item.candidate, pool=_profile(config, item).pool, reason=reason) for item, reason in places]
    behind = len(made) - (last is not None)
    made[behind:behind] = _unmeasured(found, config)
    return Proposal(by=by, places=tuple(made), remarks=tuple(_remarks(found, config, made)))


def _unmeasured(found: Statistics, config: Config) -> list[Place]:
    """Links of the present chain that were not measured: nothing is known against them, so they stay, behind."""
    known = {item.candidate for item in found.candidates}
    names = dict.fromkeys(f"{link.provider}/{link.model}" for link in config.chain)
    reason = "in the chain and not measured: it stays, behind those that were"
    return [
        Place(candidate=name, pool=config.profiles[parse_start(name)[0]].pool, reason=reason)
        for name in names
        if name not in known
    ]


# -- when nothing may be decided --------------------------------------------------------------------------------------


def _check(found: Statistics, config: Config) -> None:
    if not found.candidates:
        raise CannotOrder("nothing was measured: run `zc bench run` first")
    unknown = [item.candidate for item in found.candidates if parse_start(item.candidate)[0] not in config.profiles]
    if unknown:
        raise CannotOrder(f"{unknown[0]} was measured and is not configured: add [providers.…] for it, or leave it out")
    wrong = [item for item in found.candidates if item.wrong_model]
    if wrong:
        names = ", ".join(f"{item.candidate} ({counted(item.wrong_model, 'answer')})" for item in wrong)
        raise CannotOrder(f"another model answered than was asked for: {names}; its figures are not its own")
    answered = [item for item in found.candidates if item.accuracy.of]
    wanted = [item for item in answered if _leads(item)] or answered
    few = [item for item in wanted if _tasks(found, item) < LEAST_TASKS]
    if few or not answered:
        names = ", ".join(item.candidate for item in few) or "nobody answered"
        raise CannotOrder(f"too little data: at least {LEAST_TASKS} answered tasks each are needed ({names})")
    if found.saturated:
        raise CannotOrder("the tasks are saturated: " + "; ".join(found.sentences()))


def _tasks(found: Statistics, item: Candidate) -> int:
    """Tasks it answered with others; of a single candidate its own."""
    of = [pair.tasks for pair in found.pairs if item.candidate in (pair.first, pair.second)]
    return max(of) if of else len(found.tasks)


# -- the order --------------------------------------------------------------------------------------------------------


def _score(able: Sequence[Candidate], by: By, worth_usd: float | None) -> Callable[[Candidate], tuple[float, ...]]:
    """Smaller comes first; ``able``: who may lead."""
    best = _best(able)

    def quality(item: Candidate) -> tuple[float, ...]:
        return (-(item.accuracy.share or 0.0), _or_dear(item.cost_per_correct))

    def cost(item: Candidate) -> tuple[float, ...]:
        good = (item.accuracy.share or 0.0) >= PART_OF_THE_BEST * best
        return (0.0 if good else 1.0, _or_dear(item.cost_per_correct), *quality(item))

    def worth(item: Candidate) -> tuple[float, ...]:
        return (-((item.accuracy.share or 0.0) * (worth_usd or 0.0) - _or_dear(item.cost_per_task)), *quality(item))

    if by == "worth" and (worth_usd is None or not math.isfinite(worth_usd) or worth_usd <= 0):
        raise CannotOrder("what is a right answer worth? give --worth in dollars, above 0")

    return {"quality": quality, "cost": cost, "worth": worth}[by]


def _best(items: Sequence[Candidate]) -> float:
    return max(item.accuracy.share or 0.0 for item in items)


def _or_dear(cost: float | None) -> float:
    """An unknown cost is not a low one."""
    return float("inf") if cost is None else cost


def _leads(item: Candidate) -> bool:
    return item.accuracy.share is not None and item.reachability.high >= REACHABLE


def _first(item: Candidate, by: By, *, of_all: bool) -> tuple[Candidate, str]:
    why = {
        "quality": "the best measured accuracy",
        "cost": f"the lowest cost of a right answer among those with {PART_OF_THE_BEST:.0%} of the best accuracy",
        "worth": "the most value after its cost",
    }[by]
    among = "" if of_all else ", of those that can be reached"
    reached = f"reached in {item.reachability.share or 0:.0%} of calls"
    return item, f"{why}{among}: {item.accuracy}, {item.price()}, {reached}"


def _twin(first: Candidate, left: Sequence[Candidate], config: Config) -> Candidate | None:
    """The same model in another purse."""
    model, pool = parse_start(first.candidate)[1] or "", _profile(config, first).pool
    for item in left:
        if same_model(model, parse_start(item.candidate)[1] or "") and _profile(config, item).pool != pool:
            return item
    return None


def _anchor(left: Sequence[Candidate], config: Config) -> Candidate | None:
    """Who stands last: prepaid or local, reachable throughout; the best of them is not wasted on the end."""
    sure = _sure(left, config)
    return sure[-1] if sure else None


def _sure(items: Sequence[Candidate], config: Config) -> list[Candidate]:
    return [
        item
        for item in items
        if _profile(config, item).tier in ("prepaid", "local") and item.calls and item.reachability.share == 1.0
    ]


def _middle(left: list[Candidate], before: Candidate, found: Statistics, config: Config) -> list[tuple[Candidate, str]]:
    """By rank, except that one in the purse of its neighbour lets the next one pass, if that one is not told worse."""
    places: list[tuple[Candidate, str]] = []
    waiting = list(left)
    while waiting:
        pool = _profile(config, before).pool
        item = waiting[0]
        reason = f"next by rank: {item.accuracy}, {item.price()}"
        if _profile(config, item).pool == pool:
            other = next((one for one in waiting[1:] if _may_pass(one, item, found, config)), None)
            if other is not None:
                reason = f"another purse than {before.candidate}, and not told worse than {item.candidate}"
                item = other
        if not _leads(item):
            reason = (
                f"reached in {item.reachability.share or 0:.0%} of calls: a refusal comes fast, so it costs little here"
            )
        places.append((item, reason))
        waiting.remove(item)
        before = item
    return places


def _may_pass(item: Candidate, over: Candidate, found: Statistics, config: Config) -> bool:
    if _profile(config, item).pool == _profile(config, over).pool:
        return False
    return found.pair(item.candidate, over.candidate).told != "worse"


def _profile(config: Config, item: Candidate) -> Profile:
    return config.profiles[parse_start(item.candidate)[0]]


def _remarks(found: Statistics, config: Config, places: Sequence[Place]) -> list[str]:
    said = found.sentences(decided=False)
    for item in found.candidates:
        if item.accuracy.share is not None and not _leads(item):
            said.append(
                f"{item.candidate} is right in {item.accuracy.share:.0%} of its answers and reached in "
                f"{item.reachability.share or 0:.0%} of calls: quality that is not there does not lead"
            )
        if item.accuracy.share is None:
            said.append(f"{item.candidate} never answered: nothing is known of its quality")
    if not _sure(found.candidates, config):
        said.append("nobody prepaid or local was reachable throughout: the chain has no sure last place")
    elif places[-1].candidate not in {item.candidate for item in _sure(found.candidates, config)}:
        said.append("whoever is sure to be there leads, and nobody sure is left for the last place")
    pools = [place.pool for place in places]
    if len(pools) > 1 and len(set(pools)) == 1:
        said.append("all places draw on one purse: they fall together")
    return said


def as_chain(proposal: Proposal) -> list[Mapping[str, str]]:
    """The ``[[chain]]`` of a proposal."""
    links = [parse_start(place.candidate) for place in proposal.places]
    return [{"provider": ref, "model": model or ""} for ref, model in links]
