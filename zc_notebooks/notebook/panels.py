"""``zc.controls()`` and ``zc.board()``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import configured
from zc_notebooks.notebook.board_state import BoardState
from zc_notebooks.notebook.board_view import Board
from zc_notebooks.notebook.controls_state import ControlsState
from zc_notebooks.notebook.controls_view import Controls
from zc_notebooks.places import ledger_folder


def controls(chain: Chain | None = None) -> Controls:
    """A control panel for a chain.

    Fallback, start, hint, tiers and budget of its next calls; every provider with its state, probe and marks; a prompt
    with a live answer, its hops and a Stop. ``.code`` is what was pressed, ``.state`` does the same from code.

    Args:
        chain: What to control; :func:`zc_notebooks.open` is called unless it is given.

    Raises:
        ConfigError: No chain is given, and the configuration found cannot be used.
    """
    if chain is None:
        from zc_notebooks.opening import open as open_chain

        return Controls(ControlsState(open_chain(), opened="zc.open()"))
    name = _name_of(chain)
    return Controls(ControlsState(chain, name=name or "chain", opened="" if name else _opened(chain)))


def board(chain: Chain | None = None, *, ledger: Path | str | None = None, hours: float = 24.0) -> Board:
    """A live board of every process of this machine that writes to one ledger.

    Attempts as they arrive, who was out when, and what today cost. It follows the ledger while it stands on a page: not
    after its cell was cleared or deleted, nor after ``board.close()``.

    Args:
        chain: Whose ledger; without one, the ledger of the configuration found (see :func:`zc_notebooks.open`).
        ledger: Another ledger folder.
        hours: How far back the timeline goes.

    Raises:
        ConfigError: The configuration found cannot be used.
        LedgerError: The ledger is no folder, or cannot be listed.
    """
    if ledger is None:
        ledger = ledger_folder(configured(os.environ)) if chain is None else chain.ledger_path
    return Board(BoardState(ledger, clock=None if chain is None else chain.clock, hours=hours))


def _opened(chain: Chain) -> str:
    """How a chain is made that has no name in the notebook."""
    path = chain.config.path
    return "zc.open()" if path is None else f"zc.open({str(path)!r})"


def _name_of(thing: object) -> str | None:
    """The name under which a notebook's cells know ``thing``."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    names = {} if shell is None else shell.user_ns
    return next((name for name, value in names.items() if value is thing and not name.startswith("_")), None)
