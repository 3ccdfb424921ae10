"""Rows of made-up free tiers: so many calls a day, a quota, and a day that begins somewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.ledger.rows import row
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.reliability.instants import next_midnight

BEGIN = datetime(2026, 10, 1, tzinfo=UTC)


def tier_rows(
    ref: str,
    *,
    days: int,
    calls: Callable[[int], int],
    limit: int,
    rule: str = "utc_midnight",
    tier: str = "free",
    begin: datetime = BEGIN,
    credential: str = "-",
) -> list[AttemptRow]:
    """Calls spread evenly over each UTC day; beyond ``limit`` of the tier's own day they are turned away."""
    found: list[AttemptRow] = []
    ends, used, told = next_midnight(rule, begin), 0, False
    given: dict[str, Any] = {"provider_ref": ref, "pool": ref, "model": "m", "tier": tier, "credential_id": credential}
    for day in range(days):
        count = calls(day)
        for number in range(count):
            t = begin + timedelta(days=day, seconds=number * 86_400 / count)
            if ends is not None and t >= ends:
                ends, used, told = next_midnight(rule, t), 0, False
            call = f"{ref}{credential}{day}-{number}"
            if used < limit:
                used += 1
                found.append(row(call, 0, t=t, accepted=True, **given))
                continue
            out = {"reason": "daily_limit", "resets_at": ends, "reset_source": "inferred", **given}
            kind = {"kind": "skip", "status": "skipped_cooldown"} if told else {"status": "http_429"}
            found.append(row(call, 0, t=t, **out, **kind))
            told = True
    return found


def ledger_of(folder: Path, *rows: list[AttemptRow]) -> Ledger:
    """The rows as a ledger."""
    writer = LedgerWriter(folder)
    for one in sorted((item for part in rows for item in part), key=lambda item: item.t):
        writer.write(one)
    writer.close()
    return Ledger(folder)
