"""When free tiers run out: the hour of their own day, for how long, and what the growth of calls says of the next time.

A tier's day begins where its quota does: at the midnight (UTC, Pacific, Beijing) at which its run-outs ended, else by
the catalogue's reset rule of its family; a rolling window and an unknown rule are counted by UTC days, and say so.
Run-outs are the episodes of the ledger's view ``exhaustion`` for a day's quota or a balance, the first of each day.
Only whole days count, and of those only days on which a call came to the tier.

- **How often**: days with a run-out over days, with Wilson's 95 % interval.
- **When, and for how long**: median and quartiles (half of the days lie between these), and the bootstrapped 95 %
  interval of the median. A run-out lasts to the stated or known reset, else to the next answer.
- **Growth**: calls a day that came to the tier, answered or turned away; Sen's slope with its 95 % interval.
- **The next one**: the calls expected on the next day that is not out yet (the trend's value, and where the slope's
  interval and the usual scatter put it) come in over the day as they did on the past days; the tier is out when as
  many have come as it usually answered before it was out (median; the quartiles widen the interval). Fewer than that:
  it lasts.

Fewer than :data:`FEW` whole days with a run-out, or days with calls, give no median and no forecast: "too little data".
None of this knows of weekends, of a changed quota, or of other programs that use the account; they widen the scatter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from zc_notebooks.bench.intervals import wilson
from zc_notebooks.bench.robust import Z95, Spread, Trend, spread, trend
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.config.catalogue import families
from zc_notebooks.ledger.period import When, period
from zc_notebooks.markup import counted
from zc_notebooks.records import Record
from zc_notebooks.reliability.instants import next_midnight

if TYPE_CHECKING:
    from zc_notebooks.ledger.read import Ledger

FEW: Final = 3
"""Days that are needed before anything is said of the usual day."""
NOTHING: Final = "no attempt at a free tier in this period"
_FREE: Final = ("free", "trial")
_ZONES: Final = {
    "utc_midnight": "UTC",
    "pacific_midnight": "Pacific",
    "beijing_midnight": "Beijing",
    "rolling": "UTC (a rolling window)",
    None: "UTC (no known rule)",
}
_DAY: Final = timedelta(days=1)
_NEAR: Final = timedelta(minutes=2)
_EPISODES: Final = """
select pool, credential_id, coalesce(model, '') as model, begin_at,
    -- A reset years ahead is a mistake, and not known.
    case when coalesce(end_at, back_at) < begin_at + interval 400 day then coalesce(end_at, back_at) end as end_at
from exhaustion
where kind <> 'minute_limit' and ($1::timestamptz is null or begin_at >= $1) and begin_at < $2
order by begin_at
"""
_ASKED: Final = """
select pool, credential_id, coalesce(model, '') as model, min(provider_ref) as ref, max(tier) as tier,
    date_trunc('minute', t) as minute, count(distinct call_id) as wanted, count(*) filter (accepted) as answered
