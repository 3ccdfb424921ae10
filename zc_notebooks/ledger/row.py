"""The one schema of the ledger: a row per physical attempt and per skip (spec 12.1).

No prompt, answer or provider text. Unknown is ``None``. The schema only grows: new fields go to the end with a default.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from zc_notebooks.records import Reason, Record, Scope

Kind = Literal["attempt", "skip"]
Mode = Literal["chat", "stream", "recovery", "probe", "bench"]
UsageState = Literal["complete", "missing", "invalid", "unknown", "none"]


class AttemptRow(Record, frozen=True, kw_only=True):
    """One attempt or skip. (``call_id``, ``ordinal``) is the key."""

    call_id: str
    ordinal: int
    t: datetime
    """UTC start."""
    provider_ref: str
    model: str
    kind: Kind
    mode: Mode
    status: str
    """``ok``, ``empty``, ``http_<code>``, ``body_error``, ``network``, ``timeout``, ``stream_error``, ``stream_cut``,
    ``cancelled`` or ``skipped_<check>``."""
    turn_id: str | None = None
    model_reported: str | None = None
    requested_ref: str | None = None
    requested_model: str | None = None
    credential_id: str = "-"
    pool: str = ""
    reason: Reason | None = None
    scope: Scope | None = None
    resets_at: datetime | None = None
    reset_source: str | None = None
    attempt: int = 0
    failover: bool = False
    accepted: bool = False
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    usage_state: UsageState = "unknown"
    cost_usd: float | None = None
    price_source: str | None = None
    secs: float | None = None
    """Request sent to body complete (a stream: to its end)."""
    wait_s: float | None = None
    """Slept before this attempt."""
    first_token_s: float | None = None
    """Streams: request sent to the first event that shows something."""
    finish_reason: str | None = None
    """The provider's own word."""
    evidence: str | None = None
    """Streams: the words of :class:`~zc_notebooks.chat.StreamEnd`, joined by `` > ``."""
    notes: str | None = None
    """Settings the wire could not carry (``dropped seed``); no prompt text."""
    tier: str | None = None
    billed_input_tokens: int | None = None
    billed_output_tokens: int | None = None
    """Tokens charged for, where the provider states other counts than those used; ``cost_usd`` rests on them."""


DUCKDB_TYPES: Final[dict[str, str]] = {
    "call_id": "VARCHAR",
    "ordinal": "INTEGER",
    "t": "TIMESTAMPTZ",
    "provider_ref": "VARCHAR",
    "model": "VARCHAR",
    "kind": "VARCHAR",
    "mode": "VARCHAR",
    "status": "VARCHAR",
    "turn_id": "VARCHAR",
    "model_reported": "VARCHAR",
    "requested_ref": "VARCHAR",
    "requested_model": "VARCHAR",
    "credential_id": "VARCHAR",
    "pool": "VARCHAR",
    "reason": "VARCHAR",
    "scope": "VARCHAR",
    "resets_at": "TIMESTAMPTZ",
    "reset_source": "VARCHAR",
    "attempt": "INTEGER",
    "failover": "BOOLEAN",
    "accepted": "BOOLEAN",
    "input_tokens": "BIGINT",
    "cached_input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "reasoning_tokens": "BIGINT",
    "usage_state": "VARCHAR",
    "cost_usd": "DOUBLE",
    "price_source": "VARCHAR",
    "secs": "DOUBLE",
    "wait_s": "DOUBLE",
    "first_token_s": "DOUBLE",
    "finish_reason": "VARCHAR",
    "evidence": "VARCHAR",
    "notes": "VARCHAR",
    "tier": "VARCHAR",
    "billed_input_tokens": "BIGINT",
    "billed_output_tokens": "BIGINT",
}
"""Column → DuckDB type, in the order of the fields. The one source of reader, frames and the documented table."""


def encode(row: AttemptRow) -> bytes:
    """The row's JSON line, newline included."""
    return msgspec.json.encode(row) + b"\n"
