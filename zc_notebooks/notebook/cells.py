"""Sinks for a notebook cell, and a Stop button: a draft is rewritten in place, events are appended."""

from __future__ import annotations

import sys
from html import escape
from typing import Any, Protocol

from zc_notebooks.events import Event, Notice, Text
from zc_notebooks.redact import redact


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
            sys.stdout.write(event.text)
        elif isinstance(event, Notice):
            sys.stdout.write(f"\n[{event.text}]\n")
        sys.stdout.flush()


class CellDraft:
    """A preview below the cell that is rewritten in place until the answer is final."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._remarks: list[str] = []

    async def remark(self, text: str) -> None:
        """A sentence of the chain's own, drawn below the text with the next draft."""
        self._remarks.append(redact(text))

    async def draft(self, text: str, *, final: bool) -> None:
        """See :class:`~zc_notebooks.sinks.DraftSink`."""
        from IPython import display as shell

        show: Any = shell.display
        word = "answer" if final else "draft"
        body = f'<p style="white-space:pre-wrap">{escape(redact(text))}</p>'
        below = "".join(f"<p><em>{escape(remark)}</em></p>" for remark in self._remarks)
        bundle = {
            "text/plain": "\n".join([f"[{word}] {redact(text)}", *(f"[{remark}]" for remark in self._remarks)]),
            "text/html": f'<div class="zc"><p><em>{word}</em></p>{body}{below}</div>',
        }
        if self._handle is None:
            self._handle = show(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


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
