"""A loopback HTTP server that costs as little as Python allows, so that a benchmark measures the client.

It runs in a process of its own (:func:`serving`). Answers are rendered once; what a request gets is said by its path:
``/status-402/v1/chat/completions`` refuses, ``/delay-300/v1/…`` answers after 300 ms, ``/chunks-5000/v1/…`` sets the
length of a stream, ``/pace-2/v1/…`` the milliseconds between its events (0: as fast as they can be written). A body
with ``"stream":true`` is answered as server-sent events, one HTTP chunk each.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from tests import ROOT

_ANSWER = {
    "id": "chatcmpl-bench",
    "object": "chat.completion",
    "created": 1_790_000_000,
    "model": "bench",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Forty-two. " * 12}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 21, "completion_tokens": 48, "total_tokens": 69},
}
_REFUSALS = {
    402: {"error": {"message": "Insufficient Balance", "type": "billing_error", "code": "insufficient_balance"}},
    429: {"error": {"message": "Rate limit reached for requests per day (RPD).", "code": "rate_limit_exceeded"}},
}
_FAILURE = {"error": {"message": "The service is temporarily overloaded.", "type": "server_error"}}
_PER_WRITE = 25
"""Stream events that leave the server in one write."""


def _head(status: int, extra: str) -> bytes:
    reason = "OK" if status < 400 else "Refused"
    return f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n{extra}\r\n\r\n".encode()


@cache
def _whole(status: int) -> bytes:
    body = json.dumps(_ANSWER if status < 400 else _REFUSALS.get(status, _FAILURE)).encode()
    wait = "Retry-After: 3600\r\n" if status == 429 else ""
    return _head(status, f"{wait}Content-Length: {len(body)}") + body


def _event(data: str) -> bytes:
    line = f"data: {data}\n\n".encode()
    return f"{len(line):x}\r\n".encode() + line + b"\r\n"


def _delta(number: int) -> str:
    choice = {"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": None}
    return json.dumps(
        {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "model": "bench", "choices": [choice]}
    )


@cache
def _events(chunks: int) -> tuple[bytes, ...]:
    """One streamed answer, event by event; the first has the headers before it, the last the end of the body after."""
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    last = {"id": "chatcmpl-bench", "choices": [end], "usage": _ANSWER["usage"]}
    events = [_event(_delta(number)) for number in range(chunks)]
    events += [_event(json.dumps(last)), _event("[DONE]") + b"0\r\n\r\n"]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return (head + events[0], *events[1:])


@cache
def _writes(chunks: int) -> tuple[bytes, ...]:
    """The same in few writes, so that the client is never short of work."""
    first, *rest = _events(chunks)
    return (first, *(b"".join(rest[at : at + _PER_WRITE]) for at in range(0, len(rest), _PER_WRITE)))


class _Connection(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            total = end + 4 + _length(head)
            if len(self._buffer) < total:
                return
            body, self._buffer = self._buffer[end + 4 : total], self._buffer[total:]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        orders = _orders(head.split(b" ", 2)[1])
        status, delay_ms = orders["status"], orders["delay"]
        if b'"stream":true' in body and status < 400:
            self._stream(orders["chunks"], orders["pace"])
        elif delay_ms:
            asyncio.get_running_loop().call_later(delay_ms / 1000, self.transport.write, _whole(status))
        else:
            self.transport.write(_whole(status))

    def _stream(self, chunks: int, pace_ms: int) -> None:
        if pace_ms:
            self._task = asyncio.get_running_loop().create_task(self._paced(_events(chunks), pace_ms / 1000))
        else:
            self.transport.writelines(_writes(chunks))

    async def _paced(self, events: tuple[bytes, ...], pause_s: float) -> None:
        for event in events:
            self.transport.write(event)
            await asyncio.sleep(pause_s)


def _length(head: bytes) -> int:
    lower = head.lower()
    at = lower.find(b"content-length:")
    return int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0


@cache
def _orders(path: bytes) -> dict[str, int]:
    """What the path asks for."""
    orders = {"status": 200, "delay": 0, "chunks": 5000, "pace": 0}
    for part in path.decode().split("/"):
        name, _, value = part.partition("-")
        if name in orders and value.isdigit():
            orders[name] = int(value)
    return orders


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Connection, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()


@contextmanager
def serving() -> Iterator[str]:
    """The server in another process; gives its address, for instance ``http://127.0.0.1:40001``."""
    command = [sys.executable, "-m", "tests.perf.server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()
            process.wait(timeout=10)


if __name__ == "__main__":
    asyncio.run(_serve())
