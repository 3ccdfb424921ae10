"""One account at a provider: what its quotas, its balance and its concurrency let in, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from zc_notebooks.lab.conversation import Conversation
from zc_notebooks.lab.failures import failures
from zc_notebooks.lab.quota import Counters, Level
from zc_notebooks.lab.reply import Reply
from zc_notebooks.lab.scenario import ModelSpec, ProviderSpec
from zc_notebooks.records import Record

_RESERVED_OUTPUT = 1_024
"""Output tokens a token quota assumes of a request that names no limit."""
_WORTH_SAYING = 16
"""Fewest tokens a router offers to a thin balance."""


class Refusal(Record, frozen=True, kw_only=True):
    """Why a request is not let in: the failure's name or kind, and its numbers."""

    failure: str
    numbers: Mapping[str, Any] = {}


class Account:
    """Counters, money and requests under way of one account; each key of a provider has its own."""

    def __init__(self, spec: ProviderSpec, now: datetime, key: str | None = None) -> None:
        self.spec = spec
        self.balance_usd = spec.balance_usd
        self._counters = Counters(tuple(quota for quota in spec.quotas if quota.binds(key)), now)
        self._reserved: dict[int, float] = {}
        self._under_way = 0

    def enter(self) -> None:
        """A request began."""
        self._under_way += 1

    def leave(self, number: int) -> None:
        """A request ended, however."""
        self._under_way -= 1
        self._reserved.pop(number, None)

    def levels(self, model: str, now: datetime) -> list[Level]:
        """What the counters of a model show."""
        return self._counters.levels(model, now)

    def refuses(self, conversation: Conversation, model: ModelSpec, now: datetime, number: int) -> Refusal | None:
        """Why the request cannot be let in now, or ``None``: then its highest cost is reserved."""
        if self.spec.concurrency is not None and self._under_way > self.spec.concurrency:
            return Refusal(failure="concurrency", numbers={"limit": self.spec.concurrency, "used": self._under_way})
        return self._over_quota(conversation, model, now) or self._without_money(conversation, model, number)

    def charge(self, reply: Reply, model: ModelSpec, now: datetime, number: int) -> float:
        """Counts an answered request and returns its cost in USD."""
        self._counters.add(model.id, now, tokens=reply.input_tokens + reply.output_tokens, requests=1)
        spent = _price(model, reply.input_tokens, reply.output_tokens)
        if self.balance_usd is not None:
            self.balance_usd -= spent
        if number in self._reserved:
            self._reserved[number] = 0.0
        return spent

    def _over_quota(self, conversation: Conversation, model: ModelSpec, now: datetime) -> Refusal | None:
        output = conversation.request.max_tokens or min(_RESERVED_OUTPUT, model.max_output)
        wants = conversation.input_tokens + output
        levels = self._counters.levels(model.id, now, tokens=wants, requests=1)
        for level in levels:
            if level.quota.counts == "tokens" and 0 < level.quota.limit < conversation.input_tokens:
                numbers = {"limit": level.quota.limit, "requested": wants}
                return Refusal(failure="request_too_large", numbers=numbers)
        over = max((level for level in levels if level.exceeded), key=lambda level: level.wait_s, default=None)
        return None if over is None else self._quota_refusal(over, now)

    def _quota_refusal(self, level: Level, now: datetime) -> Refusal:
        quota = level.quota
        numbers: dict[str, Any] = {
            "limit": quota.limit,
            "used": level.used,
            "requested": level.requested,
            "until": now + timedelta(seconds=level.wait_s),
        }
        if quota.failure is not None:
            return Refusal(failure=quota.failure, numbers=numbers)
        if quota.limit == 0:
            return Refusal(failure=self._known("limit_zero", f"{quota.counts}_per_{quota.per}"), numbers=numbers)
        return Refusal(failure=f"{quota.counts}_per_{quota.per}", numbers=numbers)

    def _known(self, *kinds: str) -> str:
        """The first kind on record for the family, or the last."""
        return next((kind for kind in kinds if f"{self.spec.family}.{kind}" in failures()), kinds[-1])

    def _without_money(self, conversation: Conversation, model: ModelSpec, number: int) -> Refusal | None:
        if self.balance_usd is None or (model.price_in == 0 and model.price_out == 0):
            return None
        if self._known("afford", "") != "afford":
            return Refusal(failure="balance") if self.balance_usd <= 0 else None
        most = conversation.request.max_tokens or model.max_output
        before = _price(model, conversation.input_tokens, 0)
        highest = before + _price(model, 0, most)
        if highest > self.balance_usd:
            afford = int((self.balance_usd - before) * 1e6 / model.price_out) if model.price_out else 0
            if afford < _WORTH_SAYING:
                return Refusal(failure="balance")
            return Refusal(failure="afford", numbers={"requested": most, "afford": afford})
        if highest > self.balance_usd - sum(self._reserved.values()):
            return Refusal(failure=self._known("in_flight", "balance"))
        self._reserved[number] = highest
        return None


def _price(model: ModelSpec, input_tokens: int, output_tokens: int) -> float:
    return (input_tokens * model.price_in + output_tokens * model.price_out) / 1e6
