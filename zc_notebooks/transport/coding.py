"""Compressed bodies, opened piece by piece so that a small one cannot grow without bound."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from zc_notebooks.errors import TransportFailure

ACCEPTED: Final = "gzip, deflate"
"""What a request says it can open."""
PIECE: Final = 64 * 2**10
"""Most bytes that come out at once."""

_ANY_HEADER: Final = zlib.MAX_WBITS | 32
_NO_HEADER: Final = -zlib.MAX_WBITS
_HEADER_BYTES: Final = 2


class Inflater:
    """Opens gzip and deflate, with or without the header that some servers forget; several members in a row too."""

    def __init__(self) -> None:
        self._held = b""
        self._open: zlib._Decompress | None = None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What ``data`` opens to, at most :data:`PIECE` bytes at a time.

        Raises:
            TransportFailure: ``protocol``: it is not what its header says.
        """
        data, self._held = self._held + data, b""
        while data:
            if self._open is None:
                if len(data) < _HEADER_BYTES:
                    self._held = data
                    return
                self._open = zlib.decompressobj(_ANY_HEADER if _has_header(data) else _NO_HEADER)
            try:
                out = self._open.decompress(data, PIECE)
            except zlib.error as error:
                raise _unreadable(str(error)) from None
            if out:
                yield out
            data = self._open.unconsumed_tail
            if self._open.eof and (more := self._open.unused_data.lstrip(b"\0")):
                data, self._open = more, None

    def close(self) -> None:
        """The body has ended.

        Raises:
            TransportFailure: ``read``: the compressed data has not; part of the body would be missing in silence.
        """
        if self._held or (self._open is not None and not self._open.eof):
            raise TransportFailure("the compressed body ended early", kind="read", sent=True)


def _has_header(data: bytes) -> bool:
    """The magic number of gzip, or the check sum of a zlib header."""
    return data.startswith(b"\x1f\x8b") or (data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0)


def inflater(headers: dict[str, str]) -> Inflater | None:
    """How to open the body, or ``None`` when it is plain.

    Raises:
        TransportFailure: ``protocol``: it came in a coding nobody asked for.
    """
    coding = headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise _unreadable(f"its coding is {coding[:40]}, which was not asked for")
    return Inflater()


def _unreadable(why: str) -> TransportFailure:
    return TransportFailure(f"the body cannot be read: {why}", kind="protocol", sent=True)
