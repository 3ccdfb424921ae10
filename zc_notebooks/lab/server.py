"""The HTTP side of a lab: starlette behind uvicorn, in a thread of its own, on a free loopback port."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

from zc_notebooks.lab.faults import End, Pause, Playing

if TYPE_CHECKING:
    from starlette.requests import Request

    from zc_notebooks.lab.lab import Lab

_STARTED_WITHIN_S = 10.0
_CLOSED_WITHIN_S = 5.0
_SHORT_S = 0.1
"""Waits up to this long are not worth a look at whether the lab closes."""
_SHARE = 64
"""Pieces of one stream after which the others get their turn."""
_ALL_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class LabServer:
    """Runs the lab's application until :meth:`stop`.

    Args:
        lab: Whose providers answer.
        names: Its providers. Each has an origin of its own, as in life, beside one that has them all by their names.
        port: Port on 127.0.0.1 of the common origin, the providers' following it; 0 takes free ones.

    Raises:
        OSError: a port is taken.
    """

    def __init__(self, lab: Lab, names: Sequence[str], port: int = 0) -> None:
        self._lab = lab
        self._sockets = _listening([port and port + place for place in range(len(names) + 1)])
        ports = [one.getsockname()[1] for one in self._sockets]
        self.port: int = ports[0]
        self.ports: Mapping[str, int] = dict(zip(names, ports[1:], strict=True))
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"zc-lab-{self.port}", daemon=True)

    def start(self) -> None:
        """Returns when requests are answered.

        Raises:
            RuntimeError: the server did not start.
        """
        self._thread.start()
        if not self._started.wait(_STARTED_WITHIN_S) or self._failed is not None:
            self.stop()
            raise RuntimeError("the lab's server did not start") from self._failed

    def stop(self) -> None:
        """Ends every response under way and the thread; returns within seconds, and at once when it is ended."""
        loop, closing = self._loop, self._closing
        if loop is not None and closing is not None and self._thread.is_alive():
            loop.call_soon_threadsafe(closing.set)
        if self._thread.ident is not None:
            self._thread.join(_CLOSED_WITHIN_S)
        for one in self._sockets:
            one.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 (reported by start, in the caller's thread)
            self._failed = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        import uvicorn

        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        config = uvicorn.Config(
            _application(self._lab, {port: name for name, port in self.ports.items()}, self._closing),
            http=_protocol_class(),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
        )
        await _server_class()(config, self._closing, self._started).serve(sockets=list(self._sockets))


def _listening(ports: Sequence[int]) -> list[socket.socket]:
    """Listening sockets that say they are TCP: asyncio turns Nagle's algorithm off only then, and it costs 40 ms."""
    opened: list[socket.socket] = []
    try:
        for port in ports:
            opened.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            if os.name == "posix":
                opened[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened[-1].bind(("127.0.0.1", port))
            opened[-1].listen(2048)
    except OSError:
        for one in opened:
            one.close()
        raise
    return opened


def _server_class() -> Callable[..., Any]:
    import uvicorn

    # Without any handler, Python prints a logger's errors to standard error: into a notebook's cells, in our case.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())

    class Server(uvicorn.Server):
        """Says when it is started and ends as soon as it is told to, rather than at the next tick."""

        def __init__(self, config: uvicorn.Config, closing: asyncio.Event, started: threading.Event) -> None:
            super().__init__(config)
            self._told_to_close = closing
            self._told_started = started

        async def main_loop(self) -> None:
            await self.on_tick(0)
            self._told_started.set()
            await self._told_to_close.wait()

    return Server


def _protocol_class() -> Any:
    """Uvicorn's HTTP protocol, that also hands its transport to the application: faults close it their own way."""
    base: Any
    try:
        from uvicorn.protocols.http import httptools_impl

        base = httptools_impl.HttpToolsProtocol
    except ImportError:
        from uvicorn.protocols.http import h11_impl

        base = h11_impl.H11Protocol

    class Protocol(base):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.app_state: dict[str, Any] = {"transport": transport}

    return Protocol


def _application(lab: Lab, names: Mapping[int, str], closing: asyncio.Event) -> Any:
    from starlette.applications import Starlette
    from starlette.routing import Route

    async def endpoint(request: Request) -> Any:
        body = await request.body()
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers.raw}
        name, path = names.get(request.scope["server"][1], ""), f"/{request.path_params['path']}"
        if not name:
            name, _, rest = path[1:].partition("/")
            path = f"/{rest}"
        playing, done = lab.receive(name, request.method, path, request.url.query, headers, body)
        playing.headers.setdefault("date", format_datetime(lab.clock.now(), usegmt=True))
        return _Response(playing, closing, done)

    return Starlette(routes=[Route("/{path:path}", endpoint, methods=_ALL_METHODS)])