from attempts
where (kind = 'attempt' or status = 'skipped_cooldown') and ($1::timestamptz is null or t >= $1) and t < $2
group by pool, credential_id, model, minute
order by minute
"""


class Next(Record, frozen=True, kw_only=True):
    """When a tier runs out next. ``None``: not on that day."""

    day: datetime
    """Begin of that day, UTC."""
    calls: float
    """Expected on it."""
    calls_low: float
    calls_high: float
    at: datetime | None
    earliest: datetime | None
    latest: datetime | None
    """``None``: with the fewest calls expected it lasts."""


class RunOut(Record, frozen=True, kw_only=True):
    """One free tier: how its quota went, day by day."""

    provider_ref: str
    model: str
    """Empty: all models of the account together."""
    pool: str
    credential_id: str
    tier: str
    day: str
    """Where its day begins."""
    days: int
    """Whole days with calls."""
    days_out: int
    share: tuple[float, float]
    """95 % interval of the share of days that run out."""
    hour: Spread | None = None
    """Hours after its day began when it ran out."""
    out_h: Spread | None = None
    """Hours it was out."""
    growth: Trend | None = None
    """Calls a day, each day more."""
    answered: Spread | None = None
    """Calls answered on a day before it was out."""
    next: Next | None = None
    still_out: bool = False
    note: str = ""
    """Why something is not said."""
    runs: tuple[tuple[datetime, float, float | None], ...] = ()
    """Begin of the day, hour of the run-out, hours out (``None``: no end is known), for charts."""


class Outlook(Record, frozen=True, kw_only=True):
    """All free tiers of a ledger."""

    now: datetime
    tiers: tuple[RunOut, ...]


Line = tuple[str, str, str]
"""Pool, credential id, model (empty: all)."""


class _Minute(NamedTuple):
    at: datetime
    wanted: int
    answered: int


def outlook(
    ledger: Ledger, since: When | None = "30d", *, now: datetime | None = None, clock: Clock | None = None
) -> Outlook:
    """When each free tier usually runs out, for how long, and when next.

    Args:
        ledger: Where the rows are.
        since: Begin of what is looked at; ``None`` is everything.
        now: Aware; rows from then on are not looked at. The clock's now by default.
        clock: Time.

    Raises:
        LedgerError: ``since`` cannot be read.
    """
    now = now or (clock or SystemClock()).now()
    begin, _ = period(since, None, now=now)
    asked = ledger.sql(_ASKED, [begin, now]).to_dicts()
    episodes: dict[Line, list[tuple[datetime, datetime | None]]] = defaultdict(list)
    for row in ledger.sql(_EPISODES, [begin, now]).to_dicts():
        episodes[row["pool"], row["credential_id"], row["model"]].append((row["begin_at"], row["end_at"]))
    first = asked[0]["minute"] if asked else now
    tiers = [_tier(line, rows, episodes.get(line, []), first, now) for line, rows in _lines(asked, episodes).items()]
    return Outlook(now=now, tiers=tuple(sorted(tiers, key=_rank)))


def _rank(tier: RunOut) -> tuple[int, str, str, str, str]:
    """The most often out first."""
    return -tier.days_out, tier.provider_ref, tier.model, tier.credential_id, tier.pool


def _lines(asked: Sequence[dict[str, Any]], episodes: dict[Line, Any]) -> dict[Line, list[dict[str, Any]]]:
    """Rows by what runs out as one: a model where it ran out alone, else the account."""
    found: dict[Line, list[dict[str, Any]]] = defaultdict(list)
    for row in asked:
        if row["tier"] in _FREE:
            alone = row["pool"], row["credential_id"], row["model"]
            found[alone if alone in episodes else (*alone[:2], "")].append(row)
    return found


def _tier(
    line: Line,
    rows: Sequence[dict[str, Any]],
    episodes: Sequence[tuple[datetime, datetime | None]],
    first: datetime,
    now: datetime,
) -> RunOut:
    ref = min(row["ref"] for row in rows)
    rule = _rule(ref, episodes)
    calendar = "utc_midnight" if rule is None or rule == "rolling" else rule
    minutes = [_Minute(row["minute"], row["wanted"], row["answered"]) for row in rows]
    whole = _whole_days(minutes, calendar, first, now)
    runs = _runs(episodes, whole, calendar)
    last_begin, last_end = episodes[-1] if episodes else (None, None)
    base = RunOut(
        provider_ref=ref,
        model=line[2],
        pool=line[0],
        credential_id=line[1],
        tier=rows[-1]["tier"],
        day=_ZONES[rule],
        days=len(whole),
        days_out=len(runs),
        share=wilson(len(runs), len(whole), Z95),
        still_out=bool(episodes) and (last_end is None or last_end > now),
        runs=tuple((day, hour, out) for day, (hour, out) in sorted(runs.items())),
    )
    free = day_of(max(now, last_end or now), calendar)
    if last_begin is not None and last_begin >= free:
        free = _end(free, calendar)
    return _with_statistics(base, minutes, whole, calendar, now, free)


def _rule(ref: str, episodes: Sequence[tuple[datetime, datetime | None]]) -> str | None:
    """The midnight at which at least half of the run-outs ended, else what the catalogue knows of the family."""
    ends = [end for _, end in episodes if end is not None]
    for rule in ("utc_midnight", "pacific_midnight", "beijing_midnight"):
        if ends and 2 * sum(abs(end - day_of(end + _NEAR, rule)) <= _NEAR for end in ends) >= len(ends):
            return rule
    known = families().get(ref.partition(".")[0])
    return known.reset_rule if known is not None else None


def _whole_days(minutes: Sequence[_Minute], rule: str, first: datetime, now: datetime) -> list[datetime]:
    """Begins of days with calls, without one that began before the ledger's first row and the one that runs."""
    days = sorted({day_of(one.at, rule) for one in minutes})
    return [day for day in days if day >= first - timedelta(hours=1) and _end(day, rule) <= now]


