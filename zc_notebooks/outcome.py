"""From a finished call to what its caller gets: a completion, or the one right exception. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zc_notebooks.chat import Identity
from zc_notebooks.errors import (
    AllCandidatesFailed,
    CallError,
    CallTimeout,
    ContextWindowExceeded,
    NoPermittedCandidate,
)
from zc_notebooks.ledger.prices import totals, usage_by_provider
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Plan, Variant
from zc_notebooks.reliability.reliable import CallRecord
from zc_notebooks.reliability.steps import Ended
from zc_notebooks.result import Completion, FallbackRecord

_BORDERS = {
    "skipped_allowlist": "the allowlist of this turn",
    "skipped_tier": "allow_tiers",
    "skipped_budget": "the budget",
}


def completion(call: CallRecord, requested: Identity, secs: float) -> Completion:
    """The accepted answer with its attribution. ``call`` was answered."""
    answer, variant = call.answer, call.served
    if answer is None or variant is None:
        raise ValueError("the call was not answered")
    served = Identity(provider_ref=variant.ref, model=variant.model, model_reported=answer.model_reported)
    cost, at_least = totals(call.rows)
    return Completion(
        text=answer.text,
        reasoning=answer.reasoning,
        tool_calls=answer.tool_calls,
        finish_reason=answer.finish_reason,
        finish_raw=answer.finish_raw,
        usage=answer.usage,
        request_id=answer.request_id,
        call_id=call.facts.call_id,
        served=served,
        requested=requested,
        attempts=tuple(call.rows),
        hops=tuple(call.hops),
        usage_by_provider=usage_by_provider(call.rows),
        cost_usd=cost,
        at_least=at_least,
        fallback=_fallback(call, variant, requested, served),
        context_truncated=call.context_truncated,
        max_tokens=call.max_tokens,
        secs=secs,
    )


def _fallback(call: CallRecord, variant: Variant, requested: Identity, served: Identity) -> FallbackRecord | None:
    """``None`` when the first entry served, or nobody failed or was skipped before (it could not stream)."""
    before = [row for row in call.rows if not row.accepted]
    if variant.entry.index == 0 or not before:
        return None
    return FallbackRecord(requested=requested, served=served, cause=_cause(before), hops=tuple(call.hops))


def _cause(rows: Sequence[AttemptRow]) -> str:
    """The first entry's own: a failed attempt says more than a skip, and the last one is why it was left."""
    own = [row for row in rows if not row.failover] or rows
    failed = [row for row in own if row.kind == "attempt"]
    return (failed[-1].reason or failed[-1].status) if failed else own[-1].status


def failure(ended: Ended, call: CallRecord, made: Plan) -> CallError:
    """The exception of a call that was not answered."""
    error = _failure(ended, call, made)
    error.hops = tuple(call.hops)
    return error


def _failure(ended: Ended, call: CallRecord, made: Plan) -> CallError:
    failures, call_id = call.failures, call.facts.call_id
    if ended.kind == "no_permitted":
        names = sorted({_BORDERS.get(item.row.status, item.row.status) for item in failures})
        refs = ", ".join(dict.fromkeys(entry.ref for entry in made.entries))
        words = f"no candidate is permitted by {' and '.join(names)} (configured: {refs}); no call was made"
        unpaid = [f"{item.name}: {item.text}" for item in failures if item.row.status == "skipped_budget"]
        return NoPermittedCandidate("\n".join([words, *unpaid]), failures, call_id=call_id)
    if ended.kind == "overflow":
        lines = "\n".join(AllCandidatesFailed(failures).args)
        words = f"the conversation is longer than every permitted candidate's context window:\n{lines}"
        return ContextWindowExceeded(words, failures, call_id=call_id)
    if ended.kind == "timeout":
        return CallTimeout(
            failures, call_id=call_id, headline="the time for this call was spent before a candidate answered"
        )
    return AllCandidatesFailed(failures, call_id=call_id)
