"""What a client asked, read back from any wire into the package's neutral request.

Each wire of the lab decodes on its own and knows nothing of the client's encoders, so a round trip proves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from zc_notebooks.chat import ChatRequest, ImagePart, TextPart
from zc_notebooks.lab.tokens import IMAGE_TOKENS, estimate
from zc_notebooks.records import Record, WireName

Json = Mapping[str, Any]


class Unreadable(ValueError):
    """A request this wire's provider would refuse as malformed; the message is for its error body."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class Conversation(Record, frozen=True, kw_only=True):
    """One decoded request."""

    wire: WireName
    model: str
    request: ChatRequest
    stream: bool = False
    operation: Literal["chat", "generate", "count_tokens"] = "chat"
    framing: Literal["sse", "json_array", "ndjson", "none"] = "none"
    """How a streamed answer is framed."""
    include_usage: bool = False
    """OpenAI chat: ``stream_options.include_usage``."""
    json_mode: bool = False
    """JSON is asked for, without a schema."""

    @property
    def last_user(self) -> str:
        """Text of the last message of a person."""
        return next((message.text for message in reversed(self.request.messages) if message.role == "user"), "")

    @property
    def answers_tools(self) -> bool:
        """Whether the conversation ends in tool results that now want a text."""
        return bool(self.request.messages) and self.request.messages[-1].role == "tool"

    @property
    def images(self) -> tuple[ImagePart, ...]:
        """All images, in order."""
        return tuple(part for message in self.request.messages for part in message.parts if isinstance(part, ImagePart))

    @property
    def input_tokens(self) -> int:
        """Estimated tokens of the whole prompt: messages, tools and images."""
        total = IMAGE_TOKENS * len(self.images) + 3
        for message in self.request.messages:
            total += 4 + sum(estimate(part.text) for part in message.parts if isinstance(part, TextPart))
            total += sum(8 + estimate(call.name) + estimate(call.raw) for call in message.tool_calls)
        return total + sum(
            estimate(tool.name + tool.description) + estimate(dump(tool.parameters)) for tool in self.request.tools
        )


def dump(value: object) -> str:
    """Compact JSON text."""
    return msgspec.json.encode(value).decode()


def load_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a request body.

    Raises:
        Unreadable: it is none.
    """
    try:
        value = msgspec.json.decode(body or b"null")
    except msgspec.DecodeError as error:
        raise Unreadable(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(value, dict):
        raise Unreadable("The body of the request must be a JSON object")
    return value


def decode_request(wire: str, path: str, body: bytes) -> Conversation:
    """Reads one request as the provider of ``wire`` would.

    Args:
        wire: Name of the wire.
        path: Path and query of the request; Gemini has model and framing in it.
        body: Raw request body.

    Raises:
        Unreadable: the provider would answer that the request is malformed.
        KeyError: there is no such wire.
    """
    from zc_notebooks.lab.wires import codec

    try:
        return codec(wire).decode(path, load_object(body))
    except (AttributeError, TypeError, IndexError) as error:  # an object stands where another type was meant
        raise Unreadable("The request has a value of the wrong type.") from error
