"""The ``zc.toml`` that points a chain at the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zc_notebooks.lab.dialect import family
from zc_notebooks.lab.scenario import ModelSpec, ProviderSpec, Scenario

_FREE_TIERS = ("free", "trial", "local")


def config_text(scenario: Scenario, base_url: Callable[[str], str]) -> str:
    """The whole file; ``base_url`` gives each provider's address by its name."""
    lines = [
        f"# The lab's fleet {scenario.name!r}: simulated providers on this machine. {scenario.title}.",
        f"default_provider = {_toml(_first(scenario).ref)}",
    ]
    for spec in scenario.providers:
        lines += ["", *_profile(spec, base_url(spec.name))]
    for link in scenario.chain:
        spec = scenario.provider(link.provider)
        lines += ["", "[[chain]]", f"provider = {_toml(spec.ref)}", f"model = {_toml(link.model or spec.models[0].id)}"]
    if scenario.reliability:
        lines += ["", "[reliability]", *(f"{key} = {_toml(value)}" for key, value in scenario.reliability.items())]
    return "\n".join(lines) + "\n"


def key_variables(scenario: Scenario) -> Mapping[str, str]:
    """Variable name → key for every key a provider of the scenario accepts."""
    return {name: key for spec in scenario.providers for name, key in zip(_names(spec), spec.keys, strict=True)}


def _first(scenario: Scenario) -> ProviderSpec:
    return scenario.provider(scenario.chain[0].provider) if scenario.chain else scenario.providers[0]


def _profile(spec: ProviderSpec, uri: str) -> Iterator[str]:
    yield f"[providers.{spec.family}.{spec.alias}]" + (f" # {spec.title}" if spec.title else "")
    yield f"uri = {_toml(uri)}"
    names = _names(spec)
    if not names:
        yield "keyless = true"
    elif len(names) == 1:
        yield f"api_key_env = {_toml(names[0])}"
    else:
        yield f"api_key_envs = {_toml(names)}"
    yield f"wire_api = {_toml(spec.wire or family(spec.family).wire)}"
    yield f"model = {_toml(spec.models[0].id)}"
    yield f"tier = {_toml(spec.tier)}"
    yield f"billing_pool = {_toml(spec.billing_pool)}"
    yield f"context_windows = {_toml({model.id: model.window for model in spec.models})}"
    if not any(model.vision for model in spec.models):
        yield "vision = false"
    yield f"pricing = {_toml(_prices(spec))}"


def _prices(spec: ProviderSpec) -> dict[str, float]:
    told: dict[str, float] = {}
    for model in spec.models:
        told.update(_price(model, free=spec.tier in _FREE_TIERS))
    return told


def _price(model: ModelSpec, *, free: bool) -> dict[str, float]:
    if free:
        return {model.id: 0.0}
    told = {f"{model.id}.input": model.price_in, f"{model.id}.output": model.price_out}
    if model.price_cached is not None:
        told[f"{model.id}.cached_input"] = model.price_cached
    return told


def _names(spec: ProviderSpec) -> list[str]:
    base = f"LAB_KEY_{spec.name}".upper().replace("-", "_")
    return [base] if len(spec.keys) == 1 else [f"{base}_{place}" for place, _ in enumerate(spec.keys, start=1)]


def _toml(value: Any) -> str:
    """A TOML value; strings and keys are basic strings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    return repr(value)
