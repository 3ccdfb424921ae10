"""The lab's own encoders and decoders, one module per wire. They share nothing with the client's."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol, cast

from zc_notebooks.lab.conversation import Conversation
from zc_notebooks.lab.reply import Frame, Reply, Telling
from zc_notebooks.records import WIRES


class Codec(Protocol):
    """What each module of this package offers."""

    @staticmethod
    def decode(path: str, body: dict[str, Any]) -> Conversation:
        """Reads a request; raises ``Unreadable`` for one the provider would refuse."""
        ...

    @staticmethod
    def whole(reply: Reply, telling: Telling) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        ...

    @staticmethod
    def frames(reply: Reply, telling: Telling) -> Iterator[Frame]:
        """The answer as a stream, piece by piece."""
        ...

    @staticmethod
    def raw(text: str, conversation: Conversation) -> bytes:
        """Any text in the stream's framing."""
        ...

    @staticmethod
    def error(payload: object, conversation: Conversation) -> bytes:
        """A provider's error in the middle of a stream, framed."""
        ...


CONTENT_TYPES = {
    "sse": "text/event-stream; charset=utf-8",
    "json_array": "application/json; charset=UTF-8",
    "ndjson": "application/x-ndjson",
    "none": "application/json",
}


def codec(wire: str) -> Codec:
    """The module of a wire.

    Raises:
        KeyError: there is no such wire.
    """
    if wire not in WIRES:
        raise KeyError(f"the lab speaks no wire {wire!r}; it speaks {', '.join(WIRES)}")
    return cast("Codec", import_module(f"zc_notebooks.lab.wires.{wire}"))
