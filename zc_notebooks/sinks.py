"""Where a streamed turn goes: append-only event sinks, rewritable draft sinks, and ready-made ones (spec 8.3).

What reaches an event sink is immutable: it is never sent again, whatever happens. A draft is a preview that the final
text replaces. Notebook cells have theirs in :mod:`zc_notebooks.notebook.cells`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import Protocol, TextIO, runtime_checkable

from zc_notebooks.complaint import warn
from zc_notebooks.events import Event, Final, Notice, Reasoning, Redraft, Text
from zc_notebooks.result import Completion


class EventSink(Protocol):
    """Append-only: each event once, in order. Raising ends the turn."""

    async def event(self, event: Event) -> None:
        """Takes one event."""
        ...


class DraftSink(Protocol):
    """Rewritable: gets the whole text so far each time. Raising drops the sink with a warning, the turn goes on."""

    async def draft(self, text: str, *, final: bool) -> None:
        """Shows ``text`` in place of whatever was shown; ``final``: it is the accepted answer."""
        ...


@runtime_checkable
class Remarks(Protocol):
    """A draft sink that also shows what the chain itself has to say, beside the text and never in it."""

    async def remark(self, text: str) -> None:
        """Takes one sentence; what is drawn next may show it."""
        ...


def fitting(events: object, draft: object) -> None:
    """Raises ``TypeError`` for what cannot take events or drafts, before anybody is asked."""
    for sink, kind in ((events, "event"), (draft, "draft")):
        if sink is not None and not callable(getattr(sink, kind, None)):
            name = getattr(sink, "__name__", type(sink).__name__)
            words = f"{name} is no {kind} sink: it has no method {kind}()"
            if kind == "event" and callable(sink):
                words += "; zc_notebooks.sinks.CallableSink makes one of a function"
            raise TypeError(words)


class Handing:
    """The waits for sinks to take something, which :meth:`stop` cuts short."""

    def __init__(self) -> None:
        self._stopped = False
        self._limit: asyncio.Timeout | None = None

    def stop(self) -> None:
        """Ends the wait that runs now, if one does; no later one is begun."""
        self._stopped = True
        if self._limit is not None and not self._limit.expired():
            with suppress(RuntimeError):  # it is ending by itself
                self._limit.reschedule(asyncio.get_running_loop().time())

    async def over(self, taken: Awaitable[None]) -> None:
        """Waits for ``taken``; returns early when it was stopped."""
        self._limit = limit = asyncio.timeout(0 if self._stopped else None)
        try:
            async with limit:
                await taken
        except TimeoutError:
            if not limit.expired():
                raise
        finally:
            self._limit = None


async def deliver(
    events: AsyncIterable[Event], sink: EventSink | None, draft: DraftSink | None, handing: Handing
) -> Completion:
    """Feeds both sinks until the last event. Raises whatever the turn or the event sink raises."""
    text = ""
    done: Completion | None = None
    async for event in events:
        if sink is not None:
            await handing.over(sink.event(event))
        if isinstance(event, Redraft):
            text = ""
        elif isinstance(event, Text):
            text += event.text
        elif isinstance(event, Final):
            done = event.completion
            text = done.text
        if draft is None:
            continue
        if isinstance(event, Text | Redraft | Final):
            draft = await _drawn(partial(draft.draft, text, final=isinstance(event, Final)), draft, handing)
        elif isinstance(event, Notice) and isinstance(draft, Remarks):
            draft = await _drawn(partial(draft.remark, event.text), draft, handing)
    if done is None:
        raise RuntimeError("the turn ended without its last event")
    return done


async def _drawn(draw: Callable[[], Awaitable[None]], draft: DraftSink, handing: Handing) -> DraftSink | None:
    try:
        await handing.over(draw())
    except Exception as error:  # noqa: BLE001 (a preview that cannot be drawn must not end the turn)
        warn(f"the draft could not be shown and is dropped: {type(error).__name__}: {error}", UserWarning)
        return None
    return draft


class TerminalSink:
    """Writes text to a stream as it comes; reasoning and notices go to another one, or nowhere."""

    def __init__(self, out: TextIO, remarks: TextIO | None = None) -> None:
        self._out = out
        self._remarks = remarks

    async def event(self, event: Event) -> None:
        """See :class:`EventSink`."""
        if isinstance(event, Text):
            self._out.write(event.text)
            self._out.flush()
        elif self._remarks is not None and isinstance(event, Notice | Reasoning):
            self._remarks.write(f"{event.text}\n" if isinstance(event, Notice) else event.text)
            self._remarks.flush()


class CallableSink:
    """Calls a function with each event; what an ``async def`` returns is awaited."""

    def __init__(self, call: Callable[[Event], object]) -> None:
        self._call = call

    async def event(self, event: Event) -> None:
        """See :class:`EventSink`."""
        done = self._call(event)
        if isawaitable(done):
            await done


class QueueSink:
    """Puts each event into an asyncio queue; a full queue makes the turn wait."""

    def __init__(self, queue: asyncio.Queue[Event]) -> None:
        self._queue = queue

    async def event(self, event: Event) -> None:
        """See :class:`EventSink`."""
        await self._queue.put(event)
