"""Warnings name the caller's line, or nobody's."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path

import pytest

from tests.fleet import Fleet
from zc_notebooks.calling import UnknownHintWarning
from zc_notebooks.complaint import warn
from zc_notebooks.testing import chat_answer


def test_a_warning_names_the_line_of_the_caller(tmp_path: Path) -> None:
    """A call that is awaited stands below its caller."""
    fleet = Fleet({"a": [chat_answer()] * 2}, tmp_path)
    with pytest.warns(UnknownHintWarning) as told:
        asyncio.run(fleet.chain.ask("hi", hint="nope"))
    assert told[0].filename == "<zc_notebooks>"  # asyncio.run stands between

    async def ask() -> None:
        await fleet.chain.ask("hi", hint="nope")

    with pytest.warns(UnknownHintWarning) as told:
        asyncio.run(ask())
    assert told[0].filename == __file__


def test_nobodys_line_is_said_each_time(tmp_path: Path) -> None:
    """A call on the package's own loop has no caller below it: no file is named, and no filter keeps it silent."""
    fleet = Fleet({"a": [chat_answer()] * 2}, tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(2):
            fleet.chain.ask_sync("hi", hint="nope")
    assert [item.filename for item in told] == ["<zc_notebooks>"] * 2


def test_a_line_is_told_once() -> None:
    """As any warning is."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(2):
            warn("words", UserWarning)
    assert [(item.filename, str(item.message)) for item in told] == [(__file__, "words")]
