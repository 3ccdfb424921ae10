"""A fleet written down: providers, models, quotas and the chain over them, read from ``data/lab/*.toml``."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from zc_notebooks.records import Record, Tier, WireName
from zc_notebooks.resources import resource

Per = Literal["second", "minute", "hour", "session", "day", "week", "month"]
Reset = Literal["rolling", "fixed", "utc_midnight", "pacific_midnight", "beijing_midnight", "month", "first_use"]

DEFAULT_RESET: Mapping[Per, Reset] = {
    "second": "fixed",
    "minute": "fixed",
    "hour": "fixed",
    "session": "first_use",
    "day": "utc_midnight",
    "week": "first_use",
    "month": "month",
}


class Strict(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record whose file may hold no other keys."""


class ModelSpec(Strict, frozen=True, kw_only=True):
    """One model of a provider."""

    id: str
    window: int = 131_072
    """Context window in tokens, answer included."""
    max_output: int = 8_192
    """Tokens the provider assumes when a request names no limit."""
    price_in: float = 0.0
    """USD per 1M input tokens."""
    price_out: float = 0.0
    """USD per 1M output tokens, reasoning included."""
    price_cached: float | None = None
    thinking: int = 0
    """Reasoning tokens spent before each answer."""
    thinking_spread: float = 0.0
    """How far they scatter: standard deviation of their logarithm, :attr:`thinking` being the median."""
    verbosity: float = 1.0
    """How many times as much this model says as is needed."""
    ability: Mapping[str, float] = {}
    """Chance of a right answer by kind of task; ``"*"`` for any other kind, 1.0 when nothing is said."""
    vision: bool = False
    tools: bool = True
    reports: str | None = None
    """The model name its answers carry, when it is not :attr:`id`."""

    def able(self, kind: str) -> float:
        """Chance of a right answer to a task of ``kind``."""
        return self.ability.get(kind, self.ability.get("*", 1.0))


class Quota(Strict, frozen=True, kw_only=True):
    """One counted limit."""

    counts: Literal["requests", "tokens"]
    per: Per
    limit: int
    used: int = 0
    """Already used when the lab starts."""
    others: int = 0
    """Used up by other clients of the account as soon as each window begins."""
    reset: Reset | None = None
    """``rolling`` refills evenly; ``first_use`` starts with the first request; by :data:`DEFAULT_RESET` if unset."""
    models: tuple[str, ...] = ("*",)
    """Patterns of the models it counts."""
    each: Literal["account", "model"] = "account"
    """One counter for all these models together, or one for each."""
    keys: tuple[str, ...] = ()
    """The only keys whose accounts have it; all when empty."""
    failure: str | None = None
    """Name of the failure it answers with; by default ``<family>.<counts>_per_<per>``."""

    @property
    def rule(self) -> Reset:
        """How it resets."""
        return self.reset or DEFAULT_RESET[self.per]

    def binds(self, key: str | None) -> bool:
        """Whether the account of ``key`` has this quota."""
        return not self.keys or key in self.keys

    def covers(self, model: str) -> bool:
        """Whether a request to ``model`` is counted."""
        return any(fnmatch.fnmatchcase(model, pattern) for pattern in self.models)


class Flaky(Strict, frozen=True, kw_only=True):
    """A failure or fault that strikes by chance."""

    failure: str
    probability: float
    models: tuple[str, ...] = ("*",)


class Outage(Strict, frozen=True, kw_only=True):
    """A failure by schedule: in every ``every_s`` seconds on the lab's clock, for the ``for_s`` after ``offset_s``."""

    failure: str = "capacity"
    every_s: float
    for_s: float
    offset_s: float = 0.0


class ProviderSpec(Strict, frozen=True, kw_only=True, rename={"models": "model", "quotas": "quota"}):
    """One simulated provider."""

    name: str
    """Short name in the lab and first part of its path."""
    family: str
    alias: str
    """Its profile is ``<family>.<alias>``."""
    title: str = ""
    wire: WireName | None = None
    """The wire its profile uses; by default the family's first."""
    path: str | None = None
    """Path of its base URL below its name; by default the family's own for the wire."""
    tier: Tier = "metered"
    pool: str = ""
    """Billing pool; ``lab-<name>`` by default."""
    keys: tuple[str, ...] = ()
    """Keys it accepts, each with an account of its own. None: it asks for none, and there is one account."""
    models: tuple[ModelSpec, ...]
    quotas: tuple[Quota, ...] = ()
    balance_usd: float | None = None
    """Money on the account; ``None``: it never ends."""
    concurrency: int | None = None
    script: tuple[str, ...] = ()
    """What the first requests meet, one each: a failure or fault by name (``cut:3``), or ``ok``."""
    flaky: tuple[Flaky, ...] = ()
    outages: tuple[Outage, ...] = ()
    latency_ms: float = 40.0
    """Milliseconds to an answer or to the first token."""
    refusal_ms: float = 30.0
    """Milliseconds to a refusal."""
    chunk_ms: float = 1.0
    """Milliseconds between two chunks of a stream."""
    deviations: Mapping[str, Any] = {}
    """Overrides of the family's dialect (:class:`zc_notebooks.lab.dialect.Dialect`)."""

    @property
    def ref(self) -> str:
        """Its profile ref."""
        return f"{self.family}.{self.alias}"

    @property
    def billing_pool(self) -> str:
        """Its pool in the config."""
        return self.pool or f"lab-{self.name}"

    def model(self, name: str) -> ModelSpec | None:
        """The model of that id, or ``None``."""
        return next((model for model in self.models if model.id == name), None)