def _runs(
    episodes: Sequence[tuple[datetime, datetime | None]], whole: Sequence[datetime], rule: str
) -> dict[datetime, tuple[float, float | None]]:
    """The first run-out of each whole day: its hour, and how many hours it lasted."""
    found: dict[datetime, tuple[float, float | None]] = {}
    for begin, end in episodes:
        day = day_of(begin, rule)
        if day in whole and day not in found:
            found[day] = _hours(begin - day), None if end is None else _hours(end - begin)
    return found


def _with_statistics(
    tier: RunOut, minutes: Sequence[_Minute], whole: Sequence[datetime], rule: str, now: datetime, free: datetime
) -> RunOut:
    from msgspec.structs import replace

    if len(whole) < FEW:
        return replace(tier, note=f"too little data: {_days(len(whole))}")
    demand: Counter[datetime] = Counter()
    for one in minutes:
        demand[day_of(one.at, rule)] += one.wanted
    xs = [_place(day, whole[0]) for day in whole]
    growth = trend(xs, [float(demand[day]) for day in whole])
    if len(tier.runs) < FEW:
        words = "never ran out" if not tier.runs else f"too little data: ran out on {_days(len(tier.runs))}"
        return replace(tier, growth=growth, note=words)
    lasted = [hours for _, _, hours in tier.runs if hours is not None]
    answered = spread([float(_before(minutes, day, hour)) for day, hour, _ in tier.runs])
    return replace(
        tier,
        growth=growth,
        hour=spread([hour for _, hour, _ in tier.runs]),
        out_h=spread(lasted) if lasted else None,
        answered=answered,
        next=None if growth is None else _next(growth, answered, minutes, whole, rule, now, free),
    )


def _next(
    growth: Trend,
    answered: Spread,
    minutes: Sequence[_Minute],
    whole: Sequence[datetime],
    rule: str,
    now: datetime,
    day: datetime,
) -> Next:
    """The forecast for ``day``, the first on which it is not out yet."""
    x = _place(day, whole[0])
    middle = median(_place(one, whole[0]) for one in whole)
    calls = max(growth.at(x), 0.0)
    low, high = (max(value, 0.0) for value in growth.between(x, middle))
    profile = sorted(_hours(one.at - day_of(one.at, rule)) for one in minutes for _ in range(one.wanted))

    def at(expected: float, limit: float) -> datetime | None:
        if expected <= limit or not expected:
            return None
        place = min(int(limit / expected * len(profile)), len(profile) - 1)
        return max(day + timedelta(hours=profile[place]), now)

    return Next(
        day=day,
        calls=calls,
        calls_low=low,
        calls_high=high,
        at=at(calls, answered.median),
        earliest=at(high, answered.q1),
        latest=at(low, answered.q3),
    )


def day_of(instant: datetime, rule: str) -> datetime:
    """Begin (UTC) of the day, by a midnight rule, that holds an instant."""
    end = next_midnight(rule, instant) or instant
    begin = next_midnight(rule, end - timedelta(hours=26)) or end
    return begin if begin < end else (next_midnight(rule, end - timedelta(hours=30)) or end)


def _end(day: datetime, rule: str) -> datetime:
    return next_midnight(rule, day) or day + _DAY


def _place(day: datetime, first: datetime) -> float:
    """Days since the first one, whole ones where clocks change."""
    return float(round((day - first) / _DAY))


def _before(minutes: Sequence[_Minute], day: datetime, hour: float) -> int:
    until = day + timedelta(hours=hour)
    return sum(one.answered for one in minutes if day <= one.at < until)


def _hours(span: timedelta) -> float:
    return span.total_seconds() / 3600


def _days(count: int) -> str:
    return counted(count, "whole day")
