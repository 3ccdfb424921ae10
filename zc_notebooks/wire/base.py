"""What a wire is: request → bytes, bytes → answer or events, and nothing else (no retry, no policy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from zc_notebooks.chat import Answer, ChatRequest, StreamEnd, WireEvent, WireFailure
from zc_notebooks.records import AnthropicCompletion, HttpRequest, Profile, Record, WireName
from zc_notebooks.redact import Secret


class Target(Record, frozen=True, kw_only=True):
    """One candidate as its wire needs it."""

    profile: Profile
    model: str
    key: Secret | None = None


class Encoded(Record, frozen=True, kw_only=True):
    """A request ready to send, and what had to be left out of it."""

    request: HttpRequest
    notes: tuple[str, ...] = ()
    """``dropped seed``: preferred settings this wire has no word for."""


class StreamDecoder(Protocol):
    """Reads one stream incrementally. Never raises on any input; never buffers a whole stream."""

    def feed(self, chunk: bytes) -> list[WireEvent]:
        """Events completed by ``chunk``, in order. Empty once :attr:`closed`."""
        ...

    @property
    def closed(self) -> bool:
        """The wire's last event was seen (``[DONE]``, an error event, …): nothing more need be read."""
        ...

    @property
    def said(self) -> bool:
        """Something of an answer came: text that is not blank, reasoning, a piece of a tool call, its end.

        Who speaks without saying anything (a role, an empty delta) has not begun to answer.
        """
        ...

    @property
    def signalled(self) -> bool:
        """The completion signal was seen without an error so far (spec 8.2)."""
        ...

    def finish(self, *, interrupted: str | None = None) -> StreamEnd:
        """Judges the end: at end of file, or at ``interrupted`` (``idle``, ``disconnect``) before it."""
        ...


class Wire(Protocol):
    """One protocol in both directions."""

    name: WireName

    def lacks(self, request: ChatRequest, target: Target) -> str | None:
        """The needed capability this wire cannot carry (``images by URL``), or ``None``."""
        ...

    def encode(self, request: ChatRequest, target: Target, *, stream: bool) -> Encoded:
        """The HTTP request. Raises nothing for a valid request."""
        ...

    def decode(self, body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
        """Reads the body of a 2xx response that was not streamed."""
        ...

    def decoder(self, headers: Mapping[str, str], *, anthropic_completion: AnthropicCompletion) -> StreamDecoder:
        """A decoder for one 2xx streamed response."""
        ...


Json = Mapping[str, Any]
