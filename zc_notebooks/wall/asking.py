"""One call as somebody in front of a chain makes it, and what they got."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from zc_notebooks.chain import Chain
from zc_notebooks.errors import CallError
from zc_notebooks.events import Final, Reasoning, Redraft, Text
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.result import Completion
from zc_notebooks.streaming import Stream
from zc_notebooks.wall.seen import Failed, Told
from zc_notebooks.wall.trial import PROMPT, Mode


async def call(chain: Chain, mode: Mode, settings: Mapping[str, Any]) -> Told:
    """Asks :data:`PROMPT`; whatever is raised is told."""
    rows: list[AttemptRow] = []
    chain.on_attempt = rows.append
    reader = _Reader()
    done: Completion | None = None
    failed: Failed | None = None
    began = time.monotonic()
    try:
        if mode == "chat":
            done = await chain.ask(PROMPT, **settings)
        else:
            done = await reader.read(chain.stream(PROMPT, draft=mode == "draft", **settings))
    except CallError as error:
        failed = Failed(name=type(error).__name__, text=str(error), partial=getattr(error, "partial_text", ""))
    except Exception as error:  # noqa: BLE001 (a crash is a result of the wall, not its end)
        failed = Failed(name=type(error).__name__, text=str(error), ours=False)
    return Told(
        rows=tuple(rows),
        completion=done,
        failed=failed,
        shown=reader.text,
        reasoning=reader.reasoning,
        redrafts=reader.redrafts,
        took_s=time.monotonic() - began,
    )


class _Reader:
    """Somebody who reads a stream."""

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.redrafts = 0

    async def read(self, stream: Stream) -> Completion | None:
        """Reads to the end; raises what the stream raises."""
        async with stream as events:
            async for event in events:
                if isinstance(event, Text):
                    self.text += event.text
                elif isinstance(event, Reasoning):
                    self.reasoning += event.text
                elif isinstance(event, Redraft):
                    self.text, self.redrafts = "", self.redrafts + 1
                elif isinstance(event, Final):
                    return event.completion
        return None
