"""Makes ready everything one call is made with: plan, candidates, borders, deadline, record. Nothing is sent here."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Literal, Self

from msgspec.structs import replace

from zc_notebooks import attribution
from zc_notebooks.borders import Borders
from zc_notebooks.budget.guard import CallBudget
from zc_notebooks.budget.spending import Spending
from zc_notebooks.chat import ChatRequest, Identity
from zc_notebooks.clock import Clock
from zc_notebooks.complaint import warn
from zc_notebooks.config.keys import Keyring
from zc_notebooks.config.schema import Config, NoticeMode
from zc_notebooks.errors import UnsupportedRequest
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.local.transport import local_of
from zc_notebooks.outcome import completion, failure
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import Plan, Record, Tier, Variant
from zc_notebooks.reliability.conditions import LiveConditions
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.reliability.materialize import Ask, plan, require_fallback_keys, require_targets, variants
from zc_notebooks.reliability.reliable import CallRecord, OnAttempt, OnFailover
from zc_notebooks.reliability.rows import CallFacts
from zc_notebooks.reliability.shorten import shorten
from zc_notebooks.reliability.steps import Ended, WalkPolicy
from zc_notebooks.reliability.wrapper import capabilities
from zc_notebooks.request_settings import named, one_of, whole
from zc_notebooks.result import Completion
from zc_notebooks.stream_attempt import Streams


class UnknownHintWarning(UserWarning):
    """A call named a hint that is no route's; the default target answers it (spec 9)."""


@dataclass(slots=True, kw_only=True)
class Site:
    """What all calls of one chain share."""

    clock: Clock
    board: Marks
    writer: LedgerWriter
    spending: Spending
    random: Callable[[], float]
    on_attempt: OnAttempt | None
    on_failover: OnFailover | None
    notice_mode: Callable[[], NoticeMode]
    """Read when an answer is delivered, not when it is asked for."""


class Limits(Record, frozen=True, kw_only=True):
    """What one call says beside its prompt and its candidates."""

    timeout_s: float | None = None
    """Wall seconds for the whole call."""
    allow_tiers: Sequence[Tier] | None = None
    budget_usd: Decimal | float | None = None
    """Narrows what the call may cost."""
    turn_id: str | None = None
    retries: int | None = None
    """In the place of ``provider_retries``."""
    mode: Literal["chat", "bench"] = "chat"
    """How the rows of its attempts are marked."""

    def __post_init__(self) -> None:
        """Raises :class:`InvalidRequest` for what a call cannot say: its rows could not be read again."""
        named(self.turn_id, "turn_id")
        whole(self.retries, "retries", 0)
        one_of(self.mode, "mode", "chat", "bench")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, made ready."""

    record: CallRecord
    conditions: LiveConditions
    variants: tuple[Variant, ...]
    policy: WalkPolicy
    plan: Plan
    requested: Identity
    transport: Streams
    started: float
    """Seconds of the monotonic clock."""
    notice_mode: Callable[[], NoticeMode]

    def warn(self) -> Self:
        """Says what the caller should know about the plan before anybody is asked."""
        for item in self.plan.warnings:
            if item.code == "unknown_hint":
                known = item.path.removeprefix("model_routes ")
                words = (
                    f"{item.ref.removeprefix('hint:')!r} is the hint of no route {known}: the default target is asked"
                )
                warn(words, UnknownHintWarning)
        return self

    def result(self, ended: Ended) -> Completion:
        """The completion, accepted and with its notice, or the one right exception."""
        record = self.record
        if ended.kind != "answered" or record.answer is None or record.served is None:
            raise failure(ended, record, self.plan)
        done = completion(record, self.requested, record.clock.monotonic() - self.started)
        return attribution.accepted(done, self.notice_mode())


def begin(
    site: Site, config: Config, keys: Keyring, transport: Streams, request: ChatRequest, ask: Ask, limits: Limits
) -> Call:
    """A call, made ready.

    Raises:
        ConfigError: No plan can be made of ``ask``.
        UnsupportedRequest: The plan's entries together cannot carry the request.
    """
    made = plan(config, ask)
    candidates = variants(made, keys)
    require_fallback_keys(made, candidates)
    if made.hint is not None:
        require_targets(config, keys)
    if made.source == "graph" and request.has_images and not capabilities(made).vision:
        blind = ", ".join(entry.ref for entry in made.entries if not entry.profile.capabilities.vision)
        raise UnsupportedRequest(
            f"the request holds an image, and not every candidate can see ({blind}); nobody was asked"
        )
    started = site.clock.monotonic()
    seconds = made.entries[0].profile.call_timeout_s if limits.timeout_s is None else _seconds(limits.timeout_s)
    requested = Identity(provider_ref=made.entries[0].ref, model=made.requested_model)
    budget = CallBudget.of(
        config.borders, limits.budget_usd, spending=site.spending, clock=site.clock, request_of=lambda _: request
    )
    conditions = LiveConditions(
        request,
        marks=site.board,
        clock=site.clock,
        deadline=started + seconds,
        timeout_s=seconds,
        random=site.random,
        borders=Borders.of(config, made, limits.allow_tiers),
        local=local_of(transport),
        budget=budget,
    )
    return Call(
        record=_record(site, request, requested, candidates, limits, budget),
        conditions=conditions,
        variants=candidates,
        policy=_policy(config, made, ask, limits.retries),
        plan=made,
        requested=requested,
        transport=transport,
        started=started,
        notice_mode=site.notice_mode,
    )


def _seconds(timeout_s: object) -> float:
    """Raises :class:`InvalidRequest` for what is no length of time."""
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, Real) or not 0 < float(timeout_s) < math.inf:
        raise InvalidRequest(f"timeout_s={timeout_s!r} is no number of seconds above 0")
    return float(timeout_s)


def _record(
    site: Site,
    request: ChatRequest,
    requested: Identity,
    candidates: Sequence[Variant],
    limits: Limits,
    budget: CallBudget | None,
) -> CallRecord:
    facts = CallFacts(
        call_id=secrets.token_hex(8),
        mode=limits.mode,
        requested_ref=requested.provider_ref,
        requested_model=requested.model,
        turn_id=limits.turn_id,
    )
    return CallRecord(
        facts,
        request,
        clock=site.clock,
        write=site.writer.write,
        shortened=shorten,
        on_attempt=site.on_attempt,
        on_failover=site.on_failover,
        several=frozenset(item.ref for item in candidates if item.place > 0),
        budget=budget,
    )


def _policy(config: Config, made: Plan, ask: Ask, retries: int | None) -> WalkPolicy:
    chain = made.source == "chain"
    reliability = config.reliability
    if retries is not None:
        reliability = replace(reliability, provider_retries=int(retries))
    return WalkPolicy(
        reliability=reliability,
        rate_limit=reliability.chain_rate_limit_policy if chain else reliability.graph_rate_limit_policy,
        overflow=reliability.context_overflow,
        chain=chain,
        ignore_cooldown=not ask.fallback,
    )
