"""What a quota lets through, learned from the rows: how much was used when a candidate answered and when it refused.

For each account and kind of refusal a few rules of counting (:mod:`~zc_notebooks.bench.meters`) are tried over all
recorded attempts. The rule is taken that best separates the levels at which it answered from those at which it refused,
counting also whether it predicts the recorded resets; a tie goes to the rule that the catalogue knows for the family.
Where no rule separates them (somebody else uses the account), the refusals are no matter of load.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import merge
from itertools import chain
from statistics import median
from typing import Final, Literal

from zc_notebooks.bench.meters import DAY_S, LONG, MIDNIGHTS, PURSE, ROLLING_DAY, SHORT, Meter, Rule
from zc_notebooks.bench.recorded import BY_LOAD, Account, Seen, account_of
from zc_notebooks.config.catalogue import families
from zc_notebooks.records import Reason, Record, Verdict

Unit = Literal["requests", "tokens", "usd"]
BEYOND: Final = "beyond"
"""Name part of the meter that knows only how much was ever used without a refusal."""
_POOR: Final = 0.25
"""Share of refusals that a rule may fail to explain."""
_NEAR_S: Final = 120.0
_FIRST: Final = 5
_HALVINGS: Final = 40


class Fit(Record, frozen=True, kw_only=True):
    """One quota as the rows show it."""

    name: str
    account: Account
    model: str | None
    """``None``: all models of the account together."""
    reason: Reason
    unit: Unit
    rule: Rule
    leak: float = 0.0
    below: float
    """It answered up to this level."""
    above: float
    """It refused from this level on; infinite when it never did."""
    limit: float
    """Between them, the level that separates best."""
    wait_s: float | None = None
    """Seconds to the reset that its refusals usually stated."""
    verdict: Verdict | None = None
    """What it said the last time; ``None`` when it never refused."""
    explained: bool = True
    """Whether its refusals follow from the load."""
    foreseen: bool = False
    """Whether the answer before says that nothing is left, so that nobody is refused."""

    def covers(self, account: Account, model: str) -> bool:
        """Whether an attempt there counts."""
        return account == self.account and self.model in (None, model)


class Use(Record, frozen=True, kw_only=True):
    """What one attempt used up."""

    requests: float = 0.0
    tokens: float = 0.0
    usd: float = 0.0

    def of(self, unit: Unit) -> float:
        """In that unit."""
        return {"requests": self.requests, "tokens": self.tokens, "usd": self.usd}[unit]


def use_of(one: Seen) -> Use:
    """What a recorded attempt used up: a refusal nothing, anything else one request and its tokens."""
    row = one.row
    refused = row.status.startswith("http_") or row.status in ("network", "timeout")
    if row.kind == "skip" or (one.verdict is not None and refused):
        return Use()
    tokens = (row.input_tokens or 0) + (row.output_tokens or 0)
    return Use(requests=1.0, tokens=float(tokens), usd=row.cost_usd or 0.0)


class Loads:
    """The quotas of all accounts in a recording; gives every attempt the levels it met.

    Args:
        seen: Attempts in the order of time.
        statements: What successes stated, as :attr:`~zc_notebooks.bench.recorded.Recording.statements`.
    """

    def __init__(self, seen: Sequence[Seen], statements: Sequence[Seen] = ()) -> None:
        by_account: dict[Account, list[Seen]] = defaultdict(list)
        for one in merge(seen, statements, key=lambda one: one.row.t):
            by_account[account_of(one.row)].append(one)
        self.fits: tuple[Fit, ...] = tuple(
            chain.from_iterable(_account(account, mine) for account, mine in sorted(by_account.items()))
        )
        for account, mine in by_account.items():
            for fit in self.fits:
                if fit.account == account:
                    _levels(fit, mine)
        self._of: dict[tuple[Account, str], tuple[Fit, ...]] = {}

    def of(self, account: Account, model: str) -> tuple[Fit, ...]:
        """The quotas that an attempt counts towards, those that refuse first."""
        key = account, model
        if key not in self._of:
            self._of[key] = tuple(fit for fit in self.fits if fit.covers(account, model))
        return self._of[key]

    def by_load(self, one: Seen) -> bool:
        """Whether a recorded failure follows from the load."""
        if one.verdict is None or one.verdict.reason not in BY_LOAD:
            return False
        mine = self.of(account_of(one.row), one.row.model)
        return any(fit.explained and fit.verdict and fit.reason == one.verdict.reason for fit in mine)


class Levels:
    """The meters of a simulated period."""

    def __init__(self, loads: Loads) -> None:
        self._loads = loads
        self._meters = {fit.name: Meter(fit.rule, fit.leak) for fit in loads.fits}

    def level(self, fit: Fit, now: datetime) -> float:
        """Used up of one quota."""
        return self._meters[fit.name].level(now)

    def ends(self, fit: Fit, now: datetime) -> datetime | None:
        """When it is empty again, where that is one instant."""
        return self._meters[fit.name].ends(now)

    def add(self, account: Account, model: str, use: Use, now: datetime) -> None:
        """Counts what an attempt used up."""
        for fit in self._loads.of(account, model):
            self._meters[fit.name].add(now, use.of(fit.unit))


def _account(account: Account, seen: Sequence[Seen]) -> Iterable[Fit]:
    refused = [one for one in seen if one.verdict is not None and one.verdict.reason in BY_LOAD]
    reasons = sorted({one.verdict.reason for one in refused if one.verdict is not None})
    for reason in reasons:
        mine = [one for one in refused if one.verdict is not None and one.verdict.reason == reason]
        models = {one.row.model if one.verdict is not None and one.verdict.scope == "model" else None for one in mine}
        for model in sorted(models, key=lambda name: name or ""):
            yield _best(account, model, reason, [one for one in seen if model in (None, one.row.model)])
    if not {"daily_limit", "token_daily_limit", "balance"} & set(reasons):
        yield _beyond(account, seen)


def _best(account: Account, model: str | None, reason: Reason, seen: Sequence[Seen]) -> Fit:
    family = seen[0].row.provider_ref.partition(".")[0]
    found = [
        _fit(account, model, reason, unit, rule, seen) for unit in _units(reason) for rule in _rules(reason, family)
    ]
    return min(enumerate(found), key=lambda item: (item[1][0], item[0]))[1][1]


def _units(reason: Reason) -> tuple[Unit, ...]:
    if reason == "balance":
        return ("usd",)
    if reason == "token_daily_limit":
        return ("tokens",)
    return ("requests",) if reason == "daily_limit" else ("requests", "tokens")


def _rules(reason: Reason, family: str) -> Sequence[Rule]:
    if reason == "balance":
        return (PURSE,)
    if reason == "minute_limit":
        return SHORT
    known = families().get(family)
    rule = known.reset_rule if known is not None else None
    first = ROLLING_DAY if rule == "rolling" else MIDNIGHTS.get(rule or "", LONG[0])
    return (first, *(other for other in LONG if other is not first))


def _fit(
    account: Account, model: str | None, reason: Reason, unit: Unit, rule: Rule, seen: Sequence[Seen]
) -> tuple[float, Fit]:
    """How badly a rule explains the rows, and the quota it makes of them."""
    mine = [one for one in seen if one.verdict is not None and one.verdict.reason == reason]
    leak = _leak(seen, reason, unit, rule) if rule.kind == "bucket" else 0.0
    answered, refused, wrong = [], [], 0.0
    meter = Meter(rule, leak)
    for one in seen:
        level = meter.level(one.row.t)
        if one.verdict is None:
            answered.append(level)
        elif one.verdict.reason == reason:
            refused.append(level)
            wrong += _misses(one, meter)
        meter.add(one.row.t, use_of(one).of(unit))
    errors, limit = _threshold(answered, refused)
    under = [level for level in answered if level < limit]
    clean = not errors
    waits = [wait for one in mine if (wait := _wait(one)) is not None]
    fit = Fit(
        name=f"{account[0]}/{account[1]}/{model or '*'}/{reason}",
        account=account,
        model=model,
        reason=reason,
        unit=unit,
        rule=rule,
        leak=leak,
        below=max(under, default=0.0) if clean else min(refused),
        above=min(refused) if clean else max(max(answered, default=0.0), limit),
        limit=limit,
        wait_s=median(waits) if waits else None,
        verdict=mine[-1].verdict,
        explained=errors <= _POOR * len(refused),
        foreseen=2 * sum(one.row.kind == "skip" for one in mine) >= len(mine),
    )
    return errors + wrong, fit


def _misses(one: Seen, meter: Meter) -> float:
    """1 when the rule contradicts the stated reset, a half when it has none to compare."""
    resets = one.verdict.resets_at if one.verdict is not None else None
    if resets is None:
        return 0.0
    ends = meter.ends(one.row.t)
    if ends is None:
        return 0.5
    return float(abs((ends - resets).total_seconds()) > min(_NEAR_S, meter.rule.seconds / 20))


def _wait(one: Seen) -> float | None:
    if one.verdict is None or one.verdict.resets_at is None:
        return None
    return max((one.verdict.resets_at - one.end).total_seconds(), 0.0)


def _threshold(answered: Sequence[float], refused: Sequence[float]) -> tuple[int, float]:
    """The level from which to expect a refusal, and how many of all it gets wrong; of several the highest."""
    marks = sorted([(level, 0) for level in answered] + [(level, 1) for level in refused])
    wrong = best = len(answered)  # everything is taken for refused
    limit = marks[0][0]
    for place, (level, is_refused) in enumerate(marks):
        wrong += 1 if is_refused else -1
        following = marks[place + 1][0] if place + 1 < len(marks) else None
        if following is not None and following > level and wrong <= best:
            best, limit = wrong, following
    return best, limit


def _leak(seen: Sequence[Seen], reason: Reason, unit: Unit, rule: Rule) -> float:
    """Units a second of a bucket that is full at its first refusals: the middle of what each of them says."""
    limits: list[float] = []
    out = False
    for place, one in enumerate(seen):
        hit = one.verdict is not None and one.verdict.reason == reason
        if hit and not out and len(limits) < _FIRST:
            limits.append(_full(seen[: place + 1], unit, rule))
        out = hit or (out and one.verdict is not None)
    return median(limits) / rule.seconds if limits else 0.0


def _full(seen: Sequence[Seen], unit: Unit, rule: Rule) -> float:
    """The size of a bucket that is full at the last of ``seen``, by halving: a larger one drains faster."""
    low, high = 0.0, sum(use_of(one).of(unit) for one in seen)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        meter = Meter(rule, middle / rule.seconds)
        for one in seen[:-1]:
            meter.add(one.row.t, use_of(one).of(unit))
        low, high = (middle, high) if meter.level(seen[-1].row.t) > middle else (low, middle)
    return (low + high) / 2


def _beyond(account: Account, seen: Sequence[Seen]) -> Fit:
    """The most that an account which never ran out was seen to carry in a day."""
    family = seen[0].row.provider_ref.partition(".")[0]
    known = families().get(family)
    rule = MIDNIGHTS.get((known.reset_rule if known else None) or "", MIDNIGHTS["utc_midnight"])
    meter, most = Meter(rule), 0.0
    for one in seen:
        if one.verdict is None:
            most = max(most, meter.level(one.row.t))
        meter.add(one.row.t, use_of(one).of("requests"))
    return Fit(
        name=f"{account[0]}/{account[1]}/*/{BEYOND}",
        account=account,
        model=None,
        reason="daily_limit",
        unit="requests",
        rule=rule,
        below=most,
        above=float("inf"),
        limit=float("inf"),
        wait_s=DAY_S,
    )


def _levels(fit: Fit, seen: Sequence[Seen]) -> None:
    meter = Meter(fit.rule, fit.leak)
    for one in seen:
        if not fit.covers(account_of(one.row), one.row.model):
            continue
        one.levels[fit.name] = meter.level(one.row.t)
        meter.add(one.row.t, use_of(one).of(fit.unit))
