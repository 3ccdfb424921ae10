"""Framing of newline-delimited JSON that arrives in pieces (Ollama): one line out as soon as its end was seen.

A first line that is no whole object is something else that a server in between sent: JSON over several lines, an
array, server-sent events, a page. :class:`~zc_notebooks.stream_guard.sse.SseFraming` reads that.
"""

from __future__ import annotations

from zc_notebooks.stream_guard.sse import BOM, MAX_EVENT, Event, SseFraming, without_bom


class NdjsonFraming:
    """Cuts bytes into lines that are not blank, without their ends. Linear time, the memory of one line."""

    __slots__ = ("_held", "_limit", "_other", "_undecided", "overflow")

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._held = bytearray()
        self._undecided = True
        self._other: SseFraming | None = None
        self.overflow = False
        """A line is larger than the limit; everything after is ignored."""

    @property
    def foreign(self) -> bytearray | None:
        """The beginning of a body that is neither JSON nor a stream."""
        return None if self._other is None else self._other.foreign

    @property
    def pending(self) -> bool:
        """Whether JSON over several lines has begun and not ended; an unfinished line comes out of :meth:`finish`."""
        return self._other is not None and self._other.pending

    def feed(self, chunk: bytes) -> list[Event]:
        """The lines completed by ``chunk``, in order, as events without a name."""
        if self.overflow:
            return []
        if self._undecided:
            chunk = self._decide(chunk)
        if self._other is not None:
            events = self._other.feed(chunk)
            self.overflow = self._other.overflow
            return events
        *ended, rest = chunk.split(b"\n")
        lines: list[Event] = []
        for piece in ended:
            if not self._keep(piece):
                return lines
            lines += self._line()
        self._keep(rest)
        return lines

    def finish(self) -> list[Event]:
        """The last line, when the input ended without a line end; objects that no line end parts."""
        if self._other is not None:
            return self._other.finish()
        if not self._undecided:
            return self._line()
        self._other = SseFraming(self._limit)
        events = self._other.feed(bytes(self._held))
        self._held.clear()
        return events + self._other.finish()

    def _decide(self, chunk: bytes) -> bytes:
        """Skips a BOM and blank space; what is left to frame once the first byte, or the first line, has told."""
        if self._held.startswith(b"{") and b"\n" not in chunk:
            self._keep(chunk)
            return b""
        start = without_bom(bytes(self._held) + chunk)
        line, ended, _ = start.partition(b"\n")
        if start.startswith(b"{") and ended:
            self._undecided = False
            if not line.rstrip().endswith(b"}"):
                self._other = SseFraming(self._limit)
        elif start and not start.startswith(b"{") and not BOM.startswith(start):
            self._undecided = False
            self._other = SseFraming(self._limit)
        self._held.clear()
        if not self._undecided:
            return start
        self._keep(start)
        return b""

    def _line(self) -> list[Event]:
        line = bytes(self._held).strip()
        self._held.clear()
        return [(b"", line)] if line else []

    def _keep(self, piece: bytes) -> bool:
        self.overflow = len(self._held) + len(piece) > self._limit
        if self.overflow:
            self._held.clear()
        else:
            self._held += piece
        return not self.overflow