class Link(Strict, frozen=True, kw_only=True):
    """One place of the chain."""

    provider: str
    """Name of a provider of the scenario."""
    model: str | None = None
    """The provider's first model by default."""


class Scenario(Strict, frozen=True, kw_only=True, rename={"providers": "provider"}):
    """A whole fleet."""

    name: str
    title: str
    about: str = ""
    start: datetime | None = None
    """Where the lab's clock starts; the real now by default."""
    providers: tuple[ProviderSpec, ...]
    chain: tuple[Link, ...] = ()
    reliability: Mapping[str, Any] = {}
    """``[reliability]`` of the config the lab writes."""

    def changed(self, name: str, **fields: Any) -> Scenario:
        """The scenario with some fields of one provider replaced: ``changed("primary", family="openrouter")``.

        Raises:
            KeyError: there is no such provider.
            TypeError: there is no such field.
        """
        old = self.provider(name)
        new = msgspec.structs.replace(old, **fields)
        providers = tuple(new if spec is old else spec for spec in self.providers)
        return msgspec.structs.replace(self, providers=providers)

    def provider(self, name: str) -> ProviderSpec:
        """A provider by its name, ref or family.

        Raises:
            KeyError: there is none, or a family is meant and there are several; the message names the right ones.
        """
        for found in (
            [one for one in self.providers if one.name == name],
            [one for one in self.providers if one.ref == name],
            [one for one in self.providers if one.family == name],
        ):
            if len(found) == 1:
                return found[0]
        known = ", ".join(f"{one.name} ({one.ref})" for one in self.providers)
        raise KeyError(f"the lab has no single provider {name!r}; there are {known}")


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios that come with the package."""
    return tuple(sorted(path.stem for path in resource("data", "lab").glob("*.toml")))


def load_scenario(scenario: str | Path | Scenario = "default") -> Scenario:
    """Reads a scenario by its name among the shipped ones, or from a file.

    Raises:
        ValueError: there is no such scenario, or its file is wrong; the message says where.
    """
    if isinstance(scenario, Scenario):
        return _checked(scenario, scenario.name)
    path = Path(scenario)
    if isinstance(scenario, str) and path.suffix != ".toml":
        path = resource("data", "lab") / f"{scenario}.toml"
    if not path.is_file():
        raise ValueError(f"no lab scenario {str(scenario)!r}; there are {', '.join(scenario_names())}")
    return parse_scenario(path.read_text(encoding="utf-8"), source=path.name)


def parse_scenario(text: str, *, source: str = "scenario") -> Scenario:
    """Reads a scenario from TOML text.

    Raises:
        ValueError: the text is no scenario; the message says where it is wrong.
    """
    try:
        scenario = msgspec.toml.decode(text, type=Scenario)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{source}: {error}") from error
    return _checked(scenario, source)


def _checked(scenario: Scenario, source: str) -> Scenario:
    problems = list(_problems(scenario))
    if problems:
        raise ValueError(f"{source}: " + "; ".join(problems))
    return scenario


def _problems(scenario: Scenario) -> Iterator[str]:
    names = [one.name for one in scenario.providers]
    for what, values in (("name", names), ("ref", [one.ref for one in scenario.providers])):
        for twice in sorted({value for value in values if values.count(value) > 1}):
            yield f"two providers have the {what} {twice!r}"
    for provider in scenario.providers:
        if not provider.models:
            yield f"provider {provider.name!r} has no [[provider.model]]"
        if any(not 0 <= flaky.probability <= 1 for flaky in provider.flaky):
            yield f"provider {provider.name!r}: a probability lies between 0 and 1"
    for place, link in enumerate(scenario.chain):
        found = next((one for one in scenario.providers if link.provider == one.name), None)
        if found is None:
            yield f"chain[{place}] names no provider of the scenario: {link.provider!r}"
        elif link.model is not None and found.model(link.model) is None:
            yield f"chain[{place}]: provider {link.provider!r} has no model {link.model!r}"
