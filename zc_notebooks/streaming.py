"""What ``chain.stream`` gives: events to iterate, a Stop, and the same for synchronous code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from inspect import GEN_RUNNING, getgeneratorstate
from types import TracebackType
from typing import Self

from zc_notebooks.events import Event, Final
from zc_notebooks.result import Completion
from zc_notebooks.sinks import DraftSink, EventSink, Handing, deliver, fitting
from zc_notebooks.sync import LoopThread
from zc_notebooks.turn import Turn
from zc_notebooks.wakeful import wakeful


class Stream:
    """A streamed turn: ``async with chain.stream("…") as events: async for event in events: …``.

    Nothing is sent before the first event is asked for. Leaving the block, or dropping the iterator, closes the socket.
    Calls made in the block (a tool's, a sink's) belong to the stream's turn and its borders.
    """

    def __init__(
        self, begin: Callable[[], Turn], inside: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> None:
        self._begin = begin
        self._inside = inside
        self._block = ExitStack()
        self._turn: Turn | None = None
        self._events: AsyncGenerator[Event, None] | None = None
        self._stopped = False
        self._handing = Handing()
        self._append_only = False
        self._closed = False
        self._asked = False
        self.completion: Completion | None = None
        """The accepted answer, once the last event was seen."""

    @property
    def partial_text(self) -> str:
        """The text forwarded so far, exactly."""
        return "" if self._turn is None else self._turn.partial_text

    def cancel(self) -> None:
        """Stop: the socket is closed, partial text is kept, nothing is tried again. Call it on the stream's loop."""
        self._stopped = True
        self._handing.stop()
        if self._turn is not None:
            self._turn.cancel()

    def enter(self) -> None:
        """What is called from here on, until :meth:`leave`, belongs to the stream's turn."""
        self._block.enter_context(self._inside())

    def leave(self) -> None:
        """Ends what :meth:`enter` began."""
        self._block.close()

    async def __aenter__(self) -> Self:
        self.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.aclose()
        finally:
            self.leave()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._events is None:
            if self._closed:
                raise StopAsyncIteration
            self._turn = self._begin()
            if self._stopped:
                self._turn.cancel()
            if self._append_only:
                self._turn.append_only()
            self._events = self._turn.events()
        self._asked = True
        try:
            with wakeful():
                event = await anext(self._events)
        finally:
            self._asked = False
        if isinstance(event, Final):
            self.completion = event.completion
        return event

    async def aclose(self) -> None:
        """Closes the stream; what was shown stays shown. To whoever waits for its next event meanwhile it is a Stop."""
        self._closed = True
        if self._events is None:
            return
        if self._asked:
            self.cancel()
        else:
            await self._events.aclose()

    async def into(self, events: EventSink | None = None, draft: DraftSink | None = None) -> Completion:
        """Runs the turn to its end into sinks and returns the completion (see :mod:`zc_notebooks.sinks`).

        With an event sink the turn is append-only, also where the stream was made for a draft.

        Raises:
            TypeError: What was given is no such sink; nothing was sent.
        """
        fitting(events, draft)
        if events is not None:
            self._append_only = True
            if self._turn is not None:
                self._turn.append_only()
        async with self:
            return await deliver(self, events, draft, self._handing)


class SyncStream:
    """The same for synchronous code: ``for event in chain.stream_sync("…"): …``. Ctrl-C and ``close`` stop it.

    A loop over it that is left early closes its socket, unless a name still holds it: then ``with`` or ``close`` does,
    or the end of the process.
    """

    def __init__(self, stream: Stream, thread: LoopThread) -> None:
        self._stream = stream
        self._thread = thread
        self._running = _pulling(stream, thread)  # it does not know this object: dropping it closes the stream at once

    @property
    def completion(self) -> Completion | None:
        """The accepted answer, once the last event was seen."""
        return self._stream.completion

    @property
    def partial_text(self) -> str:
        """The text forwarded so far."""
        return self._stream.partial_text

    def cancel(self) -> None:
        """Stop; may be called from any thread."""
        self._thread.call_soon(self._stream.cancel)

    def close(self) -> None:
        """Drops the stream: its socket is closed. May be called from any thread, as :meth:`cancel`."""
        if getgeneratorstate(self._running) == GEN_RUNNING:
            self.cancel()
        else:
            self._running.close()

    def __iter__(self) -> Iterator[Event]:
        return self._running

    def __enter__(self) -> Self:
        self._stream.enter()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        finally:
            self._stream.leave()


def _pulling(stream: Stream, thread: LoopThread) -> Generator[Event, None, None]:
    """Pulls one event at a time: what the caller has not taken has not been shown."""
    with thread.holding(stream.aclose), suppress(StopAsyncIteration):
        while True:
            yield thread.run(_next(stream))


async def _next(stream: Stream) -> Event:
    return await anext(stream)
