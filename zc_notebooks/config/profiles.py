"""``[providers.<family>.<alias>]`` blocks → profiles with every default filled in (spec 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec

from zc_notebooks.config import fields
from zc_notebooks.config.address import (
    MANAGED,
    Lookup,
    base_url,
    check_address,
    expand,
    host_is,
    is_loopback,
    pool_of,
    unfilled,
)
from zc_notebooks.config.catalogue import Family, families
from zc_notebooks.config.fields import Check, Wrong
from zc_notebooks.config.reader import Reader, nearest, unquoted
from zc_notebooks.records import TIERS, WIRES, Capabilities, Profile, Record, Reliability, Tier, WireName

_SECONDS: Final = fields.number(above=True)

PROFILE: Final[Mapping[str, Check]] = {
    "api_key_env": fields.variable,
    "api_key_envs": fields.many(fields.variable, "variable names"),
    "api_key": fields.secret,
    "keyless": fields.flag,
    "uri": fields.text,
    "allow_plain_http": fields.flag,
    "wire_api": fields.choice(*WIRES),
    "model": fields.text,
    "fallback": fields.many(fields.text, "profile refs"),
    "fallback_models": fields.many(fields.text, "model ids"),
    "billing_pool": fields.text,
    "tier": fields.choice(*TIERS),
    "context_window": fields.whole(1),
    "context_windows": fields.by_model(fields.whole(1)),
    "temperature": fields.number(0.0, 2.0),
    "max_tokens": fields.whole(1),
    "connect_timeout_s": _SECONDS,
    "read_timeout_s": _SECONDS,
    "first_token_timeout_s": _SECONDS,
    "idle_timeout_s": _SECONDS,
    "call_timeout_s": _SECONDS,
    "anthropic_completion": fields.choice("stop_reason", "message_stop"),
    "extra_headers": fields.headers,
    "provider_extra": fields.extras,
    "chat_template_kwargs": fields.extras,
    "native_tools": fields.flag,
    "vision": fields.flag,
    "think": fields.flag,
    "streaming": fields.flag,
    "stream_tools": fields.flag,
    "pricing": fields.by_model(fields.number()),
}
"""Every key of a profile and what its value may be."""

_DECIDED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("model",), "the model is the profile's or the chain's (model, [[chain]])"),
    **dict.fromkeys(("messages", "input", "contents", "prompt", "system", "instructions"), "the prompt is the call's"),
    **dict.fromkeys(("stream",), "whether a call streams is the call's"),
}
"""Fields of a request body that are no extras, and whose they are."""
_TABLES: Final = ("extra_headers", "provider_extra", "chat_template_kwargs")
_DECLARING: Final = ("uri", "api_key_env", "api_key_envs", "api_key", "keyless", "model")
_PLAIN: Final = (
    "model",
    "context_window",
    "context_windows",
    "temperature",
    "max_tokens",
    "connect_timeout_s",
    "read_timeout_s",
    "first_token_timeout_s",
    "idle_timeout_s",
    "call_timeout_s",
    "anthropic_completion",
    *_TABLES,
    "pricing",
)
"""Keys whose values go into the profile as they are."""


class Draft(Record, frozen=True, kw_only=True):
    """A profile and what the checks across profiles need of its block."""

    profile: Profile
    fallback: tuple[str, ...] = ()
    """As written, blanks included, so that a place is the place in the file."""


def read_profiles(reader: Reader, value: object, reliability: Reliability, lookup: Lookup) -> dict[str, Draft]:
    """Every usable profile by ref, in file order. An empty one of an unknown address is left out."""
    drafts: dict[str, Draft] = {}
    if not isinstance(value, dict):
        reader.problem("providers", "must be written as [providers.FAMILY.ALIAS] tables", value)
        return drafts
    for family, aliases in value.items():
        for ref, block in _blocks(reader, family, aliases):
            if ref in drafts:
                reader.problem(f"providers.{ref}", "stands twice once names are trimmed: keep one")
                continue
            draft = _Block(reader, ref, family.strip(), block, reliability, lookup).read()
            if draft is not None:
                drafts[ref] = draft
            elif reader.problems:
                reader.broken.add(ref)
    return drafts


def _blocks(reader: Reader, family: str, aliases: object) -> list[tuple[str, Mapping[str, Any]]]:
    """The well-formed (ref, block) pairs of one family."""
    path = f"providers.{family}"
    if not family.strip() or "." in family or not family.isprintable():
        reader.problem(path, "must have a family name without a dot: [providers.FAMILY.ALIAS]")
        return []
    if not isinstance(aliases, dict):
        reader.problem(path, "must be written as [providers.FAMILY.ALIAS]", aliases)
        return []
    found: list[tuple[str, Mapping[str, Any]]] = []
    for alias, block in aliases.items():
        ref = f"{family.strip()}.{alias.strip()}"
        if not alias.strip() or not alias.isprintable():
            reader.problem(f"{path}.{alias}", "must have an alias: [providers.FAMILY.ALIAS]")
        elif isinstance(block, dict):
            found.append((ref, block))
        else:
            words = "must be inside a table [providers.FAMILY.ALIAS]: the alias is missing"
            reader.problem(f"{path}.{alias}", words, unquoted(block))
    return found


class _Block:
    """One block being read."""

    def __init__(
        self,
        reader: Reader,
        ref: str,
        family: str,
        block: Mapping[str, Any],
        reliability: Reliability,
        lookup: Lookup,
    ) -> None:
        self.reader = reader
        self.ref = ref
        self.path = f"providers.{ref}"
        self.name = family
        self.family: Family | None = families().get(family)
        self.block = {**(self.family.defaults if self.family is not None else {}), **block}
        self.reliability = reliability
        self.lookup = lookup
        self.found: dict[str, Any] = {}

    def read(self) -> Draft | None:
        self._ignore_non_tables()
        self.found = self.reader.section(self.block, PROFILE, self.path)
        empty = not any(_given(self.block.get(name)) for name in _DECLARING)
        if empty:
            self.reader.warn(
                "empty_profile", self.path, "has no uri, no credential and no model, so it does nothing", self.ref
            )
        wire = self._wire(quiet=empty)
        address = self._address(wire, quiet=empty)
        if not empty:
            self._credential_checks()
            self._extra_checks()
            self._model_checks()
        if address is None or wire is None:
            return None
        fallback = self.found.get("fallback", ())
        return Draft(profile=self._profile(wire, address), fallback=() if empty else fallback)

    def _ignore_non_tables(self) -> None:
        for name in _TABLES:
            if name in self.block and not isinstance(self.block[name], dict):
                del self.block[name]
                self.reader.warn("not_a_table", f"{self.path}.{name}", "is no table and is ignored", self.ref)

    def _wire(self, *, quiet: bool) -> WireName | None:
        """The wire, or ``None`` for an unknown family that names none."""
        asked = cast("WireName | None", self.found.get("wire_api"))
        if self.family is None:
            if asked is None and "wire_api" not in self.block and not quiet:
                self._unknown_family("wire_api")
            return asked
        if asked is None or asked in self.family.wires:
            return asked or self.family.wire
        speaks = ", ".join(self.family.wires)
        self.reader.warn(
            "wire_api_not_supported_for_family",
            f"{self.path}.wire_api",
            f"{self.name} does not speak {asked} (it speaks {speaks}); {self.family.wire} is used",
            self.ref,
        )
        return self.family.wire

    def _unknown_family(self, missing: str) -> None:
        near = nearest(self.name, families())
        hint = f"did you mean {near!r}?" if near else "custom is the family of any OpenAI-compatible server"
        self.reader.problem(
            f"{self.path}.{missing}",
            f"is required, because {self.name!r} is no known family and needs uri and wire_api ({hint})",
        )

    def _address(self, wire: WireName | None, *, quiet: bool) -> str | None:
        plain_http = bool(self.found.get("allow_plain_http"))
        if "uri" in self.found:
            try:
                address = check_address(self.found["uri"], allow_plain_http=plain_http)
            except Wrong as wrong:
                self.reader.problem(f"{self.path}.uri", str(wrong), None if wrong.hidden else self.found["uri"])
                return None
            local = self.family is not None and self.family.tier == "local"
            return None if wire is None else base_url(address, wire, local=local)
        if _given(self.block.get("uri")):
            return None
        if self.family is None:
            if not quiet:
                self._unknown_family("uri")
            return None
        return self._own_address(self.family, wire or self.family.wire, plain_http=plain_http, quiet=quiet)

    def _own_address(self, family: Family, wire: WireName, *, plain_http: bool, quiet: bool) -> str | None:
        template = family.wires[wire]
        if not template:
            if not quiet:
                self.reader.problem(f"{self.path}.uri", f"is required: {family.name} has no address of its own")
            return None
        names = " and ".join(family.url_vars.values())
        try:
            address = expand(template, family.url_vars, self.lookup)
            own = unfilled(address) or address.startswith(MANAGED)
            return address if own else check_address(address, allow_plain_http=plain_http)
        except Wrong as wrong:
            self.reader.problem(self.path, f"gets no usable address from {names}: the address {wrong}")
            return None

    def _extra_checks(self) -> None:
        """What the chain decides for each call cannot stand in the profile: it would go unseen to another model."""
        for name in self.found.get("provider_extra", ()):
            if name in _DECIDED:
                self.reader.problem(f"{self.path}.provider_extra.{name}", f"cannot be set here: {_DECIDED[name]}", name)

    def _credential_checks(self) -> None:
        if _given(self.block.get("api_key_env")) and _given(self.block.get("api_key_envs")):
            self.reader.problem(
                f"{self.path}.api_key_envs", "stands beside api_key_env: keep one of the two (a list may hold one name)"
            )
        if "api_key" in self.found:
            warn_inline_key(self.reader, f"{self.path}.api_key", self.ref)
        for name in _TABLES:
            for place, _ in fields.keys_in(self.found.get(name, {})):
                warn_inline_key(self.reader, f"{self.path}.{name}{place}", self.ref)

    def _model_checks(self) -> None:
        model, others = self.found.get("model"), self.found.get("fallback_models", ())
        path = f"{self.path}.fallback_models"
        if model is None and any(others) and not _given(self.block.get("model")):
            self.reader.warn("fallback_models_inert", path, "does nothing, because the profile has no model", self.ref)
        for place, other in enumerate(others):
            if not other:
                self.reader.warn("empty_fallback_model", f"{path}[{place}]", "is blank and is skipped", self.ref)
            elif other == model:
                self.reader.warn(
                    "fallback_model_duplicates_primary", f"{path}[{place}]", "is the profile's own model", self.ref
                )

    def _profile(self, wire: WireName, address: str) -> Profile:
        found, family = self.found, self.family
        hosted = family is not None and family.keyed_host is not None and host_is(address, family.keyed_host)
        names = found.get("api_key_envs") or ((found["api_key_env"],) if "api_key_env" in found else ())
        given = {name: found[name] for name in _PLAIN if name in found}
        tier = found.get("tier") or _tier(family, hosted=hosted)
        if tier == "local" and "tier" not in found:
            self._far_check(address)
        given.setdefault("call_timeout_s", self.reliability.call_timeout_s)
        given.setdefault("anthropic_completion", self.reliability.anthropic_completion)
        return Profile(
            ref=self.ref,
            family=self.name,
            alias=self.ref.partition(".")[2],
            base_url=address,
            wire=wire,
            key_names=tuple(name for name in names if name),
            inline_key=found.get("api_key"),
            keyless=not hosted
            and found.get("keyless", _keyless(family, names_a_key=bool(names or "api_key" in found))),
            fallback=_in_place(found.get("fallback", ())),
            fallback_models=_in_place(found.get("fallback_models", ())),
            pool=found.get("billing_pool") or pool_of(self.name, address),
            tier=tier,
            capabilities=_capabilities(family, found),
            allow_plain_http=found.get("allow_plain_http", False),
            **given,
        )

    def _far_check(self, address: str) -> None:
        """``local`` is a border that prompts do not leave, and a family's own tier does not know the address."""
        host = urlsplit(address).hostname or ""
        if not address.startswith(MANAGED) and not is_loopback(host):
            words = f"counts as local, but {host} is another machine: write the tier that it has for you"
            self.reader.warn("local_elsewhere", f"{self.path}.tier", words, self.ref)


