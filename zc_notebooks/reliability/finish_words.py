"""Words with which a provider ends an answer that is none (spec 8.2); all other finish words are complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zc_notebooks.records import Reason

_BLOCKED: Final[tuple[Reason, str | None]] = ("content_filter", None)
MALFORMED: Final[tuple[Reason, str | None]] = ("bad_request", "tool_schema")
"""The model's own fault with a tool call; it may do better when asked again."""

FINISH_FAILURES: Final[Mapping[str, tuple[Reason, str | None]]] = {
    "error": ("server_error", None),
    "failed": ("server_error", None),
    "network_error": ("server_error", "network_error"),
    "timeout": ("server_error", "timeout"),
    "insufficient_system_resource": ("capacity", "insufficient_system_resource"),
    "error_limit": ("context_window", "error_limit"),
    "model_context_window_exceeded": ("context_window", "model_context_window_exceeded"),
    "content_filter": _BLOCKED,
    "incomplete:content_filter": _BLOCKED,
    "refusal": _BLOCKED,
    "sensitive": _BLOCKED,
    "error_toxic": _BLOCKED,
    "safety": _BLOCKED,
    "recitation": _BLOCKED,
    "prohibited_content": _BLOCKED,
    "spii": _BLOCKED,
    "blocklist": _BLOCKED,
    "language": _BLOCKED,
    "model_armor": _BLOCKED,
    "image_safety": _BLOCKED,
    "image_prohibited_content": _BLOCKED,
    "image_recitation": _BLOCKED,
    "malformed_function_call": MALFORMED,
    "malformed_tool_call": MALFORMED,
    "unexpected_tool_call": MALFORMED,
    "too_many_tool_calls": MALFORMED,
    "malformed_response": ("server_error", "malformed_response"),
    "missing_thought_signature": ("bad_request", "missing_thought_signature"),
}
"""Finish word in lower case → (reason, code or ``None``)."""


def finish_failure(word: str | None) -> tuple[Reason, str | None] | None:
    """(reason, code) when the finish word says the answer failed; ``None`` for a complete one or no word."""
    return FINISH_FAILURES.get(word.lower()) if word else None
