"""What a simulated model says, before any wire puts it into its own form."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Literal

from zc_notebooks.chat import ToolCall
from zc_notebooks.lab.conversation import Conversation
from zc_notebooks.lab.dialect import Dialect
from zc_notebooks.records import Record

Finish = Literal["stop", "length", "tool_calls", "content_filter"]
FrameKind = Literal["open", "reasoning", "text", "tool", "finish", "usage", "done", "error", "comment"]


class Reply(Record, frozen=True, kw_only=True):
    """One whole answer with its tokens."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    """Visible and reasoning tokens together."""
    reasoning_tokens: int = 0

    @property
    def visible_tokens(self) -> int:
        """Output without reasoning."""
        return self.output_tokens - self.reasoning_tokens


class Frame(Record, frozen=True, kw_only=True):
    """One piece of a stream as it stands on the wire, and what it is."""

    kind: FrameKind
    data: bytes


class Ids:
    """Ids that look like a provider's, the same for the same seed and request."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311 (looks, not secrecy)

    def hex(self, length: int = 24) -> str:
        """Hexadecimal digits."""
        return f"{self._random.getrandbits(4 * length):0{length}x}"

    def uuid(self) -> str:
        """The form of a UUID."""
        digits = self.hex(32)
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class Telling(Record, frozen=True, kw_only=True):
    """Everything a wire's encoder needs besides the reply itself."""

    conversation: Conversation
    dialect: Dialect
    reported: str
    """The model the answer names."""
    now: datetime
    id: str
    """24 hex digits of this answer."""
    family: str = "custom"
    usage: Literal["normal", "none", "thrice"] = "normal"
    finish: bool = True
    """Whether the finish reason is said."""
    cost_usd: float = 0.0

    @property
    def created(self) -> int:
        """Unix seconds."""
        return int(self.now.timestamp())


def spans(texts: list[str], each: int) -> Iterator[str]:
    """The texts joined in groups of ``each``."""
    for start in range(0, len(texts), each):
        yield "".join(texts[start : start + each])
