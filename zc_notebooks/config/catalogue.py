"""The catalogue of known providers: ``data/providers.toml`` as frozen records, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from zc_notebooks.records import Capabilities, Record, Tier, WireName
from zc_notebooks.resources import resource

Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "none"]
ResetRule = Literal["utc_midnight", "pacific_midnight", "beijing_midnight", "rolling"]

WIRE_AUTH: Final[Mapping[str, Auth]] = {"anthropic_messages": "x-api-key", "gemini": "x-goog-api-key"}
"""How a wire carries its key where the family says nothing else; every other wire: ``bearer``."""


class Probe(Record, frozen=True, kw_only=True):
    """A request that costs no tokens and says something about the provider."""

    path: str
    """Appended to :attr:`at`; the whole address when that is ``url``."""
    method: Literal["GET", "POST"] = "GET"
    at: Literal["base", "origin", "url"] = "base"
    """``base``: below the base URL. ``origin``: below its scheme, host and port. ``url``: somewhere else."""
    proves_key: bool
    """Whether an answer of 200 proves that the key is good."""
    kind: Literal["models", "balance", "key", "account", "health", "version"] = "models"
    """What the answer tells."""


class Starter(Record, frozen=True, kw_only=True):
    """A profile that :mod:`~zc_notebooks.config.starter` writes for this family."""

    alias: str
    model: str
    tier: Tier | None = None
    """``None``: the family's."""
    note: str = ""


class Fact(Record, frozen=True, kw_only=True):
    """Where something in the catalogue comes from."""

    of: str
    """The fields it vouches for."""
    date: date
    source: str
    says: str = ""


class Family(Record, frozen=True, kw_only=True):
    """One kind of provider."""

    name: str = ""
    title: str
    base_url: str | None = None
    """Address of the default wire; ``None`` when a profile must give its ``uri``. May hold ``{placeholders}``."""
    wire: WireName = "openai_chat"
    wires: Mapping[WireName, str] = {}
    """Every wire it speaks → that wire's base URL (empty where a profile must give its ``uri``)."""
    auth: Auth | None = None
    """How the default wire carries the key; filled in by :func:`families`."""
    wire_auth: Mapping[WireName, Auth] = {}
    """Where another wire carries it differently from the wire's own way."""
    key_vars: tuple[str, ...] = ()
    """Alternative names of one key; the first that holds a value counts."""
    url_vars: Mapping[str, str] = {}
    """Placeholder of the base URL → the variable that fills it."""
    tier: Tier = "metered"
    keyless: bool = False
    keyed_when_named: bool = False
    """A keyless family whose profile needs the key it names."""
    keyed_host: str | None = None
    """Host at which a keyless family needs a key after all."""
    keyed_tier: Tier | None = None
    """Tier at that host."""
    key_prefix: str | None = None
    reset_rule: ResetRule | None = None
    """When the free period quota starts anew, where that is a known rule."""
    default_max_tokens: int | None = None
    """Sent when nobody asked for a limit, because the balance is checked against it before the call."""
    probe: Probe | None = None
    start: str = ""
    """The command that starts a server of one's own machine."""
    defaults: Mapping[str, Any] = {}
    """Keys of a profile's block → the values that hold where it does not say."""
    capabilities: Capabilities = Capabilities()
    retired: date | None = None
    """Day from which every call is refused for ever."""
    limits: str = ""
    """Known free limits, for people."""
    notes: str = ""
    starters: tuple[Starter, ...] = ()
    sources: tuple[Fact, ...] = ()

    def auth_for(self, wire: WireName) -> Auth:
        """How ``wire`` carries this family's key."""
        if wire in self.wire_auth:
            return self.wire_auth[wire]
        if wire == self.wire and self.auth is not None:
            return self.auth
        return WIRE_AUTH.get(wire, "bearer")

    def probe_url(self, base_url: str) -> str | None:
        """Address of :attr:`probe` for a profile at ``base_url``.

        ``None`` without a probe, and for a probe at another host when the profile is not at the family's own
        address: a key goes nowhere else.
        """
        if self.probe is None:
            return None
        if self.probe.at == "base":
            return base_url.rstrip("/") + self.probe.path
        if self.probe.at == "url":
            return self.probe.path if base_url in self.wires.values() else None
        parts = urlsplit(base_url)
        return f"{parts.scheme}://{parts.netloc}{self.probe.path}"


@cache
def families() -> Mapping[str, Family]:
    """Every known family by name, in the catalogue's order."""
    with resource("data", "providers.toml").open("rb") as file:
        raw = tomllib.load(file)
    known = msgspec.convert(raw, dict[str, Family])
    return MappingProxyType({name: _filled(name, family) for name, family in known.items()})


def _filled(name: str, family: Family) -> Family:
    """A family with its own wire among its wires, and its way of carrying the key."""
    wires: dict[WireName, str] = {family.wire: family.base_url or ""}
    wires.update({wire: address or family.base_url or "" for wire, address in family.wires.items()})
    auth = family.auth or WIRE_AUTH.get(family.wire, "bearer")
    return msgspec.structs.replace(family, name=name, wires=wires, auth=auth)


def auth_for(family: str, wire: WireName) -> Auth:
    """How a profile of ``family`` carries its key on ``wire``; a family nobody knows uses the wire's own way."""
    known = families().get(family)
    return WIRE_AUTH.get(wire, "bearer") if known is None else known.auth_for(wire)
