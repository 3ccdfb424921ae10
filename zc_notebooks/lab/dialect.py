"""How each family's answers deviate from the plain OpenAI chat stream, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from zc_notebooks.records import Record, WireName


class Dialect(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Deviations of one family (all of them are on the record for somebody)."""

    usage: Literal["asked", "finish", "never"] = "asked"
    """Streams: in a last chunk without choices when asked for; in the finish chunk unasked; not at all."""
    x_groq: bool = False
    """Usage also stands in ``x_groq`` of the finish chunk."""
    comment: str | None = None
    """An SSE comment before the first event."""
    blank_lines: bool = False
    """Answers that are not streamed begin with blank keep-alive lines."""
    reasoning: Literal["reasoning_content", "reasoning", "parts", "hidden"] = "reasoning_content"
    """Where reasoning stands in a message or delta; hidden: it is counted and never said."""
    reasoning_details: bool = False
    role_everywhere: bool = False
    empty_finish: bool = False
    """``finish_reason`` is ``""`` rather than null until the end."""
    finish_twice: bool = False
    finish: bool = True
    """Whether any chunk carries a finish reason."""
    done: bool = True
    prompt_filter: bool = False
    """The first chunk has no choices but the filter's results on the prompt."""
    tool_index: bool = True
    """Tool call deltas carry ``index`` and ``type``."""
    whole_tool: bool = False
    """A tool call comes in one delta."""
    completion_without_reasoning: bool = False
    cost: Literal["none", "usage", "ticks"] = "none"
    text_copy: bool = False
    """Choices repeat the delta's text in ``text``."""
    chunk_tokens: int = 1
    sse_events: bool = True
    """Responses: events carry an ``event:`` line."""
    responses_done: bool = False
    """Responses streams end with ``[DONE]``."""
    moderation: bool = False
    """One more chunk after the usage: no choices, no usage, a moderation result."""
    success_wait_s: int = 0
    """A ``retry-after`` that about every ninth success carries; it means nothing for that answer."""
    headers: str = "none"
    """Which rate-limit headers answers carry (:mod:`zc_notebooks.lab.headers`)."""
    server: str = "lab"


class Family(Record, frozen=True, kw_only=True):
    """Where a family's API lives below a host, and how it speaks."""

    paths: Mapping[WireName, str]
    """Path of the base URL by wire; the first is the family's default wire."""
    dialect: Dialect = Dialect()

    @property
    def wire(self) -> WireName:
        """The default wire."""
        return next(iter(self.paths))


def _family(paths: Mapping[WireName, str] | str, **dialect: Any) -> Family:
    if isinstance(paths, str):
        paths = {"openai_chat": paths}
    return Family(paths=paths, dialect=Dialect(**dialect))


_ANY_WIRE: Final[Mapping[WireName, str]] = {
    "openai_chat": "/v1",
    "openai_responses": "/v1",
    "anthropic_messages": "/v1",
    "gemini": "/v1beta",
    "ollama": "",
    "cohere_v2": "/v2",
}

