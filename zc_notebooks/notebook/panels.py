"""``zc.controls()`` and ``zc.board()``."""

from __future__ import annotations

import os
from numbers import Real
from pathlib import Path
from typing import Any, Final

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import configured
from zc_notebooks.errors import ConfigError
from zc_notebooks.notebook.board_state import BoardState
from zc_notebooks.notebook.board_view import Board
from zc_notebooks.notebook.controls_state import ControlsState
from zc_notebooks.notebook.controls_view import Controls
from zc_notebooks.places import ledger_folder
from zc_notebooks.redact import short

MOST_HOURS: Final = 87_600
"""Ten years of a board's timeline."""


def controls(chain: Chain | None = None) -> Controls:
    """A control panel for a chain.

    Fallback, start, hint, tiers and budget of its next calls; every provider with its state, probe and marks; a prompt
    with a live answer, its hops and a Stop. ``.code`` is what was pressed, ``.state`` does the same from code.

    Args:
        chain: What to control; :func:`zc_notebooks.open` is called unless it is given.

    Raises:
        ConfigError: What is given is no chain; or none is, and the configuration found cannot be used.
    """
    _check("zc.controls", chain)
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
        hours: How far back the timeline goes, up to ten years.

    Raises:
        ConfigError: The configuration found cannot be used, or something is given that is none of these.
        LedgerError: The ledger is no folder, or cannot be listed.
    """
    _check("zc.board", chain, ledger, hours)
    if ledger is None:
        ledger = ledger_folder(configured(os.environ)) if chain is None else chain.ledger_path
    return Board(BoardState(ledger, clock=None if chain is None else chain.clock, hours=float(hours)))


def _check(called: str, chain: object, ledger: object = None, hours: object = 1) -> None:
    if not isinstance(chain, Chain | None):
        raise ConfigError(f"{called} takes a chain, as zc.open() makes one, not {short(repr(chain), 60)}")
    if not isinstance(ledger, str | os.PathLike | None):
        raise ConfigError(f"{called}: ledger is the path of a folder, not {short(repr(ledger), 60)}")
    if isinstance(hours, bool) or not isinstance(hours, Real) or hours <= 0 or not hours <= MOST_HOURS:
        raise ConfigError(f"{called}: hours is a number above 0 and up to {MOST_HOURS:,}, not {short(repr(hours), 60)}")


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
