"""A plan made to be looked at: how each entry stands, and the graph as a table. Calls nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from zc_notebooks.calling import Call
from zc_notebooks.ledger.prices import rates
from zc_notebooks.records import Entry, Plan, Pruned, Standing, Variant
from zc_notebooks.reliability.checks import Memory
from zc_notebooks.reliability.steps import Skip

COLUMNS: Final = ("", "candidate", "model", "billing pool", "tier", "window", "USD per 1M in / out", "now")


def outlook(call: Call) -> Plan:
    """The call's plan with the standing of each entry: what a walk that begins now would meet first."""
    memory = Memory(call.variants, call.policy, call.conditions, None)
    by_entry: dict[int, list[Variant]] = {}
    for variant in call.variants:
        by_entry.setdefault(variant.entry.index, []).append(variant)
    try:
        standings = [_standing(call, memory, entry, by_entry[entry.index]) for entry in call.plan.entries]
        return replace(call.plan, standings=tuple(standings))
    finally:
        call.conditions.close()


def _standing(call: Call, memory: Memory, entry: Entry, variants: Sequence[Variant]) -> Standing:
    """The first credential's obstacle, where every one of them meets some."""
    found = [memory.check(variant) for variant in variants]
    blocked = [item for item in found if isinstance(item, Skip)]
    first = blocked[0] if blocked and len(blocked) == len(found) else None
    known = rates(entry.profile, entry.served(call.plan.requested_model), 0, call.record.clock.now())
    return Standing(
        skip=None if first is None else first.status,
        why="" if first is None else first.text,
        mark=None if first is None else first.mark,
        input_usd=None if known is None else known.input,
        output_usd=None if known is None else known.output,
        price_source="" if known is None else known.source,
    )


def lines(made: Plan) -> list[tuple[str, ...]]:
    """:data:`COLUMNS` of each entry, indented by its level in the graph, with pruned edges where they hang."""
    found: list[tuple[str, ...]] = []
    for entry, following in zip(made.entries, (*made.entries[1:], None), strict=False):  # a plan may be empty
        found.append(_line(made, entry))
        if following is None or following.ref != entry.ref:
            found.extend(_edge(item, entry.level) for item in _pruned_at(made, entry.ref))
    return found


def _line(made: Plan, entry: Entry) -> tuple[str, ...]:
    standing, window = made.standing(entry), entry.profile.window(entry.model)
    return (
        str(entry.index + 1),
        f"{_indent(entry.level)}{entry.ref}",
        entry.model or f"{made.requested_model} (unpinned)",
        entry.profile.pool,
        entry.profile.tier,
        f"{window:,}" if window else "-",
        price(standing),
        state(standing),
    )


def _edge(item: Pruned, level: int) -> tuple[str, ...]:
    deep = item.code == "max_fallback_depth_exceeded"  # its ref is the profile whose whole list is left out
    return (
        "",
        f"{_indent(level + 1)}{'its fallback' if deep else item.ref}",
        *("",) * 5,
        f"left out: {item.code.replace('_', ' ')}",
    )


def _indent(level: int) -> str:
    """Spaces that no renderer folds."""
    return "\u00a0\u00a0\u00a0" * (level - 1) + "└─\u00a0" if level else ""


def _pruned_at(made: Plan, ref: str) -> Iterator[Pruned]:
    return (item for item in made.pruned if item.path.startswith(f"providers.{ref}.fallback"))


def price(standing: Standing) -> str:
    """``0.15 / 0.6``; ``unknown`` where no price is known."""
    if standing.input_usd is None and standing.output_usd is None:
        return "unknown"
    return " / ".join("?" if rate is None else f"{rate:f}" for rate in (standing.input_usd, standing.output_usd))


def state(standing: Standing) -> str:
    """``open``, or what is in the way and until when."""
    if standing.skip is None:
        return "open"
    if standing.mark is not None:
        mark = standing.mark
        return f"cooling until {mark.until:%Y-%m-%d %H:%M:%S} UTC ({mark.provenance}, {mark.reason.replace('_', ' ')})"
    words = standing.skip.removeprefix("skipped_").replace("_", " ")
    return f"skipped: {standing.why or words}"
