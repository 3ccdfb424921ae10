"""Rate-limit headers as each family sends them, from the lab's own counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from zc_notebooks.lab.failures.shape import go_duration
from zc_notebooks.lab.quota import Level

Levels = Sequence[Level]


def rate_headers(style: str, levels: Levels) -> dict[str, str]:
    """The headers of one answer; none for a style that sends none."""
    make = _STYLES.get(style)
    return {} if make is None else make(levels)


def _find(levels: Levels, counts: str, per: str) -> Level | None:
    return next((level for level in levels if level.quota.counts == counts and level.quota.per == per), None)


def _triple(told: dict[str, str], level: Level | None, dimension: str, reset: str | None) -> None:
    """``limit``, ``remaining`` and, unless it is ``None``, ``reset`` of one dimension."""
    if level is None:
        return
    told[f"x-ratelimit-limit-{dimension}"] = str(level.quota.limit)
    told[f"x-ratelimit-remaining-{dimension}"] = str(level.remaining)
    if reset is not None:
        told[f"x-ratelimit-reset-{dimension}"] = reset


def _groq(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    for dimension, per in (("requests", "day"), ("tokens", "minute")):
        level = _find(levels, dimension, per)
        _triple(told, level, dimension, None if level is None else go_duration(level.reset_s))
    return told


def _openai(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    for dimension in ("requests", "tokens"):
        level = _find(levels, dimension, "minute")
        _triple(told, level, dimension, None if level is None else go_duration(level.reset_s))
    return {**told, "openai-processing-ms": "38", "openai-version": "2020-10-01"}


def _azure(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    for dimension in ("requests", "tokens"):
        level = _find(levels, dimension, "minute")
        _triple(told, level, dimension, None if level is None else str(round(level.reset_s)))
    return {**told, "x-ratelimit-renewalperiod-requests": "60", "x-ratelimit-abusepenalty-active": "False"}


def _cerebras(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    for level in levels:
        _triple(told, level, f"{level.quota.counts}-{level.quota.per}", f"{level.reset_s:.6f}")
    return told


def _mistral(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    _triple(told, _find(levels, "requests", "minute"), "req-minute", None)
    _triple(told, _find(levels, "tokens", "minute"), "tokens-minute", None)
    _triple(told, _find(levels, "tokens", "month"), "tokens-month", None)
    return told


def _cohere(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    minute, month = _find(levels, "requests", "minute"), _find(levels, "requests", "month")
    if minute is not None:
        told["x-trial-endpoint-call-limit"] = str(minute.quota.limit)
        told["x-trial-endpoint-call-remaining"] = str(minute.remaining)
    if month is not None:
        told["x-endpoint-monthly-call-limit"] = str(month.quota.limit)
    return told


def _together(levels: Levels) -> dict[str, str]:
    level = _find(levels, "requests", "minute") or _find(levels, "requests", "second")
    if level is None:
        return {}
    return {
        "x-ratelimit-limit": str(level.quota.limit),
        "x-ratelimit-remaining": str(level.remaining),
        "x-ratelimit-reset": str(max(round(level.reset_s), 1)),
    }


def _fireworks(levels: Levels) -> dict[str, str]:
    level = _find(levels, "tokens", "minute")
    return {} if level is None else {"x-ratelimit-limit-tokens-prompt": str(level.quota.limit)}


def _sambanova(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    for per, dimension in (("minute", "requests"), ("day", "requests-day")):
        level = _find(levels, "requests", per)
        _triple(told, level, dimension, None if level is None else str(round(level.reset_s)))
    return told


def _xai(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    _triple(told, _find(levels, "requests", "minute"), "requests", None)
    _triple(told, _find(levels, "tokens", "minute"), "tokens", None)
    return told


def _moonshot(levels: Levels) -> dict[str, str]:
    level = _find(levels, "requests", "minute")
    if level is None:
        return {}
    return {
        "x-ratelimit-limit": str(level.quota.limit),
        "x-ratelimit-remaining": str(level.remaining),
        "x-ratelimit-reset": str(round(level.reset_s)),
    }


def _anthropic(levels: Levels) -> dict[str, str]:
    told: dict[str, str] = {}
    for counts, dimension in (("requests", "requests"), ("tokens", "input-tokens"), ("tokens", "tokens")):
        level = _find(levels, counts, "minute")
        if level is not None:
            prefix = f"anthropic-ratelimit-{dimension}"
            told[f"{prefix}-limit"] = str(level.quota.limit)
            told[f"{prefix}-remaining"] = str(level.remaining)
            told[f"{prefix}-reset"] = f"{level.resets_at:%Y-%m-%dT%H:%M:%SZ}"
    return told


_STYLES: Final[dict[str, Callable[[Levels], dict[str, str]]]] = {
    "groq": _groq,
    "openai": _openai,
    "azure": _azure,
    "cerebras": _cerebras,
    "mistral": _mistral,
    "cohere": _cohere,
    "together": _together,
    "fireworks": _fireworks,
    "sambanova": _sambanova,
    "xai": _xai,
    "moonshot": _moonshot,
    "anthropic": _anthropic,
}
