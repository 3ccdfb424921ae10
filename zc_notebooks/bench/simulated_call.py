"""One call of a simulation: what its walk may look at, and the driver that only counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from zc_notebooks.bench.oracle import Effect, Grade, Ruling, refusal
from zc_notebooks.bench.recorded import Candidate, RecordedCall, Seen, account_of
from zc_notebooks.chat import ChatRequest
from zc_notebooks.records import Mark, Variant
from zc_notebooks.reliability.cooldown import Lease
from zc_notebooks.reliability.mark_rules import OPEN, Gate
from zc_notebooks.reliability.selection import streaming_variant
from zc_notebooks.reliability.steps import (
    AwaitProbe,
    Failed,
    Moved,
    Outcome,
    OutOfTime,
    Resume,
    SetMark,
    Skip,
    Sleep,
    Succeeded,
    Try,
)
from zc_notebooks.reliability.walk import walk

if TYPE_CHECKING:
    from zc_notebooks.bench.simulate import Simulation

_POLL_S: Final = 0.25
_FOREVER_S: Final = 366 * 86_400.0
"""As good as no time limit; dates cannot count much longer ones."""
_NO_REQUEST: Final = ChatRequest(messages=())
Events = Generator[datetime, None, None]
"""Yields when it wants to be looked at again."""


@dataclass(slots=True, eq=False)
class Simulated:
    """One call as it would have gone."""

    call: RecordedCall
    served: Candidate | None = None
    attempts: list[tuple[Variant, Grade]] = field(default_factory=list)
    hops: int = 0
    waited_s: float = 0.0
    cost_usd: Decimal | None = None
    """``None``: no part is known, or there is none."""
    at_least: bool = False
    end: datetime | None = None


class OneCall:
    """Conditions and driver of one call."""

    def __init__(self, run: Simulation, result: Simulated) -> None:
        self.run = run
        self.result = result
        self.call = result.call
        self._own: dict[Candidate, list[Seen]] = defaultdict(list)
        for one in self.call.attempts:
            self._own[one.candidate].append(one)
        self._skips = {(row.provider_ref, row.model, row.credential_id): row for row in self.call.skips}
        self._tiers = {row.tier for row in self.call.skips if row.status == "skipped_tier"}
        self._leases: dict[tuple[int, int], Lease] = {}
        self._deadline = self.call.begin + timedelta(seconds=min(run.policy.reliability.call_timeout_s, _FOREVER_S))
        self._faithful = True
        """So far it went as it was recorded."""
        self._spoken: set[int] = set()

    # -- conditions ---------------------------------------------------------------------------------------------------

    def border(self, variant: Variant) -> str | None:
        """A border the recorded call met there, or at another candidate of the tier."""
        row = self._skips.get(self.run.who[variant.id])
        if row is not None and row.status in ("skipped_allowlist", "skipped_tier", "skipped_budget"):
            return row.status
        return "skipped_tier" if variant.entry.profile.tier in self._tiers else None

    def border_text(self, variant: Variant) -> str:  # noqa: ARG002 (a protocol)
        """Rows keep no words."""
        return ""

    def lacks(self, variant: Variant) -> str | None:
        """The capability the recorded call missed there."""
        return "as recorded" if self._recorded_skip(variant) == "skipped_capability" else None

    def absent(self, variant: Variant) -> str | None:
        """Whether the recorded call found the local server down."""
        return "as recorded" if self._recorded_skip(variant) == "skipped_not_running" else None

    def _recorded_skip(self, variant: Variant) -> str | None:
        row = self._skips.get(self.run.who[variant.id])
        return None if row is None else row.status

    def gate(self, variant: Variant) -> Gate:
        """The simulated board's word; where all went as recorded, what the real board must have said."""
        gate = self.run.marks.look(variant.key)
        own = self._own.get(self.run.who[variant.id])
        if own and self._same_past(variant, own[0].before):
            stated = gate.mark is not None and gate.mark.provenance != "guessed"
            comes = self._faithful and own[0] is self._expected()
            return OPEN if gate.state == "cooling" and stated and comes else gate
        if gate.state == "open":
            return self._as_recorded(variant) or self._foreseen(variant) or gate
        return gate

    def _foreseen(self, variant: Variant) -> Gate | None:
        """The mark of a quota whose last answer says that nothing is left."""
        now, run = self.run.clock.instant, self.run
        for fit in run.oracle.loads.of(self.run.purse[variant.id], variant.model):
            if fit.foreseen and fit.explained and run.levels.level(fit, now) >= fit.above:
                verdict = refusal(fit, now, run.levels)
                if verdict.resets_at is not None and verdict.resets_at > now:
                    mark = Mark(
                        key=variant.key,
                        until=verdict.resets_at,
                        provenance="stated",
                        reason=fit.reason,
                        set_at=now,
                    )
                    return Gate(state="cooling", mark=mark)
        return None

    def _as_recorded(self, variant: Variant) -> Gate | None:
        """A mark that no recorded failure explains: a statement that nothing was left, another program's mark."""
        row = self._skips.get(self.run.who[variant.id])
        if row is None or row.status != "skipped_cooldown" or row.resets_at is None or row.reason is None:
            return None
        if not self._same_past(variant, self.call.before.get(account_of(row), -1)):
            return None
        source = row.reset_source if row.reset_source in ("stated", "inferred") else "stated"
        mark = Mark(key=variant.key, until=row.resets_at, provenance=source, reason=row.reason, set_at=row.t)  # type: ignore[arg-type]
        return Gate(state="cooling", mark=mark)

    def _same_past(self, variant: Variant, before: int) -> bool:
        return self.run.made[self.run.purse[variant.id]] == before

    def acquire(self, variant: Variant) -> bool:
        """A lease on the simulated board."""
        lease = self.run.marks.acquire(variant.key)
        if lease is not None:
            self._leases[variant.id] = lease
        return lease is not None

    def release(self, variant: Variant, *, success: bool) -> None:
        """Gives it back."""
        lease = self._leases.pop(variant.id, None)
        if lease is not None:
            self.run.marks.release(lease, "success" if success else "other")

    def reserve(self, step: Try) -> Skip | None:  # noqa: ARG002 (a protocol)
        """Budgets are borders here."""
        return None

    def remaining_s(self) -> float:
        """To the call's deadline."""
        return (self._deadline - self.run.clock.instant).total_seconds()

    def seconds_until(self, instant: datetime) -> float:
        """From simulated now."""
        return (instant - self.run.clock.instant).total_seconds()

    def can_shorten(self) -> bool:
        """Whether the recorded call sent a second request after an overflow."""
        return any(
            one.verdict is not None and one.verdict.reason == "context_window" and one.candidate == later.candidate
            for one, later in pairwise(self.call.attempts)
        )

    def random(self) -> float:
        """No jitter."""
        return 0.0

    # -- driver -------------------------------------------------------------------------------------------------------

    def events(self) -> Events:
        """Advances the call from event to event."""
        if self.call.stream:
            yield from self._streamed()
        else:
            yield from self._walked(None, frozenset())
        for lease in self._leases.values():
            self.run.marks.release(lease, "other")
        self.result.end = self.run.clock.instant

    def _streamed(self) -> Events:
        """A stream, and where it fails before its output the walk that follows (spec 8.4)."""
        selected = streaming_variant(self.run.variants, self.run.policy, self, _NO_REQUEST)
        if selected.variant is None:
            yield from self._walked(None, selected.noted)
            return
        step = Try(variant=selected.variant, attempt=0)
        outcome, own = yield from self._attempt(step)
        if isinstance(outcome, Succeeded):
            self.release(selected.variant, success=True)
            return
        if isinstance(outcome, OutOfTime):
            return
        self.run.marks.set_from(outcome.verdict, selected.variant, now=self.run.clock.instant)
        self.release(selected.variant, success=False)
        shown = outcome.verdict.reason == "stream_cut" if own is None else not own.later
        if shown and outcome.verdict.reason != "empty":
            return
        yield from self._walked(Resume(variant=selected.variant, verdict=outcome.verdict), selected.noted)

    def _walked(self, resume: Resume | None, noted: frozenset[tuple[int, int]]) -> Events:
        steps = walk(self.run.variants, self.run.policy, self, resume=resume, noted=noted)
        reply: Outcome | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration:
                return
            reply = None
            if isinstance(step, Try):
                reply, _ = yield from self._attempt(step)
            elif isinstance(step, Sleep):
                yield self.run.clock.instant + timedelta(seconds=step.seconds)
            elif isinstance(step, AwaitProbe):
                yield self.run.clock.instant + timedelta(seconds=min(_POLL_S, max(self.remaining_s(), 0.0)))
            elif isinstance(step, SetMark):
                self.run.marks.set_from(step.verdict, step.variant, now=self.run.clock.instant)
            elif isinstance(step, Moved):
                self.result.hops += 1

    def _attempt(self, step: Try) -> Generator[datetime, None, tuple[Outcome, Seen | None]]:
        own = self._next_own(step.variant)
        if own is not None and self._faithful and own.row.t > self.run.clock.instant:
            yield own.row.t
        began, variant, run = self.run.clock.instant, step.variant, self.run
        ruling = run.oracle.ruling(variant, began, run.levels, own, self._spoken)
        effect = run.mood.decide(variant, ruling, began)
        self._note(step, ruling, effect, own)
        run.levels.add(self.run.purse[variant.id], variant.model, effect.use, began)
        run.made[self.run.purse[variant.id]] += 1
        yield began + timedelta(seconds=min(effect.secs, max(self.remaining_s(), 0.0)))
        if effect.verdict is not None:
            return (Failed(verdict=effect.verdict) if self.remaining_s() > 0 else OutOfTime()), own
        run.marks.success(variant, began)
        self.result.served = self.run.who[variant.id]
        return Succeeded(), own

    def _next_own(self, variant: Variant) -> Seen | None:
        """The recorded attempt that this one repeats."""
        mine = self._own.get(self.run.who[variant.id])
        own = mine.pop(0) if mine else None
        self._faithful = self._faithful and own is not None and own is self._expected()
        return own

    def _expected(self) -> Seen | None:
        """The attempt that comes next where all goes as it was recorded."""
        made = len(self.result.attempts)
        return self.call.attempts[made] if made < len(self.call.attempts) else None

    def _note(self, step: Try, ruling: Ruling, effect: Effect, own: Seen | None) -> None:
        result, run = self.result, self.run
        result.attempts.append((step.variant, ruling.grade))
        result.waited_s += (own.row.wait_s or 0.0) if own is not None and self._faithful else step.wait_s
        result.at_least = result.at_least or effect.at_least or effect.cost_usd is None
        if effect.cost_usd is not None:
            result.cost_usd = (result.cost_usd or Decimal(0)) + effect.cost_usd
        if ruling.other is not None:
            run.chancy = True
            if ruling.doubtful:
                run.doubted.add((step.variant.ref, step.variant.model))
        if ruling.grade == "observed" and own is None:
            heard = run.oracle.heard(step.variant, run.clock.instant, self._spoken)
            self._spoken.update(() if heard is None else (heard,))
        elif own is not None:
            self._spoken.add(id(own))
