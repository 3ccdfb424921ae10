"""Frozen records every layer speaks about *candidates*: profiles, entries, plans, verdicts, marks, policy.

Units stand in the name (``_s`` seconds) or under the field; instants are aware UTC datetimes; ``None`` means unknown.
What is said to and by a model (messages, answers, events) lives in :mod:`zc_notebooks.chat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal, get_args

import msgspec

from zc_notebooks.redact import Secret, short
from zc_notebooks.shown import Keyed, Shown

Tier = Literal["free", "trial", "prepaid", "metered", "local"]
TIERS: Final[tuple[Tier, ...]] = ("free", "trial", "prepaid", "metered", "local")

WireName = Literal["openai_chat", "openai_responses", "anthropic_messages", "gemini", "ollama", "cohere_v2"]
WIRES: Final[tuple[WireName, ...]] = get_args(WireName)

Reason = Literal[
    "minute_limit",
    "daily_limit",
    "token_daily_limit",
    "balance",
    "auth",
    "permission",
    "not_found",
    "context_window",
    "bad_request",
    "content_filter",
    "capacity",
    "server_error",
    "network",
    "empty",
    "stream_cut",
]
FailureClass = Literal["limit", "period", "final", "overflow", "transient"]
Scope = Literal["model", "credential"]
ResetSource = Literal["stated", "inferred", "guessed"]
RateLimitPolicy = Literal["cooldown_and_advance", "retry_then_advance"]
OverflowPolicy = Literal["advance_larger", "truncate", "raise"]
AnthropicCompletion = Literal["stop_reason", "message_stop"]

CREDENTIAL_BOUND: Final[frozenset[Reason]] = frozenset(
    {"minute_limit", "daily_limit", "token_daily_limit", "balance", "auth", "permission"}
)
"""Verdicts after which the next credential of the same profile is tried (spec 3.4)."""

_CLASS: Final[Mapping[str, FailureClass]] = {
    "minute_limit": "limit",
    "daily_limit": "period",
    "token_daily_limit": "period",
    "balance": "final",
    "auth": "final",
    "permission": "final",
    "not_found": "final",
    "context_window": "overflow",
    "bad_request": "final",
    "content_filter": "final",
    "capacity": "transient",
    "server_error": "transient",
    "network": "transient",
    "empty": "transient",
    "stream_cut": "transient",
}


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records: immutable, slotted, keyword-only."""


class Evidence(Record, frozen=True, kw_only=True):
    """What decided a verdict, so that a person can check it."""

    where: str
    """``status``, ``header retry-after``, ``field error.code``, ``phrase in error.message``, ``rule``, …"""
    value: str
    """The redacted text found there, one line."""
    means: str
    """What was concluded, in words."""


class Verdict(Record, Shown, frozen=True, kw_only=True):
    """Why an attempt failed, what it binds to and when it comes back (spec 4.1)."""

    reason: Reason
    status: int | None = None
    code: str | None = None
    scope: Scope | None = None
    stated_wait_s: float | None = None
    """Seconds from the response; 0.0 is a stated zero, ``None`` is not stated."""
    resets_at: datetime | None = None
    """Aware UTC instant at which the limit ends, when it is known."""
    reset_source: Literal["stated", "inferred"] | None = None
    limit_kind: Literal["window", "request"] | None = None
    limit_tokens: int | None = None
    affordable_tokens: int | None = None
    """``max_tokens`` that a 402 says the balance still pays for."""
    covers: str | None = None
    """Model pattern an account-wide quota benches (``*:free``), when it is not one model or the whole pool."""
    text: str = ""
    """The provider's own words, redacted."""
    evidence: tuple[Evidence, ...] = ()

    def __repr__(self) -> str:
        back = ""
        if self.stated_wait_s is not None:
            back = f", back in {self.stated_wait_s:g} s"
        elif self.resets_at is not None:
            back = f", back at {self.resets_at:%Y-%m-%d %H:%M:%S} UTC"
        return f"Verdict({self.reason}{back}: {short(self.text, 80)})"

    @property
    def failure_class(self) -> FailureClass:
        """``limit``, ``period``, ``final``, ``overflow`` or ``transient``; the action follows from it (spec 5.2)."""
        if self.reason == "context_window" and self.limit_kind == "request":
            return "final"
        if self.reason == "bad_request" and self.code == "tool_schema":
            return "transient"
        if self.reason == "capacity" and self.status == 429:  # noqa: PLR2004
            return "limit"
        return _CLASS[self.reason]


