"""The ``.env`` file, read again when it changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_NOTHING: Mapping[str, str] = {}


class EnvFile:
    """Names and values of one ``.env`` file. A missing or unreadable file holds nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._values: Mapping[str, str] = _NOTHING

    def values(self) -> Mapping[str, str]:
        """The file's present values; the file is parsed again only when its time, size or identity changed."""
        stamp = self._look()
        if stamp != self._stamp:
            self._values = _NOTHING if stamp is None or self.path is None else _parse(self.path)
            self._stamp = stamp
        return self._values

    def _look(self) -> tuple[int, int, int] | None:
        if self.path is None:
            return None
        try:
            status = self.path.stat()
        except (OSError, ValueError):
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def _parse(path: Path) -> Mapping[str, str]:
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path, encoding="utf-8-sig")
    except (OSError, ValueError):
        return _NOTHING
    return {name: value for name, value in found.items() if value is not None}
