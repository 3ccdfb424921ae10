"""One provider in an operator's words: a lamp and what it means, what is left, how it answered last."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from zc_notebooks.notebook.outages import instant
from zc_notebooks.probe import ProbeResult
from zc_notebooks.records import Mark, Record
from zc_notebooks.status import LastOutcome, ProfileStatus

Lamp = Literal["on", "limited", "off", "unknown"]
"""Never shown without words: ``on`` answered when last asked, ``limited`` comes back by itself, ``off`` needs somebody
to do something, ``unknown`` was not asked since."""

_LIMITS: Final = {
    "minute_limit": "requests or tokens per minute",
    "daily_limit": "requests per day",
    "token_daily_limit": "tokens per day",
    "capacity": "capacity",
}
_OFF: Final = {
    "balance": "unpaid",
    "auth": "bad key",
    "permission": "refused",
    "not_found": "no such model",
    "network": "not reachable",
}
_PROBED: Final = {"dead": "not reachable", "busy": "busy, try again"}


class MarkLine(Record, frozen=True, kw_only=True):
    """One mark of a provider, for its countdown."""

    words: str
    """``stated by the provider (tokens per day, openai/gpt-oss-120b)``."""
    until: datetime


class ProviderRow(Record, frozen=True, kw_only=True):
    """One provider now."""

    ref: str
    model: str
    tier: str
    lamp: Lamp
    words: str
    """``reachable``, ``limited until 14:32 UTC by "tokens per day"``, ``unpaid``, ``bad key``, ``unknown``."""
    headroom: str
    last: str
    """The newest attempt or probe, in words."""
    marks: tuple[MarkLine, ...] = ()
    """The nearest end first."""


def row_of(found: ProfileStatus, probed: ProbeResult | None, probed_at: datetime | None, now: datetime) -> ProviderRow:
    """The row of a profile; a probe counts while no newer attempt is known."""
    if probed_at is not None and found.last is not None and found.last.t > probed_at:
        probed = None
    lamp, words = _state(found, probed, now)
    return ProviderRow(
        ref=found.ref,
        model=found.model or "-",
        tier=found.tier,
        lamp=lamp,
        words=words,
        headroom=found.left() or "not stated",
        last=_last(found.last, now),
        marks=tuple(
            MarkLine(words=_mark(mark, alone=len(found.marks) == 1), until=mark.until)
            for mark in sorted(found.marks, key=lambda item: item.until)
        ),
    )


def _state(found: ProfileStatus, probed: ProbeResult | None, now: datetime) -> tuple[Lamp, str]:
    if found.key not in ("found", "keyless"):
        return "off", f"no key: {found.key}"
    if found.first_back is not None and not found.unmarked:
        return _marked(found.first_back, now)
    if probed is not None and probed.state != "limited":
        return _probed(probed)
    return _outcome(found.last)


def _probed(probed: ProbeResult) -> tuple[Lamp, str]:
    return "on" if probed.reachable else "limited" if probed.state == "busy" else "off", probe_words(probed)


def probe_words(probed: ProbeResult) -> str:
    """``reachable``, ``not reachable``, ``bad key``."""
    return _PROBED.get(probed.state, probed.state)


def _marked(mark: Mark, now: datetime) -> tuple[Lamp, str]:
    model = f" for {mark.key.model}" if mark.key.model else ""
    if (word := _OFF.get(mark.reason)) is not None:
        return "off", f"{word}{model}; asked again after {clock_time(mark.until, now)}"
    about = "about " if mark.provenance == "guessed" else ""
    limit = _LIMITS.get(mark.reason, mark.reason.replace("_", " "))
    return "limited", f'limited until {about}{clock_time(mark.until, now)} by "{limit}"{model}'


def _outcome(last: LastOutcome | None) -> tuple[Lamp, str]:
    if last is None:
        return "unknown", "unknown (not asked yet)"
    if last.status == "ok":
        return "on", "reachable"
    if (word := _OFF.get(last.reason or "")) is not None:
        return "off", word
    if last.reason in _LIMITS:
        return "unknown", "unknown (not asked since its limit)"
    return "unknown", f"unknown (last: {_failure(last)})"


def clock_time(until: datetime, now: datetime) -> str:
    """``14:32 UTC``; seconds within two minutes, the date when it is another day."""
    if (until - now).total_seconds() < 120:  # noqa: PLR2004 (below that a minute says nothing)
        return f"{until:%H:%M:%S} UTC"
    return f"{until:%H:%M} UTC" if until.date() == now.date() else f"{until:%m-%d %H:%M} UTC"


def _mark(mark: Mark, *, alone: bool) -> str:
    """Who says so; of several marks also what each is about."""
    who = {"stated": "stated by the provider", "inferred": "by its known rule", "guessed": "nobody said, a guess"}
    if alone:
        return who[mark.provenance]
    what = _LIMITS.get(mark.reason) or _OFF.get(mark.reason) or mark.reason.replace("_", " ")
    return f"{who[mark.provenance]} ({what}{f', {mark.key.model}' if mark.key.model else ''})"


def _last(last: LastOutcome | None, now: datetime) -> str:
    if last is None:
        return "never asked"
    return f"{'answered' if last.status == 'ok' else _failure(last)} at {instant(last.t, now)} UTC"


def _failure(last: LastOutcome) -> str:
    status = last.status.replace("_", " ")
    return status if not last.reason or last.reason == last.status else f"{last.reason.replace('_', ' ')} ({status})"
