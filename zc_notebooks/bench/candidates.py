"""The candidates of a replay: named by people, known from the configuration or from the rows."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from zc_notebooks.bench.recorded import Recording, account_of
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import TIERS, Credential, Entry, Profile, Tier, Variant


def recorded_order(recording: Recording) -> tuple[str, ...]:
    """The candidates as calls went through them: those of the longest call in its order, then the rest as they came."""
    longest = max(recording.calls.values(), key=lambda call: len(set(_names(call.rows))), default=None)
    rows = (*(longest.rows if longest is not None else ()), *recording.rows)
    return tuple(dict.fromkeys(_names(rows)))


def variants_of(
    names: Sequence[str], recording: Recording, profiles: Mapping[str, Profile] | None = None
) -> tuple[Variant, ...]:
    """Entries in the order of ``names``, each with every credential it was recorded with.

    Args:
        names: ``family.alias`` or ``family.alias/model``.
        recording: Says the models, pools and credentials that were in use.
        profiles: Of the configuration; a candidate that is in no row must stand there.

    Raises:
        LedgerError: a name is neither recorded nor configured, or stands there twice.
    """
    profiles = profiles or {}
    found: list[Variant] = []
    for index, (ref, model) in enumerate(_resolved(names, recording, profiles)):
        rows = [row for row in recording.rows if (row.provider_ref, row.model) == (ref, model)]
        entry = Entry(profile=_profile(ref, rows, recording, profiles), model=model, index=index)
        ids = list(dict.fromkeys(row.credential_id for row in rows)) or _other_ids(ref, recording)
        found += [
            Variant(entry=entry, model=model, credential=Credential(id=name), place=place)
            for place, name in enumerate(ids)
        ]
    return tuple(found)


def _resolved(names: Sequence[str], recording: Recording, profiles: Mapping[str, Profile]) -> Iterator[tuple[str, str]]:
    known = dict.fromkeys(_names(recording.rows))
    given: set[tuple[str, str]] = set()
    for name in names:
        ref, _, model = name.strip().partition("/")
        model = model or _model(ref, recording, profiles)
        if not model or (f"{ref}/{model}" not in known and ref not in profiles):
            raise LedgerError(_nobody(name, [*known, *profiles]))
        if (ref, model) in given:
            raise LedgerError(f"the candidate {ref}/{model} stands twice in the chain: leave one out")
        given.add((ref, model))
        yield ref, model


def _model(ref: str, recording: Recording, profiles: Mapping[str, Profile]) -> str:
    if ref in profiles and profiles[ref].model:
        return profiles[ref].model or ""
    return next((row.model for row in recording.rows if row.provider_ref == ref), "")


def _nobody(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f": did you mean {near[0]!r}?" if near else ""
    return f"the candidate {name!r} is in no row of the period and not configured{hint}"


def _profile(ref: str, rows: Sequence[AttemptRow], recording: Recording, profiles: Mapping[str, Profile]) -> Profile:
    """The configured profile, paid by whoever the rows say; else what rows tell."""
    last = next(iter(reversed(rows or [row for row in recording.rows if row.provider_ref == ref])), None)
    pool = "" if last is None else account_of(last)[0]
    if ref in profiles:
        return replace(profiles[ref], pool=pool or profiles[ref].pool)
    family, _, alias = ref.partition(".")
    tier: Tier = next((name for name in TIERS if last is not None and name == last.tier), "metered")
    return Profile(ref=ref, family=family, alias=alias, base_url="", wire="openai_chat", pool=pool or ref, tier=tier)


def _other_ids(ref: str, recording: Recording) -> list[str]:
    return list(dict.fromkeys(row.credential_id for row in recording.rows if row.provider_ref == ref)) or ["-"]


def _names(rows: Sequence[AttemptRow]) -> Iterator[str]:
    return (f"{row.provider_ref}/{row.model}" for row in rows)
