"""One response as its bytes arrive: status, headers, framed body. No socket, no clock; the parser is llhttp."""

from __future__ import annotations

from typing import Final

import httptools

from zc_notebooks.errors import TransportFailure

MAX_HEAD: Final = 64 * 2**10
"""Bytes of status line and headers together; as many may pass inside a body without a byte of it (chunk extensions)."""
MAX_ERROR_BODY: Final = 64 * 2**10
"""Bytes kept of an answer that is not 2xx."""

_OK: Final = range(200, 300)
_BODILESS: Final = frozenset({"HEAD", "CONNECT"})


class Answer:
    """Reads one response. Feed it, then look at its state; it never raises.

    Args:
        method: Of the request: after some there is no body.
        most: Bytes of a 2xx body after which :attr:`over` is set; ``None``: a stream, without a limit of its own.
    """

    __slots__ = (
        "_fruitless",
        "_most",
        "_no_body",
        "_parser",
        "_to_the_end",
        "complete",
        "failure",
        "head",
        "headers",
        "keep",
        "over",
        "parts",
        "size",
        "status",
    )

    def __init__(self, method: str, most: int | None = None) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        """Lower-case names; repeated headers are joined; bytes that are no UTF-8 are replaced."""
        self.parts: list[bytes] = []
        """Body not yet taken, still compressed where it came so."""
        self.size = 0
        """Bytes of the body so far."""
        self.head = False
        """Status and headers are complete."""
        self.complete = False
        self.over = False
        """The body is larger than it may be."""
        self.keep = False
        """The connection can be used again."""
        self.failure: TransportFailure | None = None
        self._most = most
        self._no_body = method in _BODILESS
        self._to_the_end = False
        self._fruitless = 0
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    @property
    def bounded(self) -> bool:
        """A whole answer is wanted, not a stream."""
        return self._most is not None

    @property
    def settled(self) -> bool:
        """Nothing that could still arrive would change anything."""
        return self.complete or self.over or self.failure is not None

    def feed(self, data: memoryview) -> None:
        """The next bytes from the connection."""
        parser, before = self._parser, self.size
        if parser is None:
            self.keep = False  # nobody asked for more
            return
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._broken("the server wants to speak another protocol")
        except httptools.HttpParserError as error:
            self._broken(f"the answer is not HTTP: {error}")
        self._fruitless = 0 if self.size > before else self._fruitless + len(data)
        if self._fruitless > MAX_HEAD and not self.complete:
            self._broken(f"more than {MAX_HEAD:,} bytes of headers")
        if self.settled:
            self._parser = None  # it holds this object: no cycle is left behind

    def end(self, reason: str = "") -> None:
        """The connection has ended, orderly unless there is a ``reason``."""
        self.keep = False
        if self.settled:
            return
        if self.head and self._to_the_end and not reason:
            self.complete = True
            return
        words = "the connection ended before the body was complete"
        if not self.head:
            words = "the server closed the connection without an answer"
        self.failure = TransportFailure(f"{words} ({reason})" if reason else words, kind="read", sent=True)

    def _broken(self, words: str) -> None:
        self.keep = False
        if not self.settled:
            self.failure = TransportFailure(words, kind="protocol", sent=True)

    # -- called by the parser -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A response begins: after a 1xx the real one, after a complete one something nobody asked for."""
        self.keep = False
        if not self.complete:
            self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or a trailer, which is dropped."""
        if self.head:
            return
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        known = self.headers.get(key)
        self.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """The head is whole; that of an interim response (1xx) does not count."""
        status = self._parser.get_status_code() if self._parser else 0
        if self.head or status < _OK.start:
            return
        self.head, self.status = True, status
        if self._most is not None and status not in _OK:
            self._most = MAX_ERROR_BODY
        coding = self.headers.get("transfer-encoding", "")
        self._to_the_end = "content-length" not in self.headers and not coding.lower().endswith("chunked")
        self.complete = self._no_body

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if self.settled:
            return
        self.parts.append(body)
        self.size += len(body)
        self.over = self._most is not None and self.size > self._most

    def on_message_complete(self) -> None:
        """The end, by its framing."""
        if self.head and not self.settled:
            self.complete = True
            self.keep = self._parser is not None and self._parser.should_keep_alive()