class Capabilities(Record, frozen=True, kw_only=True):
    """What an entry's model and wire can do."""

    native_tools: bool = True
    vision: bool = True
    think: bool = True
    streaming: bool = True
    stream_tools: bool = True


class Profile(Record, frozen=True, kw_only=True):
    """One resolved ``[providers.<family>.<alias>]`` block: every default filled in (spec 2.3)."""

    ref: str
    """``family.alias``."""
    family: str
    alias: str
    base_url: str
    wire: WireName
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    key_names: tuple[str, ...] = ()
    """Names of the variables that hold the credentials, in order; never values."""
    inline_key: Secret | None = None
    keyless: bool = False
    pool: str = ""
    tier: Tier = "metered"
    context_window: int | None = None
    context_windows: Mapping[str, int] = {}
    temperature: float | None = None
    max_tokens: int | None = None
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 120.0
    first_token_timeout_s: float = 30.0
    idle_timeout_s: float = 60.0
    call_timeout_s: float = 300.0
    anthropic_completion: AnthropicCompletion = "stop_reason"
    extra_headers: Mapping[str, str] = {}
    provider_extra: Mapping[str, Any] = {}
    chat_template_kwargs: Mapping[str, Any] = {}
    capabilities: Capabilities = Capabilities()
    pricing: Mapping[str, float] = {}
    """USD per 1M tokens under the keys of spec 2.3."""
    allow_plain_http: bool = False

    def window(self, model: str | None) -> int | None:
        """Declared context window in tokens of ``model`` on this profile, or ``None``."""
        if model is not None and model in self.context_windows:
            return self.context_windows[model]
        return self.context_window


class Credential(Record, frozen=True, kw_only=True):
    """One usable key of a profile, or the keyless stand-in (id ``-``, no secret)."""

    id: str
    """8 hex digits (spec 2.2), or ``-``."""
    secret: Secret | None = None
    name: str | None = None
    """The variable it came from."""


KEYLESS: Final = Credential(id="-")


class Entry(Record, frozen=True, kw_only=True):
    """One candidate of a plan: a profile and the model it is pinned to."""

    profile: Profile
    model: str | None
    """The pin, or ``None`` for an unpinned entry, which serves whatever model was asked for."""
    index: int
    """Place among the materialised entries, from 0."""
    level: int = 0
    """Graph: how many ``fallback`` edges lead to its profile; 0 for the primary and for a chain's entries."""
    declared: str = ""
    """Config path that named it: ``providers.groq.free.fallback[0]``, ``chain[2]``."""
    raw: str = ""
    """The ref as it was written there; a ``fallback`` may be a bare alias."""

    @property
    def ref(self) -> str:
        """The profile ref."""
        return self.profile.ref

    @property
    def pinned(self) -> bool:
        """Whether the entry replaces the requested model."""
        return self.model is not None

    def served(self, requested: str) -> str:
        """The model this entry serves when ``requested`` is asked for."""
        return requested if self.model is None else self.model


class Pruned(Record, frozen=True, kw_only=True):
    """Something the plan left out, with its code (spec 2.6) and config path."""

    code: str
    path: str
    ref: str


class Standing(Record, frozen=True, kw_only=True):
    """How an entry stands at the time of planning."""

    skip: str | None = None
    """``skipped_<check>`` where a call would pass it over now."""
    why: str = ""
    """In words: the missing variable, the lacking capability, the spent budget."""
    mark: Mark | None = None
    input_usd: Decimal | None = None
    """Per million tokens; ``None`` is not known."""
    output_usd: Decimal | None = None
    price_source: str = ""


