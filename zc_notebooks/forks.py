"""What must be closed before a process forks: SQLite connections and POSIX locks do not survive it."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something that holds a connection and a lock."""

    def before_fork(self) -> None:
        """Nobody is inside, and no connection is open, while the process forks."""
        ...

    def after_fork(self, *, child: bool) -> None:
        """Undoes :meth:`before_fork`, on both sides."""
        ...


def register(store: Forked) -> None:
    """Tells ``store`` of every fork from now on, for as long as it lives."""
    with _guard:
        _stores.add(store)


_stores: weakref.WeakSet[Forked] = weakref.WeakSet()
_guard = threading.Lock()
"""Held while a store is registered and while the process forks, so that a fork knows every store."""
_forking: list[Forked] = []


def _before_fork() -> None:
    _guard.acquire()
    _forking.extend(_stores)
    for store in _forking:
        store.before_fork()


def _after_fork_in_parent() -> None:
    for store in _forking:
        store.after_fork(child=False)
    _forking.clear()
    _guard.release()


def _after_fork_in_child() -> None:
    global _guard  # noqa: PLW0603 (a lock does not survive a fork)
    for store in _forking:
        store.after_fork(child=True)
    _forking.clear()
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
