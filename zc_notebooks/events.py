"""The events of a streamed turn, in one place to import from."""

from __future__ import annotations

from zc_notebooks.chat import Notice, PreExecutedTool, Reasoning, Text, ToolCall, Usage
from zc_notebooks.records import Record
from zc_notebooks.result import Completion

__all__ = ["Event", "Final", "Notice", "PreExecutedTool", "Reasoning", "Redraft", "Text", "ToolCall", "Usage"]


class Redraft(Record, frozen=True, kw_only=True, tag="redraft"):
    """Drafts only: drop the text so far, the whole answer follows. An append-only consumer never gets this."""


class Final(Record, frozen=True, kw_only=True, tag="final"):
    """The last event of a turn: the accepted answer with its attribution."""

    completion: Completion


Event = Text | Reasoning | ToolCall | PreExecutedTool | Usage | Notice | Redraft | Final
