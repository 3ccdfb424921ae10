"""Names of the OpenTelemetry conventions for generative AI, as the spans we write and read use them.

From the conventions' own repository (open-telemetry/semantic-conventions-genai, ``docs/gen-ai/gen-ai-spans.md``,
read on 2026-12-01; schema ``gen-ai-dev/1.42.0-dev``; every name is of status Development). What they have no name for
is an attribute ``zc.<column of the ledger>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
SCOPE: Final = "zc_notebooks"
OWN: Final = "zc."
SKIP: Final = "zc.skip"
"""Event on a call's span: a candidate that was passed over."""

OPERATION: Final = "gen_ai.operation.name"
CHAT: Final = "chat"
INFERENCE: Final[frozenset[str]] = frozenset({CHAT, "generate_content", "text_completion"})
"""Operations that are one request to a model. Agents, tools and workflows contain such requests."""

PROVIDER: Final = "gen_ai.provider.name"
STREAM: Final = "gen_ai.request.stream"
FINISH: Final = "gen_ai.response.finish_reasons"
ERROR: Final = "error.type"

COLUMNS: Final[Mapping[str, str]] = {
    "model": "gen_ai.request.model",
    "model_reported": "gen_ai.response.model",
    "input_tokens": "gen_ai.usage.input_tokens",
    "cached_input_tokens": "gen_ai.usage.cache_read.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "first_token_s": "gen_ai.response.time_to_first_chunk",
}
"""Column of the ledger → attribute of the same meaning (input includes cached, output includes reasoning)."""

OLDER: Final[Mapping[str, str]] = {
    "gen_ai.provider.name": "gen_ai.system",
    "gen_ai.usage.input_tokens": "gen_ai.usage.prompt_tokens",
    "gen_ai.usage.output_tokens": "gen_ai.usage.completion_tokens",
}
"""Attribute → what it was called before; read, never written."""

PROVIDERS: Final[Mapping[str, str]] = {
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "xai": "x_ai",
    "azure": "azure.ai.openai",
}
"""Family → the conventions' word for it, where they differ."""

FAMILIES: Final[Mapping[str, str]] = {
    **{theirs: ours for ours, theirs in PROVIDERS.items()},
    "gcp.gen_ai": "google",
    "gemini": "google",
    "xai": "xai",
    "az.ai.openai": "azure",
}
"""The conventions' word, today's or an older one → family."""
