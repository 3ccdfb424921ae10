"""The public classes: async, a stream, sync."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.sync import shared
from zc_notebooks.transport.address import Address, address
from zc_notebooks.transport.answer import MAX_ERROR_BODY, Answer
from zc_notebooks.transport.coding import Inflater, inflater
from zc_notebooks.transport.connection import Connection
from zc_notebooks.transport.pool import Pool, descriptors
from zc_notebooks.transport.request import render

MAX_BODY: Final = 8 * 2**20
"""Bytes of a good answer (2xx), decoded. A larger one is a ``too_large`` failure."""
MAX_STREAM: Final = 256 * 2**20
"""Bytes of one stream, decoded."""
MAX_CONNECTIONS: Final = 512
"""Open connections per event loop; more requests wait for their turn, which no time limit counts."""
KEEPALIVE_S: Final = 30.0
"""How long an idle connection is kept."""

_OK: Final = range(200, 300)


class AsyncTransport:
    """Sends requests. May be used from several event loops: each gets its own connections.

    Args:
        max_connections: Open connections per event loop; lowered where the process may not open so many files.
        keepalive_s: Seconds an idle connection is kept.
        tls: Whom to trust instead of the system's certificates.
    """

    def __init__(
        self,
        *,
        max_connections: int = MAX_CONNECTIONS,
        keepalive_s: float = KEEPALIVE_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._max_connections = max(min(max_connections, descriptors() // 2), 1)
        self._keepalive_s = keepalive_s
        self._tls = tls
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()

    async def send(
        self,
        request: HttpRequest,
        *,
        connect_s: float,
        read_s: float,
        max_body: int = MAX_BODY,
        allow_plain_http: bool = False,
    ) -> HttpResponse:
        """Sends ``request`` once and reads the whole answer, whatever its status.

        Args:
            request: What to send.
            connect_s: Limit for name look-up, proxy, TCP and TLS.
            read_s: Limit from the request's first byte to the last one of the body.
            max_body: Bytes of a 2xx body, decoded. Other answers are cut at 64 KiB and say so (``cut``).
            allow_plain_http: Permits http:// to another machine.

        Raises:
            TransportFailure: No whole answer; its ``sent`` says whether the server may have seen the request.
        """
        place = address(request.url, allow_plain_http=allow_plain_http)
        data = render(request, place, stream=False)
        pool = await self._pool()
        async with pool.slots:
            answer = Answer(request.method, max_body)
            connection = await _begin(pool, place, data, answer, connect_s)
            with _naming(place, f"no complete answer within {read_s:g} s"):
                try:
                    async with asyncio.timeout(read_s):
                        await connection.settled()
                finally:
                    pool.put_away(place, connection)
                return _whole(answer, max_body)

    @asynccontextmanager
    async def stream(
        self,
        request: HttpRequest,
        *,
        connect_s: float,
        first_byte_s: float,
        idle_s: float | None = None,
        allow_plain_http: bool = False,
        sent: Callable[[], object] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """Sends ``request`` once; the answer is open inside the ``async with`` and closed after it, read or not.

        Args:
            request: What to send.
            connect_s: As for :meth:`send`.
            first_byte_s: Limit from the request's first byte to the response's headers.
            idle_s: Limit between two received pieces of the body; ``None``: the caller keeps the time.
            allow_plain_http: As for :meth:`send`.
            sent: Called when the request was written, after the wait for a free connection.

        Raises:
            TransportFailure: As for :meth:`send`, here and while reading.
        """
        place = address(request.url, allow_plain_http=allow_plain_http)
        data = render(request, place, stream=True)
        pool = await self._pool()
        async with pool.slots:
            answer = Answer(request.method)
            connection = await _begin(pool, place, data, answer, connect_s)
            try:
                if sent is not None:
                    sent()
                with _naming(place, f"no response headers within {first_byte_s:g} s"):
                    async with asyncio.timeout(first_byte_s):
                        await connection.head()
                    response = StreamedResponse(connection, answer, place, idle_s)
                yield response
            finally:
                pool.put_away(place, connection)

    async def aclose(self) -> None:
        """Closes the connections of the running loop. Those of loops that have ended were closed with them."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    async def _pool(self) -> Pool:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for ended in [other for other in self._pools if other.is_closed()]:
                del self._pools[ended]
            pool = self._pools[loop] = Pool(self._max_connections, self._keepalive_s, self._tls)
            await pool.start()
        return pool


