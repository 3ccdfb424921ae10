"""What no fallback may cross: the turn's allowlist and the permitted tiers (spec 2.7, 9). Money: :mod:`.budget`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from zc_notebooks.complaint import warn
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError
from zc_notebooks.nesting import Nested
from zc_notebooks.records import TIERS, Plan, Record, Tier, Variant


class BorderWarning(UserWarning):
    """A thread of its own asks without a border while the main thread holds one: a pool does not take it along."""


_ALLOWLIST: Final = Nested[frozenset[str]]("zc_allowlist")
_held = 0
"""Borders that code of the main thread stands in."""


@contextmanager
def allowed(refs: Iterable[str]) -> Iterator[None]:
    """Within the block, and in tasks and calls begun there, only these profile refs may be called.

    A block inside another one narrows: what the outer one forbids stays forbidden.
    """
    global _held  # noqa: PLW0603 (of the one main thread)
    if not _in_main_thread():
        with bordered(refs):
            yield
        return
    _held += 1
    try:
        with bordered(refs):
            yield
    finally:
        _held -= 1


def bordered(refs: Iterable[str]) -> AbstractContextManager[None]:
    """:func:`allowed` for a call's own inside, where no code of the user begins a thread."""
    return _ALLOWLIST.within(narrowed(refs))


def allowlist() -> frozenset[str] | None:
    """The refs permitted here; ``None`` where nothing was said, and everything is."""
    return _ALLOWLIST.get()


def heed() -> None:
    """Warns a worker thread that asks without a border while the main thread holds one.

    Context goes with tasks and ``asyncio.to_thread``, not with threads and pools: their calls would be free of the
    border without anybody having meant it. What another worker holds is that worker's own.
    """
    if _held and _ALLOWLIST.get() is None and not _in_main_thread():
        words = (
            "this thread asks outside the border that the main thread holds: use asyncio.to_thread, or "
            "turn.carry(work) for a pool or thread of your own"
        )
        warn(words, BorderWarning)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def narrowed(refs: Iterable[str]) -> frozenset[str]:
    """Those of ``refs`` that are permitted here. One ref may stand alone."""
    named = frozenset((refs,) if isinstance(refs, str) else refs)
    outer = _ALLOWLIST.get()
    return named if outer is None else outer & named


class Borders(Record, frozen=True, kw_only=True):
    """The borders of one call."""

    allowlist: frozenset[str] | None = None
    tiers: frozenset[str] | None = None
    tiers_of: Mapping[tuple[str, str | None], frozenset[str]] = {}
    """Narrower tiers of single chain entries, by (ref, model)."""

    @classmethod
    def of(cls, config: Config, made: Plan, allow_tiers: Sequence[Tier] | None = None) -> Borders:
        """The configuration's borders, narrowed by the chain's entries, the call and the turn's allowlist."""
        tiers = _tiers(config.borders.allow_tiers)
        if allow_tiers is not None:
            asked = _tiers(allow_tiers) or frozenset()
            tiers = asked if tiers is None else tiers & asked
        for route in config.routes:
            if route.hint == made.hint and route.allow_tiers is not None:
                tiers = frozenset(route.allow_tiers) if tiers is None else tiers & frozenset(route.allow_tiers)
        first: dict[tuple[str, str | None], Sequence[Tier] | None] = {}
        for link in config.chain if made.source == "chain" else ():  # a later duplicate is dropped, its tiers too
            first.setdefault((link.provider, link.model), link.allow_tiers)
        own = {pair: frozenset(names) for pair, names in first.items() if names is not None}
        return cls(allowlist=_ALLOWLIST.get(), tiers=tiers, tiers_of=own)

    def status(self, variant: Variant) -> str | None:
        """The skip status of the first border in the way, or ``None``."""
        if self.allowlist is not None and variant.ref not in self.allowlist:
            return "skipped_allowlist"
        own = self.tiers_of.get((variant.ref, variant.entry.model))
        if any(tiers is not None and variant.entry.profile.tier not in tiers for tiers in (self.tiers, own)):
            return "skipped_tier"
        return None


def _tiers(names: Sequence[str] | None) -> frozenset[str] | None:
    if names is None:
        return None
    if isinstance(names, str):
        names = (names,)
    wrong = [name for name in names if name not in TIERS]
    if wrong:
        raise ConfigError(f"allow_tiers: {wrong[0]!r} is no tier (one of {', '.join(TIERS)})")
    return frozenset(names)
