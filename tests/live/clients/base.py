"""The vendors' own clients behind one small interface: what each makes of an answer, a stream and a tool call.

A client is made from its module, so that a test can skip where the module is not installed. Its own retries are off.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KEY = "key-of-the-test"
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
    "required": ["city", "days"],
}
FUNCTION = {"name": "get_weather", "description": "Weather of a city", "parameters": PARAMETERS}
OPENAI_TOOL = {"type": "function", "function": FUNCTION}
TIMEOUT_S = 10.0
STRICT = {"_strict_response_validation": True}
"""Where a client offers it: an answer that does not fit its own models is an error rather than a guess."""


@dataclass
class Call:
    """One tool call as the client parsed it."""

    id: str
    name: str
    arguments: Any


@dataclass
class Said:
    """One answer as the client parsed it."""

    text: str = ""
    finish: str = ""
    calls: list[Call] = field(default_factory=list)
    input_tokens: int | None = None
    output_tokens: int | None = None
    pieces: int = 0
    """How many pieces the text came in."""
    turn: Any = None
    """What the client wants back as the assistant's turn."""


class Sdk:
    """One client. Subclasses put the conversation into its words and read its answers."""

    module = ""
    path = ""
    """Below the provider's origin; the client adds the rest."""
    errors: Mapping[int, str] = {}
    """Class in the module by HTTP status."""
    midway: str | None = None
    """Class in the module for an error inside a stream."""

    def __init__(self, origin: str, model: str) -> None:
        self.sdk = importlib.import_module(self.module)
        self.model = model
        self.client = self.connect(f"{origin}{self.path}")

    def connect(self, url: str) -> Any:
        """The client."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes its connections."""
        self.client.close()

    def error(self, name: str) -> type[Exception]:
        """An exception class of the module."""
        found: Any = self.sdk
        for step in name.split("."):
            found = getattr(found, step)
        return found

    def status(self, raised: Exception) -> int:
        """HTTP status of an exception."""
        return raised.status_code  # type: ignore[attr-defined]

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        """A whole answer."""
        raise NotImplementedError

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        """A streamed answer, put together."""
        raise NotImplementedError

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        """The answer after the first call of ``said`` gave ``result``."""
        raise NotImplementedError

    def models(self) -> list[str]:
        """Ids of the models."""
        raise NotImplementedError


def user(prompt: str) -> dict[str, str]:
    """A message of a person."""
    return {"role": "user", "content": prompt}


def piece(said: Said, text: str | None) -> None:
    """Adds a piece of text."""
    said.text += text or ""
    said.pieces += bool(text)
