"""The ``.env`` file, read again when it changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from zc_notebooks.config.stamp import Stamp, stamp_of

_NOTHING: Mapping[str, str] = {}


class EnvFile:
    """Names and values of one ``.env`` file. A missing or unreadable file holds nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._read = _Read(None, settled=True, values=_NOTHING)

    def values(self) -> Mapping[str, str]:
        """The file's present values; the file is parsed again only when it may have changed."""
        known, stamp = self._read, stamp_of(self.path)
        if stamp == known.stamp and known.settled:
            return known.values
        read_ns = time.time_ns()
        values = _NOTHING if stamp is None or self.path is None else _parse(self.path)
        self._read = _Read(stamp, settled=stamp is None or stamp.settled(read_ns), values=values)
        return values


class _Read(NamedTuple):
    """One reading; replaced as a whole, because threads share a file."""

    stamp: Stamp | None
    settled: bool
    values: Mapping[str, str]


def _parse(path: Path) -> Mapping[str, str]:
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path, encoding="utf-8-sig")
    except (OSError, ValueError):
        return _NOTHING
    return {name: value for name, value in found.items() if value is not None}
