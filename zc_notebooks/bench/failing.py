"""What a call without an answer says of the candidate that was measured."""

from __future__ import annotations

from typing import Final

from zc_notebooks.bench.results import Outcome
from zc_notebooks.errors import CallError, CandidateFailure
from zc_notebooks.records import Reason

_REFUSED: Final[frozenset[Reason]] = frozenset({"content_filter"})
_FAULTY: Final[frozenset[Reason]] = frozenset({"bad_request", "context_window"})


def failed(error: CallError) -> tuple[Outcome, str]:
    """The outcome of a call without an answer, and why in one line."""
    last = last_failure(error)
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


def last_failure(error: CallError) -> CandidateFailure | None:
    """The last attempt, or else the last skip."""
    attempts = [failure for failure in error.attempts if failure.row.kind == "attempt"]
    found = attempts or list(error.attempts)
    return found[-1] if found else None
