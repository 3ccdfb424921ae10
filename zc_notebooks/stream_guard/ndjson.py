"""Framing of newline-delimited JSON that arrives in pieces (Ollama): one line out as soon as its end was seen."""

from __future__ import annotations

from typing import Final

MAX_LINE: Final = 8 * 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


class NdjsonFraming:
    """Cuts bytes into lines that are not blank, without their ends. Linear time, the memory of one line."""

    __slots__ = ("_first", "_held", "_limit", "overflow")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._held = bytearray()
        self._first = True
        self.overflow = False
        """A line is larger than the limit; everything after is ignored."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines completed by ``chunk``, in order."""
        if self.overflow:
            return []
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes] = []
        for piece in ended:
            if not self._keep(piece):
                return lines
            lines += self.finish()
        self._keep(rest)
        return lines

    def finish(self) -> list[bytes]:
        """The last line, when the input ended without a line end."""
        line = bytes(self._held)
        self._held.clear()
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        line = line.strip()
        return [line] if line else []

    def _keep(self, piece: bytes) -> bool:
        self.overflow = len(self._held) + len(piece) > self._limit
        if self.overflow:
            self._held.clear()
        else:
            self._held += piece
        return not self.overflow
