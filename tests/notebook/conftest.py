"""A callback of a panel that raises fails the test, unless the test says that it expects it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from zc_notebooks.notebook.trouble import LISTENERS, Trouble


@pytest.fixture
def troubles() -> list[Trouble]:
    """What panels had to show; a test that asks for it looks at them itself."""
    return []


@pytest.fixture(autouse=True)
def _no_trouble(request: pytest.FixtureRequest, troubles: list[Trouble]) -> Iterator[None]:
    LISTENERS.add(troubles.append)
    yield
    LISTENERS.discard(troubles.append)
    if "troubles" not in request.node.function.__code__.co_varnames:
        assert [trouble.details for trouble in troubles] == []
