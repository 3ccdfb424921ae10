"""Tests that need what is not installed everywhere: marked by their folder, and never skipped where all is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest


def mark(items: Sequence[pytest.Item], folder: Path, name: str) -> None:
    """Marks every test of ``folder``."""
    for item in items:
        if folder in item.path.parents:
            item.add_marker(getattr(pytest.mark, name))


def judged(report: pytest.TestReport, variable: str) -> pytest.TestReport:
    """A skip is a failure where the environment says ``variable=required``."""
    if report.skipped and os.environ.get(variable) == "required":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome, report.longrepr = "failed", f"{variable}=required: {reason}"
    return report
