"""The most that one attempt can cost, before it is made.

**Input**: one token for each byte of the request's body. No tokenizer makes more tokens than a text has UTF-8 bytes,
and the JSON around each message is longer than the marks a chat template puts there. On top come what servers add of
their own (:data:`HIDDEN_TOKENS`, :data:`TOOL_TOKENS`) and :data:`IMAGE_TOKENS` per image, whose bytes do not count.

**Output**: the limit the request itself states, as it goes out (a wire's own default and ``provider_extra`` included),
times the number of answers asked for; without one the model's context window, of the profile or of the price table,
whichever is larger: an answer is part of the window. Without either the longest answer is unknown.

The prices are those the ledger uses. Should a provider count more than this after all, its row settles the whole cost.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from zc_notebooks.budget import amounts
from zc_notebooks.chat import ChatRequest, ImagePart, Message
from zc_notebooks.ledger.list_prices import list_window
from zc_notebooks.ledger.prices import highest
from zc_notebooks.records import Profile, Record, Variant
from zc_notebooks.reliability.attempt import prepare

HIDDEN_TOKENS: Final = 256
"""Tokens of a prompt that nobody sees: a chat template's own instructions (about 75 with gpt-oss on "hi")."""
TOOL_TOKENS: Final = 1024
"""The same for the instructions that come with tools (Anthropic documents up to 700)."""
IMAGE_TOKENS: Final = 50_000
"""Tokens of one image. The dearest known count is 48,169, for a large image in high detail with ``gpt-4o-mini``."""
_UNLIMITED: Final = 10**9
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict")
_TABLES: Final = ("generationConfig", "options")
_COUNTS: Final = ("n", "best_of", "candidateCount")


class Ceiling(Record, frozen=True, kw_only=True):
    """What one attempt costs at most."""

    nano: int = 0
    """Nano-dollars; a lower bound when something is :attr:`missing`."""
    missing: Literal["price", "answer"] | None = None
    """What is not known: the price, or how long an answer can get."""

    @property
    def free(self) -> bool:
        """Whether it is known to cost nothing."""
        return self.nano == 0 and self.missing is None


def ceiling(variant: Variant, request: ChatRequest, *, max_tokens: int | None, at: datetime) -> Ceiling:
    """The highest cost of asking ``variant`` for ``request`` at ``at``."""
    profile, model = variant.entry.profile, variant.model
    if highest(profile, model, _UNLIMITED, _UNLIMITED, at) == 0:
        return Ceiling()
    # as a stream, whose body is the longer one
    body = prepare(variant, _without_images(request), stream=True, max_tokens=max_tokens).request.body
    into = input_tokens(body, request)
    least = highest(profile, model, into, 0, at)
    out = output_tokens(body) or _longest(profile, model)
    most = None if out is None else highest(profile, model, into, out, at)
    if most is not None:
        return Ceiling(nano=amounts.cost(most))
    missing: Literal["price", "answer"] = "price" if highest(profile, model, into, 1, at) is None else "answer"
    return Ceiling(nano=0 if least is None else amounts.cost(least), missing=missing)


def input_tokens(body: bytes, request: ChatRequest) -> int:
    """The most tokens a prompt can have whose body, without its images, is ``body``."""
    images = sum(isinstance(part, ImagePart) for message in request.messages for part in message.parts)
    return len(body) + HIDDEN_TOKENS + (TOOL_TOKENS if request.tools else 0) + images * IMAGE_TOKENS


def output_tokens(body: bytes) -> int | None:
    """The most tokens the request lets a model write, or ``None`` when it states no limit."""
    sent = msgspec.json.decode(body)
    tables = [sent, *(inner for name in _TABLES if isinstance(inner := sent.get(name), dict))]
    limits = [table[name] for table in tables for name in _LIMITS if table.get(name) is not None]
    if not limits or not all(_whole(limit) for limit in limits):
        return None
    counts = [table[name] for table in tables for name in _COUNTS if _whole(table.get(name))]
    return int(max(limits)) * max(counts, default=1)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _longest(profile: Profile, model: str) -> int | None:
    known = [window for window in (profile.window(model), list_window(profile.family, model)) if window is not None]
    return max(known, default=None)


def _without_images(request: ChatRequest) -> ChatRequest:
    """The same request with empty images in place of its own: those count by number, not by size."""
    if not request.has_images:
        return request
    return msgspec.structs.replace(request, messages=tuple(map(_bare, request.messages)))


def _bare(message: Message) -> Message:
    parts = tuple(
        msgspec.structs.replace(part, url=None, data=b"") if isinstance(part, ImagePart) else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)
