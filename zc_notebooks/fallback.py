"""The one function for scripts that want just that: candidates in, one answer out."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, Final

from zc_notebooks.attribution import accepted
from zc_notebooks.borders import Borders, heed
from zc_notebooks.budget.guard import CallBudget
from zc_notebooks.budget.spending import Spending
from zc_notebooks.chat import ChatRequest, Identity
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.config.catalogue import families
from zc_notebooks.config.keys import Keyring, check_prefix
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError, Problem
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.local.transport import aware, local_of
from zc_notebooks.messages import as_request
from zc_notebooks.outcome import completion, failure
from zc_notebooks.places import spend_file
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import Entry, HttpRequest, HttpResponse, Plan, Profile, Record, Reliability, Variant
from zc_notebooks.redact import short
from zc_notebooks.reliability.conditions import LiveConditions
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.reliability.materialize import variants
from zc_notebooks.reliability.reliable import CallRecord, drive_sync, send_in_time
from zc_notebooks.reliability.rows import CallFacts
from zc_notebooks.reliability.shorten import shorten
from zc_notebooks.reliability.steps import WalkPolicy
from zc_notebooks.reliability.walk import walk
from zc_notebooks.result import Completion
from zc_notebooks.sync import shared


class Candidate(Record, frozen=True, kw_only=True):
    """One link: a provider family of the catalogue (``groq``) or a configured ref (``groq.free``), and a model."""

    provider: str
    model: str


_OURS: Final = ("messages", "model", "stream")
"""Fields of a payload that the candidate and the chain decide."""
_SAME_AS: Final = {"max_completion_tokens": "max_tokens"}

CandidateLike = Candidate | Mapping[str, str] | tuple[str, str]


def call_with_fallback(  # noqa: PLR0913 (all that a script can say)
    *,
    chain: Sequence[CandidateLike],
    payload_for: Callable[[Candidate], Any],
    start: CandidateLike | None = None,
    transport: Callable[[HttpRequest], HttpResponse] | None = None,
    sleep: Callable[[float], object] = time.sleep,
    on_attempt: Callable[[AttemptRow], None] | None = None,
    on_failover: Callable[[Candidate, Candidate, str], None] | None = None,
    config: Config | None = None,
    environ: Mapping[str, str] | None = None,
    ledger: Path | str | None = None,
    clock: Clock | None = None,
    timeout_s: float = 300.0,
) -> Completion:
    """Asks ``start`` and then ``chain`` in order until one answers.

    A limit, a server error or a lost connection is retried twice on the same candidate with a doubling wait (a stated
    wait is honoured, above 60 s the next candidate is asked instead); everything else goes on at once. A candidate
    without a key is skipped.

    Args:
        chain: Candidates, best first, crossing billing pools.
        payload_for: What to ask a candidate: a prompt, message dictionaries, or a dictionary with ``messages`` and
            settings such as ``max_tokens``. Called once for each attempt; ``ValueError`` means the payload is wrong.
        start: Asked first; later repetitions are dropped.
        transport: Sends one request; whatever it raises counts as "no status". A plain HTTP transport unless given.
        sleep: Waits seconds.
        on_attempt: Called with each ledger row, skips included.
        on_failover: Called when a failed candidate is left, with that candidate, the next one and its own reason.
        config: Profiles that ``provider`` may name.
        environ: Where keys are looked up; the process's environment unless given.
        ledger: Folder to write the rows to; none unless given.
        clock: Time; the system's unless given.
        timeout_s: Wall seconds for the whole call.

    Raises:
        AllCandidatesFailed: With one line for each candidate and its own reason.
        ConfigError: A candidate is none or names no known provider, or a key has another vendor's form.
    """
    heed()
    clock = clock or SystemClock()
    links = [_candidate(link) for link in ([start] if start is not None else []) + list(chain)]
    settings = config or Config()
    made = _plan(links, settings)
    candidates = variants(made, Keyring(settings, os.environ if environ is None else environ))
    if problems := _foreign_keys(candidates):
        raise ConfigError("a key does not belong where it stands", problems)
    requests = _Payloads(payload_for, links)
    writer = LedgerWriter(Path(ledger)) if ledger is not None else None
    spending = Spending(spend_file(settings), clock=clock)
    budget = CallBudget.of(settings.borders, None, spending=spending, clock=clock, request_of=requests.next)
    call = _Call(
        requests, made, clock=clock, writer=writer, on_attempt=on_attempt, on_failover=on_failover, budget=budget
    )
    own = None if transport is not None else _own_transport(made, clock)
    local = local_of(own)
    conditions = LiveConditions(
        requests.first,
        marks=Marks(None, clock=clock),
        clock=clock,
        deadline=clock.monotonic() + timeout_s,
        timeout_s=timeout_s,
        random=lambda: 0.0,
        borders=Borders.of(settings, made),
        local=local,
        budget=budget,
    )
    send = transport or _sender(own, call, conditions)
    started = clock.monotonic()
    try:
        if local is not None:
            shared.run(conditions.prepare(candidates, remembered=True))
        ended = drive_sync(walk(candidates, _policy(settings.reliability), conditions), call, conditions, send, sleep)
    finally:
        conditions.close()
        spending.close()
        if writer is not None:
            writer.close()
        if own is not None:
            shared.run(own.aclose())
    if ended.kind != "answered":
        raise failure(ended, call, made)
    return accepted(completion(call, _first(made), clock.monotonic() - started), settings.model_fallback_notice)


class _Payloads:
    """``payload_for`` as requests, one for each candidate."""

    def __init__(self, payload_for: Callable[[Candidate], Any], links: Sequence[Candidate]) -> None:
        self._payload_for = payload_for
        self.first = self._made(links[0])
        self._next = {links[0]: self.first}

    def next(self, variant: Variant) -> ChatRequest:
        """What the next attempt will ask: a budget looks at it first, the attempt then takes it."""
        link = _of(variant.entry)
        if link not in self._next:
            self._next[link] = self._made(link)
        return self._next[link]

    def request(self, link: Candidate) -> ChatRequest:
        """What an attempt asks now."""
        looked_at = self._next.pop(link, None)
        return self._made(link) if looked_at is None else looked_at

    def _made(self, link: Candidate) -> ChatRequest:
        payload = self._payload_for(link)
        if not isinstance(payload, Mapping) or "messages" not in payload:
            return as_request(payload)
        settings = {_SAME_AS.get(str(key), str(key)): value for key, value in payload.items() if key not in _OURS}
        unknown = sorted(set(settings) - set(signature(as_request).parameters))
        if unknown:
            raise InvalidRequest(f"payload_for returned {unknown[0]!r}, which is no setting of a request: leave it out")
        return as_request(payload["messages"], **settings)


class _Call(CallRecord):
    """A call whose request is asked for anew before each attempt."""

    def __init__(
        self,
        payloads: _Payloads,
        made: Plan,
        *,
        clock: Clock,
        writer: LedgerWriter | None,
        on_attempt: Callable[[AttemptRow], None] | None,
        on_failover: Callable[[Candidate, Candidate, str], None] | None,
        budget: CallBudget | None,
    ) -> None:
        first = _first(made)
        facts = CallFacts(
            call_id=secrets.token_hex(8),
            mode="chat",
            requested_ref=first.provider_ref,
            requested_model=first.model,
        )
        told = None
        if on_failover is not None:
            tell = on_failover

            def told(origin: Any, to: Any, reason: str) -> None:
                tell(_of(origin.entry), _of(to.entry), reason)

        super().__init__(
            facts,
            payloads.first,
            clock=clock,
            write=writer.write if writer is not None else _keep_nothing,
            shortened=shorten,
            on_attempt=on_attempt,
            on_failover=told,
            budget=budget,
        )
        self._payloads = payloads
        self.profile = made.entries[0].profile
        """Of the attempt made last."""

    def begin(self, step: Any, *, stream: bool = False) -> Any:
        self.profile = step.variant.entry.profile
        self.request = self._payloads.request(_of(step.variant.entry))
        return super().begin(step, stream=stream)


def _candidate(link: object) -> Candidate:
    """Raises :class:`ConfigError` for what names no provider and model."""
    pair = link
    if isinstance(link, Candidate):
        pair = (link.provider, link.model)
    elif isinstance(link, Mapping) and set(link) == {"provider", "model"}:
        pair = (link["provider"], link["model"])
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:  # noqa: PLR2004 (provider, model)
        raise _no_candidate(link)
    provider, model = pair
    if not all(isinstance(name, str) and name.strip() for name in pair):
        raise _no_candidate(link)
    return Candidate(provider=provider.strip(), model=model.strip())


def _no_candidate(link: object) -> ConfigError:
    return ConfigError(f"{short(repr(link), 80)} is no candidate: write (provider, model)")


def _of(entry: Entry) -> Candidate:
    return Candidate(provider=entry.ref, model=entry.model or "")


def _plan(links: Sequence[Candidate], config: Config) -> Plan:
    unique = dict.fromkeys((link.provider, link.model) for link in links)
    if not unique:
        raise ConfigError("the chain is empty: name at least one candidate (provider and model)")
    entries = tuple(
        Entry(profile=_profile(provider, config), model=model, index=index)
        for index, (provider, model) in enumerate(unique)
    )
    return Plan(entries=entries, source="chain", requested_model=entries[0].model or "")


def _profile(provider: str, config: Config) -> Profile:
    if provider in config.profiles:
        return config.profiles[provider]
    family = families().get(provider)
    if family is None or not family.base_url:
        known = ", ".join([*config.profiles, *(name for name, item in families().items() if item.base_url)])
        raise ConfigError(f"the candidate {provider!r} names no known provider (known: {known})")
    return Profile(
        ref=provider,
        family=family.name,
        alias=provider,
        base_url=family.base_url,
        wire=family.wire,
        keyless=family.keyless,
        pool=provider,
        tier=family.tier,
        capabilities=family.capabilities,
    )


def _foreign_keys(candidates: Sequence[Variant]) -> list[Problem]:
    """Keys of another vendor's form: they must not be sent to the wrong address (spec 2.2)."""
    found = {}
    for variant in candidates:
        key = variant.credential
        if key is not None and key.secret is not None:
            found[key.id, variant.ref] = check_prefix(variant.entry.profile, key.secret, key.name)
    return [problem for problem in found.values() if problem is not None]


def _policy(reliability: Reliability) -> WalkPolicy:
    return WalkPolicy(
        reliability=reliability,
        rate_limit=reliability.chain_rate_limit_policy,
        overflow=reliability.context_overflow,
        chain=True,
    )


def _first(made: Plan) -> Identity:
    return Identity(provider_ref=made.entries[0].ref, model=made.requested_model)


def _keep_nothing(_: AttemptRow) -> None:
    """No ledger was asked for."""


def _own_transport(made: Plan, clock: Clock) -> Any:
    """What sends where the caller brings nothing; it knows the candidates on this machine. To be closed."""
    from zc_notebooks.transport import AsyncTransport

    return aware(AsyncTransport(), [entry.profile for entry in made.entries], clock)


def _sender(transport: Any, call: _Call, conditions: LiveConditions) -> Callable[[HttpRequest], HttpResponse]:
    """Sends one request within the limits of its profile and the time the call has left."""

    def send(request: HttpRequest) -> HttpResponse:
        return shared.run(send_in_time(request, call.profile, call.clock, conditions, transport))

    return send
