"""What a call without an answer says of the candidate that was measured, and when to ask it again."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from zc_notebooks.bench.results import Outcome
from zc_notebooks.errors import CallError, CandidateFailure
from zc_notebooks.records import Reason

_REFUSED: Final[frozenset[Reason]] = frozenset({"content_filter"})
_FAULTY: Final[frozenset[Reason]] = frozenset({"bad_request", "context_window"})
_WORTH_WAITING: Final[frozenset[Reason]] = frozenset({"minute_limit", "capacity", "server_error", "network"})
_QUOTAS: Final[frozenset[Reason]] = frozenset({"daily_limit", "token_daily_limit", "minute_limit", "balance"})


def failed(error: CallError) -> tuple[Outcome, str]:
    """The outcome of a call without an answer, and why in one line."""
    last = _last_failure(error)
    if last is None:
        return "unreachable", str(error).splitlines()[0][:140] if str(error) else type(error).__name__
    reason = last.row.reason or last.row.status
    words = str(reason).replace("_", " ")
    if last.row.status == "empty" or reason == "empty":
        cut = last.row.finish_reason == "length"
        return ("truncated", "all tokens went into reasoning") if cut else ("unparsed", "an empty answer")
    if reason in _REFUSED:
        return "refused", words
    if reason in _FAULTY:
        return "error", words
    until = f" until {last.back_at:%Y-%m-%d %H:%M:%S} UTC" if last.back_at is not None else ""
    return "unreachable", f"{words}{until}"


def worth_waiting_s(error: CallError, now: datetime, guess_s: float) -> float | None:
    """Seconds until another attempt is worth it; ``None`` where it is not, or nobody said when.

    ``guess_s`` is for a limit of a minute that says nothing.
    """
    last = _last_failure(error)
    if last is None or last.row.reason not in _WORTH_WAITING:
        return None
    if last.row.resets_at is not None:
        return (last.row.resets_at - now).total_seconds()
    return guess_s if last.row.reason == "minute_limit" else None


def quota_ends(error: CallError) -> datetime | None:
    """When a quota is over whose end is stated or known by rule."""
    last = _last_failure(error)
    if last is None or last.provenance == "guessed" or last.row.reason not in _QUOTAS:
        return None
    return last.back_at


def _last_failure(error: CallError) -> CandidateFailure | None:
    """The last attempt, or else the last skip."""
    attempts = [failure for failure in error.attempts if failure.row.kind == "attempt"]
    found = attempts or list(error.attempts)
    return found[-1] if found else None
