"""What a walk remembers, and the checks a variant must pass before it is tried (spec 5.1, in its order)."""

from __future__ import annotations

from collections.abc import Sequence

from zc_notebooks.records import CREDENTIAL_BOUND, Record, Variant, Verdict
from zc_notebooks.reliability.mark_rules import covers
from zc_notebooks.reliability.steps import OPEN, Conditions, Gate, Resume, Skip, WalkPolicy


def benches(verdict: Verdict, failed: Variant, other: Variant) -> bool:
    """Whether the mark that ``verdict`` sets on ``failed`` also covers ``other`` (spec 7.1)."""
    here, there = failed.key, other.key
    if (here.pool, here.credential_id) != (there.pool, there.credential_id):
        return False
    if verdict.covers is not None:
        return covers(verdict.covers, other.model)
    return verdict.scope != "model" or failed.model == other.model


def sets_mark(verdict: Verdict) -> bool:
    """Limits and period quotas do, and money whose return is stated (spec 7.1)."""
    if verdict.reason == "balance":
        return verdict.stated_wait_s is not None or (verdict.resets_at is not None and verdict.reset_source == "stated")
    return verdict.failure_class in ("limit", "period")


class Failure(Record, frozen=True, kw_only=True):
    """A failed attempt of this walk, or of the stream before it."""

    variant: Variant
    verdict: Verdict


