"""One HTTP request to the lab, what it addresses, and how it is kept in the log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal
from urllib.parse import parse_qs

from zc_notebooks.lab.conversation import Conversation
from zc_notebooks.records import Record, WireName

Operation = Literal["chat", "models", "probe", "unknown"]

KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key", "api-key")

_GEMINI = re.compile(r"/models/[^/]+(?:/[^/]+)*:(?:generateContent|streamGenerateContent|countTokens)$")
_CHATS: Final[tuple[tuple[str, WireName], ...]] = (
    ("/chat/completions", "openai_chat"),
    ("/responses", "openai_responses"),
    ("/messages", "anthropic_messages"),
    ("/messages/count_tokens", "anthropic_messages"),
    ("/api/chat", "ollama"),
    ("/api/generate", "ollama"),
    ("/chat", "cohere_v2"),
)
_MODELS: Final = ("/models", "/api/tags", "/catalog/models")
_PROBES: Final = (
    "/key",
    "/auth/key",
    "/user/balance",
    "/user/info",
    "/users/me/balance",
    "/user/tokens/verify",
    "/api/whoami-v2",
    "/ai/models/search",
    "/health",
    "/health/liveliness",
    "/api/version",
    "/api/ps",
    "/props",
)


class Asked(Record, frozen=True, kw_only=True):
    """One request as it came in."""

    number: int
    """1-based, over the whole lab."""
    at: datetime
    """On the lab's clock."""
    method: str
    path: str
    """Below the provider's name."""
    query: str = ""
    headers: Mapping[str, str] = {}
    """Lower-case names."""
    body: bytes = b""

    @property
    def key(self) -> str | None:
        """The key that came with it, from a header or the query."""
        for name in KEY_HEADERS:
            if self.headers.get(name):
                return self.headers[name].removeprefix("Bearer ").strip()
        return next(iter(parse_qs(self.query).get("key", [])), None)

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path


class Route(Record, frozen=True, kw_only=True):
    """What a path means."""

    operation: Operation
    wire: WireName | None = None
    ending: str = ""
    """The known end of the path."""


def route(path: str) -> Route:
    """What is asked for, told by the end of the path alone, so that any base URL works."""
    path = path.rstrip("/")
    if _GEMINI.search(path):
        return Route(operation="chat", wire="gemini", ending=path)
    for ending, wire in _CHATS:
        if path.endswith(ending):
            return Route(operation="chat", wire=wire, ending=ending)
    if any(path.endswith(ending) for ending in _PROBES):
        return Route(operation="probe", ending=max((one for one in _PROBES if path.endswith(one)), key=len))
    if any(path.endswith(ending) for ending in _MODELS) or re.search(r"/models/[^/]+$", path):
        return Route(operation="models", ending=path)
    return Route(operation="unknown", ending=path)


class LabRequest(Record, frozen=True, kw_only=True):
    """One line of the request log. It says whether a key came, never which."""

    number: int
    at: datetime
    provider: str
    method: str
    path: str
    wire: WireName | None = None
    model: str | None = None
    stream: bool = False
    max_tokens: int | None = None
    header_names: tuple[str, ...] = ()
    key_came: bool = False
    status: int | None = None
    """HTTP status of the answer; ``None`` when none was sent."""
    answered: str = ""
    """``ok``, the name of the failure, the kind of the fault, or ``""`` while it is being answered."""
    retry_after_s: float | None = None
    """What the answer's ``retry-after`` header said, in seconds."""
    conversation: Conversation | None = None
    """What was asked, for tests; not in the repr."""

    def __repr__(self) -> str:
        told = f"{self.method} {self.path} {self.model or ''}{' stream' if self.stream else ''}"
        return f"LabRequest({self.number} {self.provider}: {told} -> {self.status} {self.answered})"
