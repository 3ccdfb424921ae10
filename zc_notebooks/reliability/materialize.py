"""From configuration to a plan: the entries of a call in order, and what was left out and why (spec 3). Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, Protocol

import msgspec

from zc_notebooks.config.keys import Missing
from zc_notebooks.config.schema import Config, Route
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Credential, Entry, Plan, Profile, Pruned, Record, Variant

MAX_DEPTH: Final = 3
"""Levels of ``fallback`` that are walked; the primary's own list is level 1."""

Source = Literal["graph", "chain"]


class Ask(Record, frozen=True, kw_only=True):
    """What a call may say about its candidates."""

    start: str | None = None
    """``family.alias`` or ``family.alias/model``."""
    model: str | None = None
    hint: str | None = None
    source: Source | None = None
    fallback: bool = True


def plan(config: Config, ask: Ask) -> Plan:
    """The plan of one call (spec 3.1). Raises :class:`ConfigError` when nothing says where to start."""
    route = _route(config, ask.hint)
    source = ask.source or ("graph" if route is not None or not config.chain else "chain")
    ref, model = _start(config, ask, route)
    made = _chain(config, ref, model) if source == "chain" else _graph(config, ref, model, route)
    warnings = made.warnings + _hint_warning(config, ask.hint, route)
    made = msgspec.structs.replace(made, warnings=warnings)
    return made if ask.fallback else msgspec.structs.replace(made, entries=made.entries[:1])


def parse_start(text: str) -> tuple[str, str | None]:
    """``family.alias[/model]`` in its two parts; a model may hold slashes of its own."""
    ref, _, model = text.strip().partition("/")
    return ref.strip(), model.strip() or None


# -- where a call starts ------------------------------------------------------------------------------------------


def _start(config: Config, ask: Ask, route: Route | None) -> tuple[str, str | None]:
    """(ref, model); the model is ``None`` when nothing names one."""
    if ask.start is not None:
        ref, model = parse_start(ask.start)
        _known(config, ref)
        return ref, model or ask.model
    if route is not None:
        return route.model_provider, ask.model or _routed_model(config, route)
    if config.default_provider is not None:
        literal = f"hint:{ask.hint}" if ask.hint else None
        unpinned = config.profiles[config.default_provider].model is None
        return config.default_provider, ask.model or (literal if unpinned else None)
    if config.chain:
        return config.chain[0].provider, ask.model or config.chain[0].model
    raise ConfigError(
        "nothing says where to start: set default_provider, add a [[chain]] entry, or name a start (family.alias)"
    )


def _routed_model(config: Config, route: Route) -> str | None:
    """The served model of a hint (spec 9): the target's own, else the route's."""
    own = config.profiles[route.model_provider].model
    return None if own is not None else route.model


def _route(config: Config, hint: str | None) -> Route | None:
    return next((route for route in config.routes if route.hint == hint), None) if hint is not None else None


def _hint_warning(config: Config, hint: str | None, route: Route | None) -> tuple[Pruned, ...]:
    if hint is None or route is not None:
        return ()
    known = ", ".join(route.hint for route in config.routes) or "none"
    return (Pruned(code="unknown_hint", path=f"model_routes (known: {known})", ref=f"hint:{hint}"),)


def _known(config: Config, ref: str) -> Profile:
    if ref in config.profiles:
        return config.profiles[ref]
    near = difflib.get_close_matches(ref, config.profiles, n=1, cutoff=0.4)
    hint = f": did you mean {near[0]!r}?" if near else ""
    known = ", ".join(list(config.profiles)[:8]) or "none"
    raise ConfigError(f"the start {ref!r} is no configured profile{hint} (configured: {known})")


# -- the flat chain -------------------------------------------------------------------------------------------------


def _chain(config: Config, ref: str, model: str | None) -> Plan:
    """Start candidate, then the chain in order; no expansion, later duplicates dropped (spec 3.3)."""
    first = model or config.profiles[ref].model or _first_chain_model(config, ref)
    if first is None:
        raise ConfigError(f"providers.{ref} has no model: set one there, or name it ({ref}/MODEL)")
    pairs = [(ref, first, "")]
    for place, link in enumerate(config.chain):
        pairs.append((link.provider, link.model or config.profiles[link.provider].model or first, f"chain[{place}]"))
    entries, dropped = _unique(config, pairs, silent=(ref, first))
    return Plan(entries=entries, source="chain", requested_model=first, warnings=dropped)


def _first_chain_model(config: Config, ref: str) -> str | None:
    return next((link.model for link in config.chain if link.provider == ref and link.model), None)


def _unique(
    config: Config, pairs: Iterable[tuple[str, str | None, str]], *, silent: tuple[str, str | None] | None = None
) -> tuple[tuple[Entry, ...], tuple[Pruned, ...]]:
    """Entries without later exact duplicates of (ref, model), and a warning for each dropped declaration."""
    entries: dict[tuple[str, str | None], Entry] = {}
    dropped: list[Pruned] = []
    repeated = False
    for ref, model, path in pairs:
        if (ref, model) not in entries:
            entries[ref, model] = Entry(profile=config.profiles[ref], model=model, index=len(entries))
        elif (ref, model) == silent and not repeated:
            repeated = True
        else:
            dropped.append(Pruned(code="duplicate_entry_dropped", path=path, ref=ref))
    return tuple(entries.values()), tuple(dropped)