class _Response:
    """An ASGI response that plays the steps of a :class:`Playing`, broken ones included."""

    def __init__(self, playing: Playing, closing: asyncio.Event, done: Callable[[], None]) -> None:
        self._playing = playing
        self._closing = closing
        self._done = done

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        transport = scope["state"]["transport"]
        try:
            await self._play(transport, receive, send)
        finally:
            self._done()

    async def _play(self, transport: asyncio.Transport, receive: Any, send: Any) -> None:
        playing = self._playing
        steps = iter(playing.steps)
        if playing.status and playing.streamed:
            await self._stream(steps, transport, receive, send)
            return
        body = b""
        for step in steps:
            if isinstance(step, Pause):
                if not await self._wait(step.seconds, receive):
                    await self._end(End(how="close"), transport, receive)
                    return
            elif isinstance(step, End):
                if playing.status:
                    await self._head(send, length=len(body) * 2 + 1)
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                await self._end(step, transport, receive)
                return
            else:
                body += step
        await self._head(send, length=len(body))
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, steps: Any, transport: asyncio.Transport, receive: Any, send: Any) -> None:
        """Sends pieces as they come; the head goes out with the first of them."""
        begun = False
        for place, step in enumerate(steps):
            if place % _SHARE == 0:
                await asyncio.sleep(0)
            if transport.is_closing():
                await _gone(receive)  # the server must hear of it first, or it reports a response that was not ended
                return
            if isinstance(step, Pause):
                if not await self._wait(step.seconds, receive):
                    await self._end(End(how="close"), transport, receive)
                    return
                continue
            if not begun:
                begun = True
                await self._head(send)
            if isinstance(step, End):
                await self._end(step, transport, receive)
                return
            await send({"type": "http.response.body", "body": step, "more_body": True})
        if not begun:
            await self._head(send)
        await send({"type": "http.response.body", "body": b""})

    async def _head(self, send: Any, length: int | None = None) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._playing.headers.items()]
        headers.append((b"x-lab", b"simulated"))
        if length is not None:
            headers.append((b"content-length", b"%d" % length))
        await send({"type": "http.response.start", "status": self._playing.status, "headers": headers})

    async def _wait(self, seconds: float, receive: Any) -> bool:
        """Waits; false when the client left or the lab closes meanwhile."""
        if seconds <= 0:
            return True
        if seconds <= _SHORT_S:
            await asyncio.sleep(seconds)
            return True
        return await self._left(receive, seconds)

    async def _left(self, receive: Any, seconds: float | None) -> bool:
        """Waits until the client leaves or the lab closes; true when the time ran out before."""
        waiting = [asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(self._closing.wait())]
        done, rest = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        return not done

    async def _end(self, end: End, transport: asyncio.Transport, receive: Any) -> None:
        """Ends a response that HTTP would not end here."""
        if end.how == "stall":
            await self._left(receive, None)
        if end.how == "reset":
            raw = transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()
        await _gone(receive)


async def _gone(receive: Any) -> None:
    """Returns when the connection is closed."""
    while (await receive())["type"] != "http.disconnect":
        pass
