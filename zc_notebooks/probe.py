"""Asking one provider alone whether it is reachable: never a swap, the cheapest honest request first.

First the catalogue's zero-token request (a list of models, a balance), which finds a dead host, a bad key and an empty
purse for nothing. Only when that passes, one tiny completion: a list of models proves no quota.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from zc_notebooks.borders import Borders
from zc_notebooks.budget.guard import CallBudget
from zc_notebooks.config import catalogue
from zc_notebooks.config.catalogue import families
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import CandidateFailure, ConfigError, TransportFailure
from zc_notebooks.messages import as_request
from zc_notebooks.records import (
    CREDENTIAL_BOUND,
    HttpRequest,
    Mark,
    MarkKey,
    Plan,
    Profile,
    Reason,
    Record,
    Reliability,
    ResetSource,
    Variant,
)
from zc_notebooks.redact import Secret, short
from zc_notebooks.reliability.attempt import Judged, failed_transport
from zc_notebooks.reliability.classify import classify
from zc_notebooks.reliability.conditions import LiveConditions
from zc_notebooks.reliability.materialize import Ask, plan, variants
from zc_notebooks.reliability.reliable import CallRecord, drive
from zc_notebooks.reliability.rows import CallFacts, Timing
from zc_notebooks.reliability.shorten import shorten
from zc_notebooks.reliability.steps import Try, WalkPolicy
from zc_notebooks.reliability.walk import walk
from zc_notebooks.shown import Shown
from zc_notebooks.wire.base import Target
from zc_notebooks.wire.request import auth_headers

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain

PROBE_PROMPT: Final = "Reply with the word: ok"
PROBE_TOKENS: Final = 16
"""The smallest limit every provider accepts (OpenAI Responses refuses less)."""

State = Literal[
    "reachable", "limited", "busy", "unpaid", "bad key", "no key", "refused", "no such model", "dead", "failing"
]

_STATES: Final[dict[Reason, State]] = {
    "minute_limit": "limited",
    "daily_limit": "limited",
    "token_daily_limit": "limited",
    "capacity": "busy",
    "balance": "unpaid",
    "auth": "bad key",
    "permission": "refused",
    "not_found": "no such model",
    "network": "dead",
}


class ProbeResult(Record, Shown, frozen=True, kw_only=True):
    """What one provider said when asked alone."""

    ref: str
    model: str
    state: State
    ms: float
    """Milliseconds of the deciding request; 0.0 when none was sent."""
    how: str
    """The deciding request, in words."""
    until: datetime | None = None
    """When a limit ends, if anybody knows."""
    provenance: ResetSource | None = None
    text: str = ""
    """The provider's own reason, one redacted line."""

    @property
    def reachable(self) -> bool:
        """Whether it answered."""
        return self.state == "reachable"

    def __repr__(self) -> str:
        until = f" until {self.until:%Y-%m-%d %H:%M:%S} UTC ({self.provenance})" if self.until else ""
        return f"ProbeResult({self.ref}/{self.model}: {self.state}{until}, {self.ms:.0f} ms)"