# -- the profile graph ----------------------------------------------------------------------------------------------


def _graph(config: Config, ref: str, model: str | None, route: Route | None) -> Plan:
    """Depth-first materialisation of a profile and its fallbacks (spec 3.2)."""
    profile = config.profiles[ref]
    unpinned = route is not None and profile.model is None and model == route.model
    pruned: list[Pruned] = []
    override = None if unpinned else model
    pairs = [*_own(profile, override), *_fallbacks(config, profile, (ref,), pruned)]
    entries, dropped = _unique(config, pairs)
    requested = model or entries[0].model
    if requested is None:
        raise ConfigError(f"providers.{ref} has no model: set one there, or name it for the call ({ref}/MODEL)")
    if route is not None:
        entries = _with_route_key(config, ref, entries)
    return Plan(entries=entries, source="graph", requested_model=requested, pruned=tuple(pruned), warnings=dropped)


def _own(profile: Profile, override: str | None) -> Iterator[tuple[str, str | None, str]]:
    primary = override or profile.model
    yield profile.ref, primary, f"providers.{profile.ref}"
    if primary is None:
        return
    for place, model in enumerate(profile.fallback_models):
        if model and model != primary:
            yield profile.ref, model, f"providers.{profile.ref}.fallback_models[{place}]"


def _fallbacks(
    config: Config, profile: Profile, path: tuple[str, ...], pruned: list[Pruned]
) -> Iterator[tuple[str, str | None, str]]:
    if len(path) > MAX_DEPTH:
        if profile.fallback:
            where = f"providers.{profile.ref}.fallback"
            pruned.append(Pruned(code="max_fallback_depth_exceeded", path=where, ref=profile.ref))
        return
    for place, raw in enumerate(profile.fallback):
        where = f"providers.{profile.ref}.fallback[{place}]"
        ref = resolve(config.profiles, raw)
        if ref is None:
            pruned.append(Pruned(code="dangling_fallback_ref", path=where, ref=raw))
        elif ref in path:
            pruned.append(Pruned(code="fallback_cycle", path=where, ref=ref))
        else:
            for own_ref, model, own_path in _own(config.profiles[ref], None):
                yield own_ref, model, where if own_path == f"providers.{ref}" else own_path
            yield from _fallbacks(config, config.profiles[ref], (*path, ref), pruned)


def resolve(profiles: Mapping[str, Profile], raw: str) -> str | None:
    """A fallback ref: dotted as it stands, or a bare alias that exactly one family has."""
    if raw in profiles:
        return raw
    matches = [ref for ref, profile in profiles.items() if profile.alias == raw]
    return matches[0] if len(matches) == 1 else None


def _with_route_key(config: Config, ref: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The target's credential: the first route naming it that supplies a key, else its profile's own (spec 9)."""
    for route in config.routes:
        if route.model_provider != ref or not (route.api_key_env or route.inline_key):
            continue
        keys = (route.api_key_env,) if route.api_key_env else ()
        profile = msgspec.structs.replace(
            config.profiles[ref], key_names=keys, inline_key=route.inline_key, keyless=False
        )
        return tuple(
            msgspec.structs.replace(entry, profile=profile) if entry.ref == ref else entry for entry in entries
        )
    return entries


# -- credentials ----------------------------------------------------------------------------------------------------


class Keys(Protocol):
    """Where a profile's credentials come from."""

    def credentials(self, profile: Profile) -> tuple[Credential | Missing, ...]:
        """In order; a variable without a key is reported as missing."""
        ...


def variants(made: Plan, keys: Keys) -> tuple[Variant, ...]:
    """Every entry with each of its profile's credentials, in order, adjacent (spec 3.4)."""
    found: list[Variant] = []
    known: dict[str, tuple[Credential | Missing, ...]] = {}
    for entry in made.entries:
        if entry.ref not in known:
            known[entry.ref] = keys.credentials(entry.profile)
        for place, item in enumerate(known[entry.ref]):
            found.append(
                Variant(
                    entry=entry,
                    model=entry.served(made.requested_model),
                    credential=item if isinstance(item, Credential) else None,
                    place=place,
                    missing=f"{item.name} {item.reason}" if isinstance(item, Missing) else None,
                )
            )
    return tuple(found)


def require_fallback_keys(made: Plan, candidates: Iterable[Variant]) -> None:
    """Graph only: a resolved fallback without any credential fails construction (spec 3.2)."""
    if made.source != "graph":
        return
    primary = made.entries[0].ref
    by_ref: dict[str, list[Variant]] = {}
    for candidate in candidates:
        by_ref.setdefault(candidate.ref, []).append(candidate)
    for ref, found in by_ref.items():
        if ref != primary and all(candidate.credential is None for candidate in found):
            names = ", ".join(sorted({candidate.missing or "?" for candidate in found}))
            raise ConfigError(
                f"the fallback {ref!r} ([providers.{ref}]) has no key: set {names}, or remove the fallback"
            )
