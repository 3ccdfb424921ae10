"""Tests of the package, in folders that mirror it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
"""The folder of the repository."""
