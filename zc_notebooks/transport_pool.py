"""The connections of one event loop, over aiohttp, and the clock of one request on them."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakSet, finalize

import aiohttp

from zc_notebooks import __version__
from zc_notebooks.records import HttpRequest
from zc_notebooks.transport_address import Address, proxy_for

MAX_HEADER: Final = 32 * 2**10
"""Bytes of one header line."""

_RECV_BYTES: Final = 16 * 2**10
"""One read from a plain socket. With the event loop's 256 KiB the first event of a burst comes three times later."""


class Exchange:
    """The clock of one request: first for the connection, then for the answer. Before the switch nothing was sent."""

    __slots__ = ("answer_s", "connect_s", "sent", "timer", "what")

    def __init__(self, connect_s: float, answer_s: float, what: str) -> None:
        self.connect_s = connect_s
        self.answer_s = answer_s
        self.what = what
        self.sent = False
        self.timer = asyncio.timeout(connect_s)

    def connected(self) -> None:
        """From here on the request may have reached the server."""
        self.sent = True
        self.timer.reschedule(asyncio.get_running_loop().time() + self.answer_s)

    def ran_out(self) -> str:
        """What did not happen in time."""
        return (
            f"no {self.what} within {self.answer_s:g} s" if self.sent else f"no connection within {self.connect_s:g} s"
        )


_exchange: ContextVar[Exchange] = ContextVar("_exchange")


class _Socket(socket.socket):
    """Reads in small pieces; see ``_RECV_BYTES``. Under TLS the event loop's own buffer applies."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        return super().recv(min(size, _RECV_BYTES), flags)


def _socket(info: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = info
    return _Socket(family, kind, protocol)


class _Connector(aiohttp.TCPConnector):
    """Tells the exchange when it has its connection, and never hands out one that the server has closed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._used: WeakSet[asyncio.Transport] = WeakSet()

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        """See the base class."""
        while True:
            connection = await super().connect(*args, **kwargs)
            wire = connection.transport
            if wire is not None and wire in self._used and await _was_closed(connection, wire):
                connection.close()
                continue
            if wire is not None:
                self._used.add(wire)
            _exchange.get().connected()
            return connection

    def abandon(self) -> None:
        """Closes what is open when nobody can wait for it any more (garbage collection, end of the process)."""
        self._close(abort_ssl=True)


async def _was_closed(connection: Any, wire: asyncio.Transport) -> bool:
    """Whether an idle connection's end has arrived without the event loop having looked yet."""
    sock = wire.get_extra_info("socket")
    if sock is None or not _readable(sock.fileno()):
        return False
    await asyncio.sleep(0)  # the loop reads it now: an end of file, or something harmless (a TLS session ticket)
    return bool(connection.closed or connection.protocol.should_close)


def _readable(descriptor: int) -> bool:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([descriptor], [], [], 0)[0])


class Pool:
    """The connections of one event loop."""

    def __init__(self, max_connections: int, keepalive_s: float, tls: ssl.SSLContext | None) -> None:
        connector = _Connector(limit=0, keepalive_timeout=keepalive_s, ssl=tls or True, socket_factory=_socket)
        self.slots = asyncio.Semaphore(max_connections)
        self.session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": f"zc-notebooks/{__version__}"},
            skip_auto_headers=("Content-Type",),
            timeout=aiohttp.ClientTimeout(),
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
        )
        self.keeper = _until_the_loop_ends(self.session)
        finalize(self, connector.abandon)

    async def open(
        self, request: HttpRequest, place: Address, exchange: Exchange, **more: str
    ) -> aiohttp.ClientResponse:
        """Sends ``request`` and returns with the response's headers."""
        token = _exchange.set(exchange)
        try:
            return await self.session.request(
                request.method,
                place.url,
                data=request.body or None,
                headers={**more, **request.headers},
                proxy=proxy_for(place),
                allow_redirects=False,
            )
        finally:
            _exchange.reset(token)


async def _until_the_loop_ends(session: aiohttp.ClientSession) -> AsyncGenerator[None]:
    """``asyncio.run`` closes open async generators before it closes the loop: so the session closes with its loop."""
    try:
        yield
    finally:
        await session.close()


def descriptors() -> int:
    """How many files this process may hold open; a great number where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 2**16
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft > 0 else 2**16