async def _begin(pool: Pool, place: Address, data: bytes, answer: Answer, connect_s: float) -> Connection:
    """Writes the request on a kept connection or a new one."""
    while (kept := await pool.idle(place)) is not None:
        if kept.start(data, answer):
            return kept
    with _naming(place, f"no connection within {connect_s:g} s", sent=False):
        async with asyncio.timeout(connect_s):
            connection = await pool.connect(place)
        if connection.start(data, answer):
            return connection
        connection.abort()
        raise TransportFailure("the connection closed before the request was written", kind="write", sent=False)


@contextmanager
def _naming(place: Address, late: str = "", *, sent: bool = True) -> Iterator[None]:
    """A failure says where it happened; a limit that struck becomes one. No cause is kept: it could show the key."""
    try:
        yield
    except TimeoutError:
        raise TransportFailure(f"{place.name}: {late}", kind="timeout", sent=sent) from None
    except TransportFailure as failure:
        raise TransportFailure(f"{place.name}: {failure}", kind=failure.kind, sent=failure.sent) from None


class StreamedResponse:
    """An answer whose body has not been read. Header names are lower case."""

    def __init__(self, connection: Connection, answer: Answer, place: Address, idle_s: float | None) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self._connection = connection
        self._place = place
        self._idle_s = idle_s
        self._opener = inflater(answer.headers)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body's decoded bytes as they arrive. Ends at a clean end of the body; raises when it was cut off."""
        total = 0
        while chunk := await self._next():
            for piece in (chunk,) if self._opener is None else self._opened(self._opener, chunk):
                total += len(piece)
                yield piece
            if total > MAX_STREAM:
                raise TransportFailure(f"{self._place.name}: {_too_large(MAX_STREAM)}", kind="too_large", sent=True)
        if self._opener is not None:
            with _naming(self._place):
                self._opener.close()

    async def read_body(self, limit: int = MAX_ERROR_BODY) -> bytes:
        """The body, cut at ``limit`` bytes; the rest is not read."""
        parts, size = [], 0
        async with aclosing(self.chunks()) as chunks:
            async for piece in chunks:
                parts.append(piece)
                size += len(piece)
                if size > limit:
                    self._connection.abort()
                    break
        return b"".join(parts)[:limit]

    async def _next(self) -> bytes:
        with _naming(self._place, f"nothing arrived for {self._idle_s or 0:g} s"):
            if self._idle_s is None:
                return await self._connection.more()
            async with asyncio.timeout(self._idle_s):
                return await self._connection.more()

    def _opened(self, opener: Inflater, chunk: bytes) -> Iterator[bytes]:
        with _naming(self._place):
            yield from opener.pieces(chunk)


class SyncTransport:
    """The same for synchronous code: one private loop thread serves every caller of the process."""

    def __init__(self, **options: Any) -> None:
        self._inner = AsyncTransport(**options)

    def send(self, request: HttpRequest, **limits: Any) -> HttpResponse:
        """See :meth:`AsyncTransport.send`. Ctrl-C closes the connection and is raised here."""
        return shared.run(self._inner.send(request, **limits))

    def close(self) -> None:
        """Closes the connections."""
        shared.run(self._inner.aclose())


def _whole(answer: Answer, max_body: int) -> HttpResponse:
    """The response, decoded and cut; a good one is never cut."""
    good = answer.status in _OK
    limit = max_body if good else MAX_ERROR_BODY
    body = _decoded(answer, limit)
    cut = answer.over or len(body) > limit
    if good and cut:
        raise TransportFailure(_too_large(limit), kind="too_large", sent=True)
    return HttpResponse(status=answer.status, headers=answer.headers, body=body[:limit], cut=cut)


def _decoded(answer: Answer, limit: int) -> bytes:
    """The whole body, or a little more than ``limit`` of it."""
    body = b"".join(answer.parts)
    opener = inflater(answer.headers)
    if opener is None:
        return body
    parts, size = [], 0
    for piece in opener.pieces(body):
        parts.append(piece)
        size += len(piece)
        if size > limit:
            return b"".join(parts)
    if answer.complete:
        opener.close()
    return b"".join(parts)


def _too_large(limit: int) -> str:
    return f"the answer is larger than {limit:,} bytes"