class Plan(Record, Shown, Keyed[Entry], frozen=True, kw_only=True):
    """Entries in order plus what was pruned and why. ``plan["groq.free"]`` is the first entry of that profile."""

    entries: tuple[Entry, ...]
    source: Literal["graph", "chain"]
    hint: str | None = None
    """The known hint that selected the start, if one did."""
    requested_model: str
    """What an unpinned entry serves; the model of the start otherwise."""
    pruned: tuple[Pruned, ...] = ()
    warnings: tuple[Pruned, ...] = ()
    standings: tuple[Standing, ...] = ()
    """One for each entry, in a plan made to be looked at (``chain.plan()``)."""

    def __repr__(self) -> str:
        names = " -> ".join(f"{entry.ref}/{entry.served(self.requested_model)}" for entry in self.entries)
        return f"Plan({names})"

    def by_key(self) -> dict[str, Entry]:
        """Profile ref → its first entry."""
        found: dict[str, Entry] = {}
        for entry in self.entries:
            found.setdefault(entry.ref, entry)
        return found

    def standing(self, entry: Entry) -> Standing:
        """How ``entry`` stands; nothing is known in a plan that was not made to be looked at."""
        return self.standings[entry.index] if self.standings else Standing()


class Variant(Record, frozen=True, kw_only=True):
    """One entry with one of its profile's credentials: what an attempt is made with."""

    entry: Entry
    model: str
    """The served model."""
    credential: Credential | None
    """``None``: there is no usable key, :attr:`missing` says why."""
    place: int = 0
    """0-based place among the entry's variants."""
    missing: str | None = None
    """``GROQ_API_KEY is not set``."""

    @property
    def ref(self) -> str:
        """The profile ref."""
        return self.entry.profile.ref

    @property
    def id(self) -> tuple[int, int]:
        """Its place in the plan: (entry, variant)."""
        return self.entry.index, self.place

    @property
    def key(self) -> MarkKey:
        """The variant's own mark key, model included."""
        return MarkKey(
            pool=self.entry.profile.pool,
            credential_id="-" if self.credential is None else self.credential.id,
            model=self.model,
        )


class MarkKey(Record, frozen=True, kw_only=True):
    """What a cooldown binds to (spec 7.1): ``model`` only when the verdict is model-scoped; may be a ``*`` pattern."""

    pool: str
    credential_id: str
    model: str | None = None


class Mark(Record, Shown, frozen=True, kw_only=True):
    """One cooldown: do not use until."""

    key: MarkKey
    until: datetime
    provenance: ResetSource
    reason: Reason
    set_at: datetime
    provider_ref: str = ""
    """Ref of the entry whose failure set it, for people."""
    text: str = ""
    """Short redacted reason, at most 140 characters."""

    def __repr__(self) -> str:
        model = self.key.model or "all models"
        return (
            f"Mark({self.key.pool}, {model}: {self.reason} until {self.until:%Y-%m-%d %H:%M:%S} UTC, {self.provenance})"
        )


class LiveMarks(tuple[Mark, ...], Shown):
    """Marks at one moment, the nearest end first; a notebook shows them as one table."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"LiveMarks({', '.join(map(repr, self))})" if self else "LiveMarks(none: every candidate may be asked)"


class Reliability(Record, frozen=True, kw_only=True):
    """``[reliability]`` (spec 2.4)."""

    provider_retries: int = 2
    provider_backoff_ms: float = 500
    backoff_cap_ms: float = 10_000
    jitter: float = 0.10
    retry_after_cap_s: float = 60.0
    graph_rate_limit_policy: RateLimitPolicy = "cooldown_and_advance"
    chain_rate_limit_policy: RateLimitPolicy = "retry_then_advance"
    cooldown_guess_s: float = 10.0
    period_guess_s: float = 3600.0
    context_overflow: OverflowPolicy = "advance_larger"
    anthropic_completion: AnthropicCompletion = "stop_reason"
    call_timeout_s: float = 300.0


class HttpRequest(Record, frozen=True, kw_only=True):
    """What a wire hands to the transport. ``headers`` may hold a key: its repr is the caller's to avoid."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {len(self.body)} bytes)"


class HttpResponse(Record, frozen=True, kw_only=True):
    """A whole response. Header names are lower case; ``body`` was cut at the transport's limit when ``cut``."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    cut: bool = False