class Memory:
    """What one walk remembers. Truncation state and the permit belong to the call, not to an entry."""

    def __init__(
        self, variants: Sequence[Variant], policy: WalkPolicy, conditions: Conditions, resume: Resume | None
    ) -> None:
        self.variants = tuple(variants)
        self.policy = policy
        self.conditions = conditions
        self.resume = resume
        self.failures: list[Failure] = []
        self.attempted = 0
        self.overflowed = False
        self.attempted_after_overflow = False
        self.windows: list[int] = []
        self.truncated = False
        self.held: Variant | None = None
        self.cooling: list[Variant] = []
        self.permit = False
        if resume is not None:
            self.failures.append(Failure(variant=resume.variant, verdict=resume.verdict))
            self.note_overflow(resume.variant, resume.verdict)
            self.permit = self._grant(resume)

    def begin_pass(self) -> None:
        """Forgets what stood in the way of the pass before."""
        self.held, self.cooling = None, []

    # -- the checks -----------------------------------------------------------------------------------------------

    def check(self, variant: Variant) -> Skip | Gate:
        """The skip of the first check that fails, or the gate it passes, ``open`` or ``probe``.

        Notes cooling and held candidates on the way.
        """
        status, text = self.static_block(variant)
        if status is not None:
            return Skip(variant=variant, status=status, text=text)
        gate = self.gate(variant)
        if gate.state == "held":
            self.held = self.held or variant
            return Skip(variant=variant, status="skipped_cooldown", mark=gate.mark)
        if gate.state == "cooling":
            if all(variant.id != known.id for known in self.cooling):
                self.cooling.append(variant)
            return Skip(variant=variant, status="skipped_cooldown", mark=gate.mark)
        if self.is_resumed(variant) and not self.permit:
            return Skip(variant=variant, status="skipped_failed_stream")
        return gate

    def static_block(self, variant: Variant) -> tuple[str | None, str]:
        """Checks 1 to 6, and whether a server on this machine runs: (status, words) or (``None``, "")."""
        border = self.conditions.border(variant)
        if border is not None:
            return border, self.conditions.border_text(variant)
        if self.policy.chain and self._already_tried(variant):
            return "skipped_already_tried", ""
        if self._same_credential_failed(variant):
            return "skipped_same_credential", ""
        if variant.credential is None:
            return "skipped_no_key", f"no key: {variant.missing}"
        lacking = self.conditions.lacks(variant)
        if lacking is not None:
            return "skipped_capability", lacking
        if not self._window_qualifies(variant):
            return "skipped_window", ""
        absent = self.conditions.absent(variant)
        return (None, "") if absent is None else ("skipped_not_running", absent)

    def _already_tried(self, variant: Variant) -> bool:
        """Chain only: the ref was tried, unless this names another model and every failure was model-scoped."""
        return any(
            failure.variant.ref == variant.ref
            and failure.variant.entry.index != variant.entry.index
            and (failure.variant.model == variant.model or failure.verdict.scope != "model")
            for failure in self.failures
        )

    def _same_credential_failed(self, variant: Variant) -> bool:
        key = variant.key
        return any(
            (failure.variant.key.pool, failure.variant.key.credential_id) == (key.pool, key.credential_id)
            and failure.verdict.failure_class == "final"
            and failure.verdict.scope == "credential"
            and failure.variant.id != variant.id
            for failure in self.failures
        )

    def gate(self, variant: Variant) -> Gate:
        """The board's word, less what this walk may disregard.

        That is everything by policy, and for the sole candidate of a recovery the mark its own stream has just set.
        """
        if self.policy.ignore_cooldown:
            return OPEN
        gate = self.conditions.gate(variant)
        own_mark = self.permit and self.is_resumed(variant) and gate.state == "cooling"
        if own_mark and self.resume is not None and self.resume.verdict.failure_class == "limit":
            return OPEN
        return gate

    def another_available(self, failed: Variant, verdict: Verdict) -> bool:
        """Whether a later variant passes all checks now, the mark of this very verdict included (spec 5.1)."""
        return any(
            later.id > failed.id and not benches(verdict, failed, later) and self._passes(later)
            for later in self.variants
        )

    def _passes(self, variant: Variant) -> bool:
        return self.static_block(variant)[0] is None and self.gate(variant).state in ("open", "probe")

    # -- context overflow (spec 5.4) --------------------------------------------------------------------------------

    def note_overflow(self, variant: Variant, verdict: Verdict) -> None:
        """Remembers the window that was too small, if anybody stated it."""
        if verdict.failure_class != "overflow":
            return
        self.overflowed = True
        self.attempted_after_overflow = False
        window = variant.entry.profile.window(variant.model) or verdict.limit_tokens
        if window is not None:
            self.windows.append(window)

    def _window_qualifies(self, variant: Variant) -> bool:
        if not self.overflowed or self.policy.overflow != "advance_larger":
            return True
        window = variant.entry.profile.window(variant.model)
        return window is not None and window > max(self.windows, default=0)

    def sends_shortened(self, variant: Variant) -> bool:
        """After a truncation a larger declared window gets the full history, any other the shortened one."""
        if not self.truncated:
            return False
        window = variant.entry.profile.window(variant.model)
        return window is None or window <= max(self.windows, default=0)

    # -- recovery (spec 8.5) ----------------------------------------------------------------------------------------

    def is_resumed(self, variant: Variant) -> bool:
        """Whether this is the variant whose stream failed."""
        return self.resume is not None and variant.id == self.resume.variant.id

    def resumed_overflow_ends(self) -> bool:
        """After a stream's overflow 5.4 decides: ``True`` when nothing may be called."""
        if self.resume is None or self.resume.verdict.failure_class != "overflow":
            return False
        if self.policy.overflow != "truncate":
            return self.policy.overflow == "raise"
        self.truncated = self.permit = self.conditions.can_shorten()
        return not self.truncated

    def _grant(self, resume: Resume) -> bool:
        """Whether the failed stream's variant may be called once more."""
        verdict = resume.verdict
        if verdict.failure_class in ("final", "period", "overflow"):
            return False
        if verdict.reason == "empty" and self.policy.reliability.provider_retries > 0:
            return True
        return not any(self._other_candidate(resume, variant) for variant in self.variants)

    def _other_candidate(self, resume: Resume, variant: Variant) -> bool:
        if variant.id == resume.variant.id:
            return False
        sibling = variant.entry.index == resume.variant.entry.index
        if sibling and resume.verdict.reason not in CREDENTIAL_BOUND:
            return False
        return self._passes(variant)
