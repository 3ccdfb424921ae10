"""Faults of transport and stream, on any wire: what is done to an answer on its way out.

A provider's own refusals are failures (:mod:`zc_notebooks.lab.failures`); a fault breaks an answer that was fine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, get_args

import msgspec

from zc_notebooks.records import Record

FaultKind = Literal[
    "cut",
    "cut_clean",
    "stall",
    "slow_start",
    "slow",
    "malformed",
    "no_done",
    "no_finish",
    "error_event",
    "error_after_finish",
    "empty",
    "empty_body",
    "reasoning_only",
    "think_in_text",
    "half_tool_call",
    "no_usage",
    "usage_thrice",
    "comments_only",
    "other_model",
    "ok_error_body",
    "html",
    "big_error",
    "nul",
    "invalid_utf8",
    "long_line",
    "redirect",
    "reset",
    "hang",
    "status",
    "failure",
    "ok",
]
KINDS: Final[tuple[FaultKind, ...]] = get_args(FaultKind)

ABOUT: Final[dict[FaultKind, str]] = {
    "cut": "The socket is closed in the middle of a chunk, after so many tokens.",
    "cut_clean": "The body ends properly, without the wire's last event, after so many tokens.",
    "stall": "After so many tokens nothing more comes; the connection stays open.",
    "slow_start": "The first byte comes late.",
    "slow": "Every chunk comes late.",
    "malformed": "One event after so many tokens is broken JSON.",
    "no_done": "The end marker of the transport is missing ([DONE], a closing bracket).",
    "no_finish": "No finish reason is said anywhere.",
    "error_event": "An error of the provider after so many tokens, inside HTTP 200.",
    "error_after_finish": "An error after the finish reason, before the end marker.",
    "empty": "A proper answer without any content.",
    "empty_body": "HTTP 200 and not one byte.",
    "reasoning_only": "Reasoning, and then the end.",
    "think_in_text": "The reasoning stands in the text between <think> and </think>.",
    "half_tool_call": "The socket is closed in the middle of a tool call's arguments.",
    "no_usage": "Usage is never said.",
    "usage_thrice": "Usage is said three times.",
    "comments_only": "Keep-alives, and then the end.",
    "other_model": "The answer names another model than was asked for.",
    "ok_error_body": "HTTP 200 with an error as its body.",
    "html": "HTTP 200 with a login page.",
    "big_error": "An error body of 5 MB.",
    "nul": "NUL bytes in the middle of the body.",
    "invalid_utf8": "Bytes that are no UTF-8.",
    "long_line": "One line of 10 MB.",
    "redirect": "HTTP 307 to another host.",
    "reset": "The connection is reset before anything is said.",
    "hang": "Nothing is ever said; the connection stays open.",
    "status": "A bare HTTP status with a body that states nothing.",
    "failure": "One of the provider's own failures.",
    "ok": "Nothing is wrong (a place in a sequence).",
}


class Fault(Record, frozen=True, kw_only=True):
    """What goes wrong with a request."""

    kind: FaultKind
    after: int | None = None
    """Text tokens let through before it strikes; 3 by default, never more than the answer has."""
    delay_s: float | None = None
    """``slow_start`` (5 s by default) and ``slow`` (0.5 s)."""
    failure: str | None = None
    """``failure``, ``error_event``, ``ok_error_body``: name of the provider's failure."""
    status: int = 500
    """``status``: which."""
    retry_after_s: float | None = None
    """A ``retry-after`` header to add to the refusal."""
    size: int | None = None
    """``big_error`` and ``long_line``: bytes."""
    to: str = "https://elsewhere.invalid/v1/chat/completions"
    """``redirect``: where to."""

    @property
    def tokens(self) -> int:
        """Text tokens let through."""
        return 3 if self.after is None else self.after


FaultLike = str | Fault


def fault(spec: FaultLike) -> Fault:
    """A fault from its short form.

    ``"cut"``, ``"cut:40"`` (after 40 tokens), ``"slow_start:2.5"`` (seconds), ``"status:503"``, ``"ok"``, or the
    name of a failure (``"google.requests_per_day"``, ``"balance"``).
    """
    if isinstance(spec, Fault):
        return spec
    name, _, number = spec.partition(":")
    kind = next((known for known in KINDS if known == name), None)
    if kind is None:
        return Fault(kind="failure", failure=spec)
    if not number:
        return Fault(kind=kind)
    if kind in ("slow_start", "slow"):
        return Fault(kind=kind, delay_s=float(number))
    if kind == "status":
        return Fault(kind=kind, status=int(number))
    if kind in ("big_error", "long_line"):
        return Fault(kind=kind, size=int(number))
    return Fault(kind=kind, after=int(number))


class Plan:
    """The faults set on one provider: one for all requests, for the first few, or a sequence of one each."""

    def __init__(self, faults: FaultLike | Sequence[FaultLike | None] | None, times: int | None = None) -> None:
        if faults is None or isinstance(faults, str | Fault):
            self._always = None if faults is None else fault(faults)
            self._left = times
            self._each: Iterator[FaultLike | None] = iter(())
        else:
            self._always, self._left = None, 0
            self._each = iter(list(faults) * (1 if times is None else times))

    def next(self) -> Fault | None:
        """The fault of the next request, or ``None``."""
        if self._always is not None and self._left != 0:
            self._left = None if self._left is None else self._left - 1
            return self._always
        following = next(self._each, None)
        return None if following is None or following == "ok" else fault(following)

    @property
    def standing(self) -> Fault | None:
        """The fault that strikes every request at present, without taking it."""
        return self._always if self._left != 0 else None

    def end(self) -> None:
        """Takes a standing fault away (its reset has come)."""
        self._always = None


class Pause(Record, frozen=True, kw_only=True):
    """A wait in a response, in real seconds."""

    seconds: float


class End(Record, frozen=True, kw_only=True):
    """A response that does not end as HTTP wants: ``close`` (in the middle of a chunk), ``reset``, ``stall``."""

    how: Literal["close", "reset", "stall"]


Step = bytes | Pause | End


class Playing(Record, frozen=True, kw_only=True):
    """A response to be sent: head, and steps of its body."""

    status: int
    headers: dict[str, str]
    steps: Iterable[Step]
    streamed: bool = False
    """Sent in chunks, without a length."""
    answered: str = "ok"
    """What was answered, for the request log."""


def refused(status: int, headers: dict[str, str], body: bytes, answered: str, delay_s: float) -> Playing:
    """A response sent at once after a delay."""
    return Playing(status=status, headers=headers, steps=(Pause(seconds=delay_s), body), answered=answered)


def renamed(playing: Playing, fault: Fault) -> Playing:
    """The response under the fault's name in the log."""
    return msgspec.structs.replace(playing, answered=fault.failure or fault.kind)
