"""What a live call looks at and acts upon: borders, capabilities, the cooldown board, the deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from zc_notebooks.borders import Borders
from zc_notebooks.budget.guard import CallBudget
from zc_notebooks.chat import ChatRequest
from zc_notebooks.clock import Clock
from zc_notebooks.local.transport import LocalTransport
from zc_notebooks.records import Variant
from zc_notebooks.reliability.attempt import lacks
from zc_notebooks.reliability.cooldown import OPEN, Gate, Lease, Marks
from zc_notebooks.reliability.reset_time import headroom
from zc_notebooks.reliability.shorten import can_shorten
from zc_notebooks.reliability.steps import SetMark, Skip, Try


class LiveConditions:
    """The conditions of one call on this machine. Leases taken and not given back are freed by :meth:`close`."""

    def __init__(
        self,
        request: ChatRequest,
        *,
        marks: Marks,
        clock: Clock,
        deadline: float,
        timeout_s: float,
        random: Callable[[], float],
        borders: Borders,
        local: LocalTransport | None = None,
        budget: CallBudget | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        """Seconds the whole call had, for the sentence that says they are over."""
        self._request = request
        self._marks = marks
        self._clock = clock
        self._deadline = deadline
        self._random = random
        self._borders = borders
        self._local = local
        self._budget = budget
        self._unpaid: dict[tuple[int, int], str] = {}
        self._absent: Mapping[str, str] = {}
        self._leases: dict[tuple[int, int], Lease] = {}

    async def prepare(self, variants: Sequence[Variant], *, remembered: bool) -> None:
        """Finds out which candidates on this machine answer; the walk then only looks it up.

        With ``remembered=False`` nobody is asked: the call is to find out by itself.
        """
        if self._local is not None:
            permitted = [variant for variant in variants if self._borders.status(variant) is None]
            profiles = [variant.entry.profile for variant in permitted]
            self._absent = await self._local.presence.look(profiles, remembered=remembered)

    # -- what the walk may look at ------------------------------------------------------------------------------------

    def border(self, variant: Variant) -> str | None:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        status = self._borders.status(variant)
        if status is not None or self._budget is None:
            return status
        words = self._budget.refusal(variant)
        return None if words is None else self._unpaid_for(variant, words).status

    def border_text(self, variant: Variant) -> str:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        return self._unpaid.get(variant.id, "")

    def reserve(self, step: Try) -> Skip | None:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        words = None if self._budget is None else self._budget.reserve(step)
        return None if words is None else self._unpaid_for(step.variant, words)

    def _unpaid_for(self, variant: Variant, words: str) -> Skip:
        self._unpaid[variant.id] = words
        return Skip(variant=variant, status="skipped_budget", text=words)

    def lacks(self, variant: Variant) -> str | None:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        return lacks(variant, self._request)

    def absent(self, variant: Variant) -> str | None:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        return self._absent.get(variant.entry.profile.base_url)

    def gate(self, variant: Variant) -> Gate:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        if self._marks.quiet:
            return OPEN
        return self._marks.look(variant.key)

    def acquire(self, variant: Variant) -> bool:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        lease = self._marks.acquire(variant.key)
        if lease is None:
            return False
        self._leases[variant.id] = lease
        return True

    def release(self, variant: Variant, *, success: bool) -> None:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        lease = self._leases.pop(variant.id, None)
        if lease is not None:
            self._marks.release(lease, "success" if success else "other")

    def remaining_s(self) -> float:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        return self._deadline - self._clock.monotonic()

    def seconds_until(self, instant: datetime) -> float:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        return (instant - self._clock.now()).total_seconds()

    def can_shorten(self) -> bool:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        return can_shorten(self._request.messages)

    def random(self) -> float:
        """See :class:`~zc_notebooks.reliability.steps.Conditions`."""
        return self._random()

    # -- what the driver acts upon ------------------------------------------------------------------------------------

    def set_mark(self, step: SetMark) -> None:
        """Writes the mark of a limit."""
        self._marks.set_from(step.verdict, step.variant, now=self._clock.now())

    def succeeded(self, variant: Variant, started_at: datetime, headers: Mapping[str, str]) -> None:
        """Deletes older marks that cover the variant and keeps the headroom its response stated."""
        self._marks.success(variant, started_at)
        stated = headroom(variant.entry.profile.family, headers, self._clock.now())
        if stated:
            self._marks.headroom.update(
                variant.entry.profile.pool, variant.key.credential_id, variant.model, stated, provider_ref=variant.ref
            )

    async def await_probe(self, variant: Variant) -> None:
        """Waits for another caller's probe, at most until the deadline."""
        await self._marks.wait_free(variant.key, timeout_s=max(self.remaining_s(), 0.0))

    def close(self) -> None:
        """Frees what an interrupted walk still holds."""
        if self._budget is not None:
            self._budget.free()
        for lease in self._leases.values():
            self._marks.release(lease, "other")
        self._leases.clear()
