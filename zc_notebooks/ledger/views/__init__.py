"""Views over the ledger, one ``.sql`` file each: a SELECT that a person can read and run as it stands.

What a row is, units, and what NULL means stand at the head of each file; names and types in :mod:`.schema`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from zc_notebooks.records import Record

VIEWS: Final[tuple[str, ...]] = ("attempts", "attempts_short", "repriced")
"""There as soon as a ledger is open, in the order in which they build on each other."""
DERIVED: Final[tuple[str, ...]] = (
    "calls",
    "hops",
    "exhaustion",
    "reachability",
    "spend",
    "latency",
    "last_state",
    "headroom",
)
"""Made with the first query that people write. Each builds on ``attempts`` alone."""


class Cut(Record, frozen=True, kw_only=True):
    """How a period cuts a view."""

    by: Literal["rows", "begin", "overlap"]
    """``rows``: the attempts of the period make the view; ``begin``: its rows that began in it; ``overlap``: its rows
    that touch it."""
    order: str
    begin: str = "t"
    end: str = "t"
    """Columns; the end of a row that is not over yet is NULL."""
    reach: timedelta = timedelta(0)
    """How far outside the period attempts can lie that belong to one of its rows."""


_DAY: Final = timedelta(days=1)
CUTS: Final[dict[str, Cut]] = {
    "attempts": Cut(by="rows", order="t, call_id, ordinal"),
    "attempts_short": Cut(by="rows", order="t, provider, attempt"),
    "repriced": Cut(by="begin", order="t, call_id, ordinal"),
    "calls": Cut(by="begin", order="t, call_id", reach=_DAY),  # no call lives for a day
    "hops": Cut(by="begin", order="t, call_id, to_ref", reach=_DAY),
    # No stated reset is further ahead than 32 days.
    "exhaustion": Cut(
        by="overlap", order="begin_at, pool, credential_id, model", begin="begin_at", end="end_at", reach=33 * _DAY
    ),
    "reachability": Cut(by="rows", order="hour, provider_ref, model"),
    "spend": Cut(by="rows", order="day, provider_ref, model"),
    "latency": Cut(by="rows", order="provider_ref, model"),
    "last_state": Cut(by="rows", order="provider_ref, model, credential_id"),
    "headroom": Cut(by="rows", order="pool, credential_id, model"),
}


def view_sql(name: str) -> str:
    """The SELECT of a view."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")


def period_sql(name: str, begin: datetime | None, end: datetime | None) -> tuple[str, dict[str, datetime]]:
    """A view over a period, in its order: the query and its values.

    The rows are cut before the view is made, so that only the files of the period are looked at.
    """
    cut = CUTS[name]
    reach = timedelta(0) if cut.by == "rows" else cut.reach
    bounds: dict[str, datetime] = {}
    rows, result = [], []
    if begin is not None:
        bounds |= {"first": _moved(begin, -reach), "begin": begin}
        rows.append("t >= $first")
        result.append(f"coalesce({cut.end}, $begin) >= $begin" if cut.by == "overlap" else f"{cut.begin} >= $begin")
    if end is not None:
        bounds |= {"last": _moved(end, reach if cut.by == "begin" else timedelta(0)), "end": end}
        rows.append("t < $last")
        result.append(f"{cut.begin} < $end")
    if cut.by == "rows":
        result = []
        bounds = {key: value for key, value in bounds.items() if key in ("first", "last")}
    return (
        f"with attempts as (select * from main.attempts{_where(rows)}),\n"  # noqa: S608 (our own names)
        f"result as (\n{'from attempts' if name == 'attempts' else view_sql(name)}\n)\n"
        f"select * from result{_where(result)} order by {cut.order}",
        bounds,
    )


def _where(conditions: list[str]) -> str:
    return f" where {' and '.join(conditions)}" if conditions else ""


def _moved(when: datetime, by: timedelta) -> datetime:
    try:
        return when + by
    except OverflowError:  # at the edge of what a datetime can say there is nothing further out
        return when
