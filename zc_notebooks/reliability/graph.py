"""The profile graph as a list: a profile, its other models, and its fallbacks depth first (spec 3.2). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from zc_notebooks.config.graph import resolver
from zc_notebooks.records import Profile, Pruned, Record

MAX_DEPTH: Final = 3
"""Levels of ``fallback`` that are walked; the primary's own list is level 1."""


class Declared(Record, frozen=True, kw_only=True):
    """One declaration of a candidate, in walking order."""

    ref: str
    model: str | None
    """``None``: unpinned."""
    path: str
    """Config path of the declaration."""
    raw: str
    """The ref as written there."""
    level: int = 0


class Walker:
    """Walks the graph from one profile.

    A profile met again no nearer to the start than before is not walked again: every entry below it has been found
    already, at the same place or an earlier one, so the order stays that of the plain depth-first walk and its cost
    stays that of one pass over the edges of each level.
    """

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles
        self._names = resolver(profiles)
        self._walked: dict[str, int] = {}
        self.pruned: dict[tuple[str, str], Pruned] = {}
        """Edges left out, by (code, path)."""

    def walk(self, ref: str, override: str | None) -> Iterator[Declared]:
        """Declarations from ``ref`` on; ``override`` replaces its own model."""
        yield from self._own(self._profiles[ref], override, f"providers.{ref}", ref, 0)
        yield from self._fallbacks(self._profiles[ref], (ref,))

    def _own(self, profile: Profile, override: str | None, path: str, raw: str, level: int) -> Iterator[Declared]:
        primary = override or profile.model
        yield Declared(ref=profile.ref, model=primary, path=path, raw=raw, level=level)
        if primary is None:
            return
        for place, model in enumerate(profile.fallback_models):
            if model and model != primary:
                where = f"providers.{profile.ref}.fallback_models[{place}]"
                yield Declared(ref=profile.ref, model=model, path=where, raw=profile.ref, level=level)

    def _fallbacks(self, profile: Profile, path: tuple[str, ...]) -> Iterator[Declared]:
        level = len(path)
        if level > MAX_DEPTH:
            if any(profile.fallback):
                self._prune("max_fallback_depth_exceeded", f"providers.{profile.ref}.fallback", profile.ref)
            return
        if self._walked.get(profile.ref, MAX_DEPTH + 1) <= level:
            return
        self._walked[profile.ref] = level
        for place, raw in enumerate(profile.fallback):
            if raw:
                yield from self._edge(raw, f"providers.{profile.ref}.fallback[{place}]", path)

    def _edge(self, raw: str, where: str, path: tuple[str, ...]) -> Iterator[Declared]:
        ref = self._names.get(raw)
        if ref is None:
            self._prune("dangling_fallback_ref", where, raw)
        elif ref in path:
            self._prune("fallback_cycle", where, ref)
        else:
            profile = self._profiles[ref]
            yield from self._own(profile, None, where, raw, len(path))
            yield from self._fallbacks(profile, (*path, ref))

    def _prune(self, code: str, path: str, ref: str) -> None:
        self.pruned.setdefault((code, path), Pruned(code=code, path=path, ref=ref))


Edges = Mapping[str, Collection[str]]


def forward(profiles: Mapping[str, Profile]) -> Edges:
    """Every profile → the profiles it falls back to."""
    names = resolver(profiles)
    return {ref: {names[raw] for raw in profile.fallback if raw in names} for ref, profile in profiles.items()}


def reaching(edges: Edges, refs: Collection[str]) -> frozenset[str]:
    """The profiles from which one of ``refs`` may be reached by fallbacks, cycles not regarded."""
    sources: dict[str, list[str]] = {}
    for ref, targets in edges.items():
        for target in targets:
            sources.setdefault(target, []).append(ref)
    found: set[str] = set()
    front = set(refs)
    for _ in range(MAX_DEPTH):
        front = {source for ref in front for source in sources.get(ref, ())} - found
        found |= front
    return frozenset(found)
