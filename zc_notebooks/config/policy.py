"""Everything of ``zc.toml`` that is not a profile: policy, routes, chain, effort, borders, ledger (spec 2.4 to 2.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from zc_notebooks.config import fields
from zc_notebooks.config.fields import Check
from zc_notebooks.config.profiles import warn_inline_key
from zc_notebooks.config.reader import Reader, nearest
from zc_notebooks.config.refs import check_ref
from zc_notebooks.config.schema import Borders, ChainEntry, EffortRouting, LedgerConfig, Route
from zc_notebooks.records import TIERS, Profile, Reliability

_TIERS: Final = fields.many(fields.choice(*TIERS), "tiers")
_POLICY: Final = fields.choice("cooldown_and_advance", "retry_then_advance")
_WORDS: Final = fields.many(fields.text, "words")

RELIABILITY: Final[Mapping[str, Check]] = {
    "provider_retries": fields.whole(),
    "provider_backoff_ms": fields.number(),
    "backoff_cap_ms": fields.number(),
    "jitter": fields.number(),
    "retry_after_cap_s": fields.number(),
    "graph_rate_limit_policy": _POLICY,
    "chain_rate_limit_policy": _POLICY,
    "cooldown_guess_s": fields.number(),
    "period_guess_s": fields.number(),
    "context_overflow": fields.choice("advance_larger", "truncate", "raise"),
    "anthropic_completion": fields.choice("stop_reason", "message_stop"),
    "call_timeout_s": fields.number(above=True),
}
ROUTE: Final[Mapping[str, Check]] = {
    "hint": fields.text,
    "model_provider": fields.text,
    "model": fields.text,
    "api_key_env": fields.variable,
    "api_key": fields.secret,
    "allow_tiers": _TIERS,
}
CHAIN: Final[Mapping[str, Check]] = {"provider": fields.text, "model": fields.text, "allow_tiers": _TIERS}
EFFORT: Final[Mapping[str, Check]] = {
    "local_hint": fields.text,
    "cloud_hint": fields.text,
    "cloud_escalation": fields.choice("never", "auto"),
    "complex_over": fields.whole(),
    "simple_under": fields.whole(),
    "complex_keywords": fields.whole(),
    "latin_keywords": _WORDS,
    "japanese_keywords": _WORDS,
}
BORDERS: Final[Mapping[str, Check]] = {
    "allow_tiers": _TIERS,
    "budget_call_usd": fields.money,
    "budget_day_usd": fields.money,
    "budget_month_usd": fields.money,
    "unknown_price": fields.choice("refuse", "allow"),
}
LEDGER: Final[Mapping[str, Check]] = {"path": fields.text, "durability": fields.choice("os", "fsync")}


def read_reliability(reader: Reader, value: object) -> Reliability:
    """``[reliability]``."""
    return Reliability(**reader.section(value, RELIABILITY, "reliability"))


def read_borders(reader: Reader, value: object) -> Borders:
    """``[borders]``."""
    return Borders(**_without_blanks(reader.section(value, BORDERS, "borders")))


def read_ledger(reader: Reader, value: object, anchored: Callable[[str], Path]) -> LedgerConfig:
    """``[ledger]``; ``anchored`` makes its path absolute."""
    found = reader.section(value, LEDGER, "ledger")
    named = found.get("path")
    path = None if named is None else anchored(named)
    return LedgerConfig(path=path, durability=found.get("durability", "os"))


def read_chain(reader: Reader, value: object, profiles: Mapping[str, Profile]) -> tuple[ChainEntry, ...]:
    """``[[chain]]``, every entry with its model. Warns when all entries draw on one purse."""
    chain: list[ChainEntry] = []
    pools: set[str] = set()
    for path, block in reader.blocks(value, "chain"):
        found = _without_blanks(reader.section(block, CHAIN, path, required=("provider",)))
        if "provider" not in found:
            continue
        profile = check_ref(reader, f"{path}.provider", found["provider"], profiles)
        if profile is None:
            continue
        model = found.get("model") or profile.model
        if model is None:
            reader.problem(f"{path}.model", f"is required, because {profile.ref} has no model of its own")
            continue
        pools.add(profile.pool)
        chain.append(ChainEntry(provider=profile.ref, model=model, allow_tiers=found.get("allow_tiers")))
    if len(chain) > 1 and len(pools) == 1:
        reader.warn(
            "chain_single_billing_pool",
            "chain",
            f"all {len(chain)} entries draw on one billing pool ({pools.pop()}), so they fall together",
        )
    return tuple(chain)


def read_routes(reader: Reader, value: object, profiles: Mapping[str, Profile]) -> tuple[Route, ...]:
    """``[[model_routes]]``. A hint stands for one route; a target should have one key."""
    routes: list[Route] = []
    places: dict[str, str] = {}
    keys: dict[str, tuple[object, str]] = {}
    for path, block in reader.blocks(value, "model_routes"):
        found = _without_blanks(reader.section(block, ROUTE, path, required=("hint", "model_provider", "model")))
        if "api_key" in found:
            warn_inline_key(reader, f"{path}.api_key", found.get("model_provider", ""))
        if "hint" in found:
            first = places.setdefault(found["hint"], path)
            if first != path:
                reader.problem(f"{path}.hint", f"is the hint of {first} already: a hint names one route", found["hint"])
        if "model_provider" in found:
            check_ref(reader, f"{path}.model_provider", found["model_provider"], profiles)
            _check_route_key(reader, path, found, keys)
        if all(name in found for name in ("hint", "model_provider", "model")):
            routes.append(_route(found))
        elif "hint" in found:
            reader.broken.add(f"hint:{found['hint']}")
    return tuple(routes)


def _route(found: Mapping[str, Any]) -> Route:
    return Route(
        hint=found["hint"],
        model_provider=found["model_provider"],
        model=found["model"],
        api_key_env=found.get("api_key_env"),
        inline_key=found.get("api_key"),
        allow_tiers=found.get("allow_tiers"),
    )


def _check_route_key(reader: Reader, path: str, found: Mapping[str, Any], keys: dict[str, tuple[object, str]]) -> None:
    key = (found.get("api_key_env"), found.get("api_key"))
    if key == (None, None):
        return
    ref = found["model_provider"]
    first, where = keys.setdefault(ref, (key, path))
    if first != key:
        reader.warn(
            "route_key_conflict", path, f"gives {ref} another key than {where}; the key of {where} is used", ref
        )


def read_effort(reader: Reader, value: object, routes: tuple[Route, ...]) -> EffortRouting | None:
    """``[effort_routing]``; without the block it is off."""
    if value is None:
        return None
    found = _without_blanks(reader.section(value, EFFORT, "effort_routing", required=("local_hint", "cloud_hint")))
    hints = {route.hint for route in routes}
    for name in ("local_hint", "cloud_hint"):
        hint = found.get(name)
        if hint is not None and hint not in hints and f"hint:{hint}" not in reader.broken:
            known = sorted(hints | {name.removeprefix("hint:") for name in reader.broken if name.startswith("hint:")})
            near = nearest(hint, known)
            meant = f"did you mean {near!r}?" if near else f"hints are {', '.join(known) or 'none'}"
            reader.problem(f"effort_routing.{name}", f"is the hint of no route: {meant}", hint)
    if "local_hint" not in found or "cloud_hint" not in found:
        return None
    return EffortRouting(**found)


def _without_blanks(found: dict[str, Any]) -> dict[str, Any]:
    """Lists without their blank items."""
    return {
        name: tuple(item for item in value if item != "") if isinstance(value, tuple) else value
        for name, value in found.items()
    }
