"""The one transport of a chain; what it knows of this machine follows the configuration in force."""

from __future__ import annotations

import threading
from typing import Any, cast

from zc_notebooks.clock import Clock
from zc_notebooks.config.schema import Config
from zc_notebooks.local.presence import Site, site_of
from zc_notebooks.local.transport import aware
from zc_notebooks.stream_attempt import Streams


class ChainTransport:
    """Made on first use, unless ``given``. Connections outlive a change of the configuration."""

    def __init__(self, given: Streams | None, clock: Clock) -> None:
        self._inner: Any = given
        self._clock = clock
        self._lock = threading.Lock()
        self._last: tuple[Config, frozenset[Site], Streams] | None = None

    def of(self, config: Config) -> Streams:
        """The transport for calls under ``config``: it knows that configuration's candidates on this machine."""
        last = self._last
        if last is not None and last[0] is config:
            return last[2]
        with self._lock:
            sites = frozenset(site for profile in config.profiles.values() if (site := site_of(profile)) is not None)
            kept = self._last[2] if self._last is not None and self._last[1] == sites else None
            transport = kept or cast("Streams", aware(self._opened(), config.profiles.values(), self._clock))
            self._last = (config, sites, transport)
            return transport

    def _opened(self) -> Any:
        if self._inner is None:
            from zc_notebooks.transport import AsyncTransport

            self._inner = AsyncTransport()
        return self._inner

    @property
    def is_open(self) -> bool:
        """Whether there is anything to close."""
        return self._inner is not None

    async def aclose(self) -> None:
        """Closes connections, if there are any."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()
