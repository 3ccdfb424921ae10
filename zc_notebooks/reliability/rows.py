"""From what happened to a ledger row (spec 12.1). Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from zc_notebooks.chat import Usage
from zc_notebooks.ledger.prices import price
from zc_notebooks.ledger.row import AttemptRow, Mode, UsageState
from zc_notebooks.records import Mark, Record, Variant, Verdict
from zc_notebooks.reliability.attempt import Judged
from zc_notebooks.reliability.steps import Skip, Try

_CUT_SHORT: Final = ("stream_cut", "timeout", "network")
"""What had been counted when it broke off says nothing about the whole (an Anthropic stream opens with its input)."""
_ZERO: Final = Usage(input_tokens=0, output_tokens=0)


class CallFacts(Record, frozen=True, kw_only=True):
    """What all rows of a call share."""

    call_id: str
    mode: Mode
    requested_ref: str
    requested_model: str
    turn_id: str | None = None

    def become(self, mode: Mode) -> CallFacts:
        """The same for what follows; a measurement stays one."""
        return self if self.mode == "bench" else replace(self, mode=mode)


class Timing(Record, frozen=True, kw_only=True):
    """When an attempt ran."""

    t: datetime
    secs: float
    first_token_s: float | None = None


def attempt_row(facts: CallFacts, ordinal: int, step: Try, judged: Judged, timing: Timing, notes: str) -> AttemptRow:
    """The row of one attempt. Unknown is ``None``, a refusal is a known zero."""
    variant, verdict, answer = step.variant, judged.verdict, judged.answer
    usage, state = _usage(judged)
    cost, source = _cost(variant, usage, state, timing.t, refused=judged.known_zero)
    return AttemptRow(
        call_id=facts.call_id,
        ordinal=ordinal,
        turn_id=facts.turn_id,
        t=timing.t,
        provider_ref=variant.ref,
        model=variant.model,
        kind="attempt",
        mode=facts.mode,
        status=judged.status,
        model_reported=answer.model_reported if answer else None,
        requested_ref=facts.requested_ref,
        requested_model=facts.requested_model,
        credential_id=variant.key.credential_id,
        pool=variant.entry.profile.pool,
        tier=variant.entry.profile.tier,
        reason=verdict.reason if verdict and judged.status != "cancelled" else None,
        scope=verdict.scope if verdict else None,
        resets_at=_resets_at(verdict, timing) if verdict else None,
        reset_source=verdict.reset_source if verdict else None,
        attempt=step.attempt,
        failover=variant.entry.index > 0,
        accepted=verdict is None,
        input_tokens=usage.input_tokens,
        cached_input_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        usage_state=state,
        cost_usd=cost,
        price_source=source,
        billed_input_tokens=usage.billed_input_tokens,
        billed_output_tokens=usage.billed_output_tokens,
        secs=round(timing.secs, 6),
        wait_s=round(step.wait_s, 6),
        first_token_s=None if timing.first_token_s is None else round(timing.first_token_s, 6),
        finish_reason=answer.finish_raw if answer else None,
        evidence=" > ".join(judged.evidence) or None,
        notes=notes or None,
    )


def skip_row(facts: CallFacts, ordinal: int, step: Skip, t: datetime) -> AttemptRow:
    """The row of a candidate passed over."""
    variant, mark = step.variant, step.mark
    return AttemptRow(
        call_id=facts.call_id,
        ordinal=ordinal,
        turn_id=facts.turn_id,
        t=t,
        provider_ref=variant.ref,
        model=variant.model,
        kind="skip",
        mode=facts.mode,
        status=step.status,
        requested_ref=facts.requested_ref,
        requested_model=facts.requested_model,
        credential_id=variant.key.credential_id,
        pool=variant.entry.profile.pool,
        tier=variant.entry.profile.tier,
        reason=mark.reason if mark else None,
        scope=None if mark is None else "credential" if mark.key.model is None else "model",
        resets_at=mark.until if mark else None,
        reset_source=mark.provenance if mark else None,
        failover=variant.entry.index > 0,
        usage_state="none",
    )


def _resets_at(verdict: Verdict, timing: Timing) -> datetime | None:
    """The instant the verdict names; a wait stated in seconds counts from the end of the attempt."""
    if verdict.resets_at is not None or verdict.stated_wait_s is None:
        return verdict.resets_at
    return timing.t + timedelta(seconds=timing.secs + verdict.stated_wait_s)


def mark_text(mark: Mark) -> str:
    """A mark in words for an error line; the time is added by the error itself."""
    return mark.text or mark.reason.replace("_", " ")


def _usage(judged: Judged) -> tuple[Usage, UsageState]:
    if judged.known_zero:
        return _ZERO, "complete"
    usage = judged.answer.usage if judged.answer is not None else None
    if judged.status in _CUT_SHORT:
        return Usage(), "unknown"
    if usage is None or _nothing_counted(usage):
        return Usage(), "missing" if judged.status in ("ok", "empty", "body_error") else "unknown"
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
    given, needed = [count for count in counts if count is not None], counts[:2]
    cached_too_many = (usage.cached_tokens or 0) > (usage.input_tokens or 0)
    if None in needed or any(count < 0 for count in given) or cached_too_many:
        return Usage(), "invalid"
    return usage, "complete"


def _nothing_counted(usage: Usage) -> bool:
    """All zeros, as in an OpenAI ``response.incomplete``: a prompt was read, so this is no count (spec wire 1c)."""
    return usage.input_tokens == 0 and usage.output_tokens == 0


def _cost(
    variant: Variant, usage: Usage, state: UsageState, at: datetime, *, refused: bool
) -> tuple[float | None, str | None]:
    if refused:
        return 0.0, None
    if state != "complete":
        return None, None
    cost = price(variant.entry.profile, variant.model, usage, at=at)
    return (None if cost.cost_usd is None else float(cost.cost_usd)), cost.source
