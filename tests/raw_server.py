"""A raw socket server on loopback whose answers are the very bytes a test writes, broken ones included."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Answer = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Request:
    """What arrived: first line, headers with lower-case names, body; ``number`` counts the server's requests from 1."""

    line: str
    headers: dict[str, str]
    body: bytes
    number: int


@dataclass
class RawServer:
    """A running server and what it has seen."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    accepted: int = 0
    open: int = 0
    most_open: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a request has arrived."""
    client_left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a connection has ended on the client's side."""

    async def talk(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request after request."""
        self.accepted += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            while not writer.is_closing():
                request = await self._request(reader)
                await answer(request, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.client_left.set()
        finally:
            self.open -= 1
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> Request:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (item.partition(":") for item in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(line=line, headers=headers, body=body, number=len(self.requests) + 1)
        self.requests.append(request)
        self.asked.set()
        return request


@asynccontextmanager
async def raw_server(answer: Answer | bytes, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """Serves ``answer``: bytes to write for every request, or a coroutine function that writes them."""
    state = RawServer()
    talk = writes(answer) if isinstance(answer, bytes) else answer
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        task.add_done_callback(connections.discard)
        with suppress(asyncio.CancelledError):  # the test is over
            await state.talk(talk, reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    state.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1"
    try:
        yield state
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await asyncio.sleep(0)


def writes(raw: bytes, *, close: bool = False) -> Answer:
    """An answer that writes ``raw``, and closes the connection after it when asked."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        if close:
            await writer.drain()
            writer.close()

    return answer


def whole(status: int, body: bytes, *headers: str) -> bytes:
    """A complete response with its length."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*pieces: bytes, end: bool = True) -> bytes:
    """A chunked response, cut off without its end when ``end`` is false."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(map(chunk, pieces)) + (b"0\r\n\r\n" if end else b"")


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked response; nothing for no data, which would be its end."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n" if data else b""


async def until(true: Callable[[], object], limit_s: float = 30) -> None:
    """Lets the loop run until both ends have heard of each other."""
    async with asyncio.timeout(limit_s):
        while not true():  # noqa: ASYNC110 (what the sockets say has no event)
            await asyncio.sleep(0)
