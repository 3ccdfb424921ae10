"""The replay of a ledger's period, with what the configuration says of prices and policy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from msgspec.structs import replace

from zc_notebooks.bench.replay import Replay, replay
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.config.policy import RELIABILITY
from zc_notebooks.config.reader import Reader
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.period import When, period
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import RateLimitPolicy, Reliability

if TYPE_CHECKING:
    import polars as pl

    from zc_notebooks.config.schema import Config
    from zc_notebooks.ledger.read import Ledger

BEFORE: Final = timedelta(days=7)
"""How long before the period rows are read, to learn the quotas from."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC) + BEFORE


def replay_ledger(
    ledger: Ledger,
    chain: Sequence[str] | None = None,
    *,
    since: When | None = "24h",
    until: When | None = None,
    config: Config | None = None,
    policy: str | None = None,
    clock: Clock | None = None,
) -> Replay:
    """Replays the calls of a ledger's period; see :func:`zc_notebooks.bench.replay.replay`.

    Args:
        ledger: Where the rows are.
        chain: Candidates in order; the recorded order by default.
        since: Begin of the period, ``None``: everything.
        until: End, not included.
        config: For prices, for candidates in no row, and for the policy that is in force.
        policy: A rate-limit policy, or changes of ``[reliability]``: ``provider_retries=0,retry_after_cap_s=5``.
        clock: What ``"24h"`` counts from.

    Raises:
        LedgerError: nothing to replay; a name, a bound or the policy cannot be read.
    """
    begin, end = period(since, until, now=(clock or SystemClock()).now())
    learned_from = None if begin is None else max(begin, _FIRST) - BEFORE
    frame = ledger.attempts(since=learned_from, until=end)
    reliability = config.reliability if config is not None else Reliability()
    rate_limit, changed = read_policy(policy, reliability)
    return replay(
        rows_of(frame),
        chain,
        since=begin,
        until=end,
        profiles=config.profiles if config is not None else None,
        reliability=changed,
        rate_limit=rate_limit,
        flat=config is None or bool(config.chain) or chain is not None,
    )


def rows_of(frame: pl.DataFrame) -> list[AttemptRow]:
    """Rows of a frame that has the ledger's columns."""
    known = [name for name in AttemptRow.__struct_fields__ if name in frame.columns]
    return [msgspec.convert(row, AttemptRow) for row in frame.select(known).to_dicts()]


def read_policy(text: str | None, reliability: Reliability) -> tuple[RateLimitPolicy | None, Reliability]:
    """A policy as people write it; settings are checked as those of ``zc.toml`` are.

    Raises:
        LedgerError: it is none.
    """
    text = (text or "").strip()
    if not text:
        return None, reliability
    for name in get_args(RateLimitPolicy):
        if text == name:
            return name, reliability
    changes: dict[str, Any] = {}
    for part in text.split(","):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not key or not sign:
            raise LedgerError(_no_policy(text))
        if key in changes:
            raise LedgerError(f"the policy {text!r} sets {key} twice")
        changes[key] = _value(value)
    reader = Reader()
    changed = reader.section(changes, RELIABILITY, "reliability")
    if reader.problems:
        raise LedgerError("; ".join(map(str, reader.problems)))
    return None, replace(reliability, **changed)


def _value(text: str) -> float | str:
    """A number where it is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _no_policy(text: str) -> str:
    words = ", ".join(get_args(RateLimitPolicy))
    return f"{text!r} is no policy: write {words}, or settings of [reliability] such as provider_retries=0"
