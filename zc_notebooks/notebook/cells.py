"""Sinks for a notebook cell, and a Stop button: a draft is rewritten in place, events are appended."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from zc_notebooks.events import Event, Notice, Text
from zc_notebooks.markup import LINE_CHARS, Sheet, clean, screened
from zc_notebooks.redact import safe

EVERY_S: Final = 0.05
BYTES_A_SECOND: Final = 200_000
"""How often, and how much, a draft is rewritten."""


class Stoppable(Protocol):
    """Something with a Stop: a stream."""

    def cancel(self) -> None:
        """Ends it."""
        ...


class CellEvents:
    """Append-only: text as it comes, notices on a line of their own. What was printed is never printed again."""

    async def event(self, event: Event) -> None:
        """See :class:`~zc_notebooks.sinks.EventSink`."""
        if isinstance(event, Text):
            sys.stdout.write(screened(event.text, sys.stdout))
        elif isinstance(event, Notice):
            sys.stdout.write(f"\n[{clean(event.text)}]\n")
        sys.stdout.flush()


class CellDraft:
    """A preview below the cell that is rewritten in place until the answer is final.

    A long text is rewritten less often: a server drops what comes faster than about a megabyte per second.

    Args:
        now: Seconds of a clock that only goes forward.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._handle: Any = None
        self._remarks: list[str] = []
        self._ended: tuple[str, ...] = ()
        self._printed: str | None = None
        """What stands in a terminal already."""
        self._now = now
        self._text = ""
        self._next = -math.inf

    async def remark(self, text: str) -> None:
        """A sentence of the chain's own, drawn above the text with the next draft."""
        self._remarks.append(text)

    async def draft(self, text: str, *, final: bool) -> None:
        """See :class:`~zc_notebooks.sinks.DraftSink`."""
        self._text = text
        if final or self._now() >= self._next:
            self._draw("answer" if final else "draft")

    def end(self, word: str, *remarks: str) -> None:
        """Says how it ended, where something was shown."""
        self._ended = remarks
        if self._handle is not None or self._printed is not None:
            self._draw(word)

    def _draw(self, word: str) -> None:
        from IPython import display as shell
        from IPython.core.getipython import get_ipython

        if (here := get_ipython()) is not None and not hasattr(here, "kernel"):
            self._print(word)
            return
        show: Any = shell.display
        lines = (*self._remarks, self._text) if self._text else tuple(self._remarks)
        sheet = Sheet(title=word, lines=lines, notes=self._ended)
        above, below = ([f"[{clean(remark)}]" for remark in remarks] for remarks in (self._remarks, self._ended))
        plain = [*above, f"[{word}] {clean(self._text, LINE_CHARS)}", *below]
        bundle = {"text/plain": "\n".join(plain), "text/html": sheet.html()}
        if self._handle is None:
            self._handle = show(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
        self._next = self._now() + max(EVERY_S, 2 * len(bundle["text/html"]) / BYTES_A_SECOND)

    def _print(self, word: str) -> None:
        """In a terminal nothing is rewritten: what is new follows what stands there, each sentence once."""
        text, printed = safe(self._text), self._printed or ""
        begun = "\n" if printed else ""
        if not text.startswith(printed.rstrip()):
            sys.stdout.write(f"{begun}[what stands above is no answer]\n")
            printed = begun = ""
        if self._remarks:
            sys.stdout.write(begun + "".join(f"[{clean(remark)}]\n" for remark in self._remarks))
            self._remarks = []
        ended = "".join(f"[{clean(remark)}]\n" for remark in self._ended)
        last = {"draft": "", "answer": ended or "\n"}.get(word, f"\n[{word}]\n{ended}")
        sys.stdout.write(text[len(printed) :] + last)
        sys.stdout.flush()
        self._printed = text
        self._next = self._now() + EVERY_S


def stop_button(stream: Stoppable) -> Any:
    """A button that stops ``stream``. It works while the running cell awaits (an ``async for`` does)."""
    import ipywidgets as widgets

    button = widgets.Button(description="Stop", tooltip="Stop this answer; what was shown stays", icon="stop")

    def pressed(_: Any) -> None:
        button.disabled = True
        button.description = "Stopped"
        stream.cancel()

    button.on_click(pressed)
    return button
