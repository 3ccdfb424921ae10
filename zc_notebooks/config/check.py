"""What ``zc config check`` says: every problem and warning of a file, and which profiles have a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from zc_notebooks.config.catalogue import families
from zc_notebooks.config.fields import sendable
from zc_notebooks.config.keys import Found, Keyring, Missing, Where, check_prefix, default_names, faces
from zc_notebooks.config.load import load_config
from zc_notebooks.config.schema import Config, ConfigWarning
from zc_notebooks.errors import ConfigError, Problem
from zc_notebooks.records import Profile, Record, Tier, WireName


class KeyReport(Record, frozen=True, kw_only=True):
    """One variable a profile's key is looked for under; never its value."""

    name: str
    found: bool
    where: Where | None = None
    note: str = ""
    """Why a value that is there cannot be used."""

    def __str__(self) -> str:
        if not self.found:
            return f"{self.name} missing"
        return f"{self.name} ({self.where}{', cannot be used' if self.note else ''})"


class ProfileReport(Record, frozen=True, kw_only=True):
    """One profile as it would be called."""

    ref: str
    wire: WireName
    base_url: str
    model: str | None
    pool: str
    tier: Tier
    keyless: bool
    ready: bool
    """Whether it could be called now: keyless, or at least one usable key."""
    keys: tuple[KeyReport, ...] = ()
    """Those of a route to it first."""
    retired: date | None = None
    """Day from which the provider refuses every call."""

    @property
    def keys_text(self) -> str:
        """The keys in one line."""
        return ", ".join(map(str, self.keys)) or "keyless"


class ConfigReport(Record, frozen=True, kw_only=True):
    """The result of a check."""

    ok: bool
    """Whether the file loads and no key is of the wrong form; warnings do not count."""
    path: str | None = None
    env_file: str | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[ConfigWarning, ...] = ()
    profiles: tuple[ProfileReport, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found


def check_file(path: Path | None, environ: Mapping[str, str]) -> ConfigReport:
    """Checks a file (``None``: the one in force). Never raises for what stands in it."""
    try:
        config = load_config(path, environ=environ)
    except ConfigError as error:
        name = None if path is None else str(path)
        problems = error.problems or (Problem(path=name or "zc.toml", message=str(error)),)
        return ConfigReport(ok=False, path=name, problems=problems)
    return check_config(config, Keyring(config, environ))


def check_config(config: Config, keyring: Keyring) -> ConfigReport:
    """The same for a configuration that is loaded already."""
    problems: list[Problem] = []
    profiles = tuple(_profile(faces(config, profile), keyring, problems) for profile in config.profiles.values())
    return ConfigReport(
        ok=not problems,
        path=None if config.path is None else str(config.path),
        env_file=None if config.env_file is None else str(config.env_file),
        problems=tuple(problems),
        warnings=(*config.warnings, *_no_start(config)),
        profiles=profiles,
    )


def _no_start(config: Config) -> tuple[ConfigWarning, ...]:
    """Loads, and answers only calls that name a start or a hint themselves."""
    if not config.profiles or config.default_provider is not None or config.chain:
        return ()
    words = "is not set, and there is no [[chain]]: only a call that names its start is answered; set one of the two"
    return (ConfigWarning(code="no_start", path="default_provider", message=words),)


def _profile(known: Sequence[Profile], keyring: Keyring, problems: list[Problem]) -> ProfileReport:
    profile = known[-1]
    family = families().get(profile.family)
    keys: dict[str, KeyReport] = {}
    for face in known:
        for report in _keys(face, keyring, problems):
            keys.setdefault(report.name, report)
    return ProfileReport(
        ref=profile.ref,
        wire=profile.wire,
        base_url=profile.base_url,
        model=profile.model,
        pool=profile.pool,
        tier=profile.tier,
        keyless=profile.keyless,
        ready=any(not isinstance(item, Missing) for item in keyring.credentials(known[0])),
        keys=tuple(keys.values()),
        retired=None if family is None else family.retired,
    )


def _keys(profile: Profile, keyring: Keyring, problems: list[Problem]) -> tuple[KeyReport, ...]:
    names = profile.key_names or _default_names(profile, keyring)
    reports = [_key(profile, name, keyring.find(name), problems) for name in names]
    if profile.inline_key is not None:
        found = Found(secret=profile.inline_key, where="inline")
        reports.append(_key(profile, "api_key", found, problems))
    unset = [item for item in keyring.credentials(profile) if isinstance(item, Missing)]
    known = {report.name for report in reports}
    reports += [KeyReport(name=item.name, found=False, note=item.reason) for item in unset if item.name not in known]
    return tuple(reports)


def _default_names(profile: Profile, keyring: Keyring) -> tuple[str, ...]:
    """The family's alternatives that hold a key, or all of them when none does."""
    if profile.inline_key is not None or profile.keyless:
        return ()
    names = default_names(profile.family)
    return tuple(name for name in names if keyring.find(name) is not None) or names


def _key(profile: Profile, name: str, found: Found | None, problems: list[Problem]) -> KeyReport:
    if found is None:
        return KeyReport(name=name, found=False)
    fault = sendable(found.secret.reveal())
    problem = check_prefix(profile, found.secret, name)
    if fault is not None:
        problem = Problem(path=f"providers.{profile.ref}", message=f"the key of {name} {fault}")
    if problem is not None:
        problems.append(problem)
    return KeyReport(name=name, found=True, where=found.where, note="" if problem is None else problem.message)
