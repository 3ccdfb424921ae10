"""Where families that speak OpenAI chat completions differ in what they accept (spec wire 3.1 and vendors' pages).

A family that stands in no table here is sent the standard fields.
"""

from __future__ import annotations

import re
from typing import Any, Final

from zc_notebooks.chat import ChatRequest, Effort
from zc_notebooks.wire.base import Target

COMPLETION_TOKENS: Final = frozenset({"openai", "azure", "cerebras"})
"""``max_completion_tokens`` instead of ``max_tokens``."""
NO_STREAM_OPTIONS: Final = frozenset({"mistral", "cohere"})
"""Usage comes without asking, and unknown fields are refused."""
SEED_NAME: Final = {"mistral": "random_seed", "google": None, "cohere": "seed"}
"""The name of the seed where it is another, ``None`` where there is none."""
JSON_OBJECT_ONLY: Final = frozenset({"deepseek", "zai"})
"""``response_format`` knows ``json_object`` and no schema; the schema goes into the prompt."""
JSON_SCHEMA_ONLY: Final = frozenset({"lmstudio", "perplexity"})
"""``json_object`` is refused; any object is a schema like others there."""
NO_IMAGE_URLS: Final = frozenset({"ollama", "moonshot", "lmstudio"})
"""Images only as data."""
KEEPS_REASONING: Final = frozenset({"deepseek", "moonshot", "zai"})
"""Want the reasoning of their own tool calls back."""
_MINIMAL_EFFORT: Final = frozenset({"openai", "azure", "openrouter", "google"})
_THINKING_TYPE: Final = frozenset({"deepseek", "moonshot", "zai"})
_ENABLE_THINKING: Final = frozenset({"dashscope", "siliconflow"})

_OPENAI_REASONING: Final = re.compile(r"(?:o[1-9]|gpt-5)(?!.*chat)")
"""Reasoning models of OpenAI refuse sampling settings and ``stop``."""
_REFUSED_BY_REASONING: Final = ("temperature", "top_p", "stop")


def effort_fields(family: str, effort: Effort) -> dict[str, Any]:
    """How a family is told the reasoning effort."""
    if family in _THINKING_TYPE:
        return {"thinking": {"type": "disabled" if effort == "none" else "enabled"}}
    if family in _ENABLE_THINKING:
        return {"enable_thinking": effort != "none"}
    if effort == "minimal" and family not in _MINIMAL_EFFORT:
        effort = "low"
    return {"reasoning_effort": effort}


def refused_settings(target: Target) -> tuple[str, ...]:
    """Settings the target's model answers with a 400."""
    own = target.profile.family in ("openai", "azure")
    return _REFUSED_BY_REASONING if own and _OPENAI_REASONING.match(target.model) else ()


def sampling_fields(request: ChatRequest, target: Target, notes: list[str]) -> dict[str, Any]:
    """temperature, top_p, stop and seed as the target takes them; what it does not take is noted."""
    family = target.profile.family
    seed_name = SEED_NAME.get(family, "seed")
    wanted = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        seed_name or "seed": request.seed,
    }
    refused = {*refused_settings(target), *(("seed",) if seed_name is None else ())}
    fields: dict[str, Any] = {}
    for name, value in wanted.items():
        if value is None:
            continue
        if name in refused:
            notes.append(f"dropped {name}")
        else:
            fields[name] = value
    return fields
