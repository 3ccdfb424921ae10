"""The one chain of a kernel that its magics ask through: opened on first use, or the user's own."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ZcError

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain
    from zc_notebooks.ledger.read import Ledger


class Session:
    """Holds the chain. One that it opened itself is closed with the kernel or when another takes its place.

    Args:
        opened: Opens a chain; :func:`zc_notebooks.open` unless given.
    """

    def __init__(self, opened: Callable[[], Chain] | None = None) -> None:
        self._open = opened or _opened
        self._chain: Chain | None = None
        self._own = False
        self._ledger: Ledger | None = None

    def chain(self) -> Chain:
        """The chain, opened now if there is none yet. Raises :class:`~zc_notebooks.errors.ConfigError`."""
        if self._chain is None:
            self._chain, self._own = self._open(), True
            atexit.register(self.close)
        return self._chain

    def use(self, chain: Chain) -> None:
        """Asks through ``chain`` from now on; it stays the user's to close."""
        if chain is not self._chain:
            self.close()
            self._chain = chain

    def ledger(self) -> Ledger:
        """The ledger of the chain, or the one a chain would write to: to query it, none need be opened."""
        if self._chain is not None:
            return self._chain.ledger
        if self._ledger is None:
            from zc_notebooks.config.load import configured
            from zc_notebooks.ledger.read import Ledger
            from zc_notebooks.places import ledger_folder

            self._ledger = Ledger(ledger_folder(configured(os.environ)))
        return self._ledger

    def config(self) -> Config:
        """What is configured, for completion; opens nothing and never raises."""
        if self._chain is not None:
            return self._chain.config
        from zc_notebooks.config.load import configured
        from zc_notebooks.opening import lab_config

        with suppress(ZcError, OSError):
            return configured(os.environ) or lab_config(os.environ)
        return Config()

    def close(self) -> None:
        """Closes what was opened here."""
        chain, own, ledger = self._chain, self._own, self._ledger
        self._chain, self._own, self._ledger = None, False, None
        atexit.unregister(self.close)
        if ledger is not None:
            ledger.close()
        if chain is not None and own:
            chain.close()


def _opened() -> Chain:
    from zc_notebooks.opening import open as opened

    return opened()
