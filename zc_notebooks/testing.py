"""Public fakes for tests of code that uses this package: a manual clock and a scripted transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

import msgspec

from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest, HttpResponse, Record

START = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
"""Where a manual clock begins unless told otherwise."""


class ManualClock:
    """A clock that moves only when told to. ``sleep`` advances it at once and is recorded in :attr:`slept`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._monotonic = 1000.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        """Aware UTC."""
        return self._now

    def monotonic(self) -> float:
        """Seconds."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Records the wait, advances both clocks and lets other tasks run once."""
        self.sleep_sync(seconds)
        await asyncio.sleep(0)

    def sleep_sync(self, seconds: float) -> None:
        """The same for synchronous code."""
        self.slept.append(seconds)
        self.advance(seconds)

    def timeout(self, seconds: float) -> ManualLimit:
        """A limit that strikes when the clock was moved beyond it inside the block."""
        return ManualLimit(self, seconds)

    def advance(self, seconds: float) -> None:
        """Moves both clocks forward; a negative value moves the wall clock alone (a clock that jumps back)."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += max(seconds, 0.0)


class ManualLimit:
    """See :meth:`ManualClock.timeout`."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        self._clock = clock
        self._end = clock.monotonic() + seconds
        self._expired = False
        self._task: asyncio.Task[Any] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        task, self._task = self._task, None  # once the block has ended, nothing strikes
        if self._expired and kind is asyncio.CancelledError and task is not None:
            task.uncancel()
        if self._expired or (error is None and self._clock.monotonic() > self._end):
            raise TimeoutError
        return None

    def expire(self) -> None:
        """Strikes at once."""
        self._expired = True
        if self._task is not None:
            self._task.cancel()


class Pieces(Record, frozen=True, kw_only=True):
    """A scripted 200 stream: bytes as they come, seconds that pass, or a failure that breaks it off."""

    pieces: tuple[bytes | float | str, ...]
    """``bytes`` a chunk, ``float`` seconds on the manual clock, ``"disconnect"`` a lost connection."""
    content_type: str = "text/event-stream"


Scripted = HttpResponse | TransportFailure | Pieces | Callable[[HttpRequest], HttpResponse]


def response(status: int = 200, body: Any = b"", headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A response; a body that is not bytes or text becomes JSON."""
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes):
        body = msgspec.json.encode(body)
    return HttpResponse(status=status, headers={"content-type": "application/json", **(headers or {})}, body=body)


def chat_answer(text: str = "42", *, model: str = "m", tokens: tuple[int, int] | None = (9, 3)) -> HttpResponse:
    """A good OpenAI chat completion with ``tokens`` (input, output), or without usage."""
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
    }
    if tokens is not None:
        body["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return response(200, body)


def chat_chunk(text: str | None = None, *, finish: str | None = None, **delta: Any) -> bytes:
    """One event of an OpenAI chat stream."""
    fields = delta if text is None else {"content": text, **delta}
    body = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
    return _event({**body, "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def chat_usage(input_tokens: int = 9, output_tokens: int = 3) -> bytes:
    """The usage event at the end of an OpenAI chat stream."""
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return _event({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage})


CHAT_DONE = b"data: [DONE]\n\n"


def _event(body: Mapping[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(body) + b"\n\n"


def chat_error(status: int, message: str = "", headers: Mapping[str, str] | None = None, **fields: Any) -> HttpResponse:
    """An OpenAI-style error body."""
    return response(status, {"error": {"message": message or f"status {status}", **fields}}, headers)


class ScriptedTransport:
    """Answers each host from its own script, in order; the last item of a script repeats for ever.

    ``requests`` holds every request sent, ``sent_to(host)`` those to one host. A :class:`TransportFailure` in a script
    is raised, a callable is called with the request.
    """

    def __init__(self, script: Mapping[str, Sequence[Scripted]], *, clock: ManualClock | None = None) -> None:
        self._script = {host: list(items) for host, items in script.items()}
        self._clock = clock
        self.requests: list[HttpRequest] = []
        self.open = 0

    def sent_to(self, host: str) -> list[HttpRequest]:
        """Requests whose URL names ``host``, in order."""
        return [request for request in self.requests if f"//{host}" in request.url]

    def _next(self, request: HttpRequest) -> HttpResponse | Pieces:
        self.requests.append(request)
        for host, items in self._script.items():
            if f"//{host}" not in request.url:
                continue
            item = items.pop(0) if len(items) > 1 else items[0]
            if isinstance(item, TransportFailure):
                raise item
            return item(request) if callable(item) else item
        raise TransportFailure("no such host in the script", kind="connect", sent=False)

    async def send(self, request: HttpRequest, **_limits: Any) -> HttpResponse:
        """See :class:`zc_notebooks.transport.AsyncTransport`."""
        await asyncio.sleep(0)
        item = self._next(request)
        if isinstance(item, Pieces):
            body = b"".join(piece for piece in item.pieces if isinstance(piece, bytes))
            return HttpResponse(status=200, headers={"content-type": item.content_type}, body=body)
        return item

    @asynccontextmanager
    async def stream(self, request: HttpRequest, **_limits: Any) -> AsyncIterator[ScriptedStream]:
        """The same as a stream; :attr:`open` counts the streams that are open."""
        await asyncio.sleep(0)
        item = self._next(request)
        self.open += 1
        try:
            yield ScriptedStream(item, self._clock)
        finally:
            self.open -= 1

    async def aclose(self) -> None:
        """Nothing is open."""


class ScriptedStream:
    """A scripted response read as a stream: :class:`Pieces` one by one, any other body line by line."""

    def __init__(self, answer: HttpResponse | Pieces, clock: ManualClock | None) -> None:
        whole = isinstance(answer, HttpResponse)
        self.status = answer.status if isinstance(answer, HttpResponse) else 200
        self.headers = answer.headers if isinstance(answer, HttpResponse) else {"content-type": answer.content_type}
        self._body = answer.body if isinstance(answer, HttpResponse) else b""
        lines: tuple[bytes | float | str, ...] = tuple(self._body.splitlines(keepends=True))
        self._pieces = lines if whole or not isinstance(answer, Pieces) else answer.pieces
        self._clock = clock

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body in its pieces."""
        for piece in self._pieces:
            await asyncio.sleep(0)
            if isinstance(piece, bytes):
                yield piece
            elif isinstance(piece, float) and self._clock is not None:
                self._clock.advance(piece)
            elif isinstance(piece, str):
                raise TransportFailure("connection lost", kind="read", sent=True)

    async def read_body(self, limit: int = 65536) -> bytes:
        """The body, cut at ``limit`` bytes."""
        return self._body[:limit]


class SyncScriptedTransport(ScriptedTransport):
    """The same for synchronous callers."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answers one request."""
        item = self._next(request)
        if isinstance(item, Pieces):
            raise TypeError("a synchronous transport streams nothing")
        return item
