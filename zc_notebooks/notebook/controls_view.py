"""The control panel as a widget: a thin view on :class:`~.controls_state.ControlsState`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from zc_notebooks.chain import Chain
from zc_notebooks.markup import Sheet, counted
from zc_notebooks.notebook.controls_state import ControlsState
from zc_notebooks.notebook.widget import Page, ms, script

FRAME_S: Final = 0.05
"""Seconds between two messages of a running answer."""
_LINES: Final = 200
"""Attempts and hops shown of one turn."""


class Controls(Page):
    """The panel. Its logic is :attr:`state`, which code drives as well: ``await controls.state.probe("groq.free")``.

    Closing it leaves the chain open, and an answer under way goes on.
    """

    _esm = script("controls")
    state: ControlsState
    _sent_at = 0.0
    _later: asyncio.TimerHandle | None = None
    _text = ""
    """The part of the answer that the page has."""

    @property
    def code(self) -> str:
        """What was pressed, as code that can be pasted into a cell."""
        return self.state.code

    @property
    def chain(self) -> Chain:
        """What is controlled."""
        return self.state.chain

    # -- from the page ------------------------------------------------------------------------------------------------

    def hear(self, message: Mapping[str, Any]) -> None:
        """See :class:`~.widget.Page`. A click made before the page saw that its action had begun is the same click."""
        do, ref, state = message["do"], message.get("ref", ""), self.state
        if do == "stop":
            state.stop()
        elif do == "code":
            self.send({"kind": "code", "text": state.code})
        elif do == "set":
            state.set(**{message["name"]: message["value"]})
        elif state.fresh(f"{do} {ref}", message.get("seen")):
            self._begin(do, ref, message)

    def _begin(self, do: str, ref: str, message: Mapping[str, Any]) -> None:
        state = self.state
        if do == "only":
            state.only(ref)
        elif do == "clear":
            state.clear(ref)
        elif do == "probe":
            self.tasks.start(f"the probe of {ref}", lambda: state.probe(ref))
        elif do == "probe_all":
            self.tasks.start("Probe all", state.probe_all)
        elif do == "send":
            prompt = str(message["prompt"])
            self.tasks.start("the prompt", lambda: state.send(prompt))
        else:
            super().hear(message)

    # -- to the page --------------------------------------------------------------------------------------------------

    def say_all(self) -> None:
        """See :class:`~.widget.Page`."""
        super().say_all()
        self._text = ""
        self._show_turn()

    def sheet(self) -> Sheet:
        """See :class:`~.widget.Page`: the providers as they are now; no prompt and no answer."""
        rows = ((row.ref, row.model, row.words, row.headroom, row.last) for row in self.state.rows)
        columns = ("provider", "model", "state", "left, as stated", "last outcome")
        return Sheet(
            title="Controls",
            lines=tuple(line for line in (self.state.problem, self.state.says) if line),
            columns=columns,
            rows=tuple(rows),
        )

    def told(self, topic: str) -> None:
        """See :class:`~.widget.Page`; a running answer is told a few times a second."""
        if topic != "turn":
            super().told(topic)
        elif self.state.turn.phase != "asking" or time.monotonic() - self._sent_at >= FRAME_S:
            self._show_turn()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(FRAME_S, self._show_turn)

    def _show_turn(self) -> None:
        """Only the new end of the answer is sent, unless it was rewritten."""
        with self._lock:
            self._later, self._sent_at = None, time.monotonic()
            shown = self.state.turn
            keep = len(self._text) if shown.text.startswith(self._text) else 0
            fields = msgspec.to_builtins(msgspec.structs.replace(shown, lines=shown.lines[-_LINES:]))
            self._text = shown.text
            self.send({"kind": "turn", **fields, "text": shown.text[keep:], "keep": keep})

    def shown(self) -> dict[str, Any]:
        """See :class:`~.widget.Page`."""
        state = self.state
        settings, progress = state.settings, state.progress
        return {
            "version": state.version,
            "now": ms(state.chain.clock.now()),
            "says": state.says,
            "problem": state.problem,
            "notice": state.notice,
            "asking": state.asking,
            "fallback": settings.fallback,
            "start": settings.start or "",
            "hint": settings.hint or "",
            "tiers": list(state.choices["tiers"] if settings.tiers is None else settings.tiers),
            "budget": "" if settings.budget_usd is None else f"{settings.budget_usd:f}",
            "choices": {name: list(values) for name, values in state.choices.items()},
            "progress": None
            if progress is None
            else {"done": progress.done, "total": progress.total, "words": progress.words},
            "rows": [
                {
                    **msgspec.to_builtins(row),
                    "busy": row.ref in state.probing,
                    "marks": [{"words": mark.words, "until": ms(mark.until)} for mark in row.marks],
                }
                for row in state.rows
            ],
        }

    def __repr__(self) -> str:
        rows = self.state.rows
        words = ", ".join(f"{row.ref}: {row.words}" for row in rows)
        return f"Controls({counted(len(rows), 'provider')}; {words})"
