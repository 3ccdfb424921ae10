"""How long to wait before the same entry is tried again (spec 6.1). Pure."""

from __future__ import annotations

from typing import Final

from zc_notebooks.records import Reliability

MIN_BACKOFF_MS: Final = 50.0


def backoff_s(policy: Reliability, retry: int) -> float:
    """Seconds before retry number ``retry`` (0 is the first): doubles from the base, ends at the cap."""
    base = min(max(MIN_BACKOFF_MS, policy.provider_backoff_ms), policy.backoff_cap_ms)
    doubled: float = base * 2.0 ** min(retry, 60)
    return min(doubled, policy.backoff_cap_ms) / 1000.0


def wait_s(policy: Reliability, retry: int, stated_s: float | None, random: float) -> float | None:
    """The wait before retry ``retry``, or ``None`` when the stated wait is above the cap and must not be slept.

    ``random`` in [0, 1) scales the jitter, which only lengthens: a stated time is never undercut.
    """
    if stated_s is not None and stated_s > policy.retry_after_cap_s:
        return None
    return max(backoff_s(policy, retry), stated_s or 0.0) * (1.0 + policy.jitter * random)
