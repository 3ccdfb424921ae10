"""When which provider was out, read from the ledger: the exhaustion timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from zc_notebooks.records import Record

WORDS: Final[Mapping[str, str]] = {
    "minute_limit": "per-minute limit",
    "daily_limit": "requests per day",
    "token_daily_limit": "tokens per day",
    "balance": "unpaid",
}
"""Reasons that mean "used up", in words."""

A_MINUTE: Final = timedelta(minutes=1)
CHANGES: Final = """
select t, provider_ref, model, reason, resets_at, accepted
from attempts
where t >= $1
  and (accepted or (reason in ('minute_limit', 'daily_limit', 'token_daily_limit', 'balance')
                    and (kind = 'attempt' or status = 'skipped_cooldown')))
window same as (partition by provider_ref, model order by t, ordinal)
qualify case
    when accepted then not coalesce(lag(accepted) over same, true)
    when kind = 'skip' then resets_at is distinct from lag(resets_at) over same
    else true
end
order by t, ordinal
"""
"""Every "used up" since ``$1``, the first answer after each, and what a skip tells of the reset."""


class Outage(Record, frozen=True, kw_only=True):
    """One time in which a provider had nothing left."""

    ref: str
    model: str
    reason: str
    """A key of :data:`WORDS`; the last one that was said."""
    begin: datetime
    until: datetime | None
    """The reset as far as the ledger has it; a limit per minute without one ends after a minute."""
    end: datetime | None = None
    """When it was over: an answer came, or the reset; ``None`` while it is not."""

    def words(self, now: datetime) -> str:
        """``tokens per day, 09:14 to 14:32 UTC``."""
        begin = f"{WORDS[self.reason]}, {_instant(self.begin, now)}"
        if self.end is not None:
            return f"{begin} to {_instant(self.end, now)} UTC"
        return f"{begin} UTC until {'an answer comes' if self.until is None else f'{_instant(self.until, now)} UTC'}"


def outages(changes: Iterable[Mapping[str, Any]], now: datetime) -> tuple[Outage, ...]:
    """The outages in rows of :data:`CHANGES`, the earliest first."""
    found: list[Outage] = []
    open_: dict[tuple[str, str], Outage] = {}
    for row in changes:
        key = row["provider_ref"], row["model"]
        before = _over(open_.pop(key, None), row["t"])
        if row["accepted"]:
            found += [] if before is None else [replace(before, end=before.end or row["t"])]
            continue
        if before is not None and before.end is not None:
            found.append(before)
            before = None
        open_[key] = _out(row, before)
    rest = (_over(item, now) for item in open_.values())
    return tuple(
        sorted([*found, *(item for item in rest if item is not None)], key=lambda item: (item.begin, item.ref))
    )


def _over(outage: Outage | None, now: datetime) -> Outage | None:
    """The outage as of ``now``: ended when its reset has passed."""
    if outage is None or outage.until is None or outage.until > now:
        return outage
    return replace(outage, end=outage.until)


def _out(row: Mapping[str, Any], before: Outage | None) -> Outage:
    said = row["resets_at"] or (row["t"] + A_MINUTE if row["reason"] == "minute_limit" else None)
    ends = [end for end in (said, before.until if before else None) if end is not None]
    return Outage(
        ref=row["provider_ref"],
        model=row["model"],
        reason=row["reason"],
        begin=before.begin if before else row["t"],
        until=max(ends, default=None),
    )


def _instant(at: datetime, now: datetime) -> str:
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%m-%d %H:%M}"
