"""A transport that knows this machine: starts the model a ``managed://`` address names, and tells who answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

from msgspec.structs import replace

from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.errors import TransportFailure
from zc_notebooks.local.model import managed_name
from zc_notebooks.local.presence import ASK_S, Memory, Presence, Site, reason, shared, site_of
from zc_notebooks.records import HttpRequest, HttpResponse, Profile

_READING: Final[tuple[str, ...]] = ("read_s", "first_byte_s")
"""Limits that begin once the connection stands; the start of a server counts against them."""


class Inner(Protocol):
    """What sends."""

    async def send(self, request: HttpRequest, **limits: Any) -> HttpResponse:
        """See :class:`~zc_notebooks.transport.AsyncTransport`."""
        ...

    def stream(self, request: HttpRequest, **limits: Any) -> AbstractAsyncContextManager[Any]:
        """See :class:`~zc_notebooks.transport.AsyncTransport`."""
        ...


class Serves(Protocol):
    """Starts models; :class:`zc_notebooks.local.server.Servers`."""

    def get(self, name: str) -> Any:
        """See there."""
        ...


class LocalTransport:
    """Sends through ``inner``. Requests to other machines pass untouched.

    Args:
        inner: The transport that sends.
        profiles: Those whose sites are watched.
        clock: Of the memory.
        memory: Shared with others when given.
        servers: Where models are started; those of the process unless given.
    """

    def __init__(
        self,
        inner: Inner,
        profiles: Iterable[Profile],
        clock: Clock,
        *,
        memory: Memory | None = None,
        servers: Serves | None = None,
    ) -> None:
        self._inner = inner
        self._servers = servers
        self._sites = {site.origin: site for profile in profiles if (site := site_of(profile)) is not None}
        self.presence = Presence(self._ask, clock, memory=memory)

    async def send(self, request: HttpRequest, **limits: Any) -> HttpResponse:
        """See :class:`~zc_notebooks.transport.AsyncTransport`.

        Raises:
            TransportFailure: As there, and ``connect`` when the model cannot be started.
        """
        site = self._site(request.url)
        if site is None:
            return await self._inner.send(request, **limits)
        try:
            placed, limits = await self._placed(request, limits)
            response = await self._inner.send(placed, **limits)
        except TransportFailure as failure:
            self._noted(site, failure)
            raise
        self.presence.saw(site.origin)
        return response

    def stream(self, request: HttpRequest, **limits: Any) -> AbstractAsyncContextManager[Any]:
        """See :meth:`send`."""
        site = self._site(request.url)
        return self._inner.stream(request, **limits) if site is None else self._streamed(site, request, limits)

    async def aclose(self) -> None:
        """Closes what sends. Models go on: they belong to the process."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()

    # -- inside -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _streamed(self, site: Site, request: HttpRequest, limits: dict[str, Any]) -> AsyncIterator[Any]:
        async with AsyncExitStack() as stack:
            try:
                placed, limits = await self._placed(request, limits)
                response = await stack.enter_async_context(self._inner.stream(placed, **limits))
            except TransportFailure as failure:
                self._noted(site, failure)
                raise
            self.presence.saw(site.origin)
            yield response

    async def _ask(self, request: HttpRequest) -> HttpResponse:
        return await self._inner.send(request, connect_s=ASK_S, read_s=ASK_S)

    def _site(self, url: str) -> Site | None:
        return next((site for origin, site in self._sites.items() if url.startswith(f"{origin}/")), None)

    def _noted(self, site: Site, failure: TransportFailure) -> None:
        """Nobody was there: the calls that follow need not find out again."""
        if failure.sent or managed_name(site.url) is not None:
            return
        if failure.kind == "connect":
            self.presence.lost(site.origin, reason(failure))
        elif failure.kind == "timeout":
            self.presence.forget(site.origin)

    async def _placed(self, request: HttpRequest, limits: dict[str, Any]) -> tuple[HttpRequest, dict[str, Any]]:
        """The request at the address where the model answers, and the limits less the time its start took."""
        name = managed_name(request.url)
        if name is None:
            return request, limits
        began = time.monotonic()
        address = await self._address(name, limits["connect_s"])
        took = time.monotonic() - began
        left = {key: max(limits[key] - took, 0.001) for key in _READING if key in limits}
        _, _, path = request.url.partition(f"//{name}")
        return replace(request, url=f"{address}{path}"), {**limits, **left}

    async def _address(self, name: str, connect_s: float) -> str:
        """Where a model answers, started if need be; a start goes on when the caller's patience has ended."""
        from zc_notebooks.local import server

        try:
            starting = (self._servers or server.shared).get(name).start()
            async with asyncio.timeout(connect_s):
                address: str = await asyncio.wrap_future(starting)
        except server.StartFailed as error:
            self.presence.lost(f"managed://{name}", str(error))
            raise TransportFailure(str(error), kind="connect", sent=False) from None
        except TimeoutError:
            words = f"{name} has not started within {connect_s:g} s and goes on starting"
            raise TransportFailure(words, kind="timeout", sent=False) from None
        return address


def aware(transport: Any, profiles: Iterable[Profile], clock: Clock) -> Any:
    """``transport``, made to know this machine when a profile stands on it.

    On the system's clock all of a process share what was seen.
    """
    profiles = tuple(profiles)
    if isinstance(transport, LocalTransport) or not any(site_of(profile) for profile in profiles):
        return transport
    return LocalTransport(transport, profiles, clock, memory=shared if isinstance(clock, SystemClock) else None)


def local_of(transport: object) -> LocalTransport | None:
    """``transport`` when it knows this machine."""
    return transport if isinstance(transport, LocalTransport) else None
