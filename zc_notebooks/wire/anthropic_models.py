"""What Claude models accept, by the version in their name (vendor's migration guides, read 2026-11-30)."""

from __future__ import annotations

import re
from typing import Any, Final

from zc_notebooks.chat import ChatRequest, Effort

DEFAULT_MAX_TOKENS: Final = 4096
"""Tokens; the Messages API demands a limit."""
MIN_BUDGET: Final = 1024
"""Tokens; the smallest thinking budget the API takes."""
_BUDGETS: Final[dict[Effort, int]] = {"minimal": 1024, "low": 1024, "medium": 4096, "high": 16384}
_NAME: Final = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?")

_SCHEMAS: Final = (4, 5)
_ADAPTIVE: Final = (4, 6)
_NO_SAMPLING: Final = (4, 7)


def claude_version(model: str) -> tuple[int, int] | None:
    """(major, minor) of a Claude model by its name, ``None`` for any other model on this wire."""
    match = _NAME.search(model)
    return (int(match[1]), int(match[2] or 0)) if match else None


def knows_schemas(model: str) -> bool:
    """Whether ``output_config.format`` is accepted."""
    version = claude_version(model)
    return version is not None and version >= _SCHEMAS


def sampling_fields(request: ChatRequest, model: str, notes: list[str], *, thinking: bool) -> dict[str, Any]:
    """Temperature and top_p as the model takes them: not with thinking, not both, not at all since 4.7."""
    version = claude_version(model)
    fields: dict[str, Any] = {}
    if request.temperature is not None:
        fields["temperature"] = min(request.temperature, 1.0)
        if request.temperature > 1.0:
            notes.append("temperature lowered to 1")
    if request.top_p is not None:
        fields["top_p"] = request.top_p
    none_at_all = thinking or (version is not None and version >= _NO_SAMPLING)
    refused = list(fields) if none_at_all else ["top_p"] if version is not None and len(fields) > 1 else []
    for name in refused:
        del fields[name]
        notes.append(f"dropped {name}")
    return fields


def thinking_fields(request: ChatRequest, model: str, notes: list[str]) -> dict[str, Any]:
    """``thinking`` and ``output_config`` for the wanted effort; a budget stays below ``max_tokens``.

    With a budget the API wants the signed thinking of its own tool calls back and refuses a forced tool; a
    conversation that moves between wires has neither, so thinking is left out there.
    """
    effort = request.reasoning_effort
    version = claude_version(model)
    if effort is None:
        return {}
    if effort == "none":
        return {} if version is not None else {"thinking": {"type": "disabled"}}
    if version is not None and version >= _ADAPTIVE:
        level = "low" if effort == "minimal" else effort
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
    budget = _BUDGETS[effort]
    if request.max_tokens is not None:
        budget = min(budget, request.max_tokens // 2)
    forced = request.tool_choice not in (None, "auto", "none")
    in_tool_loop = bool(request.messages) and request.messages[-1].role == "tool"
    if budget < MIN_BUDGET or forced or in_tool_loop:
        notes.append("dropped reasoning_effort")
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}
