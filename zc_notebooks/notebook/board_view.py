"""The live board as a widget: a thin view on :class:`~.board_state.BoardState`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import traitlets

from zc_notebooks.markup import Sheet
from zc_notebooks.notebook.board_state import BoardState
from zc_notebooks.notebook.tasks import Soon
from zc_notebooks.notebook.widget import Page, script, style

_SHEET: Final = 15


class Board(Page):
    """The board. It follows the ledger while it stands on a page, until :meth:`close`."""

    _esm = script("board")
    _css = style()
    panel = traitlets.Dict().tag(sync=True)
    """What the page shows. The ledger holds no prompt and no answer, so this holds none."""

    def __init__(
        self,
        state: BoardState,
        *,
        loop: Soon | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        super().__init__(state.failed, loop=loop, sleep=sleep)
        self.state = state
        self._lock = threading.RLock()
        self._unobserve = state.observe(self._told)
        self._told("panel")

    def look(self) -> None:
        """See :class:`~.widget.Page`."""
        self.state.refresh()

    def say_all(self) -> None:
        """See :class:`~.widget.Page`."""
        self.state.refresh(always=True)
        self._told("trouble")

    def hear(self, message: Mapping[str, Any]) -> None:
        """See :class:`~.widget.Page`."""
        do = message["do"]
        if do == "dismiss":
            self.state.dismiss()
        elif do == "pause":
            self.state.pause(bool(message["value"]))
        else:
            raise ValueError(f"the board has no button {do!r}")

    def close(self) -> None:
        """Ends it: nothing is followed any more."""
        self._unobserve()
        self.state.close()
        super().close()

    def sheet(self) -> Sheet:
        """See :class:`~.widget.Page`: the newest attempts."""
        state = self.state
        rows = (
            (f"{item.t:%H:%M:%S}", f"{item.ref}/{item.model}", item.outcome, item.status, item.reason)
            for item in state.recent[:_SHEET]
        )
        out = tuple(f"{item.lane}: {item.words(state.at)}" for item in state.outages)
        columns = ("UTC", "candidate", "outcome", "status", "reason")
        return Sheet(title="Board", lines=(state.says(),), columns=columns, rows=tuple(rows), notes=out)

    def _told(self, topic: str) -> None:
        if topic == "trouble":
            trouble = self.state.trouble
            self.send({"kind": "trouble", "trouble": None if trouble is None else msgspec.to_builtins(trouble)})
            return
        with self._lock:
            self.panel = panel_of(self.state)

    def __repr__(self) -> str:
        return f"Board({self.state.says()})"


def panel_of(state: BoardState) -> dict[str, Any]:
    """What the page shows, as plain data; instants are milliseconds since 1970."""
    return {
        "now": _ms(state.at),
        "begin": _ms(state.at) - state.hours * 3_600_000,
        "says": state.says(),
        "notice": state.notice,
        "arrived": state.arrived,
        "paused": state.paused,
        "recent": [
            {
                **msgspec.to_builtins(item),
                "t": f"{item.t:%H:%M:%S}",
                "cost": item.cost(),
            }
            for item in state.recent
        ],
        "today": [{**msgspec.to_builtins(item), "cost": item.cost()} for item in state.today],
        "left_out": state.out.left_out,
        "outages": [
            {
                "lane": item.lane,
                "begin": _ms(item.begin),
                "until": None if item.until is None else _ms(item.until),
                "end": None if item.end is None else _ms(item.end),
                "kind": item.kind,
                "words": item.words(state.at),
            }
            for item in state.outages
        ],
    }


def _ms(at: Any) -> float:
    return float(at.timestamp() * 1000)
