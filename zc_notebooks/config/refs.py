"""Dotted profile refs in chain entries, routes and ``default_provider``: here only the full form counts (spec 2.6)."""

from __future__ import annotations

from collections.abc import Mapping

from zc_notebooks.config.reader import Reader, nearest
from zc_notebooks.records import Profile


def check_ref(reader: Reader, path: str, ref: str, profiles: Mapping[str, Profile]) -> Profile | None:
    """The profile a ref names; anything else becomes a problem at ``path``."""
    found = profiles.get(ref)
    if found is not None or ref in reader.broken:
        return found
    near = nearest(ref, profiles)
    hint = f"did you mean {near!r}?" if near else f"configured are {_listed(profiles)}"
    if "." not in ref:
        reader.problem(path, f"must be a dotted profile ref FAMILY.ALIAS ({hint})", ref)
    else:
        reader.problem(path, f"names no configured profile: {hint}", ref)
    return None


def _listed(profiles: Mapping[str, Profile]) -> str:
    first = list(profiles)[:8]
    more = len(profiles) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "") if first else "none"
