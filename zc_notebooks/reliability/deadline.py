"""The time of the whole call in words (spec 5.5). Pure."""

from __future__ import annotations

from typing import Protocol

from zc_notebooks.errors import TransportFailure


class CallTime(Protocol):
    """The time of the whole call."""

    @property
    def timeout_s(self) -> float:
        """Seconds it had."""
        ...

    def remaining_s(self) -> float:
        """Seconds that are left; zero or less: no attempt starts."""
        ...


def late_words(timeout_s: float) -> str:
    """The sentence of a call whose time is over."""
    return f"time limit of {timeout_s:g} s for the whole call reached"


def in_time(failure: TransportFailure, time: CallTime) -> TransportFailure:
    """The failure as it is to be told: when the call's own time ended the request, that, and no limit made from it."""
    if failure.kind != "timeout" or time.remaining_s() > 0:
        return failure
    where = "before the answer was complete" if failure.sent else "before there was a connection"
    return TransportFailure(f"{late_words(time.timeout_s)} {where}", kind="timeout", sent=failure.sent)
