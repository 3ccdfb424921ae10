"""Framing of newline-delimited JSON that arrives in pieces (Ollama): one line out as soon as its end was seen."""

from __future__ import annotations

from typing import Final

from zc_notebooks.stream_guard.sse import MAX_EVENT, Event

_BOM: Final = b"\xef\xbb\xbf"


class NdjsonFraming:
    """Cuts bytes into lines that are not blank, without their ends. Linear time, the memory of one line."""

    __slots__ = ("_first", "_held", "_limit", "foreign", "overflow")

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._held = bytearray()
        self._first = True
        self.overflow = False
        """A line is larger than the limit; everything after is ignored."""
        self.foreign: bytearray | None = None
        """Always ``None``: what is no JSON shows when its line is decoded."""

    @property
    def pending(self) -> bool:
        """Always false: an unfinished line comes out of :meth:`finish` as it is."""
        return False

    def feed(self, chunk: bytes) -> list[Event]:
        """The lines completed by ``chunk``, in order, as events without a name."""
        if self.overflow:
            return []
        *ended, rest = chunk.split(b"\n")
        lines: list[Event] = []
        for piece in ended:
            if not self._keep(piece):
                return lines
            lines += self.finish()
        self._keep(rest)
        return lines

    def finish(self) -> list[Event]:
        """The last line, when the input ended without a line end."""
        line = bytes(self._held)
        self._held.clear()
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        line = line.strip()
        return [(b"", line)] if line else []

    def _keep(self, piece: bytes) -> bool:
        self.overflow = len(self._held) + len(piece) > self._limit
        if self.overflow:
            self._held.clear()
        else:
            self._held += piece
        return not self.overflow
