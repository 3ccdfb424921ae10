"""The ``.env`` file, read again when it changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from zc_notebooks.config.stamp import Stamp, stamp_of

_NOTHING: Mapping[str, str] = {}


class EnvFile:
    """Names and values of one ``.env`` file. A missing or unreadable file holds nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stamp: Stamp | None = None
        self._settled = True
        self._values: Mapping[str, str] = _NOTHING

    def values(self) -> Mapping[str, str]:
        """The file's present values; the file is parsed again only when it may have changed."""
        stamp = stamp_of(self.path)
        if stamp != self._stamp or not self._settled:
            read_ns = time.time_ns()
            self._values = _NOTHING if stamp is None or self.path is None else _parse(self.path)
            self._stamp, self._settled = stamp, stamp is None or stamp.settled(read_ns)
        return self._values


def _parse(path: Path) -> Mapping[str, str]:
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path, encoding="utf-8-sig")
    except (OSError, ValueError):
        return _NOTHING
    return {name: value for name, value in found.items() if value is not None}
