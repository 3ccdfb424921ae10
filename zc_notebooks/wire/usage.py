"""Token counts of all wires in one meaning: input includes cached, output includes reasoning (spec wire 1c)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zc_notebooks.chat import Usage
from zc_notebooks.wire.loose_json import as_dict

_CEILING = 2**53


def count(value: object) -> int | None:
    """A token count, or ``None`` when it is no non-negative whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < _CEILING and value == int(value) else None


def first_count(*values: object) -> int | None:
    """The first that is a token count."""
    return next((known for known in map(count, values) if known is not None), None)


def add(*values: int | None) -> int | None:
    """The sum of the known parts; ``None`` when none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def usage(
    input_tokens: int | None, output_tokens: int | None, cached_tokens: int | None, reasoning_tokens: int | None
) -> Usage | None:
    """A usage record, or ``None`` when neither input nor output is known."""
    if input_tokens is None and output_tokens is None:
        return None
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=reasoning_tokens,
    )


def openai_chat_usage(raw: object) -> Usage | None:
    """``usage`` of chat completions. xAI leaves reasoning out of ``completion_tokens``; its total tells so."""
    if not isinstance(raw, dict):
        return None
    prompt, completion = count(raw.get("prompt_tokens")), count(raw.get("completion_tokens"))
    inside, outside = as_dict(raw.get("prompt_tokens_details")), as_dict(raw.get("completion_tokens_details"))
    cached = first_count(inside.get("cached_tokens"), raw.get("cached_tokens"), raw.get("prompt_cache_hit_tokens"))
    reasoning = first_count(outside.get("reasoning_tokens"), raw.get("reasoning_tokens"))
    if prompt is not None and completion is not None and reasoning:
        total = count(raw.get("total_tokens"))
        if total == prompt + completion + reasoning:
            completion += reasoning
    return usage(prompt, completion, cached, reasoning)


def openai_responses_usage(raw: object) -> Usage | None:
    """``usage`` of the Responses API."""
    if not isinstance(raw, dict):
        return None
    cached = count(as_dict(raw.get("input_tokens_details")).get("cached_tokens"))
    reasoning = count(as_dict(raw.get("output_tokens_details")).get("reasoning_tokens"))
    return usage(count(raw.get("input_tokens")), count(raw.get("output_tokens")), cached, reasoning)


def anthropic_usage(raw: Mapping[str, Any]) -> Usage | None:
    """``usage`` of the Messages API, whose ``input_tokens`` leaves cache reads and cache writes out."""
    cached = count(raw.get("cache_read_input_tokens"))
    fresh = count(raw.get("input_tokens"))
    if fresh is not None:
        fresh = add(fresh, cached, count(raw.get("cache_creation_input_tokens")))
    reasoning = count(as_dict(raw.get("output_tokens_details")).get("thinking_tokens"))
    return usage(fresh, count(raw.get("output_tokens")), cached, reasoning)
