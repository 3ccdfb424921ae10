"""Short ways to load a text and to see what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from zc_notebooks.config.load import parse_config
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError, Problem

Load = Callable[..., Config]
Faults = Callable[..., dict[str, Problem]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a text with an empty environment unless one is given."""

    def loaded(text: str, environ: Mapping[str, str] | None = None) -> Config:
        return parse_config(text, base_dir=tmp_path, environ=environ)

    return loaded


@pytest.fixture
def faults(load: Load) -> Faults:
    """The problems of a text by path; fails when it loads."""

    def found(text: str, environ: Mapping[str, str] | None = None) -> dict[str, Problem]:
        with pytest.raises(ConfigError) as caught:
            load(text, environ)
        assert caught.value.problems
        return {problem.path: problem for problem in caught.value.problems}

    return found


def codes(config: Config) -> list[tuple[str, str]]:
    """(code, path) of every warning."""
    return [(warning.code, warning.path) for warning in config.warnings]
