"""The connections of one event loop: kept, bounded, opened directly or through a proxy's tunnel."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import ssl
from collections.abc import AsyncGenerator
from typing import Final
from urllib.parse import SplitResult, unquote

from zc_notebooks.errors import TransportFailure
from zc_notebooks.redact import short
from zc_notebooks.transport.address import Address, is_loopback, proxy_for, trusted
from zc_notebooks.transport.answer import Answer
from zc_notebooks.transport.connection import Connection, read_buffer

_EYEBALLS_S: Final = 0.25
"""Before the next address of a host is tried beside the first (RFC 8305)."""

Key = tuple[str, int, bool]


class Pool:
    """Connections by host, port and TLS. The one put away last is taken first: the others may grow old and close.

    Args:
        max_connections: Open connections, and so requests in flight.
        keepalive_s: Seconds an idle one is kept.
        tls: Whom to trust instead of the system's certificates.
    """

    def __init__(self, max_connections: int, keepalive_s: float, tls: ssl.SSLContext | None) -> None:
        self.slots = asyncio.Semaphore(max_connections)
        self._most = max_connections
        self._keepalive_s = keepalive_s
        self._tls = tls
        self._open: set[Connection] = set()
        self._dialling = 0
        self._idle: dict[Key, list[Connection]] = {}
        self._buffer = read_buffer()
        self._sweeper: asyncio.TimerHandle | None = None
        self._keeper = _until_the_loop_ends(self._open)

    async def start(self) -> None:
        """Ties the pool to the running loop."""
        await anext(self._keeper)

    async def aclose(self) -> None:
        """Closes every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self._keeper.aclose()

    async def idle(self, place: Address) -> Connection | None:
        """A kept connection that is known to be alive."""
        stack = self._idle.get((place.host, place.port, place.tls))
        oldest = asyncio.get_running_loop().time() - self._keepalive_s
        while stack:
            connection = stack.pop()
            if connection.readable:
                await asyncio.sleep(0)  # the loop reads it now: its end, or something harmless (a TLS session ticket)
            if connection.usable and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    def put_away(self, place: Address, connection: Connection) -> None:
        """Ends the exchange of ``connection`` and keeps it when it can serve another."""
        if not connection.finish():
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.setdefault((place.host, place.port, place.tls), []).append(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._keepalive_s, self._sweep)

    def _sweep(self) -> None:
        """Closes what has been idle for too long, and comes back as long as something is idle."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._keepalive_s
        for key, stack in list(self._idle.items()):
            kept = [item for item in stack if item.usable and item.idle_since > oldest]
            for connection in set(stack) - set(kept):
                connection.abort()
            stack[:] = kept
            if not kept:
                del self._idle[key]
        self._sweeper = loop.call_later(self._keepalive_s, self._sweep) if self._idle else None

    # -- opening ------------------------------------------------------------------------------------------------------

    async def connect(self, place: Address) -> Connection:
        """A new connection to ``place``. The caller keeps the time.

        Raises:
            TransportFailure: ``connect``; nothing was sent.
        """
        self._make_room()
        self._dialling += 1
        try:
            proxy = proxy_for(place)
            if proxy is not None:
                return await self._tunnel(place, proxy)
            context = self._context() if place.tls else None
            return await self._dial(place.host, place.port, context)
        except (OSError, UnicodeError) as error:  # a host name that cannot be one is a UnicodeError
            raise TransportFailure(f"no connection: {_reason(error)}", kind="connect", sent=False) from None
        finally:
            self._dialling -= 1

    def _make_room(self) -> None:
        """At the limit an idle connection to another host goes."""
        while len(self._open) + self._dialling >= self._most and self._idle:
            key, stack = next(iter(self._idle.items()))
            if stack:
                stack.pop(0).abort()
            else:
                del self._idle[key]

    def _context(self) -> ssl.SSLContext:
        return self._tls or trusted()

    async def _dial(self, host: str, port: int, context: ssl.SSLContext | None) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self._open, self._buffer),
            host,
            port,
            ssl=context,
            server_hostname=host if context else None,
            happy_eyeballs_delay=None if is_loopback(host) else _EYEBALLS_S,
        )
        return connection

    async def _tunnel(self, place: Address, proxy: SplitResult) -> Connection:
        """A connection through ``proxy``, which sees host and port and no more."""
        secure = proxy.scheme == "https"
        port = proxy.port or (443 if secure else 80)
        connection = await self._dial(proxy.hostname or "", port, self._context() if secure else None)
        try:
            answer = Answer("CONNECT")
            connection.start(_connect_request(place, proxy), answer)
            await connection.head()
            if not 200 <= answer.status < 300:  # noqa: PLR2004 (2xx)
                raise ConnectionRefusedError(0, f"the proxy answered {answer.status}")
            wire = await asyncio.get_running_loop().start_tls(
                connection.wire, connection, self._context(), server_hostname=place.host
            )
            if wire is None:
                raise ConnectionResetError(0, "the tunnel closed")
            connection.adopt(wire)
        except TransportFailure as failure:
            connection.abort()
            raise TransportFailure(f"the proxy: {failure}", kind="connect", sent=False) from None
        except BaseException:
            connection.abort()
            raise
        return connection


def _connect_request(place: Address, proxy: SplitResult) -> bytes:
    lines = [f"CONNECT {place.name} HTTP/1.1", f"Host: {place.name}"]
    if proxy.username is not None:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
    return "\r\n".join([*lines, "\r\n"]).encode()


async def _until_the_loop_ends(connections: set[Connection]) -> AsyncGenerator[None]:
    """``asyncio.run`` closes open async generators before it closes the loop: so connections close with their loop."""
    try:
        yield
    finally:
        for connection in tuple(connections):
            connection.abort()
        await asyncio.sleep(0)  # the loop closes the sockets now


def _reason(error: OSError | UnicodeError) -> str:
    """The system's own words where there are any."""
    if isinstance(error, socket.gaierror):
        return f"the host name was not found ({error.strerror})"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate was not accepted: {error.verify_message}"
    if isinstance(error, UnicodeError):
        return "that is no host name"
    if error.errno and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return short(str(error.strerror or error) or type(error).__name__)


def descriptors() -> int:
    """How many files this process may hold open; a great number where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 2**16
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft > 0 else 2**16
