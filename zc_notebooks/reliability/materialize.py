"""From configuration to a plan: the entries of a call in order, and what was left out and why (spec 3, 9). Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final, Literal, Protocol, get_args

import msgspec

from zc_notebooks.config.keys import Missing, faces
from zc_notebooks.config.schema import Config, Route
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Credential, Entry, Plan, Profile, Pruned, Record, Variant
from zc_notebooks.reliability.graph import Declared, Walker, forward, reaching
from zc_notebooks.request_settings import flag, named, one_of

HINT: Final = "hint:"
"""How a model name asks for a route."""

WHATEVER: Final = "(the requested model)"
"""Stands for the model of a call to come, in the plan of an unpinned target."""

Source = Literal["graph", "chain"]


class Ask(Record, frozen=True, kw_only=True):
    """What a call may say about its candidates."""

    start: str | None = None
    """``family.alias`` or ``family.alias/model``."""
    model: str | None = None
    """Construction override of the start's model: it is really served. ``hint:<name>`` asks for a route instead."""
    requested: str | None = None
    """The model an unpinned entry serves; pins win. ``hint:<name>`` asks for a route instead."""
    hint: str | None = None
    source: Source | None = None
    fallback: bool = True
    """``False`` keeps the first entry alone and disregards marks (spec 3.1)."""

    def __post_init__(self) -> None:
        """Raises :class:`~zc_notebooks.prompt_parts.InvalidRequest` for what a call cannot say."""
        for name in ("start", "model", "requested", "hint"):
            named(getattr(self, name), name)
        if self.source is not None:
            one_of(self.source, "source", *get_args(Source))
        flag(self.fallback, "fallback")


def plan(config: Config, ask: Ask) -> Plan:
    """The plan of one call (spec 3.1). Raises :class:`ConfigError` when nothing says where to start."""
    ask = read_hint(ask)
    route = _route(config, ask.hint)
    source = ask.source or ("graph" if route is not None or not config.chain else "chain")
    ref, override = _start(config, ask, route)
    wanted = _wanted(ask, route)
    made = (_chain if source == "chain" else _graph)(config, ref, override, wanted)
    made = msgspec.structs.replace(
        made,
        hint=None if route is None else route.hint,
        entries=_with_route_key(config, made.entries),
        warnings=made.warnings + _hint_warning(config, ask.hint, route),
    )
    return made if ask.fallback else msgspec.structs.replace(made, entries=made.entries[:1])


def targets(config: Config) -> tuple[Ask, ...]:
    """What the router chooses between: the primary first, then the first route of each other profile (spec 9)."""
    primary = Ask(source="graph", requested=WHATEVER)
    found = {config.default_provider: primary} if config.default_provider is not None else {}
    for route in config.routes:
        found.setdefault(route.model_provider, Ask(hint=route.hint))
    return tuple(found.values())


def parse_start(text: str) -> tuple[str, str | None]:
    """``family.alias[/model]`` in its two parts; a model may hold slashes of its own."""
    ref, _, model = text.strip().partition("/")
    return ref.strip(), model.strip() or None


# -- where a call starts ------------------------------------------------------------------------------------------


def read_hint(ask: Ask) -> Ask:
    """``model="hint:fast"`` is ``hint="fast"``."""
    for field in ("model", "requested"):
        name = getattr(ask, field)
        if name is None or not name.startswith(HINT):
            continue
        hint = name.removeprefix(HINT)
        if ask.hint is not None and ask.hint != hint:
            raise ConfigError(f"the call names two hints, {ask.hint!r} and {hint!r}: leave one out")
        ask = msgspec.structs.replace(ask, hint=hint, **{field: None})
    return ask


def _start(config: Config, ask: Ask, route: Route | None) -> tuple[str, str | None]:
    """(ref, construction override or ``None``)."""
    if ask.start is not None:
        ref, model = parse_start(ask.start)
        _known(config, ref)
        return ref, model or ask.model
    if route is not None:
        return route.model_provider, ask.model
    if config.default_provider is not None:
        return config.default_provider, ask.model
    if config.chain:
        return config.chain[0].provider, ask.model or config.chain[0].model
    raise ConfigError(
        "nothing says where to start: set default_provider, add a [[chain]] entry, or name a start (family.alias)"
    )


def _wanted(ask: Ask, route: Route | None) -> str | None:
    """The requested model (spec 9): the caller's, the route's, or the literal of a hint that is no route's."""
    if ask.requested is not None:
        return ask.requested
    if route is not None and ask.start is None:
        return route.model
    return f"{HINT}{ask.hint}" if ask.hint is not None and route is None else None


def _route(config: Config, hint: str | None) -> Route | None:
    return next((route for route in config.routes if route.hint == hint), None) if hint is not None else None


