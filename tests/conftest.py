"""What every test has: nobody's own state, keys or configuration; the recorded cases, when they are there at all."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from zc_notebooks.redact import Redactor

os.environ.setdefault("ZC_LOCAL_MODEL", "off")  # notebooks and tests see the same chain with and without the model


def pytest_configure(config: pytest.Config) -> None:
    """Also kernels that nbval starts, and child processes, touch nothing of the user's own and hear Ctrl-C."""
    folder = tempfile.TemporaryDirectory(prefix="zc-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    os.environ["ZC_STATE_DIR"] = f"{folder.name}/state"
    os.environ["XDG_CONFIG_HOME"] = folder.name
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    os.environ.pop("ZC_CONFIG", None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
    """No test finds another one's state or keys."""
    monkeypatch.setattr("zc_notebooks.redact._shared", Redactor())
    monkeypatch.setenv("ZC_STATE_DIR", str(tmp_path_factory.mktemp("state")))
