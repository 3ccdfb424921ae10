"""The vendors' own clients by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.live.clients.base import Sdk
from tests.live.clients.openai_like import Groq, Mistral, OpenAIChat, OpenAIResponses
from tests.live.clients.own_forms import Anthropic, Cohere, Gemini, GeminiV1, Ollama

SDKS: Mapping[str, type[Sdk]] = {
    "openai chat": OpenAIChat,
    "openai responses": OpenAIResponses,
    "anthropic": Anthropic,
    "google-genai v1beta": Gemini,
    "google-genai v1": GeminiV1,
    "groq": Groq,
    "mistralai": Mistral,
    "cohere": Cohere,
    "ollama": Ollama,
}
