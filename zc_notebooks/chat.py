"""Frozen records of what is said to a model and what comes back: messages, tools, requests, answers, events."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec

from zc_notebooks.model_names import same_model
from zc_notebooks.records import Reason, Record
from zc_notebooks.redact import short

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "error"]
Effort = Literal["none", "minimal", "low", "medium", "high"]


class TextPart(Record, frozen=True, kw_only=True, tag="text"):
    """Text of a message."""

    text: str


class ImagePart(Record, frozen=True, kw_only=True, tag="image"):
    """An image, by URL or as data (exactly one of the two)."""

    url: str | None = None
    data: bytes | None = None
    media_type: str = "image/png"


Part = TextPart | ImagePart


class ToolCall(Record, frozen=True, kw_only=True, tag="tool_call"):
    """A call the model wants made. Also the stream event of a completed call."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    """Parsed; ``None`` when ``raw`` is no JSON object."""
    raw: str
    """The arguments as the provider sent them (JSON text)."""
    signature: str | None = None
    """Opaque provider token that must travel with the call (Gemini ``thoughtSignature``)."""


class Message(Record, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Role
    parts: tuple[Part, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    """Assistant only."""
    tool_call_id: str | None = None
    """Tool only: the call this result answers."""
    name: str | None = None
    """Tool only: the tool's name (wires that match results by name need it)."""
    reasoning: str | None = None

    @property
    def text(self) -> str:
        """All text parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class Tool(Record, frozen=True, kw_only=True):
    """A function the model may call; ``parameters`` is a JSON schema object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {}


class JsonSchema(Record, frozen=True, kw_only=True):
    """A response format: the answer must be JSON of this schema."""

    name: str
    schema: Mapping[str, Any]
    strict: bool = True


class ChatRequest(Record, frozen=True, kw_only=True):
    """One logical request, the same whatever wire serves it."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str | None = None
    """``auto``, ``none``, ``required`` or the name of a tool."""
    response_format: JsonSchema | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    reasoning_effort: Effort | None = None

    @property
    def has_images(self) -> bool:
        """Whether any message holds an image."""
        return any(isinstance(part, ImagePart) for message in self.messages for part in message.parts)


class Usage(Record, frozen=True, kw_only=True, tag="usage"):
    """Tokens of one attempt, normalised: input includes cached, output includes reasoning; ``None`` is unknown.

    As a stream event it is a snapshot that replaces the one before.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    billed_input_tokens: int | None = None
    billed_output_tokens: int | None = None
    """What is charged for, where a provider states counts of its own for that (Cohere); ``None``: the counts above."""


class Text(Record, frozen=True, kw_only=True, tag="text_delta", gc=False):
    """Stream event: more answer text."""

    text: str


class Reasoning(Record, frozen=True, kw_only=True, tag="reasoning_delta", gc=False):
    """Stream event: more reasoning; shown, never part of the answer."""

    text: str


class PreExecutedTool(Record, frozen=True, kw_only=True, tag="pre_executed_tool"):
    """Stream event: a tool ran on the provider's side (``call``) or gave its result (``result``)."""

    phase: Literal["call", "result"]
    name: str
    id: str | None = None
    raw: str = ""
    """Arguments of a call as sent (JSON text); known in the answer, not yet in the event that announces it."""


class Notice(Record, frozen=True, kw_only=True, tag="notice"):
    """Stream event: a sentence from the chain itself (a hop, a dropped setting, a fallback notice)."""

    text: str


WireEvent = Text | Reasoning | ToolCall | PreExecutedTool | Usage


class Answer(Record, frozen=True, kw_only=True):
    """What one wire read from one good response, before anybody judged or attributed it."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    pre_executed: tuple[PreExecutedTool, ...] = ()
    finish_reason: FinishReason | None = None
    finish_raw: str | None = None
    """The provider's own word."""
    usage: Usage | None = None
    model_reported: str | None = None
    request_id: str | None = None


class WireFailure(Record, frozen=True, kw_only=True):
    """Why a response with a 2xx status (or its stream) is no answer. The classifier turns it into a verdict."""

    kind: Literal["error_body", "finish", "not_protocol", "empty_body", "cut"]
    payload: str = ""
    """The provider's error as it stood on the wire (JSON text where it was JSON), at most 64 KiB."""
    reason: Reason | None = None
    """Set when the wire's own grammar decides (a finish word, a missing signal)."""
    code: str | None = None
    detail: str = ""
    """One sentence of ours: ``stream closed before message_stop: response truncated``."""
    answer: Answer = Answer()
    """What had arrived; its usage counts."""


class StreamEnd(Record, frozen=True, kw_only=True):
    """The judged end of one stream (spec 8.2)."""

    answer: Answer
    failure: WireFailure | None
    """``None``: complete."""
    evidence: tuple[str, ...]
    """Short words in order of arrival: ``finish_reason=stop``, ``[DONE]``, ``eof``, ``error event``, ``idle``."""


class Identity(Record, frozen=True, kw_only=True):
    """Who was asked or who served."""

    provider_ref: str
    model: str
    model_reported: str | None = None
    """The response's own word; another form of the same name is no other model (see :attr:`mismatch`)."""

    @property
    def mismatch(self) -> str | None:
        """``asked for X, the response says Y`` when the response names another model, else ``None``."""
        said = self.model_reported
        if not said or same_model(self.model, said):
            return None
        return f"asked for {self.model}, the response says {short(said, 80)}"


class Hop(Record, frozen=True, kw_only=True):
    """The walk left a failed entry for its next attempt; ``reason`` is the failed entry's own, one line."""

    origin: str
    """``ref/model`` that failed."""
    to: str
    reason: str
    """At most 140 characters, redacted."""
    full_reason: str = ""


class UsageByProvider(Record, frozen=True, kw_only=True):
    """Summed usage of a call at one (ref, model); ``None`` when no part is known."""

    provider_ref: str
    model: str
    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: Decimal | None
    attempts: int
    accepted: int
    at_least: bool


def text_message(role: Role, text: str) -> Message:
    """A message that is one text."""
    return Message(role=role, parts=(TextPart(text=text),))


def to_json(value: object) -> str:
    """Compact JSON text of plain data."""
    return msgspec.json.encode(value).decode()
