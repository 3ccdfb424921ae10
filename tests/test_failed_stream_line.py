"""What the exception of a failed stream says about the candidate whose stream it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet
from zc_notebooks.testing import chat_error


def test_a_refused_stream_says_why(tmp_path: Path) -> None:
    """The candidate's line is its own last reason, not that its failed stream is not asked again (behaviour 145)."""
    fleet = Fleet({"a": [chat_error(402, "Insufficient balance")]}, tmp_path)

    async def listen() -> None:
        async with fleet.chain.stream("what is it?") as events:
            async for _ in events:
                pass

    with pytest.raises(zc.AllCandidatesFailed) as failed:
        asyncio.run(listen())
    assert str(failed.value) == "custom.a/m: Insufficient balance"
    assert [row.status for row in failed.value.rows] == ["http_402", "skipped_failed_stream"]
