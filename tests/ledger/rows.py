"""Rows and profiles for the ledger's tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Profile

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def row(call_id: str = "call-1", ordinal: int = 0, **fields: Any) -> AttemptRow:
    """An answered attempt, with what a test wants different."""
    given: dict[str, Any] = {
        "t": NOON,
        "provider_ref": "groq.free",
        "model": "openai/gpt-oss-120b",
        "kind": "attempt",
        "mode": "chat",
        "status": "ok",
        **fields,
    }
    return AttemptRow(call_id=call_id, ordinal=ordinal, **given)


def profile(**fields: Any) -> Profile:
    """A profile with what a test wants different."""
    given: dict[str, Any] = {
        "ref": "custom.mine",
        "family": "custom",
        "alias": "mine",
        "base_url": "https://api.example.test/v1",
        "wire": "openai_chat",
        **fields,
    }
    return Profile(**given)
