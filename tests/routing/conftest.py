"""The lab of these tests, as new for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.routing.homes import SCENARIO, House
from zc_notebooks.lab import Lab


@pytest.fixture(scope="session")
def _home_lab() -> Iterator[Lab]:
    with Lab(SCENARIO, latency=0) as lab:
        yield lab


@pytest.fixture
def lab(_home_lab: Lab) -> Lab:
    """As if it had just been started."""
    _home_lab.reset()
    return _home_lab


@pytest.fixture
def house(lab: Lab, tmp_path: Path) -> Iterator[Callable[..., House]]:
    """Makes chains over the lab and closes them."""
    made: list[House] = []

    def make(**options: Any) -> House:
        made.append(House(lab, tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.chain.close()
