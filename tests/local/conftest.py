"""No test finds what another one has seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from zc_notebooks.local.presence import shared


@pytest.fixture(autouse=True)
def _nothing_seen() -> Iterator[None]:
    shared.clear()
    yield
    shared.clear()
