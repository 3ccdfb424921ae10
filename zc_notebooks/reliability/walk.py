"""The walk: one pass over the candidates of a call, as a pure generator (spec 5).

It decides retry, next, wait and stop, and nothing else does. It never sleeps, reads a clock or knows HTTP: it yields
:data:`~zc_notebooks.reliability.steps.Step` s and is told what came of them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from zc_notebooks.records import CREDENTIAL_BOUND, Variant, Verdict
from zc_notebooks.reliability.backoff import wait_s
from zc_notebooks.reliability.checks import Failure, Memory, sets_mark
from zc_notebooks.reliability.steps import (
    BORDERS,
    AwaitProbe,
    Conditions,
    Ended,
    Failed,
    Gate,
    Moved,
    Outcome,
    OutOfTime,
    Resume,
    SetMark,
    Skip,
    Sleep,
    Step,
    Succeeded,
    Try,
    WalkPolicy,
)

MIN_ANSWER_TOKENS: Final = 256
"""A 402 that can still afford fewer tokens than this leaves no room for an answer: the walk goes on instead."""

Steps = Generator[Step, Outcome | None, Ended | None]


def walk(
    variants: Sequence[Variant],
    policy: WalkPolicy,
    conditions: Conditions,
    *,
    resume: Resume | None = None,
    noted: frozenset[tuple[int, int]] = frozenset(),
) -> Generator[Step, Outcome | None, Ended]:
    """Yields steps until an entry answers or none is left.

    ``variants`` are in order, those of one entry adjacent. ``noted``: ids whose skip has been reported already.
    """
    return (yield from _Walk(Memory(variants, policy, conditions, resume), noted).run())


class _Walk:
    def __init__(self, memory: Memory, noted: frozenset[tuple[int, int]]) -> None:
        self.memory = memory
        self.variants = memory.variants
        self.policy = memory.policy
        self.conditions = memory.conditions
        self.skipped: set[tuple[int, int]] = set(noted)
        self.barred: set[tuple[int, int]] = set()
        """Skipped by a border and never attempted."""

    # -- the passes -----------------------------------------------------------------------------------------------

    def run(self) -> Generator[Step, Outcome | None, Ended]:
        memory = self.memory
        borders = [self.conditions.border(variant) for variant in self.variants]
        if all(borders) and memory.resume is None:
            for variant, status in zip(self.variants, borders, strict=True):
                yield Skip(variant=variant, status=status or "", text=self.conditions.border_text(variant))
            return Ended(kind="no_permitted")
        if memory.resumed_overflow_ends():
            return Ended(kind="overflow")
        ended = yield from self._passes()
        if ended is None:
            ended = yield from self._last_resort()
        if ended is None and len(self.barred) == len(self.variants):  # money others spent since the first look
            return Ended(kind="no_permitted")
        if ended is None and memory.overflowed and not memory.attempted_after_overflow:
            return Ended(kind="overflow")
        return ended or Ended(kind="exhausted")

    def _passes(self) -> Steps:
        """One pass, and another each time that only somebody else's probe stood in the way (spec 7.2)."""
        memory = self.memory
        while True:
            memory.begin_pass()
            for _, group in groupby(self.variants, key=lambda variant: variant.entry.index):
                ended = yield from self._entry(list(group))
                if ended is not None:
                    return ended
            if memory.attempted or memory.held is None:
                return None
            if self.conditions.remaining_s() <= 0:
                return Ended(kind="timeout")
            yield AwaitProbe(variant=memory.held)

    def _entry(self, group: list[Variant]) -> Steps:
        """Tries an entry's variants until one answers or the failure does not bind to the credential (spec 3.4)."""
        for place, variant in enumerate(group):
            leased = False
            found = self.memory.check(variant)
            if isinstance(found, Gate) and found.state == "probe":
                leased = self.conditions.acquire(variant)
                if not leased:
                    self.memory.held = self.memory.held or variant
                    found = Skip(variant=variant, status="skipped_cooldown")
            if isinstance(found, Skip):
                yield from self._skip(found)
                continue
            before = self.memory.attempted
            last = all(isinstance(self.memory.check(later), Skip) for later in group[place + 1 :])
            ended = yield from self._variant(variant, last_of_entry=last, leased=leased)
            if ended is not None:
                return ended
            if self.memory.attempted == before:
                if variant.id in self.skipped:
                    continue
                return None
            if self.memory.failures[-1].verdict.reason not in CREDENTIAL_BOUND:
                return None
        return None

    def _skip(self, step: Skip) -> Generator[Step, Outcome | None, None]:
        """One row for each variant passed over, however often the walk looks again."""
        if step.variant.id not in self.skipped:
            self.skipped.add(step.variant.id)
            if step.status in BORDERS and not self.memory.failures:
                self.barred.add(step.variant.id)
            yield step

    def _last_resort(self) -> Steps:
        """Everything cooling: one leased attempt on the first candidate whose mark is only a guess (spec 7.3)."""
        if self.memory.attempted:
            return None
        for variant in self.memory.cooling:
            mark = self.conditions.gate(variant).mark
            if mark is None or mark.provenance != "guessed" or not self.conditions.acquire(variant):
                continue
            if self.conditions.remaining_s() <= 0:
                return self._ended(OutOfTime(), variant, leased=True)
            outcome = yield from self._try(Try(variant=variant, attempt=0))
            if outcome is None:
                self.conditions.release(variant, success=False)
                continue
            if isinstance(outcome, Failed):
                yield from self._settle_probe(variant, outcome.verdict)
                return None
            return self._ended(outcome, variant, leased=True)
        return None

    # -- one variant ----------------------------------------------------------------------------------------------

    def _variant(self, variant: Variant, *, last_of_entry: bool, leased: bool) -> Steps:
        """Attempts on one variant until it answers or the walk leaves it (``None``)."""
        resumed = self.memory.is_resumed(variant)
        waited = (yield from self._recovery_wait(variant)) if resumed else 0.0
        if waited is None:
            return None
        retries = 0 if resumed else self.policy.reliability.provider_retries
        step: Try | None = Try(
            variant=variant, attempt=0, wait_s=waited, shortened=self.memory.sends_shortened(variant)
        )
        retry = 0
        while step is not None:
            outcome = OutOfTime() if self.conditions.remaining_s() <= 0 else (yield from self._try(step))
            if outcome is None:
                yield from self._left_unpaid(variant, leased=leased)
                return None
            if not isinstance(outcome, Failed):
                return self._ended(outcome, variant, leased=leased)
            verdict = outcome.verdict
            if leased:
                leased = False
                if (yield from self._settle_probe(variant, verdict)):
                    return None
            if verdict.failure_class == "overflow":
                self.memory.note_overflow(variant, verdict)
                if self._overflow_ends():
                    return Ended(kind="overflow")
            again = self._without_waiting(step, verdict)
            if again is None:
                again = yield from self._after_waiting(step, verdict, retry, retries, last_of_entry=last_of_entry)
                retry += 1
            step = again
        return None

    def _try(self, step: Try) -> Generator[Step, Outcome | None, Outcome | None]:
        """One attempt and its outcome; ``None``: there is no money for it, and nothing was sent."""
        memory = self.memory
        unpaid = self.conditions.reserve(step)
        if unpaid is not None:
            yield from self._skip(unpaid)
            return None
        last = memory.failures[-1] if memory.failures else None
        if last is not None and last.variant.entry.index != step.variant.entry.index:
            yield Moved(origin=last.variant, to=step.variant, verdict=last.verdict)
        memory.attempted += 1
        memory.attempted_after_overflow = memory.overflowed
        if memory.is_resumed(step.variant):
            memory.permit = False
        outcome = yield step
        if outcome is None:
            raise RuntimeError("the driver sent no outcome for an attempt")
        if isinstance(outcome, Failed):
            memory.failures.append(Failure(variant=step.variant, verdict=outcome.verdict))
        return outcome

    def _left_unpaid(self, variant: Variant, *, leased: bool) -> Generator[Step, Outcome | None, None]:
        """Leaves a variant whose next attempt cannot be paid for: a limit met before writes its mark all the same."""
        if leased:
            self.conditions.release(variant, success=False)
        last = self.memory.failures[-1] if self.memory.failures else None
        if self.memory.attempted and last is not None and last.variant.id == variant.id and sets_mark(last.verdict):
            yield SetMark(variant=variant, verdict=last.verdict)

    def _settle_probe(self, variant: Variant, verdict: Verdict) -> Generator[Step, Outcome | None, bool]:
        """A probe's failure: a limit writes a fresh mark and ends the entry (``True``), else the lease is freed."""
        fresh = sets_mark(verdict)
        if fresh:
            yield SetMark(variant=variant, verdict=verdict)
        self.conditions.release(variant, success=False)
        return fresh

    def _ended(self, outcome: Outcome, variant: Variant, *, leased: bool) -> Ended:
        if leased:
            self.conditions.release(variant, success=isinstance(outcome, Succeeded))
        return Ended(kind="answered" if isinstance(outcome, Succeeded) else "timeout", variant=variant)

    # -- the same entry again? --------------------------------------------------------------------------------------

    def _without_waiting(self, step: Try, verdict: Verdict) -> Try | None:
        """A second request at once: the shortened history, or the ``max_tokens`` that a 402 can still afford."""
        if verdict.failure_class == "overflow" and self.policy.overflow == "truncate" and not self.memory.truncated:
            self.memory.truncated = True
            return _next(step, shortened=True)
        affordable = verdict.affordable_tokens
        if affordable is not None and affordable >= MIN_ANSWER_TOKENS and step.max_tokens is None:
            return _next(step, max_tokens=affordable)
        return None

    def _after_waiting(
        self, step: Try, verdict: Verdict, retry: int, retries: int, *, last_of_entry: bool
    ) -> Generator[Step, Outcome | None, Try | None]:
        """The retry after its wait, or ``None``: the walk leaves the variant and writes the mark, if there is one."""
        wait = self._wait(step.variant, verdict, retry, last_of_entry=last_of_entry) if retry < retries else None
        if wait is not None and (border := self.conditions.border(step.variant)) is not None:
            text = self.conditions.border_text(step.variant)
            yield from self._skip(Skip(variant=step.variant, status=border, text=text))
            wait = None
        if wait is None:
            if sets_mark(verdict):
                yield SetMark(variant=step.variant, verdict=verdict)
            return None
        yield Sleep(seconds=wait, variant=step.variant)
        return _next(step, wait_s=wait)

    def _wait(self, variant: Variant, verdict: Verdict, retry: int, *, last_of_entry: bool) -> float | None:
        """Seconds before the same entry is tried again, or ``None`` to leave it (spec 5.2, 5.3)."""
        kind = verdict.failure_class
        if kind not in ("limit", "transient"):
            return None
        if kind == "limit":
            if verdict.reason in CREDENTIAL_BOUND and not last_of_entry:
                return None
            advances = self.policy.rate_limit == "cooldown_and_advance"
            if advances and self.memory.another_available(variant, verdict):
                return None
        return self._slept(verdict, retry)

    def _slept(self, verdict: Verdict, retry: int) -> float | None:
        wait = wait_s(self.policy.reliability, retry, self._stated_s(verdict), self.conditions.random())
        return None if wait is None or wait >= self.conditions.remaining_s() else wait

    def _stated_s(self, verdict: Verdict) -> float | None:
        if verdict.stated_wait_s is not None:
            return verdict.stated_wait_s
        if verdict.resets_at is not None and verdict.reset_source == "stated":
            return max(0.0, self.conditions.seconds_until(verdict.resets_at))
        return None

    def _overflow_ends(self) -> bool:
        if self.policy.overflow == "truncate":
            return not self.memory.truncated and not self.conditions.can_shorten()
        return self.policy.overflow == "raise"

    def _recovery_wait(self, variant: Variant) -> Generator[Step, Outcome | None, float | None]:
        """The sole candidate's attempt after a limit waits as stated; ``None``: the wait is above the cap."""
        resume = self.memory.resume
        if resume is None or resume.verdict.failure_class != "limit":
            return 0.0
        wait = self._slept(resume.verdict, 0)
        if wait is None:
            self.memory.permit = False
        else:
            yield Sleep(seconds=wait, variant=variant)
        return wait


def _next(step: Try, **changes: Any) -> Try:
    return msgspec.structs.replace(step, attempt=step.attempt + 1, **{"wait_s": 0.0, **changes})
