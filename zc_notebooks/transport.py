"""One HTTP request, sent once: with its parts ``transport_*`` the only door to the network.

It stands on aiohttp: under 16 tasks and more httpx's pool collapses, and on a single call it costs more than twice as
much (figures and method in ``tests/perf/README.md``). What holds for every request:

* HTTP/1.1 keep-alive, one pool per event loop. A pool closes with its loop, or with :meth:`AsyncTransport.aclose`.
* Nothing is sent twice. An idle connection is looked at before it is used again; once a POST has been written, a lost
  connection is a failure with ``sent=True``, because the provider may have done the work and billed it. (A GET, which
  costs nothing, aiohttp repeats once.)
* Redirects are not followed: a 3xx is an answer like any other, and no key travels to another host.
* TLS is verified. Plain http goes to this machine only, unless the caller allows it.
* Whatever goes wrong is a :class:`~zc_notebooks.errors.TransportFailure`; only a cancel passes through.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

import aiohttp

from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.sync import shared
from zc_notebooks.transport_address import Address, address, check_headers, trusted
from zc_notebooks.transport_failure import failure
from zc_notebooks.transport_pool import Exchange, Pool, descriptors

MAX_BODY: Final = 8 * 2**20
"""Bytes of a good answer (2xx), decoded. A larger one is a ``too_large`` failure."""
MAX_ERROR_BODY: Final = 64 * 2**10
"""Bytes kept of any other answer. The rest is not read; the connection is closed."""
MAX_STREAM: Final = 256 * 2**20
"""Bytes of one stream, decoded."""
MAX_CONNECTIONS: Final = 512
"""Requests in flight per event loop; more wait for their turn, which no time limit counts."""
KEEPALIVE_S: Final = 30.0
"""How long an idle connection is kept."""

_OK: Final = range(200, 300)


class AsyncTransport:
    """Sends requests. May be used from several event loops: each gets its own connections.

    Args:
        max_connections: Requests in flight per event loop; lowered where the process may not open so many files.
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
        self._max_connections = min(max_connections, descriptors() // 2)
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
            read_s: Limit from the connection's readiness to the last byte of the body.
            max_body: Bytes of a 2xx body, decoded. Other answers are cut at 64 KiB and say so (``cut``).
            allow_plain_http: Permits http:// to another machine.

        Raises:
            TransportFailure: No whole answer; its ``sent`` says whether the server may have seen the request.
        """
        place = self._checked(request, allow_plain_http)
        pool = await self._pool()
        async with pool.slots:
            exchange = Exchange(connect_s, read_s, "complete answer")
            try:
                async with exchange.timer:
                    response = await pool.open(request, place, exchange)
                    try:
                        return await _whole(response, max_body)
                    finally:
                        response.close()
            except Exception as error:  # noqa: BLE001 (one kind of failure leaves, whatever the library raised)
                raise failure(error, place, exchange.ran_out, sent=exchange.sent) from None

    @asynccontextmanager
    async def stream(
        self,
        request: HttpRequest,
        *,
        connect_s: float,
        first_byte_s: float,
        idle_s: float | None = None,
        allow_plain_http: bool = False,
    ) -> AsyncIterator[StreamedResponse]:
        """Sends ``request`` once; the answer is open inside the ``async with`` and closed after it, read or not.

        Args:
            request: What to send.
            connect_s: As for :meth:`send`.
            first_byte_s: Limit from the connection's readiness to the response's headers.
            idle_s: Limit between two received pieces of the body; ``None``: the caller keeps the time.
            allow_plain_http: As for :meth:`send`.

        Raises:
            TransportFailure: As for :meth:`send`, here and while reading.
        """
        place = self._checked(request, allow_plain_http)
        pool = await self._pool()
        async with pool.slots:
            exchange = Exchange(connect_s, first_byte_s, "response headers")
            try:
                async with exchange.timer:  # a compressing proxy would hold events back: ask it not to
                    response = await pool.open(request, place, exchange, **{"Accept-Encoding": "identity"})
            except Exception as error:  # noqa: BLE001 (as in send)
                raise failure(error, place, exchange.ran_out, sent=exchange.sent) from None
            try:
                yield StreamedResponse(response, place, idle_s)
            finally:
                response.close()

    async def aclose(self) -> None:
        """Closes the connections of the running loop. Those of loops that have ended were closed with them."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    @staticmethod
    def _checked(request: HttpRequest, allow_plain_http: bool) -> Address:
        check_headers(request.headers)
        return address(request.url, allow_plain_http=allow_plain_http)

    async def _pool(self) -> Pool:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for ended in [other for other in self._pools if other.is_closed()]:
                del self._pools[ended]
            pool = self._pools[loop] = Pool(self._max_connections, self._keepalive_s, self._tls or trusted())
            await anext(pool.keeper)
        return pool


class StreamedResponse:
    """An answer whose body has not been read. Header names are lower case."""

    def __init__(self, response: aiohttp.ClientResponse, place: Address, idle_s: float | None) -> None:
        self.status: int = response.status
        self.headers = _headers(response)
        self._response = response
        self._place = place
        self._idle_s = idle_s

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body's decoded bytes as they arrive. Ends at a clean end of the body; raises when it was cut off."""
        total = 0
        while chunk := await self._next():
            total += len(chunk)
            if total > MAX_STREAM:
                raise _too_large(MAX_STREAM)
            yield chunk

    async def read_body(self, limit: int = MAX_ERROR_BODY) -> bytes:
        """The body, cut at ``limit`` bytes; the rest is not read."""
        parts, size = [], 0
        while size <= limit and (chunk := await self._next()):
            parts.append(chunk)
            size += len(chunk)
        if size > limit:
            self._response.close()
        return b"".join(parts)[:limit]

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(self._idle_s):
                return await self._response.content.readany()
        except Exception as error:  # noqa: BLE001 (as in send)
            raise failure(error, self._place, self._ran_out, sent=True) from None

    def _ran_out(self) -> str:
        return f"nothing arrived for {self._idle_s or 0:g} s"


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


async def _whole(response: aiohttp.ClientResponse, max_body: int) -> HttpResponse:
    good = response.status in _OK
    limit = max_body if good else MAX_ERROR_BODY
    parts, size = [], 0
    while chunk := await response.content.readany():
        parts.append(chunk)
        size += len(chunk)
        if size > limit:
            break
    if good and size > limit:
        raise _too_large(limit)
    body = b"".join(parts)[:limit]
    return HttpResponse(status=response.status, headers=_headers(response), body=body, cut=size > limit)


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    """Names in lower case; repeated ones joined; bytes that are no UTF-8 replaced."""
    found: dict[str, str] = {}
    for raw_name, raw_value in response.raw_headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("utf-8", "replace")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _too_large(limit: int) -> TransportFailure:
    return TransportFailure(f"the answer is larger than {limit:,} bytes", kind="too_large", sent=True)
