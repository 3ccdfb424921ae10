"""Warnings about the graph of ``fallback`` edges, from every profile as a possible start (spec 2.6, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zc_notebooks.config.profiles import Draft
from zc_notebooks.config.reader import Reader

Edges = Mapping[str, frozenset[str]]


def resolver(refs: Iterable[str]) -> Mapping[str, str]:
    """Every way to name a profile in ``fallback`` → its ref: dotted, or an alias that exactly one family has."""
    known = {ref: ref for ref in refs}
    by_alias: dict[str, list[str]] = {}
    for ref in known:
        by_alias.setdefault(ref.partition(".")[2], []).append(ref)
    unique = {alias: found[0] for alias, found in by_alias.items() if len(found) == 1}
    return unique | known


def check_graph(reader: Reader, drafts: Mapping[str, Draft]) -> None:
    """Warns of edges that a plan will prune: dangling, cyclic, or below the third level."""
    names = resolver(drafts)
    forward = {ref: frozenset(names[raw] for raw in draft.fallback if raw in names) for ref, draft in drafts.items()}
    backward = _reversed(forward)
    for ref, draft in drafts.items():
        for place, raw in enumerate(draft.fallback):
            _check_edge(reader, ref, raw, f"providers.{ref}.fallback[{place}]", names, forward, backward)
        if any(draft.fallback) and _reaches_third_level(ref, backward):
            reader.warn(
                "max_fallback_depth_exceeded",
                f"providers.{ref}.fallback",
                "is below the third level of fallbacks for some start and is pruned there",
                ref,
            )


def _check_edge(
    reader: Reader, ref: str, raw: str, path: str, names: Mapping[str, str], forward: Edges, backward: Edges
) -> None:
    if not raw:
        return
    target = names.get(raw)
    if target is None:
        reader.warn("dangling_fallback_ref", path, f"names no profile: {raw!r}; the edge is pruned", ref)
    elif _returns(target, ref, forward, backward):
        reader.warn(
            "fallback_cycle",
            path,
            f"leads back to {target!r}: the edge is pruned on every path that comes from there",
            ref,
        )


def _returns(target: str, ref: str, forward: Edges, backward: Edges) -> bool:
    """Whether ``target`` reaches ``ref`` in at most two steps: longer ways end at the depth limit first."""
    if target == ref or ref in forward[target]:
        return True
    return not forward[target].isdisjoint(backward[ref])


def _reaches_third_level(ref: str, backward: Edges) -> bool:
    """Whether some start leads to ``ref`` over two other profiles, all four different."""
    for second in backward[ref] - {ref}:
        for first in backward[second] - {second, ref}:
            if backward[first] - {first, second, ref}:
                return True
    return False


def _reversed(forward: Edges) -> Edges:
    found: dict[str, set[str]] = {ref: set() for ref in forward}
    for ref, targets in forward.items():
        for target in targets:
            found[target].add(ref)
    return {ref: frozenset(sources) for ref, sources in found.items()}
