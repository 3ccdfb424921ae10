"""Everything here drives a real browser, and is skipped with the reason where that is not installed.

With ``ZC_UI=required`` such a skip is a failure: where all is installed, nothing may go untested unseen.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.required import judged, mark
from tests.ui.pages import Browser, Lab, Notebook7, missing

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test of this folder."""
    mark(items, HERE, "ui")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns skips into failures where they are not allowed."""
    return judged((yield), "ZC_UI")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One Chromium for a module's tests. While it is driven, this thread has a running loop, and no other test may."""
    if (lacking := missing("playwright")) is not None:
        pytest.skip(lacking)
    with Browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One JupyterLab for all tests."""
    yield from _started(Lab, tmp_path_factory)


@pytest.fixture(scope="session")
def notebook_7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One Jupyter Notebook 7 for all tests."""
    yield from _started(Notebook7, tmp_path_factory)


def _started(kind: type[Lab], folders: pytest.TempPathFactory) -> Iterator[Lab]:
    if (lacking := missing(kind.module)) is not None:
        pytest.skip(lacking)
    with kind(folders.mktemp(kind.module)) as started:
        yield started
