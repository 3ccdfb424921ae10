"""Everything here needs a counterpart that somebody else wrote, and is skipped where that is not installed.

With ``ZC_LIVE=required`` such a skip is a failure: where all of them are installed, none may go untested unseen.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.live)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns skips into failures where they are not allowed."""
    report = yield
    if report.skipped and os.environ.get("ZC_LIVE") == "required":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome, report.longrepr = "failed", f"ZC_LIVE=required: {reason}"
    return report
