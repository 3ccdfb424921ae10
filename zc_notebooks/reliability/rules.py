"""What a provider's codes and phrases mean, as records; the tables themselves are in :mod:`.families`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

import msgspec

from zc_notebooks.records import Reason, Record

Period = Literal["minute", "day", "token_day"]


class Rule(Record, frozen=True, kw_only=True):
    """What one code, phrase or status means."""

    reason: Reason
    code: str | None = None
    """Code of the verdict, when it is not the provider's own."""
    scope: Literal["model", "credential", "none"] | None = None
    """``None``: the reason's default (spec 4.1), or what the answer itself says."""
    limit_kind: Literal["window", "request"] | None = None
    limit: bool = False
    """A limit whose period is still to be read from the answer."""
    soft: bool = False
    """Decides only when nothing more specific does (phrases, an impossible request)."""
    covers: str | None = None
    """Model pattern that the limit benches."""


LIMIT: Final = Rule(reason="minute_limit", limit=True, soft=True)
MINUTE: Final = Rule(reason="minute_limit")
DAY: Final = Rule(reason="daily_limit")
TOKEN_DAY: Final = Rule(reason="token_daily_limit")
BALANCE: Final = Rule(reason="balance")
AUTH: Final = Rule(reason="auth")
PERMISSION: Final = Rule(reason="permission")
PERMISSION_MODEL: Final = Rule(reason="permission", scope="model")
PERMISSION_ACCOUNT: Final = Rule(reason="permission", scope="credential")
NOT_FOUND: Final = Rule(reason="not_found")
WINDOW: Final = Rule(reason="context_window", limit_kind="window")
REQUEST: Final = Rule(reason="context_window", limit_kind="request")
BAD_REQUEST: Final = Rule(reason="bad_request")
TOOL_SCHEMA: Final = Rule(reason="bad_request", code="tool_schema")
CONTENT_FILTER: Final = Rule(reason="content_filter")
CAPACITY: Final = Rule(reason="capacity")
SERVER_ERROR: Final = Rule(reason="server_error")
NETWORK: Final = Rule(reason="network")
STREAM_CUT: Final = Rule(reason="stream_cut")
SOFT_BALANCE: Final = Rule(reason="balance", soft=True)
SOFT_PERMISSION: Final = Rule(reason="permission", soft=True)
SOFT_CAPACITY: Final = Rule(reason="capacity", soft=True)
SOFT_BAD_REQUEST: Final = Rule(reason="bad_request", soft=True)
SOFT_NOT_FOUND: Final = Rule(reason="not_found", soft=True)


class Failures(Record, frozen=True, kw_only=True):
    """What is known about one family's failures."""

    codes: Mapping[str, Rule] = {}
    """Code, type or status word of the body → meaning. Case, ``_`` and ``-`` do not matter."""
    phrases: tuple[tuple[str, Rule], ...] = ()
    """Lower-case piece of the error's own message → meaning, first match."""
    statuses: Mapping[int, Rule] = {}
    """HTTP statuses that mean something else here than usually."""
    periods: Mapping[str, str] = {}
    """What a rate-limit header counts, when its name does not say the period → the period."""
    day_reset: str | None = None
    """``utc_midnight``, ``pacific_midnight``, ``beijing_midnight`` or ``rolling``; ``None``: not known."""
    zone: str = "UTC"
    """Zone of times that are written without one."""
    own_upstream: bool = True
    """Whether limits of a backend that the answer passes on are the caller's own."""


_NOISE = re.compile(r"[^a-z0-9.:]+")


@lru_cache(maxsize=4096)
def plain(code: str) -> str:
    """A code without case, underscores, hyphens and spaces: ``Rate_Limit-Exceeded`` → ``ratelimitexceeded``."""
    return _NOISE.sub("", code.lower())


def plained(known: Failures) -> Failures:
    """The same table with its codes made plain, as :func:`meaning` wants them."""
    return msgspec.structs.replace(known, codes={plain(code): rule for code, rule in known.codes.items()})


def meaning(code: str, codes: Mapping[str, Rule]) -> Rule | None:
    """The rule of a plain code: itself, else the part before its first ``.`` or ``:`` (``Throttling.RateQuota``)."""
    rule = codes.get(code)
    if rule is not None:
        return rule
    for mark in (":", "."):
        head, found, _ = code.partition(mark)
        if found and head in codes:
            return codes[head]
    return None
