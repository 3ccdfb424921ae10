"""One user-visible call with a stream: opening, commit boundary, recovery, cancel (spec 8).

A turn never shows anything twice. Whatever reached an append-only consumer is immutable: from there on nobody is asked
again. Before that, one stream and at most one recovery walk are made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing

from zc_notebooks.calling import Call
from zc_notebooks.chat import Notice, Reasoning, Text
from zc_notebooks.errors import (
    CallError,
    PreExecutedToolsWithoutAnswer,
    StreamCancelledAfterOutput,
    StreamInterruptedAfterOutput,
    TurnCancelled,
)
from zc_notebooks.events import Event, Final, Redraft
from zc_notebooks.records import Variant
from zc_notebooks.reliability.attempt import Judged
from zc_notebooks.reliability.reliable import drive
from zc_notebooks.reliability.selection import streaming_variant
from zc_notebooks.reliability.steps import Ended, Resume
from zc_notebooks.reliability.walk import walk
from zc_notebooks.result import Completion
from zc_notebooks.stream_attempt import StreamAttempt
from zc_notebooks.stream_shown import Shown


class Turn:
    """One turn. Iterate :meth:`events` once; :meth:`cancel` may be called from anywhere on its loop.

    Args:
        call: The call, made ready.
        report: Warns of rows that could not be written, once, at the end.
        draft: Whether the consumer can rewrite what it shows; otherwise whatever is yielded is immutable.
    """

    def __init__(self, call: Call, *, report: Callable[[], object], draft: bool = False) -> None:
        self._call = call.record
        self._conditions = call.conditions
        self._variants = call.variants
        self._policy = call.policy
        self._transport = call.transport
        self._finish = call.result
        self._report = report
        self._draft = draft
        self._shown = Shown(call.record.clock)
        self._recovery: asyncio.Task[Ended] | None = None

    @property
    def partial_text(self) -> str:
        """The text forwarded so far."""
        return self._shown.text

    def append_only(self) -> None:
        """Whatever was yielded is immutable, and nothing is taken back."""
        self._draft = False

    def cancel(self) -> None:
        """Ends the turn: the socket is closed, partial text is kept, nothing is tried again. Idempotent."""
        self._shown.cancel()
        if self._recovery is not None:
            self._recovery.cancel()

    async def events(self) -> AsyncGenerator[Event, None]:
        """The turn's events; the last one is :class:`~zc_notebooks.events.Final`.

        Raises:
            StreamInterruptedAfterOutput: The stream failed after output.
            StreamCancelledAfterOutput: Cancelled after output (:class:`TurnCancelled`: before any).
            PreExecutedToolsWithoutAnswer: Tools ran on the provider's side and no answer came.
            CallError: Whatever a walk without a stream would raise.
        """
        try:
            await self._conditions.prepare(self._variants, remembered=not self._policy.ignore_cooldown)
            self._look()
            selected = streaming_variant(self._variants, self._policy, self._conditions, self._call.request)
            for skip in selected.skips:
                self._call.skip(skip)
            if selected.variant is None:
                async with aclosing(self._walk(None, selected.noted)) as events:
                    async for event in events:
                        yield event
                return
            if self._conditions.remaining_s() <= 0:  # spec 5.5: no attempt starts after the deadline
                self._finish(Ended(kind="timeout"))
            attempt = StreamAttempt(self._call, self._conditions, self._transport, self._shown)
            async with aclosing(attempt.run(selected.variant)) as stream:
                async for event in stream:
                    yield event
            async with aclosing(self._after(selected.variant, attempt.judged, selected.noted)) as events:
                async for event in events:
                    yield event
        finally:
            self._conditions.close()
            self._report()

    async def _after(
        self, variant: Variant, judged: Judged, noted: frozenset[tuple[int, int]]
    ) -> AsyncGenerator[Event, None]:
        """The outcomes of spec 8.4."""
        if judged.verdict is None:
            for event in _closing(self._finish(Ended(kind="answered", variant=variant))):
                yield event
            return
        self._look()
        empty = judged.status == "empty"
        if empty and self._shown.pre_executed:
            raise self._error(PreExecutedToolsWithoutAnswer, "tools ran on the provider's side and no answer came")
        visible = not self._draft and (self._shown.spoken or self._shown.reasoning)
        if not empty and (visible or self._shown.pre_executed):
            raise self._interrupted(judged)
        resume = Resume(variant=variant, verdict=judged.verdict)
        async with aclosing(self._walk(resume, noted)) as events:
            async for event in events:
                yield event

    async def _walk(self, resume: Resume | None, noted: frozenset[tuple[int, int]]) -> AsyncGenerator[Event, None]:
        """A walk without a stream: the recovery after a failed one, or the whole call when nobody can stream."""
        if resume is not None:
            self._call.facts = self._call.facts.become("recovery")
            yield Notice(text="the stream gave no answer; the chain is asked once more without streaming")
            if self._draft and self._shown.spoken:
                self._shown.text = ""
                yield Redraft()
        done = self._finish(await self._drive(resume, noted))
        if done.reasoning and not self._shown.reasoning:
            self._shown.reasoning = True
            yield Reasoning(text=done.reasoning)
        if done.text:
            self._look()
            self._shown.say(done.text)
            yield Text(text=done.text)
        for tool in done.tool_calls:
            self._look()
            yield tool
        if done.usage is not None:
            self._look()
            yield done.usage
        for event in _closing(done):
            yield event

    async def _drive(self, resume: Resume | None, noted: frozenset[tuple[int, int]]) -> Ended:
        """The walk as a task of its own, so that Stop can end it without ending the consumer's task."""
        self._look()
        steps = walk(self._variants, self._policy, self._conditions, resume=resume, noted=noted)
        self._recovery = asyncio.ensure_future(drive(steps, self._call, self._conditions, self._transport))
        try:
            return await self._recovery
        except asyncio.CancelledError:
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
            if self._shown.cancelled:
                raise self._cancel_error() from None
            raise

    # -- errors -------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        if self._shown.cancelled:
            raise self._cancel_error()

    def _error(self, kind: type[CallError], words: str, **more: str) -> CallError:
        error = kind(words, self._call.failures, call_id=self._call.facts.call_id, **more)
        error.hops = tuple(self._call.hops)
        return error

    def _interrupted(self, judged: Judged) -> CallError:
        words = judged.verdict.text if judged.verdict is not None else ""
        return self._error(
            StreamInterruptedAfterOutput,
            f"the stream ended after output had been shown and is not replayed: {words or judged.status}",
            partial_text="" if self._draft else self._shown.text,
        )

    def _cancel_error(self) -> CallError:
        if self._draft or not self._shown.text:
            return self._error(TurnCancelled, "cancelled before any text was shown")
        words = "cancelled after text had been shown"
        return self._error(StreamCancelledAfterOutput, words, partial_text=self._shown.text)


def _closing(done: Completion) -> Iterator[Event]:
    """The notice once, after the whole answer, and the last event."""
    if done.notice is not None:
        yield Notice(text=done.notice)
    yield Final(completion=done)
