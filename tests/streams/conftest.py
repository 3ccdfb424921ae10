"""What streams are held against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.streams.holding import Holding, config, holding


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Holding]:
    """A provider that holds the line, and its ``zc.toml``."""
    with holding() as one:
        (tmp_path / "zc.toml").write_text(config(one), encoding="utf-8")
        yield one
