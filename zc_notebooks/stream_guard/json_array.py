"""Framing of a JSON array that arrives in pieces (Gemini without ``alt=sse``): one element out as soon as it is whole.

Elements are found by brace depth outside strings, over bytes, in linear time and with the memory of one element.
A bare object without the array around it (an error body) is framed the same way.
"""

from __future__ import annotations

import re
from typing import Final

MAX_ELEMENT: Final = 8 * 1024 * 1024
"""Bytes of one element; a larger one is refused, not swallowed."""

_STRINGS: Final = rb'"(?:[^"\\]++|\\.)*+"'
_INSIDE: Final = re.compile(rb'(?:[^"{}]++|' + _STRINGS + rb")*+", re.DOTALL)
_BETWEEN: Final = re.compile(rb'(?:[^"{}\[\]]++|' + _STRINGS + rb")*+", re.DOTALL)
"""Everything up to the next mark that counts, or to a string that the chunk does not end."""
_STRING_MARK: Final = re.compile(rb'["\\]')
_QUOTE, _OPEN, _CLOSE, _OPEN_BRACKET = b'"{}['


class JsonArrayFraming:
    """Cuts ``[{…},{…}]`` into its objects. Never raises; what it cannot use shows in its attributes."""

    __slots__ = ("_brackets", "_depth", "_element", "_escaped", "_in_string", "_limit", "closed", "overflow")

    def __init__(self, limit: int = MAX_ELEMENT) -> None:
        self._limit = limit
        self._element = bytearray()
        self._depth = 0
        self._brackets = 0
        self._in_string = False
        self._escaped = False
        self.closed = False
        """The array's last bracket was seen."""
        self.overflow = False
        """An element is larger than the limit; everything after is ignored."""

    @property
    def pending(self) -> bool:
        """Whether the input so far ends inside an element."""
        return self._depth > 0 or self.overflow

    def feed(self, chunk: bytes) -> list[bytes]:
        """The elements completed by ``chunk``, in order."""
        done: list[bytes] = []
        start = place = 0
        while place < len(chunk) and not self.overflow:
            if self._in_string:
                place = self._skip_string(chunk, place)
                continue
            run = _INSIDE if self._depth else _BETWEEN
            match = run.match(chunk, place)
            if match is None or match.end() == len(chunk):
                break
            place = match.end() + 1
            mark = chunk[place - 1]
            if mark == _OPEN and self._depth == 0:
                start = place - 1
            elif mark == _CLOSE and self._depth == 1:
                self._keep(chunk, start, place)
                done += self._take()
            self._count(mark)
        if self._depth > 0 and not self.overflow:
            self._keep(chunk, start, len(chunk))
        return done

    def _count(self, mark: int) -> None:
        if mark == _QUOTE:
            self._in_string = True
        elif mark == _OPEN:
            self._depth += 1
        elif mark == _CLOSE:
            self._depth = max(0, self._depth - 1)
        elif self._depth == 0:
            self._brackets += 1 if mark == _OPEN_BRACKET else -1
            self.closed = self.closed or self._brackets <= 0

    def _take(self) -> list[bytes]:
        element = bytes(self._element)
        self._element.clear()
        return [element] if element else []

    def _keep(self, chunk: bytes, start: int, stop: int) -> None:
        if len(self._element) + stop - start > self._limit:
            self.overflow = True
            self._element.clear()
        else:
            self._element += chunk[start:stop]

    def _skip_string(self, chunk: bytes, place: int) -> int:
        """The place after the string that ``place`` is inside of, or the end of the chunk."""
        if self._escaped:
            self._escaped = False
            return place + 1
        match = _STRING_MARK.search(chunk, place)
        if match is None:
            return len(chunk)
        if chunk[match.start()] == _QUOTE:
            self._in_string = False
        else:
            self._escaped = True
        return match.end()
