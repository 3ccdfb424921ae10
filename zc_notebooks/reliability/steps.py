"""What the walk asks its driver to do, what it is told, and the conditions it may look at.

The walk is a generator: it yields a :data:`Step` and is sent an :data:`Outcome` (for :class:`Try`) or ``None``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, Protocol

from zc_notebooks.records import Mark, OverflowPolicy, RateLimitPolicy, Record, Reliability, Variant, Verdict


class Try(Record, frozen=True, kw_only=True):
    """Make one attempt and send back its :data:`Outcome`."""

    variant: Variant
    attempt: int
    """0-based number on this entry."""
    wait_s: float = 0.0
    """What was slept just before."""
    max_tokens: int | None = None
    """Lowered limit after a 402 that stated what the balance still pays for."""
    shortened: bool = False
    """Send the shortened history."""


class Sleep(Record, frozen=True, kw_only=True):
    """Wait before the next attempt on the same entry."""

    seconds: float
    variant: Variant


BORDERS: Final = frozenset({"skipped_allowlist", "skipped_tier", "skipped_budget"})
"""Statuses of an entry that no fallback may reach."""


class Skip(Record, frozen=True, kw_only=True):
    """An entry was passed over: make a row."""

    variant: Variant
    status: str
    """``skipped_<check>``."""
    mark: Mark | None = None
    text: str = ""


class Moved(Record, frozen=True, kw_only=True):
    """The walk leaves a failed entry for its next attempt: report one hop."""

    origin: Variant
    to: Variant
    verdict: Verdict
    """The failed entry's own."""


class SetMark(Record, frozen=True, kw_only=True):
    """The walk leaves the variant because of a limit, or money with a stated reset: write the mark."""

    variant: Variant
    verdict: Verdict


class AwaitProbe(Record, frozen=True, kw_only=True):
    """Nothing is open but another caller probes this variant: wait for that outcome, within the deadline."""

    variant: Variant


Step = Try | Sleep | Skip | Moved | SetMark | AwaitProbe


class Succeeded(Record, frozen=True, kw_only=True):
    """The attempt gave an acceptable answer."""


class Failed(Record, frozen=True, kw_only=True):
    """The attempt failed."""

    verdict: Verdict


class OutOfTime(Record, frozen=True, kw_only=True):
    """The call's deadline struck during the attempt, which was closed."""


Outcome = Succeeded | Failed | OutOfTime


class Ended(Record, frozen=True, kw_only=True):
    """How the walk ended. ``variant`` served when ``kind`` is ``answered``."""

    kind: Literal["answered", "exhausted", "no_permitted", "overflow", "timeout"]
    variant: Variant | None = None


class Gate(Record, frozen=True, kw_only=True):
    """What the cooldown board says of a variant now (spec 7.2)."""

    state: Literal["open", "cooling", "probe", "held"]
    """``probe``: a mark has ended and nobody holds its lease; ``held``: another caller's probe is running."""
    mark: Mark | None = None


OPEN: Final = Gate(state="open")


class Conditions(Protocol):
    """What the walk may look at. The drivers answer from the board and the clock, a simulator from a recording."""

    def border(self, variant: Variant) -> str | None:
        """``skipped_allowlist``, ``skipped_tier`` or ``skipped_budget``, or ``None`` when permitted."""
        ...

    def border_text(self, variant: Variant) -> str:
        """What the border said of the variant when it was last asked, in words; empty when it says no more."""
        ...

    def lacks(self, variant: Variant) -> str | None:
        """The capability the request needs and the variant has not, or ``None``."""
        ...

    def absent(self, variant: Variant) -> str | None:
        """Why a candidate on this machine is known not to answer, or ``None``."""
        ...

    def gate(self, variant: Variant) -> Gate:
        """The cooldown board's word."""
        ...

    def acquire(self, variant: Variant) -> bool:
        """Takes the lease for one probe of the variant; ``False`` when somebody else holds it."""
        ...

    def release(self, variant: Variant, *, success: bool) -> None:
        """Gives the lease back after a probe that set no fresh mark."""
        ...

    def reserve(self, step: Try) -> Skip | None:
        """Sets aside what the attempt may cost, right before it; a skip when there is not enough left."""
        ...

    def remaining_s(self) -> float:
        """Seconds until the call's deadline; zero or less: no attempt starts."""
        ...

    def seconds_until(self, instant: datetime) -> float:
        """Seconds from now to ``instant``, negative when past."""
        ...

    def can_shorten(self) -> bool:
        """Whether the history has a turn that can be dropped."""
        ...

    def random(self) -> float:
        """In [0, 1)."""
        ...


class Resume(Record, frozen=True, kw_only=True):
    """The stream that failed just before this walk (recovery, spec 8.5)."""

    variant: Variant
    verdict: Verdict


class WalkPolicy(Record, frozen=True, kw_only=True):
    """The part of the configuration one walk follows."""

    reliability: Reliability
    rate_limit: RateLimitPolicy
    overflow: OverflowPolicy
    chain: bool
    """Flat chain: a profile ref is not tried twice (spec 3.3)."""
    ignore_cooldown: bool = False

    @property
    def budget(self) -> int:
        """Attempts per entry."""
        return self.reliability.provider_retries + 1
