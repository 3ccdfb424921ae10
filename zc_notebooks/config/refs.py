"""Dotted profile refs in chain entries, routes and ``default_provider``: here only the full form counts (spec 2.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zc_notebooks.config.reader import Reader, nearest
from zc_notebooks.records import Profile


def check_ref(reader: Reader, path: str, ref: str, profiles: Mapping[str, Profile]) -> Profile | None:
    """The profile a ref names; anything else becomes a problem at ``path``."""
    found = profiles.get(ref)
    if found is not None or ref in reader.broken:
        return found
    named = [*profiles, *sorted(name for name in reader.broken if not name.startswith("hint:"))]
    near = nearest(ref, named)
    hint = f"did you mean {near!r}?" if near else f"configured are {_listed(named)}"
    if "." not in ref:
        reader.problem(path, f"must be a dotted profile ref FAMILY.ALIAS ({hint})", ref)
    else:
        reader.problem(path, f"names no configured profile: {hint}", ref)
    return None


def _listed(named: Sequence[str]) -> str:
    first = named[:8]
    more = len(named) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "") if first else "none"
