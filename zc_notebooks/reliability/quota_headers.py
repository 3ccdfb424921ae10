"""Rate-limit headers: which header is which dimension and period, what is left, when it comes back. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final

from zc_notebooks.records import Record
from zc_notebooks.reliability.instants import Stated, aware, later, parse_reset

_PERIODS: Final = {
    "second": "minute",
    "minute": "minute",
    "hour": "hour",
    "day": "day",
    "week": "month",
    "month": "month",
}
_NAMES: Final = {
    "req": "requests",
    "request": "requests",
    "requests": "requests",
    "calls": "requests",
    "queries": "requests",
    "token": "tokens",
    "tokens": "tokens",
}
_GENERIC = re.compile(r"(?:x-)?ratelimit-(limit|remaining|reset)(?:-(.{1,60}))?")
_BEHIND = re.compile(r"(?:anthropic-)?ratelimit-(.{1,60})-(limit|remaining|reset)")
_BY_SIZE = re.compile(r"(?:x-)?ratelimitbysize-(limit|remaining|reset)(?:-(.{1,60}))?")
_TRIAL = re.compile(r"x-trial-endpoint-call-(limit|remaining)")
_TAIL = re.compile(r"(.*?)-?(?:\d+-)?(second|minute|hour|day|week|month)")
_AMOUNT = re.compile(r"-?\d{1,18}")
_STRUCTURED = re.compile(r";\s*([rt])=(\d{1,12})")
_DRAFT = re.compile(r"(limit|remaining|reset)=(\d{1,12})")


class Headroom(Record, frozen=True, kw_only=True):
    """What a provider says is left of one quota."""

    dimension: str
    """``requests``, ``tokens``, ``input_tokens``, ``output_tokens`` or ``other``."""
    period: str
    """``minute``, ``hour``, ``day``, ``month`` or ``unknown``."""
    limit: int | None = None
    remaining: int | None = None
    resets_at: datetime | None = None
    """Aware UTC."""


class Dimension(Record, frozen=True, kw_only=True):
    """One quota as the headers of one response describe it."""

    name: str
    period: str
    limit: int | None = None
    remaining: int | None = None
    reset_text: str = ""
    """As the header has it."""

    def reset(self, now: datetime) -> Stated | None:
        """When it comes back, if a header says so."""
        return parse_reset(self.reset_text, now) if self.reset_text else None

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left."""
        return self.remaining is not None and self.remaining <= 0

    @property
    def label(self) -> str:
        """For people: ``tokens/minute``."""
        return self.name if self.period == "unknown" else f"{self.name}/{self.period}"


def dimensions(headers: Mapping[str, str], periods: Mapping[str, str]) -> tuple[Dimension, ...]:
    """The quotas that ``headers`` (any case) describe; ``periods`` says which period a bare dimension has."""
    raw: dict[str, dict[str, str]] = {}
    for header, value in headers.items():
        name = header.lower().replace("rate-limit", "ratelimit")
        if "ratelimit" in name or name.startswith("x-trial-"):
            _collect(raw, name, value)
    return tuple(_dimension(what, fields, periods) for what, fields in raw.items())


def headroom(periods: Mapping[str, str], headers: Mapping[str, str], now: datetime) -> tuple[Headroom, ...]:
    """The quotas of which something is said to remain (0 included), with the instant each comes back."""
    now = aware(now)
    found = []
    for one in dimensions(headers, periods):
        if one.remaining is None:
            continue
        reset = one.reset(now)
        resets = None if reset is None else reset.at or later(now, reset.wait_s or 0.0)
        found.append(
            Headroom(
                dimension=one.name,
                period=one.period,
                limit=one.limit,
                remaining=max(one.remaining, 0),
                resets_at=resets,
            )
        )
    return tuple(found)


def _collect(raw: dict[str, dict[str, str]], name: str, value: str) -> None:
    if name in ("ratelimit", "x-ratelimit"):
        pairs = {"r": "remaining", "t": "reset"}
        fields = {pairs[key]: amount for key, amount in _STRUCTURED.findall(value[:200])}
        raw.setdefault("", {}).update(fields or dict(_DRAFT.findall(value[:200])))
        return
    split = _split(name)
    if split is not None:
        kind, what = split
        raw.setdefault(what, {})[kind] = value


@lru_cache(maxsize=1024)
def _split(name: str) -> tuple[str, str] | None:
    """``(limit | remaining | reset, what it counts)`` of a header name."""
    if match := _GENERIC.fullmatch(name):
        return match[1], match[2] or ""
    if match := _BEHIND.fullmatch(name):
        return match[2], match[1]
    if match := _BY_SIZE.fullmatch(name):
        return match[1], "tokens-" + (match[2] or "minute")
    if match := _TRIAL.fullmatch(name):
        return match[1], "requests-minute"
    return None


@lru_cache(maxsize=1024)
def _key(what: str) -> tuple[str, str]:
    """(dimension, period or nothing) of what a header counts."""
    tail = _TAIL.fullmatch(what)
    return (_name(tail[1]), _PERIODS[tail[2]]) if tail else (_name(what), "")


def _name(what: str) -> str:
    if not what or what in _NAMES:
        return _NAMES.get(what, "requests")
    if "token" in what:
        words = ("input", "prompt"), ("output", "generated", "completion")
        sides = [any(word in what for word in side) for side in words]
        return "input_tokens" if sides[0] else "output_tokens" if sides[1] else "tokens"
    return "requests" if "request" in what else "other"


def _dimension(what: str, fields: Mapping[str, str], periods: Mapping[str, str]) -> Dimension:
    name, period = _key(what)
    return Dimension(
        name=name,
        period=period or periods.get(what, "unknown"),
        limit=_amount(fields.get("limit")),
        remaining=_amount(fields.get("remaining")),
        reset_text=fields.get("reset", ""),
    )


def _amount(value: str | None) -> int | None:
    match = _AMOUNT.match(value.strip()) if value else None
    return int(match[0]) if match else None
