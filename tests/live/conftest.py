"""Everything here needs a counterpart that somebody else wrote, and is skipped where that is not installed.

With ``ZC_LIVE=required`` such a skip is a failure: where all of them are installed, none may go untested unseen.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.required import judged, mark

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test of this folder."""
    mark(items, HERE, "live")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns skips into failures where they are not allowed."""
    return judged((yield), "ZC_LIVE")