def _hint_warning(config: Config, hint: str | None, route: Route | None) -> tuple[Pruned, ...]:
    if hint is None or route is not None:
        return ()
    known = ", ".join(route.hint for route in config.routes) or "none"
    return (Pruned(code="unknown_hint", path=f"model_routes (known: {known})", ref=f"{HINT}{hint}"),)


def _known(config: Config, ref: str) -> Profile:
    if ref in config.profiles:
        return config.profiles[ref]
    near = difflib.get_close_matches(ref, config.profiles, n=1, cutoff=0.4)
    hint = f": did you mean {near[0]!r}?" if near else ""
    known = ", ".join(list(config.profiles)[:8]) or "none"
    raise ConfigError(f"the start {ref!r} is no configured profile{hint} (configured: {known})")


# -- the flat chain -------------------------------------------------------------------------------------------------


def _chain(config: Config, ref: str, override: str | None, wanted: str | None) -> Plan:
    """Start candidate, then the chain in order; no expansion, later duplicates dropped (spec 3.3)."""
    first = override or config.profiles[ref].model or wanted or _first_chain_model(config, ref)
    if first is None:
        raise ConfigError(f"providers.{ref} has no model: set one there, or name it ({ref}/MODEL)")
    found = [Declared(ref=ref, model=first, path="", raw=ref)]
    for place, link in enumerate(config.chain):
        own = link.model or config.profiles[link.provider].model or first
        found.append(Declared(ref=link.provider, model=own, path=f"chain[{place}]", raw=link.provider))
    entries, dropped = _unique(config, found, silent=(ref, first))
    return Plan(entries=entries, source="chain", requested_model=wanted or first, warnings=dropped)


def _first_chain_model(config: Config, ref: str) -> str | None:
    return next((link.model for link in config.chain if link.provider == ref and link.model), None)


def _unique(
    config: Config, found: Iterable[Declared], *, silent: tuple[str, str | None] | None = None
) -> tuple[tuple[Entry, ...], tuple[Pruned, ...]]:
    """Entries without later exact duplicates of (ref, model), and a warning for each dropped declaration."""
    entries: dict[tuple[str, str | None], Entry] = {}
    dropped: dict[str, Pruned] = {}
    repeated = False
    for item in found:
        pair = item.ref, item.model
        if pair not in entries:
            entries[pair] = Entry(
                profile=config.profiles[item.ref],
                model=item.model,
                index=len(entries),
                level=item.level,
                declared=item.path,
                raw=item.raw,
            )
        elif pair == silent and not repeated:
            repeated = True
        else:
            dropped.setdefault(item.path, Pruned(code="duplicate_entry_dropped", path=item.path, ref=item.ref))
    return tuple(entries.values()), tuple(dropped.values())


# -- the profile graph ----------------------------------------------------------------------------------------------


def _graph(config: Config, ref: str, override: str | None, wanted: str | None) -> Plan:
    """Depth-first materialisation of a profile and its fallbacks (spec 3.2)."""
    walker = Walker(config.profiles)
    entries, dropped = _unique(config, walker.walk(ref, override))
    requested = wanted or entries[0].model
    if requested is None:
        raise ConfigError(f"providers.{ref} has no model: set one there, or name it for the call ({ref}/MODEL)")
    pruned = tuple(walker.pruned.values())
    return Plan(entries=entries, source="graph", requested_model=requested, pruned=pruned, warnings=dropped)


def _with_route_key(config: Config, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The start's credential is a target's."""
    ref = entries[0].ref
    target = faces(config, config.profiles[ref])[0]
    return tuple(msgspec.structs.replace(entry, profile=target) if entry.ref == ref else entry for entry in entries)


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
            entry = found[0].entry
            written = f"{entry.raw!r} ({ref})" if entry.raw != ref else repr(ref)
            raise ConfigError(
                f"the fallback {written} of {primary}, named at {entry.declared}, has no key: {names}; set it, give "
                f"[providers.{ref}] another api_key_env, or remove the fallback"
            )


def require_targets(config: Config, keys: Keys) -> None:
    """Every target of the router can be built (spec 9); the error names the one that cannot."""
    edges = forward(config.profiles)
    lacking = {ref for ref in frozenset().union(*edges.values()) if _lacks_key(config.profiles[ref], keys)}
    doubtful = reaching(edges, lacking) if lacking else frozenset()
    for ask in targets(config):
        try:
            if _start(config, ask, _route(config, ask.hint))[0] in doubtful:
                made = plan(config, ask)
                require_fallback_keys(made, variants(made, keys))
        except ConfigError as error:
            where = f"hint {ask.hint!r}" if ask.hint is not None else "default_provider"
            raise ConfigError(f"the target of {where} cannot be built: {error}") from None


def _lacks_key(profile: Profile, keys: Keys) -> bool:
    return not any(isinstance(item, Credential) for item in keys.credentials(profile))
