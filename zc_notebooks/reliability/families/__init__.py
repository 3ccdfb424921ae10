"""What each provider's failures look like, one readable table per family."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Final

from zc_notebooks.reliability.families.anyone import TABLE
from zc_notebooks.reliability.rules import Failures, plained

NAMES: Final = frozenset(
    {
        "anthropic", "azure", "bedrock", "cerebras", "cloudflare", "cohere", "dashscope", "deepseek", "fireworks",
        "github_models", "google", "groq", "huggingface", "litellm", "llamacpp", "lmstudio", "minimax", "mistral",
        "moonshot", "nvidia", "ollama", "openai", "openrouter", "sambanova", "siliconflow", "snowflake", "together",
        "vllm", "xai", "zai",
    }
)  # fmt: skip
"""Families that have a table of their own; any other is read by what everybody's codes mean."""

ANYONE: Final = plained(TABLE)
_SAME: Final = {
    "sglang": "vllm",
    "local": "llamacpp",
    "hf": "huggingface",
    "gemini": "google",
    "github": "github_models",
    "glm": "zai",
}
_BY_WIRE: Final = {
    "gemini": "google",
    "anthropic_messages": "anthropic",
    "cohere_v2": "cohere",
    "ollama": "ollama",
}


KNOWN_SINCE: Final = "2026-09-29"
"""The day on which the vendors' pages, recordings and reports behind these tables were read."""


@cache
def known_failures(family: str, wire: str = "") -> Failures:
    """The table of ``family``; without one, that of the vendor whose wire it speaks, else an empty one."""
    name = table_name(family, wire)
    return plained(importlib.import_module(f"{__name__}.{name}").TABLE) if name else Failures()


def table_name(family: str, wire: str = "") -> str:
    """The module of a family's table, empty when there is none."""
    name = _SAME.get(family, family)
    if name not in NAMES:
        name = _BY_WIRE.get(wire, "")
    return name if name in NAMES else ""
