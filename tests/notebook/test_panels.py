"""``zc.controls()`` and ``zc.board()``: what they are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc

HOURS = "zc.board: hours is a number above 0 and up to 87,600, not "


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("controls", {"chain": 5}, "zc.controls takes a chain, as zc.open() makes one, not 5"),
        ("controls", {"chain": "z.toml"}, "zc.controls takes a chain, as zc.open() makes one, not 'z.toml'"),
        ("board", {"chain": "z.toml"}, "zc.board takes a chain"),
        ("board", {"ledger": 5}, "zc.board: ledger is the path of a folder, not 5"),
        ("board", {"hours": 10**9}, HOURS + "1000000000"),
        ("board", {"hours": 10**400}, HOURS + "1000"),
        ("board", {"hours": float("nan")}, HOURS + "nan"),
        ("board", {"hours": "x"}, HOURS + "'x'"),
        ("board", {"hours": -3}, HOURS + "-3"),
        ("board", {"hours": 0}, HOURS + "0"),
        ("board", {"hours": None}, HOURS + "None"),
        ("board", {"hours": True}, HOURS + "True"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    name: str, given: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was given, what is taken; nothing is opened."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(zc.ConfigError) as caught:
        getattr(zc, name)(**given)
    assert str(caught.value).startswith(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opened", [zc.controls, zc.board, zc.open])
def test_a_configuration_that_is_not_there_is_one_sentence(
    opened: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook prints it without frames; they are one call away."""
    monkeypatch.setenv("ZC_CONFIG", "/nope/zc.toml")
    with pytest.raises(zc.ConfigError) as caught:
        opened()
    assert caught.value._render_traceback_() == ["ConfigError: ZC_CONFIG names /nope/zc.toml, which is no file"]
    assert "Traceback (most recent call last)" in caught.value.traceback()
