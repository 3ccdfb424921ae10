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
        self._before: list[str] = []
        self._after: list[str] = []
        """What the chain said before the text began, and since."""
        self._printed: str | None = None
        """What stands in a terminal already."""
        self._now = now
        self._text = ""
        self._next = -math.inf

    async def remark(self, text: str) -> None:
        """A sentence of the chain's own, drawn above the text it comes before and below the one it comes after."""
        (self._after if self._text else self._before).append(text)

    async def draft(self, text: str, *, final: bool) -> None:
        """See :class:`~zc_notebooks.sinks.DraftSink`."""
        if not text:  # begun anew: what was said of the text before stands above the next one
            self._before, self._after = [*self._before, *self._after], []
        self._text = text
        if final or self._now() >= self._next:
            self._draw("answer" if final else "draft")

    def end(self, word: str, *remarks: str) -> None:
        """Says how it ended, where something was shown."""
        self._after.extend(remarks)
        if self._handle is not None or self._printed is not None:
            self._draw(word)

    def _draw(self, word: str) -> None:
        from IPython import display as shell
        from IPython.core.getipython import get_ipython

        if (here := get_ipython()) is not None and not hasattr(here, "kernel"):
            self._print(word)
            return
        show: Any = shell.display
        lines = (*self._before, self._text) if self._text else tuple(self._before)
        sheet = Sheet(title=word, lines=lines, notes=tuple(self._after))
        above, below = ([f"[{clean(remark)}]" for remark in remarks] for remarks in (self._before, self._after))
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
        if self._before:
            sys.stdout.write(begun + "".join(f"[{clean(remark)}]\n" for remark in self._before))
            self._before = []
        sys.stdout.write(text[len(printed) :])
        self._printed = max(printed, text, key=len)
        if word != "draft":
            below = "".join(f"[{clean(remark)}]\n" for remark in self._after)
            below = below if word == "answer" else f"[{word}]\n{below}"
            sys.stdout.write(below if self._printed.endswith("\n") else f"\n{below}")
            self._after, self._printed = [], f"{self._printed.rstrip()}\n"
        sys.stdout.flush()
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
