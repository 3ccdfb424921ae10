"""Where everything stands: each profile with its mark, what it says is left, and how it answered last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.config.keys import Missing, faces
from zc_notebooks.live_config import InForce
from zc_notebooks.markup import counted
from zc_notebooks.records import Mark, MarkKey, Profile, Record, Tier
from zc_notebooks.reliability.mark_rules import covers
from zc_notebooks.reliability.quota_headers import Headroom
from zc_notebooks.shown import Keyed, Shown

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain

_LAST: Final = """
select provider_ref, arg_max_null(status, t) as status, arg_max_null(reason, t) as reason, max(t) as t
from attempts where kind = 'attempt' group by provider_ref
"""


STATUS_COLUMNS: Final = ("profile", "tier", "state", "left", "last outcome")
"""What :meth:`Status.rows` has."""


class LastOutcome(Record, frozen=True, kw_only=True):
    """The newest attempt on a profile."""

    status: str
    reason: str | None
    t: datetime


class ProfileStatus(Record, frozen=True, kw_only=True):
    """One profile now."""

    ref: str
    model: str | None
    tier: Tier
    pool: str
    key: str
    """``found``, ``keyless``, or what is missing, for a call that starts here."""
    credentials: tuple[str, ...] = ()
    """Ids of the credentials such a call has, in order."""
    marks: tuple[Mark, ...]
    headroom: tuple[Headroom, ...]
    last: LastOutcome | None

    @property
    def unmarked(self) -> int:
        """How many of its credentials no mark concerns."""
        return len(set(self.credentials) - {item.key.credential_id for item in self.marks})

    @property
    def first_back(self) -> Mark | None:
        """Of each key's last mark the one that ends first: until then no key is free, if every key has one."""
        last = {item.key.credential_id: item for item in sorted(self.marks, key=_end)}
        return min(last.values(), key=_end, default=None)

    def words(self, now: datetime) -> str:
        """``ready``, ``no key: …`` or ``daily limit, back in …`` with the countdown and who stated it.

        Of several keys one without a mark is enough to be ready; with a mark on each, the first to come back counts.
        """
        if self.key not in ("found", "keyless"):
            return f"no key: {self.key}"
        mark = self.first_back
        if mark is None:
            return "ready"
        scope = f" for {mark.key.model}" if mark.key.model else ""
        out = f"{mark.reason.replace('_', ' ')}{scope}, back in {countdown(mark.until - now)} ({mark.provenance})"
        if not self.unmarked:
            return out
        keys = counted(len(self.credentials), "key")
        return f"ready with {self.unmarked} of {keys}; {mark.key.credential_id}: {out}"

    def left(self) -> str:
        """What the provider said is left: ``29 of 30 requests a minute``."""
        return ", ".join(
            f"{item.remaining:,}{'' if item.limit is None else f' of {item.limit:,}'} {item.dimension}{_a(item.period)}"
            for item in self.headroom
            if item.remaining is not None
        )


class Status(Record, Shown, Keyed[ProfileStatus], frozen=True, kw_only=True):
    """All profiles at one moment. ``status["groq.free"]`` is one of them."""

    at: datetime
    profiles: tuple[ProfileStatus, ...]

    def by_key(self) -> dict[str, ProfileStatus]:
        """Profile ref → how it stands."""
        return {item.ref: item for item in self.profiles}

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """A table of it, with :data:`STATUS_COLUMNS`."""
        return tuple(
            (
                item.ref,
                item.tier,
                item.words(self.at),
                item.left() or "-",
                "-" if item.last is None else f"{item.last.status} at {item.last.t:%m-%d %H:%M:%S} UTC",
            )
            for item in self.profiles
        )

    def __repr__(self) -> str:
        ready = sum(item.words(self.at).startswith("ready") for item in self.profiles)
        return f"Status({ready} of {counted(len(self.profiles), 'profile')} ready)"


def status(chain: Chain) -> Status:
    """The status of every configured profile. Calls nobody."""
    now, marks, last = chain.live.now(), chain.marks(), _last(chain)
    profiles = tuple(_profile(chain, now, profile, marks, last) for profile in now.config.profiles.values())
    return Status(at=chain.clock.now(), profiles=profiles)


def _end(mark: Mark) -> datetime:
    return mark.until


def binding(now: InForce, ref: str, marks: Iterable[Mark]) -> frozenset[MarkKey]:
    """The keys of the ``marks`` that keep some candidate of a configured profile out."""
    profile = now.config.profiles[ref]
    ids = _ids(now, profile)
    models = {profile.model, *profile.fallback_models}
    models |= {link.model for link in now.config.chain if link.provider == ref}
    models |= {route.model for route in now.config.routes if route.model_provider == ref}
    return frozenset(
        mark.key
        for mark in marks
        if mark.key.pool == profile.pool
        and mark.key.credential_id in ids
        and any(covers(mark.key.model, model) for model in models)
    )


def _ids(now: InForce, profile: Profile) -> set[str]:
    """The ids of every credential that calls of a profile may use; ``-`` for none."""
    keys = [now.keys.credentials(face) for face in faces(now.config, profile)]
    return {"-" if isinstance(item, Missing) else item.id for found in keys for item in found}


def countdown(left: timedelta) -> str:
    """``6h 05m``, ``2m 03s`` or ``9s``."""
    seconds = max(0, round(left.total_seconds()))
    days, rest = divmod(seconds, 86400)
    hours, minutes = rest // 3600, rest % 3600 // 60
    if days:
        return f"{days}d {hours:02}h"
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {seconds % 60:02}s" if minutes else f"{seconds}s"


def _a(period: str) -> str:
    return "" if period == "unknown" else f" a {period}"


def _profile(
    chain: Chain, now: InForce, profile: Profile, marks: tuple[Mark, ...], last: Mapping[str, LastOutcome]
) -> ProfileStatus:
    ids = _ids(now, profile)
    found = now.keys.credentials(faces(now.config, profile)[0])
    usable = [item for item in found if not isinstance(item, Missing)]
    missing = "; ".join(f"{item.name} {item.reason}" for item in found if isinstance(item, Missing))
    key = missing if not usable else "keyless" if usable[0].secret is None else "found"
    seen = [
        item for item in chain.board.headroom.all() if item.key.pool == profile.pool and item.key.credential_id in ids
    ]
    return ProfileStatus(
        ref=profile.ref,
        model=profile.model,
        tier=profile.tier,
        pool=profile.pool,
        key=key,
        credentials=tuple(item.id for item in usable),
        marks=tuple(mark for mark in marks if mark.key.pool == profile.pool and mark.key.credential_id in ids),
        headroom=tuple(dim for item in seen for dim in item.dims),
        last=last.get(profile.ref),
    )


def _last(chain: Chain) -> dict[str, LastOutcome]:
    rows: list[dict[str, Any]] = chain.ledger.sql(_LAST).to_dicts()
    return {row["provider_ref"]: LastOutcome(status=row["status"], reason=row["reason"], t=row["t"]) for row in rows}