def warn_inline_key(reader: Reader, path: str, ref: str) -> None:
    """A key stands in the file itself."""
    reader.warn("inline_api_key", path, "holds a key: name a variable instead (api_key_env) and keep it in .env", ref)


def _keyless(family: Family | None, *, names_a_key: bool) -> bool:
    """A family's own word; a server of one's own that names a key needs it."""
    return family is not None and family.keyless and not (family.keyed_when_named and names_a_key)


def _tier(family: Family | None, *, hosted: bool) -> Tier:
    if family is None:
        return "metered"
    return family.keyed_tier if hosted and family.keyed_tier else family.tier


def _capabilities(family: Family | None, found: Mapping[str, Any]) -> Capabilities:
    own = Capabilities() if family is None else family.capabilities
    changed = {name: found[name] for name in Capabilities.__struct_fields__ if name in found}
    return msgspec.structs.replace(own, **changed) if changed else own


def _given(value: object) -> bool:
    """Whether a key of a block says anything: not absent, blank, empty or false."""
    return bool(value.strip()) if isinstance(value, str) else bool(value)


def _in_place(items: tuple[str, ...]) -> tuple[str, ...]:
    """Blank items stay before another one, so that its place is that in the file; whoever reads the list skips them."""
    filled = [place for place, item in enumerate(items) if item]
    return items[: filled[-1] + 1] if filled else ()
