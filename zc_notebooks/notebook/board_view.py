"""The live board as a widget: a thin view on :class:`~.board_state.BoardState`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from zc_notebooks.markup import Sheet
from zc_notebooks.notebook.board_state import BoardState
from zc_notebooks.notebook.widget import Page, ms, script

_SHEET: Final = 15


class Board(Page):
    """The board. It follows the ledger while it stands on a page, until :meth:`close`."""

    _esm = script("board")
    state: BoardState

    def hear(self, message: Mapping[str, Any]) -> None:
        """See :class:`~.widget.Page`."""
        if message["do"] == "pause":
            self.state.pause(bool(message["value"]))
        else:
            super().hear(message)

    def close(self) -> None:
        """Ends it: nothing is followed any more."""
        super().close()
        self.state.close()

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

    def shown(self) -> dict[str, Any]:
        """See :class:`~.widget.Page`."""
        state = self.state
        return {
            "now": ms(state.at),
            "begin": ms(state.at) - state.hours * 3_600_000,
            "says": state.says(),
            "notice": state.notice,
            "arrived": state.arrived,
            "paused": state.paused,
            "recent": [
                {
                    **msgspec.to_builtins(item),
                    "t": f"{item.t:%H:%M:%S}",
                    "cost": item.cost(),
                    "words": item.words(),
                }
                for item in state.recent
            ],
            "today": [{**msgspec.to_builtins(item), "cost": item.cost()} for item in state.today],
            "left_out": state.out.left_out,
            "outages": [
                {
                    "lane": item.lane,
                    "begin": ms(item.begin),
                    "until": None if item.until is None else ms(item.until),
                    "end": None if item.end is None else ms(item.end),
                    "kind": item.kind,
                    "words": item.words(state.at),
                }
                for item in state.outages
            ],
        }

    def __repr__(self) -> str:
        return f"Board({self.state.says()})"
