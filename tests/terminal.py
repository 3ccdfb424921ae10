"""``zc`` as a test types it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from zc_notebooks.cli.app import run


class Terminal:
    """Runs commands and keeps what they said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *arguments: str) -> int:
        status = run(arguments)
        self.out, self.err = self._capsys.readouterr()
        return status

    @property
    def json(self) -> Any:
        return json.loads(self.out)
