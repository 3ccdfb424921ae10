"""Server-sent events out of bytes that arrive in pieces (spec wire 3.0), framed only, in linear time.

What comes first decides: ``{`` or ``[`` is bare JSON under a stream's content-type (each object is one event),
``<`` or ``"`` is not a stream at all, everything else is SSE. Bare JSON between its events (an error behind comments
or behind half an answer) is an event as well. Nothing is decoded here, so a character split over two
chunks, invalid UTF-8 and NUL bytes do no harm.
"""

from __future__ import annotations

import re
from typing import Final

from zc_notebooks.stream_guard.json_array import JsonArrayFraming

MAX_EVENT: Final = 8 * 1024 * 1024
"""Bytes of one event (so also of one line); a larger one is refused, not swallowed."""
MAX_FOREIGN: Final = 16 * 1024
"""Bytes kept of a body that is no stream."""

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark that a body may begin with."""
_LF: Final = 10
_BEFORE: Final = re.compile(rb"\A(?:\xef\xbb\xbf|[ \t\r\n])++")
_JSON_STARTS: Final = b"{["
_FOREIGN_STARTS: Final = b'<"'

Event = tuple[bytes, bytes]
"""(event name or ``b""``, data, perhaps with the space before it).

The field ``error:`` of old llama.cpp servers is an event named ``error``.
"""


class SseFraming:
    """Cuts bytes into events. Never raises; holds at most one unfinished event."""

    __slots__ = ("_bare", "_cr", "_held", "_limit", "_undecided", "foreign", "overflow")

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._held = bytearray()
        self._undecided = True
        self._bare: JsonArrayFraming | None = None
        self._cr = False
        self.overflow = False
        """An event is larger than the limit; everything after is ignored."""
        self.foreign: bytearray | None = None
        """The beginning of a body that is no event stream and no JSON."""

    @property
    def pending(self) -> bool:
        """Bare JSON that has begun an object and not ended it."""
        return self._bare is not None and self._bare.pending

    def feed(self, chunk: bytes) -> list[Event]:
        """The events completed by ``chunk``, in order."""
        if self._undecided:
            chunk = self._decide(chunk)
        if not chunk or self.overflow:
            return []
        if self._bare is not None:
            return self._feed_bare(self._bare, chunk)
        if self.foreign is not None:
            self.foreign += chunk[: MAX_FOREIGN - len(self.foreign)]
            return []
        if self._cr or b"\r" in chunk:
            chunk = self._plain_line_ends(chunk)
        return self._blocks(chunk) if chunk else []

    def finish(self) -> list[Event]:
        """The event that the end of the input completed, if one was pending."""
        block = bytes(self._held)
        self._held.clear()
        event = parse_block(block) if block and not self._undecided else None
        return [] if event is None else [event]

    def _blocks(self, chunk: bytes) -> list[Event]:
        held = self._held
        if held:
            if b"\n\n" not in chunk and not (held[-1] == _LF and chunk[0] == _LF):
                self._keep(chunk)
                return []
            chunk = bytes(held) + chunk
            held.clear()
        if chunk.startswith(b"data:") and chunk.endswith(b"\n\n") and chunk.find(b"\n") == len(chunk) - 2:
            self.overflow = len(chunk) - 2 > self._limit
            return [] if self.overflow else [(b"", chunk[5:-2])]
        # The usual events begin with "data:": cutting there as well costs a third of cutting at blank lines alone.
        first, *others = chunk.split(b"\n\ndata:")
        if not others:
            return self._cut(first, [], last=True)
        events: list[Event] = []
        self._cut(first, events)
        last = others.pop()
        for data in others:
            if b"\n" not in data and len(data) + 5 <= self._limit:
                events.append((b"", data))
            else:
                self._cut(b"data:" + data, events)
        return self._cut(b"data:" + last, events, last=True)

    def _cut(self, piece: bytes, events: list[Event], *, last: bool = False) -> list[Event]:
        """Adds the events of ``piece``; what stands after its last blank line is held when it is the ``last``."""
        blocks = piece.split(b"\n\n")
        rest = blocks.pop() if last else b""
        for block in blocks:
            if self.overflow or len(block) > self._limit:
                self.overflow = True
                return events
            event = parse_block(block)
            if event is not None:
                events.append(event)
        if rest:
            self._keep(rest)
        return events

    def _keep(self, piece: bytes) -> None:
        held = self._held
        if len(held) + len(piece) > self._limit:
            self.overflow = True
            held.clear()
            return
        searched = len(held)
        held += piece
        while held.startswith(b":") and (end := held.find(b"\n", searched)) >= 0:
            del held[: end + 1]
            searched = 0

    def _plain_line_ends(self, chunk: bytes) -> bytes:
        """``chunk`` with LF for CRLF and bare CR; a CRLF split over two chunks is one line end."""
        if self._cr and chunk[0] == _LF:
            chunk = chunk[1:]
        self._cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _decide(self, chunk: bytes) -> bytes:
        """Skips a BOM and blank space, then looks at the first byte; returns what is left to frame."""
        start = without_bom(bytes(self._held) + chunk)
        self._held.clear()
        if BOM.startswith(start):
            self._held += start
            return b""
        self._undecided = False
        if start[0] in _JSON_STARTS:
            self._bare = JsonArrayFraming(self._limit)
        elif start[0] in _FOREIGN_STARTS:
            self.foreign = bytearray()
        return start

    def _feed_bare(self, bare: JsonArrayFraming, chunk: bytes) -> list[Event]:
        events = [(b"", element) for element in bare.feed(chunk)]
        self.overflow = bare.overflow
        return events


def without_bom(start: bytes) -> bytes:
    """The beginning of a body without byte order marks and blank space."""
    return _BEFORE.sub(b"", start, count=1)


def parse_block(block: bytes) -> Event | None:
    """One event from its lines, or ``None`` for comments alone or an event without data."""
    if block.startswith(b"data:"):
        if b"\n" not in block:
            return b"", block[5:]
    elif block.startswith(b"event:"):
        head, found, value = block.partition(b"\ndata:")
        if found and b"\n" not in value and b"\n" not in head:
            return head[6:].strip(), value
    name = b""
    data: list[bytes] = []
    lines = [line for line in block.split(b"\n") if line and not line.startswith(b":")]
    if lines and lines[0].startswith(b"{"):
        return name, b"\n".join(lines)
    for line in lines:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.strip()
        elif field == b"error":
            name = b"error"
            data.append(value)
    return (name, b"\n".join(data)) if data else None
