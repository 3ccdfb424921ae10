"""What the ledger recorded, as a replay needs it: attempts with their verdicts, calls, candidates.

A row keeps less than the verdict it was made from. What is missing is read from what followed: a stated affordable
limit and a shortened history from the second request they led to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Reason, Verdict
from zc_notebooks.reliability.walk import MIN_ANSWER_TOKENS

Candidate = tuple[str, str, str]
"""Profile ref, model, credential id."""
Account = tuple[str, str]
"""Billing pool, credential id."""

ASKED: Final = ("chat", "stream", "recovery")
"""Modes of the calls that somebody wanted answered. Probes and benchmarks are observations, not demand."""
BY_LOAD: Final[frozenset[Reason]] = frozenset({"minute_limit", "daily_limit", "token_daily_limit", "balance"})
"""Refusals that depend on how much was used before."""
BY_REQUEST: Final[frozenset[Reason]] = frozenset({"context_window", "bad_request", "content_filter"})
"""Refusals of one request, which say nothing about the next."""
_BY_STATUS: Final[dict[str, Reason]] = {
    "http_401": "auth",
    "http_402": "balance",
    "http_403": "permission",
    "http_404": "not_found",
    "http_429": "minute_limit",
    "empty": "empty",
    "ok": "empty",
    "stream_cut": "stream_cut",
    "network": "network",
    "timeout": "network",
}


@dataclass(slots=True, eq=False)
class Seen:
    """One recorded attempt."""

    row: AttemptRow
    verdict: Verdict | None
    """``None``: it gave an acceptable answer."""
    later: bool = False
    """Its call made another attempt after it."""
    again: bool = False
    """That attempt was at the same candidate."""
    before: int = 0
    """Attempts of its account before it in the recording."""
    levels: dict[str, float] = field(default_factory=dict)
    """Meter name → what was used up when it was made (:mod:`zc_notebooks.bench.load`)."""

    @property
    def candidate(self) -> Candidate:
        """Who was asked."""
        return candidate_of(self.row)

    @property
    def end(self) -> datetime:
        """When its outcome was known."""
        return self.row.t + timedelta(seconds=self.row.secs or 0.0)


@dataclass(slots=True, eq=False)
class RecordedCall:
    """One call: when it began, what it did, what stood in its way."""

    call_id: str
    begin: datetime
    stream: bool
    rows: list[AttemptRow] = field(default_factory=list)
    attempts: list[Seen] = field(default_factory=list)
    skips: list[AttemptRow] = field(default_factory=list)
    before: dict[Account, int] = field(default_factory=dict)
    """Attempts of an account before a skip of this call was written."""

    @property
    def served(self) -> Candidate | None:
        """Who answered."""
        return next((candidate_of(row) for row in reversed(self.rows) if row.accepted), None)

    @property
    def cancelled(self) -> bool:
        """Whether somebody stopped it: nobody knows how it would have ended."""
        return any(row.status == "cancelled" for row in self.rows)


class Recording:
    """Rows of a period (and before it, to learn from), put in order.

    Args:
        rows: Attempts and skips in any order.
    """

    def __init__(self, rows: Iterable[AttemptRow]) -> None:
        self.rows: tuple[AttemptRow, ...] = tuple(sorted(rows, key=lambda row: (row.t, row.call_id, row.ordinal)))
        self.calls: dict[str, RecordedCall] = {}
        self.seen: list[Seen] = []
        """Attempts with a known outcome, in the order of time."""
        counts: dict[Account, int] = defaultdict(int)
        for row in self.rows:
            call = self._call(row)
            if row.kind == "skip":
                call.before[account_of(row)] = counts[account_of(row)]
                continue
            if row.status != "cancelled":
                one = Seen(row=row, verdict=None if row.accepted else _verdict(row), before=counts[account_of(row)])
                self.seen.append(one)
                call.attempts.append(one)
            counts[account_of(row)] += 1
        for call in self.calls.values():
            call.rows.sort(key=lambda row: row.ordinal)
            call.attempts.sort(key=lambda one: one.row.ordinal)
            for one, later in pairwise(call.attempts):
                one.later, one.again = True, one.candidate == later.candidate
                _learn(one, later)
        self.statements: list[Seen] = []
        """Skips that show that a success had stated that nothing was left."""
        self._find_statements()

    def _call(self, row: AttemptRow) -> RecordedCall:
        begin = row.t - timedelta(seconds=row.wait_s or 0.0)
        call = self.calls.setdefault(row.call_id, RecordedCall(row.call_id, begin, stream=False))
        call.stream = call.stream or row.mode == "stream"
        call.begin = min(call.begin, begin)
        call.rows.append(row)
        if row.kind == "skip":
            call.skips.append(row)
        return call

    def demand(self, since: datetime | None, until: datetime | None) -> list[RecordedCall]:
        """Calls that began in the period and that somebody wanted answered, in the order of time."""
        found = [
            call
            for call in self.calls.values()
            if (since is None or call.begin >= since) and (until is None or call.begin < until)
            if all(row.mode in ASKED for row in call.rows)
        ]
        return sorted(found, key=lambda call: (call.begin, call.call_id))

    def _find_statements(self) -> None:
        """Marks that no failure explains: a success said that nothing was left (or another program met a limit)."""
        open_marks: set[tuple[Account, str | None]] = set()
        for row in self.rows:
            account = account_of(row)
            if row.kind == "attempt":
                if row.accepted:
                    open_marks -= {mark for mark in open_marks if mark[0] == account}
                else:
                    open_marks.add((account, row.reason))
            elif row.status == "skipped_cooldown" and row.reason in BY_LOAD and (account, row.reason) not in open_marks:
                open_marks.add((account, row.reason))
                if row.resets_at is not None and row.reset_source == "stated":
                    self.statements.append(Seen(row=row, verdict=_verdict(row)))


def candidate_of(row: AttemptRow) -> Candidate:
    """Who a row is about."""
    return row.provider_ref, row.model, row.credential_id


def account_of(row: AttemptRow) -> Account:
    """Whose money and quota a row is about."""
    return row.pool or row.provider_ref, row.credential_id


def named(candidate: Candidate) -> str:
    """``family.alias/model``, as people write it."""
    return f"{candidate[0]}/{candidate[1]}"


def hops(rows: Sequence[AttemptRow]) -> int:
    """How often a call went from a failed entry to its next attempt, from its rows in order (spec 5.6)."""
    tried = [row for row in rows if row.kind == "attempt"]
    return sum((one.provider_ref, one.model) != (later.provider_ref, later.model) for one, later in pairwise(tried))


def status_reason(status: str) -> Reason:
    """The reason of a row that has none (an imported log), by its status alone."""
    return _BY_STATUS.get(status, "server_error" if not status.startswith("http_4") else "bad_request")


def _verdict(row: AttemptRow) -> Verdict:
    status = row.status.removeprefix("http_")
    source = row.reset_source
    return Verdict(
        reason=row.reason or status_reason(row.status),
        status=int(status) if status.isdigit() else None,
        scope=row.scope,
        resets_at=row.resets_at,
        reset_source=source if source in ("stated", "inferred") else None,  # type: ignore[arg-type]
        limit_kind="window" if row.reason == "context_window" else None,
        text=(row.reason or row.status).replace("_", " "),
    )


def _learn(one: Seen, later: Seen) -> None:
    """What a second request to the same candidate says about the failure before it."""
    verdict = one.verdict
    if verdict is None or not one.again:
        return
    if verdict.reason == "balance" and not later.row.wait_s:
        one.verdict = replace(verdict, affordable_tokens=MIN_ANSWER_TOKENS)
    elif verdict.reason == "bad_request":
        one.verdict = replace(verdict, code="tool_schema")
