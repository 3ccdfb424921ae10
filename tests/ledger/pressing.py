"""Ctrl-C at a definite point of a query."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TypeVar

import pytest

from zc_notebooks.ledger import interrupting

T = TypeVar("T")
ENDLESS = "select sum(hash(a.range + b.range)) from range(10000000) a, range(1000000) b"
"""A query of hours."""


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on each query is interrupted when its thread is about to begin it; undone by ``monkeypatch``."""

    def interrupted(work: Callable[[], T], interrupt: Callable[[], object]) -> T:
        def pressed() -> T:
            signal.raise_signal(signal.SIGINT)
            return work()

        return interrupting.interruptible(pressed, interrupt)

    monkeypatch.setattr("zc_notebooks.ledger.store.interruptible", interrupted)
