"""What providers state on *successes*: how many requests and tokens are left, and until when.

Known at once in this process; other processes see it within a few seconds, and at once when nothing is left. A
candidate whose stated remaining is 0 is treated as cooling until the reset that was stated with it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from zc_notebooks.clock import Clock
from zc_notebooks.records import Mark, MarkKey, Reason, Record
from zc_notebooks.reliability.board import Seen
from zc_notebooks.reliability.board_store import BoardStore
from zc_notebooks.reliability.mark_rules import MAX_AHEAD

if TYPE_CHECKING:
    from zc_notebooks.reliability.reset_time import Headroom

WRITE_EVERY: Final = timedelta(seconds=5)
"""An ordinary statement of one key goes to the file at most this often."""
_LONG: Final = timedelta(hours=5)
"""A window of unknown length that ends later than this counts as a period quota (spec 4.1)."""


class Known(Record, frozen=True, kw_only=True):
    """The last statement for one pool, credential and model."""

    key: MarkKey
    dims: tuple[Headroom, ...]
    seen_at: datetime
    provider_ref: str = ""


class HeadroomStore:
    """Headroom by pool, credential and model, on the same board and in the same file as the marks."""

    def __init__(self, marks_store: BoardStore, *, clock: Clock) -> None:
        self._store = marks_store
        self._clock = clock
        self._written: dict[MarkKey, Seen] = {}

    def update(
        self, pool: str, credential_id: str, model: str | None, dims: Sequence[Headroom], *, provider_ref: str = ""
    ) -> None:
        """Replaces what is known by what a success has just stated; nothing stated changes nothing."""
        if not dims:
            return
        key = MarkKey(pool=pool, credential_id=credential_id, model=model)
        now = self._clock.now()
        seen = Seen(key=key, seen_at=now, dims=msgspec.json.encode(tuple(dims)).decode(), provider_ref=provider_ref)
        last = self._written.get(key)
        write = last is None or abs(now - last.seen_at) >= WRITE_EVERY or _empty(last, now) != _empty(seen, now)
        if write:
            self._written[key] = seen
        self._store.note(seen, write=write)

    def get(self, pool: str, credential_id: str, model: str | None = None) -> Known | None:
        """The last statement, however old: ``seen_at`` and each ``resets_at`` say what it is worth."""
        seen = self._store.board().seen.get(MarkKey(pool=pool, credential_id=credential_id, model=model))
        return None if seen is None else _known(seen)

    def all(self) -> tuple[Known, ...]:
        """Every last statement, by pool, credential and model."""
        order = sorted(self._store.seen(), key=lambda seen: _order(seen.key))
        return tuple(map(_known, order))

    def marks(self, now: datetime) -> tuple[Mark, ...]:
        """All marks of this kind that are live."""
        return tuple(filter(None, (_mark(seen, now) for seen in self._store.seen())))

    def forget(self, keys: Sequence[MarkKey]) -> None:
        """Drops what is known about these keys, so that the next call finds out."""
        for key in keys:
            self._written.pop(key, None)
        self._store.forget(keys)

    def flush(self) -> None:
        """Writes what is newer than the file."""
        self._store.flush()


def stated_mark(seen: Mapping[MarkKey, Seen], key: MarkKey, now: datetime) -> Mark | None:
    """The mark that a stated remaining of 0 amounts to, for a variant's key, or ``None``."""
    marks = [_mark(one, now) for one in map(seen.get, _own(key)) if one is not None]
    return max(filter(None, marks), key=lambda mark: mark.until, default=None)


def disproved(seen: Mapping[MarkKey, Seen], key: MarkKey, started_at: datetime, now: datetime) -> tuple[MarkKey, ...]:
    """Statements of nothing left that were made before a success of ``key`` began."""
    old = (one for one in map(seen.get, _own(key)) if one is not None and one.seen_at < started_at)
    return tuple(one.key for one in old if _empty(one, now))


@functools.lru_cache(maxsize=512)
def _dims(text: str) -> tuple[Headroom, ...]:
    """The statement as stored; one that a newer version wrote in another form counts as none."""
    from zc_notebooks.reliability.reset_time import Headroom

    try:
        return msgspec.json.decode(text, type=tuple[Headroom, ...])
    except msgspec.MsgspecError:
        return ()


def _known(seen: Seen) -> Known:
    return Known(key=seen.key, dims=_dims(seen.dims), seen_at=seen.seen_at, provider_ref=seen.provider_ref)


def _order(key: MarkKey) -> tuple[str, str, str]:
    return key.pool, key.credential_id, key.model or ""


def _own(key: MarkKey) -> tuple[MarkKey, ...]:
    """Where a statement that binds a variant can stand: under its model, and under no model."""
    return (key,) if key.model is None else (key, MarkKey(pool=key.pool, credential_id=key.credential_id))


def _used_up(seen: Seen, now: datetime) -> Headroom | None:
    """The dimension with nothing left that comes back last; no chat is counted in images or seconds of sound."""
    gone = [one for one in _dims(seen.dims) if one.remaining == 0 and one.dimension != "other"]
    ends = [one for one in gone if one.resets_at is not None and one.resets_at > now]
    return max(ends, key=lambda one: one.resets_at or now, default=None)


def _empty(seen: Seen, now: datetime) -> bool:
    return _used_up(seen, now) is not None


def _mark(seen: Seen, now: datetime) -> Mark | None:
    gone = _used_up(seen, now)
    if gone is None or gone.resets_at is None:
        return None
    window = "" if gone.period == "unknown" else f" of this {gone.period}"
    what = gone.dimension.replace("_", " ")
    return Mark(
        key=seen.key,
        until=min(gone.resets_at, now + MAX_AHEAD),
        provenance="stated",
        reason=_reason(gone, now),
        set_at=seen.seen_at,
        provider_ref=seen.provider_ref,
        text=f"the provider said 0 {what}{window} are left",
    )


def _reason(gone: Headroom, now: datetime) -> Reason:
    unknown = gone.period == "unknown"
    long = gone.resets_at is not None and gone.resets_at - now >= _LONG if unknown else gone.period in {"day", "month"}
    if not long:
        return "minute_limit"
    return "token_daily_limit" if gone.dimension.endswith("tokens") else "daily_limit"
