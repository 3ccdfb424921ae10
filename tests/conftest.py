"""Shared fixtures: where the recorded cases are, when they are there at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from zc_notebooks.redact import Redactor

ROOT = Path(__file__).resolve().parent.parent

os.environ.setdefault("ZC_LOCAL_MODEL", "off")  # notebooks and tests see the same chain with and without the model


def cases_dir() -> Path | None:
    """The folder of recorded wire responses, or ``None`` where it is not."""
    named = os.environ.get("ZC_CASES_DIR")
    folder = Path(named) if named else ROOT.parent / "shared" / "cases"
    return folder if folder.is_dir() else None


def load_cases() -> list[dict[str, Any]]:
    """All recorded cases by name; empty where the folder is missing."""
    folder = cases_dir()
    if folder is None:
        return []
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own state, keys or config."""
    monkeypatch.setattr("zc_notebooks.redact._shared", Redactor())  # no test knows another one's keys
    monkeypatch.setenv("ZC_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    monkeypatch.delenv("ZC_CONFIG", raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
