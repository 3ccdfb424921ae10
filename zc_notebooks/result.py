"""What a call gives back: the answer, who was asked, who served, and every attempt on the way."""

from __future__ import annotations

from decimal import Decimal

from zc_notebooks.chat import FinishReason, Hop, Identity, ToolCall, Usage, UsageByProvider
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import counted
from zc_notebooks.records import Record
from zc_notebooks.redact import short
from zc_notebooks.shown import Shown


class FallbackRecord(Record, frozen=True, kw_only=True):
    """Note that an entry other than the first served after a failure or a skip (spec 11)."""

    requested: Identity
    served: Identity
    cause: str
    """Why the first entry did not serve: its last failure's reason, or the status of its skip."""
    hops: tuple[Hop, ...] = ()


class Completion(Record, Shown, frozen=True, kw_only=True):
    """An accepted answer with its attribution."""

    text: str
    call_id: str
    served: Identity
    requested: Identity
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason | None = None
    finish_raw: str | None = None
    usage: Usage | None = None
    attempts: tuple[AttemptRow, ...] = ()
    """Every attempt and skip of the call, in order."""
    hops: tuple[Hop, ...] = ()
    usage_by_provider: tuple[UsageByProvider, ...] = ()
    cost_usd: Decimal | None = None
    """Sum of the known parts over all rows; ``None`` when no part is known."""
    at_least: bool = False
    """Whether some part of the cost is unknown."""
    notice: str | None = None
    """What ``model_fallback_notice`` wants a person told; never part of :attr:`text`, so never of a history."""
    fallback: FallbackRecord | None = None
    context_truncated: bool = False
    max_tokens: int | None = None
    """Limit of the answer that was sent, in tokens; ``None``: none was set."""
    secs: float = 0.0
    """Wall time of the call, waits included."""
    request_id: str | None = None

    @property
    def said(self) -> str:
        """The text and, a line each, the tool calls: what a person is shown."""
        calls = (f"{call.name}({call.raw})" for call in self.tool_calls)
        return "\n".join(part for part in (self.text, *calls) if part)

    @property
    def cut(self) -> str | None:
        """One sentence when the token limit ended the answer, else ``None``."""
        if self.finish_reason != "length":
            return None
        return f"cut at the token limit (max_tokens {'was not set' if self.max_tokens is None else self.max_tokens})"

    def __repr__(self) -> str:
        served = f"{self.served.provider_ref}/{self.served.model}"
        other = f", {self.served.mismatch}" if self.served.mismatch else ""
        cut = ", cut at the token limit" if self.cut else ""
        rows = counted(len(self.attempts), "row")
        return f"Completion({short(self.text, 60)!r}, served by {served}{other}, {rows}{cut})"

    def __str__(self) -> str:
        return self.text