FAMILIES: Final[Mapping[str, Family]] = {
    "groq": _family(
        {"openai_chat": "/openai/v1", "openai_responses": "/openai/v1"},
        x_groq=True,
        reasoning="reasoning",
        headers="groq",
    ),
    "cerebras": _family("/v1", reasoning="reasoning", headers="cerebras"),
    "google": _family({"gemini": "/v1beta", "openai_chat": "/v1beta/openai"}, usage="finish"),
    "openrouter": _family(
        {"openai_chat": "/api/v1", "openai_responses": "/api/v1", "anthropic_messages": "/api/v1"},
        usage="finish",
        comment="OPENROUTER PROCESSING",
        reasoning="reasoning",
        reasoning_details=True,
        role_everywhere=True,
        finish_twice=True,
        cost="usage",
        sse_events=False,
        responses_done=True,
        headers="none",
    ),
    "mistral": _family("/v1", usage="finish", reasoning="parts", tool_index=False, whole_tool=True, headers="mistral"),
    "deepseek": _family(
        {"openai_chat": "", "openai_responses": "", "anthropic_messages": "/anthropic/v1"},
        usage="finish",
        comment="keep-alive",
        blank_lines=True,
    ),
    "github_models": _family("/inference"),
    "cohere": _family({"cohere_v2": "/v2", "openai_chat": "/compatibility/v1"}, headers="cohere"),
    "nvidia": _family("/v1"),
    "cloudflare": _family("/client/v4/accounts/lab/ai/v1", usage="finish"),
    "huggingface": _family(
        {"openai_chat": "/v1", "openai_responses": "/v1"},
        role_everywhere=True,
        reasoning="reasoning",
        success_wait_s=13,
    ),
    "together": _family("/v1", usage="finish", text_copy=True, reasoning="reasoning", headers="together"),
    "fireworks": _family({"openai_chat": "/inference/v1", "anthropic_messages": "/inference/v1"}, headers="fireworks"),
    "sambanova": _family("/v1", headers="sambanova"),
    "xai": _family(
        {"openai_chat": "/v1", "openai_responses": "/v1"},
        whole_tool=True,
        completion_without_reasoning=True,
        cost="ticks",
        headers="xai",
    ),
    "zai": _family("/api/paas/v4", usage="finish"),
    "moonshot": _family("/v1", usage="finish", headers="moonshot"),
    "dashscope": _family({"openai_chat": "/compatible-mode/v1", "openai_responses": "/compatible-mode/v1"}),
    "siliconflow": _family("/v1", usage="finish"),
    "openai": _family({"openai_chat": "/v1", "openai_responses": "/v1"}, headers="openai", reasoning="hidden"),
    "azure": _family(
        {"openai_chat": "/openai/v1", "openai_responses": "/openai/v1"},
        prompt_filter=True,
        headers="azure",
        reasoning="hidden",
    ),
    "anthropic": _family({"anthropic_messages": "/v1"}, headers="anthropic", success_wait_s=31),
    "ollama": _family(
        {"ollama": "", "openai_chat": "/v1", "openai_responses": "/v1", "anthropic_messages": "/v1"},
        reasoning="reasoning",
    ),
    "llamacpp": _family({"openai_chat": "/v1", "openai_responses": "/v1", "anthropic_messages": "/v1"}),
    "lmstudio": _family({"openai_chat": "/v1", "openai_responses": "/v1"}),
    "vllm": _family({"openai_chat": "/v1", "openai_responses": "/v1"}),
    "sglang": _family("/v1"),
    "litellm": _family({"openai_chat": "/v1", "openai_responses": "/v1", "anthropic_messages": "/v1"}),
    "minimax": _family(
        {"openai_chat": "/v1", "openai_responses": "/v1", "anthropic_messages": "/anthropic/v1"}, usage="finish"
    ),
    "snowflake": _family(
        {"openai_chat": "/api/v2/cortex/v1", "anthropic_messages": "/api/v2/cortex/v1"}, finish=False, usage="finish"
    ),
    "perplexity": _family("", usage="finish"),
    "custom": _family(_ANY_WIRE),
    "lab": _family(_ANY_WIRE),
}


def family(name: str) -> Family:
    """A family by name; an unknown one is a plain OpenAI-compatible server."""
    return FAMILIES.get(name, FAMILIES["custom"])


def dialect(name: str, overrides: Mapping[str, Any] | None = None) -> Dialect:
    """A family's dialect with some of its deviations switched.

    Raises:
        ValueError: an override is no deviation, or has a wrong value.
    """
    plain = msgspec.to_builtins(family(name).dialect)
    try:
        return msgspec.convert({**plain, **(overrides or {})}, Dialect)
    except msgspec.ValidationError as error:
        raise ValueError(f"deviations of {name}: {error}") from error
