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


@cache
def known_failures(family: str, wire: str = "") -> Failures:
    """The table of ``family``; without one, that of the vendor whose wire it speaks, else an empty one."""
    name = _SAME.get(family, family)
    if name not in NAMES:
        name = _BY_WIRE.get(wire, "")
    if name not in NAMES:
        return Failures()
    return plained(importlib.import_module(f"{__name__}.{name}").TABLE)