class ProbeResults(tuple[ProbeResult, ...], Shown):
    """Several probes; a notebook shows them as one table."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"ProbeResults({sum(item.reachable for item in self)} of {len(self)} reachable)"


async def probe(
    chain: Chain, ref: str, *, model: str | None = None, timeout_s: float = 20.0, cooling: bool = True
) -> ProbeResult:
    """Asks the profile ``ref`` alone. A success clears older marks, a limit sets one.

    Of several credentials the first that answers decides; what those before it met stands in the result's ``text``.
    ``cooling``: marks stop nobody; otherwise credentials under a live mark are left out while there is another.

    Raises:
        ConfigError: The profile is not configured, or has no model and none is given.
    """
    now = chain.live.now()
    if ref not in now.config.profiles:
        known = ", ".join(now.config.profiles)
        raise ConfigError(f"the profile {ref!r} is not configured (configured: {known})")
    made = plan(now.config, _alone(now.config, ref, model))
    candidates = variants(made, now.keys)
    usable = [candidate for candidate in candidates if candidate.credential is not None]
    if not cooling:
        usable = [candidate for candidate in usable if not _out(chain, candidate)] or usable
    if not usable:
        text = "; ".join(dict.fromkeys(candidate.missing or "" for candidate in candidates))
        return ProbeResult(ref=ref, model=candidates[0].model, state="no key", ms=0.0, how="no request", text=text)
    run = _Probe(chain, now.config, made, usable, timeout_s)
    return await run.zero_token() or await run.completion()


def all_out(chain: Chain, ref: str) -> bool:
    """Whether a live mark keeps out every credential of a profile, or the profile is no longer configured."""
    now = chain.live.now()
    if ref not in now.config.profiles:
        return True
    candidates = variants(plan(now.config, _alone(now.config, ref, None)), now.keys)
    usable = [candidate for candidate in candidates if candidate.credential is not None]
    return bool(usable) and all(_out(chain, candidate) for candidate in usable)


def _out(chain: Chain, variant: Variant) -> bool:
    return chain.board.look(variant.key).state == "cooling"


class _Probe:
    """One probe: at most two requests for each credential, each with its row."""

    def __init__(self, chain: Chain, config: Config, made: Plan, usable: list[Variant], timeout_s: float) -> None:
        self.chain = chain
        self.transport = chain.transport
        self.variants = usable
        self.variant = usable[0]
        """The one that is asked."""
        self.profile: Profile = self.variant.entry.profile
        facts = CallFacts(
            call_id=secrets.token_hex(8),
            mode="probe",
            requested_ref=self.variant.ref,
            requested_model=self.variant.model,
        )
        request = as_request(PROBE_PROMPT, max_tokens=PROBE_TOKENS)
        budget = CallBudget.of(
            config.borders,
            None,
            spending=chain.site.spending,
            clock=chain.clock,
            request_of=lambda _: request,
        )
        self.call = CallRecord(
            facts,
            request,
            clock=chain.clock,
            write=chain.writer.write,
            shortened=shorten,
            on_attempt=chain.on_attempt,
            several=frozenset({self.variant.ref} if len(usable) > 1 else ()),
            budget=budget,
        )
        self.conditions = LiveConditions(
            request,
            marks=chain.board,
            clock=chain.clock,
            deadline=chain.clock.monotonic() + timeout_s,
            timeout_s=timeout_s,
            random=lambda: 0.0,
            borders=Borders.of(config, made),
            budget=budget,
        )

    async def zero_token(self) -> ProbeResult | None:
        """The catalogue's free request; ``None`` when there is none or some credential passed it."""
        family = families().get(self.profile.family)
        url = family.probe_url(self.profile.base_url) if family is not None else None
        if family is None or family.probe is None or url is None:
            return None
        while True:
            found = await self._free_of(family.probe, url)
            if found is None or len(self.variants) == 1 or not _of_the_key(found):
                break
            self.variants = self.variants[1:]
            self.variant = self.variants[0]
        return None if found is None else self._result(f"{family.probe.method} {family.probe.path}")

    async def _free_of(self, asked: catalogue.Probe, url: str) -> Judged | None:
        """The free request with the credential whose turn it is; ``None`` when it found no fault."""
        if self.conditions.border(self.variant) is not None:
            return None  # the walk makes the skip's row
        target = Target(profile=self.profile, model=self.variant.model, key=_secret(self.variant))
        headers = {"accept": "application/json", **auth_headers(target), **self.profile.extra_headers}
        request = HttpRequest(method=asked.method, url=url, headers=headers)
        clock, step = self.chain.clock, Try(variant=self.variant, attempt=0)
        started, t0 = clock.now(), clock.monotonic()
        judged = await self._free(request)
        if judged is not None:
            self.call.finish(step, judged, Timing(t=started, secs=clock.monotonic() - t0), (f"probe {asked.path}",))
        return judged

    async def _free(self, request: HttpRequest) -> Judged | None:
        """``None`` unless the answer is a fault that the completion would meet too."""
        limit = max(self.conditions.remaining_s(), 0.001)
        try:
            response = await self.transport.send(
                request,
                connect_s=min(self.profile.connect_timeout_s, limit),
                read_s=limit,
                allow_plain_http=self.profile.allow_plain_http,
            )
        except TransportFailure as failure:
            return failed_transport(failure)
        if 200 <= response.status < 300:  # noqa: PLR2004 (the HTTP success range)
            return None
        verdict = classify(
            status=response.status,
            headers=response.headers,
            body=response.body,
            family=self.profile.family,
            wire=self.profile.wire,
            now=self.chain.clock.now(),
        )
        if verdict.reason not in ("auth", "balance", "permission", "capacity"):
            return None
        return Judged(status=f"http_{response.status}", verdict=verdict, known_zero=True)

    async def completion(self) -> ProbeResult:
        """One tiny completion, without a retry. A refused credential passes the turn to the profile's next one."""
        policy = WalkPolicy(
            reliability=Reliability(provider_retries=0),
            rate_limit="retry_then_advance",
            overflow="raise",
            chain=True,
            ignore_cooldown=True,
        )
        try:
            await drive(walk(self.variants, policy, self.conditions), self.call, self.conditions, self.transport)
        finally:
            self.conditions.close()
        return self._result("one small completion")

    def _result(self, how: str) -> ProbeResult:
        row, failures = self.call.rows[-1], self.call.failures
        back = (failure for failure in failures if _state(failure) in ("limited", "busy"))
        failure = next(back, failures[-1]) if failures else None
        answered = self.call.answer is not None or failure is None or _state(failures[-1]) == "reachable"
        state: State = "reachable" if answered or failure is None else _state(failure)
        mark = None if answered or failure is None else self._mark(failure)
        met = [one for one in failures if not (answered and one.row is row)]
        return ProbeResult(
            ref=self.variant.ref,
            model=self.variant.model,
            state=state,
            ms=(row.secs or 0.0) * 1000.0,
            how=how,
            until=None if mark is None else mark.until,
            provenance=None if mark is None else mark.provenance,
            text="; ".join(map(_told, met)),
        )

    def _mark(self, failure: CandidateFailure) -> Mark | None:
        if _state(failure) != "limited":
            return None
        key = MarkKey(pool=self.profile.pool, credential_id=failure.row.credential_id, model=self.variant.model)
        return self.chain.board.look(key).mark


def _state(failure: CandidateFailure) -> State:
    if failure.verdict is None:
        return "refused"
    if failure.verdict.reason == "empty":
        return "reachable"
    return _STATES.get(failure.verdict.reason, "failing")


def _told(failure: CandidateFailure) -> str:
    """What one credential met; with the credential's id when the profile has several."""
    text = short(failure.text)
    return f"key {failure.row.credential_id} {_state(failure)}: {text}" if failure.several_credentials else text


def _of_the_key(judged: Judged) -> bool:
    return judged.verdict is not None and judged.verdict.reason in CREDENTIAL_BOUND


def _alone(config: Config, ref: str, model: str | None) -> Ask:
    """The call that reaches ``ref`` and nobody else: as a link of the chain, by a route, or as a start."""
    hint = next((route.hint for route in config.routes if route.model_provider == ref), None)
    if any(link.provider == ref for link in config.chain):
        return Ask(start=ref, model=model, source="chain", fallback=False)
    if hint is not None:
        return Ask(hint=hint, model=model, fallback=False)
    return Ask(start=ref, model=model, source="graph", fallback=False)


def _secret(variant: Variant) -> Secret | None:
    return None if variant.credential is None else variant.credential.secret
