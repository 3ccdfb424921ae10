"""One prompt of a panel while it is answered: the draft, the attempts and hops as they happen, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from msgspec.structs import replace

from zc_notebooks.chain import Chain
from zc_notebooks.errors import CallError, StreamCancelledAfterOutput, TurnCancelled, ZcError, variant_name
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import counted
from zc_notebooks.notebook.display import sheet_of
from zc_notebooks.notebook.provider_rows import clock_time
from zc_notebooks.notebook.sheets.calls import summary
from zc_notebooks.records import Record, Variant
from zc_notebooks.redact import safe, short
from zc_notebooks.result import Completion
from zc_notebooks.streaming import Stream

Phase = Literal["none", "asking", "answered", "failed", "stopped"]


class TurnShown(Record, frozen=True, kw_only=True):
    """What is to be seen of a turn."""

    phase: Phase = "none"
    words: str = ""
    """How it stands or ended, one line."""
    text: str = ""
    """The draft, and in the end the answer."""
    lines: tuple[str, ...] = ()
    """Attempts and hops in the order in which they happened."""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """A failed call: each candidate with its own reason."""


_HEARD: ContextVar[PanelTurn | None] = ContextVar("zc_panel_turn", default=None)


class _Told:
    """A hook of a chain that the turn of a panel hears first. Calls that are no turn's, and those of hooks, are not."""

    def __init__(self, told: Literal["attempt", "hop"], before: Callable[..., object] | None) -> None:
        self._told = told
        self._before = before

    def __call__(self, *facts: Any) -> None:
        turn, token = _HEARD.get(), _HEARD.set(None)
        try:
            if turn is not None:
                getattr(turn, self._told)(*facts)
            if self._before is not None:
                self._before(*facts)
        finally:
            _HEARD.reset(token)


def listen(chain: Chain) -> None:
    """Lets turns hear the chain's attempts and hops. What was told of them before still is; each may be set anew."""
    site = chain.site
    if not isinstance(site.on_attempt, _Told):
        site.on_attempt = _Told("attempt", site.on_attempt)
    if not isinstance(site.on_failover, _Told):
        site.on_failover = _Told("hop", site.on_failover)


class PanelTurn:
    """One turn. ``changed`` is called whenever :attr:`shown` is another one."""

    def __init__(self, chain: Chain, changed: Callable[[], object]) -> None:
        self._chain = chain
        self._changed = changed
        self._stream: Stream | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False
        self.shown = TurnShown(phase="asking", words="asking …")
        self.completion: Completion | None = None

    async def run(self, prompt: str, options: dict[str, Any]) -> None:
        """Asks, and shows how it went; only what is no error of the call itself is raised."""
        try:
            with self._heard():
                self._loop = asyncio.get_running_loop()
                self._stream = self._chain.stream(prompt, draft=True, **options)
                if self._stopped:
                    self._stream.cancel()
                self._answered(await self._stream.into(None, self))
        except (TurnCancelled, StreamCancelledAfterOutput):
            kept = len(self.shown.text)
            when = f"after {counted(kept, 'character')}" if kept else "before any text"
            self._show(phase="stopped", words=f"stopped {when}; nothing else was tried")
        except CallError as error:
            self._failed(error, alone=options.get("fallback") is False)
        except ZcError as error:
            self._show(phase="failed", words=short(f"nobody was asked: {error}", 400))
        except BaseException:
            self._show(phase="failed", words="the call ended in an error")
            raise

    def stop(self) -> None:
        """Stops it from any thread; what was shown stays shown."""
        self._stopped = True
        if self._stream is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stream.cancel)

    # -- what the chain tells -----------------------------------------------------------------------------------------

    async def draft(self, text: str, *, final: bool) -> None:
        """See :class:`~zc_notebooks.sinks.DraftSink`."""
        del final
        self._show(text=safe(text), words="answering …")

    async def remark(self, text: str) -> None:
        """See :class:`~zc_notebooks.sinks.Remarks`."""
        self._line(f"note: {safe(text)}")

    def attempt(self, row: AttemptRow) -> None:
        """A row as it was written."""
        name = f"{row.provider_ref}/{row.model}"
        status = row.status.removeprefix("skipped_").replace("_", " ")
        if row.kind == "skip":
            until = f" until {clock_time(row.resets_at, row.t)}" if row.resets_at else ""
            self._line(f"– {name}: skipped ({status}{until})")
        else:
            why = ", ".join(dict.fromkeys((status, (row.reason or status).replace("_", " "))))
            sign = "✓" if row.accepted else "✗"
            self._line(f"{sign} {name}: {'answered' if row.accepted else why}, {row.secs or 0.0:.2f} s")

    def hop(self, origin: Variant, to: Variant, reason: str) -> None:
        """The walk went on."""
        self._line(f"→ hop from {variant_name(origin)} to {variant_name(to)}: {short(reason)}")

    # -- inside -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _heard(self) -> Iterator[None]:
        listen(self._chain)
        token = _HEARD.set(self)
        try:
            yield
        finally:
            _HEARD.reset(token)

    def _answered(self, done: Completion) -> None:
        self.completion = done
        words = f"answered by {done.served.provider_ref}/{done.served.model}: {summary(done)}"
        if done.served.mismatch:
            words += f"; {done.served.mismatch}"
        self._show(phase="answered", words=words, text=safe(done.said))

    def _failed(self, error: CallError, *, alone: bool) -> None:
        sheet = sheet_of(error)
        head = "Fallback is off, and the one candidate gave no answer" if alone else "No answer"
        self._show(
            phase="failed",
            words=short(f"{head}: {error}", 400),
            columns=sheet.columns,
            rows=tuple(
                tuple(safe(cell) for cell in line)
                for line, failure in zip(sheet.rows, error.attempts, strict=True)
                if failure.row.status != "skipped_failed_stream"  # its own earlier failure stands there already
            ),
        )

    def _line(self, text: str) -> None:
        self._show(lines=(*self.shown.lines, text))

    def _show(self, **fields: Any) -> None:
        self.shown = replace(self.shown, **fields)
        self._changed()
