"""Where keys come from: the environment, ``.env``, the system's keyring, and last the file itself (spec 2.2)."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from zc_notebooks.config.address import unfilled
from zc_notebooks.config.catalogue import Family, families
from zc_notebooks.config.env_file import EnvFile
from zc_notebooks.config.fields import sendable
from zc_notebooks.config.schema import Config, Route
from zc_notebooks.config.state import read_salt, state_dir
from zc_notebooks.errors import Problem
from zc_notebooks.records import KEYLESS, Credential, Profile, Record
from zc_notebooks.redact import Secret

SERVICE: Final = "zc_notebooks"
"""Service name of our entries in the keyring; the user name of an entry is the variable's name."""

Where = Literal["environment", ".env", "keyring", "inline"]


class Missing(Record, frozen=True, kw_only=True):
    """A variable that gives no usable key."""

    name: str
    reason: str = "is not set"
    """What is wrong with it, without any part of its value."""


class Found(Record, frozen=True, kw_only=True):
    """A value and where it stood."""

    secret: Secret
    where: Where


class Keyring:
    """The credentials of a configuration's profiles.

    Environment and ``.env`` are read again at every call; an answer of the keyring is kept for the process.
    """

    def __init__(
        self,
        config: Config,
        environ: Mapping[str, str] | None = None,
        *,
        ask_keyring: Callable[[str], str | None] | None = None,
        state: Path | None = None,
    ) -> None:
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._env_file = EnvFile(config.env_file)
        self._ask_keyring = ask_keyring or stored_key
        self._state = state
        self._salt: bytes | None = None
        self._made: dict[tuple[str, str | None], Credential] = {}

    def credentials(self, profile: Profile, *, names: Sequence[str] | None = None) -> tuple[Credential | Missing, ...]:
        """The profile's credentials in order, each key once, and what is missing between them.

        ``names`` replaces the profile's own variables. A keyless profile always has exactly the usable ones, or
        :data:`~zc_notebooks.records.KEYLESS`.
        """
        if (open_place := unfilled(profile.base_url)) is not None:
            return (Missing(name=_url_variable(profile, open_place), reason="is not set, so the address is unknown"),)
        found = self._declared(profile, profile.key_names if names is None else tuple(names))
        if not profile.keyless:
            return found
        return tuple(item for item in found if isinstance(item, Credential)) or (KEYLESS,)

    def find(self, name: str) -> Found | None:
        """The value of one variable and where it stood; blank is absent."""
        value = self._environ.get(name, "").strip()
        if value:
            return Found(secret=Secret(value), where="environment")
        value = self._env_file.values().get(name, "").strip()
        if value:
            return Found(secret=Secret(value), where=".env")
        value = (self._ask_keyring(name) or "").strip()
        return Found(secret=Secret(value), where="keyring") if value else None

    def fingerprint(self, secret: Secret) -> str:
        """The credential id: the first 8 hex digits of HMAC-SHA256 over the key with the installation's salt."""
        if self._salt is None:
            self._salt = read_salt(self._state or state_dir())
        key = secret.reveal().encode("utf-8", "surrogatepass")
        return hmac.new(self._salt, key, hashlib.sha256).hexdigest()[:8]

    def credential(self, secret: Secret, name: str | None = None) -> Credential:
        """A key as a credential, for one that stands outside a profile (a route's)."""
        cached = (secret.reveal(), name)
        if cached not in self._made:
            self._made[cached] = Credential(id=self.fingerprint(secret), secret=secret, name=name)
        return self._made[cached]

    def _declared(self, profile: Profile, names: tuple[str, ...]) -> tuple[Credential | Missing, ...]:
        found: list[Credential | Missing] = [self._named(name) for name in names]
        if profile.inline_key is not None:
            found.append(self.credential(profile.inline_key))
        elif not names and not profile.keyless:
            found.append(self._by_default(profile))
        return tuple(_each_once(found))

    def _named(self, name: str) -> Credential | Missing:
        value = self.find(name)
        if value is None:
            return Missing(name=name)
        fault = sendable(value.secret.reveal())
        return self.credential(value.secret, name) if fault is None else Missing(name=name, reason=fault)

    def _by_default(self, profile: Profile) -> Credential | Missing:
        """The first of the family's alternative variables that gives a key; the first one's fault when none does."""
        answers = [self._named(name) for name in default_names(profile.family)]
        return next((item for item in answers if isinstance(item, Credential)), answers[0])


def default_names(family: str) -> tuple[str, ...]:
    """The variables of a profile that names none: the catalogue's, else ``<FAMILY>_API_KEY``."""
    known = families().get(family)
    if known is not None and known.key_vars:
        return known.key_vars
    return ("".join(letter if letter.isalnum() else "_" for letter in family).upper() + "_API_KEY",)


def _each_once(found: Sequence[Credential | Missing]) -> list[Credential | Missing]:
    """The same key under two names is one credential."""
    kept: dict[str, Credential | Missing] = {}
    for item in found:
        kept.setdefault(f"id {item.id}" if isinstance(item, Credential) else f"name {item.name}", item)
    return list(kept.values())


def _url_variable(profile: Profile, placeholder: str) -> str:
    family = families().get(profile.family)
    return placeholder if family is None else family.url_vars.get(placeholder, placeholder)


# -- what a key looks like --------------------------------------------------------------------------------------------


def check_prefix(profile: Profile, secret: Secret, name: str | None = None) -> Problem | None:
    """A problem when the key has the form of another vendor's (spec 2.2); unknown forms pass.

    Looks only at families with a known form, and only at their own address.
    """
    family = families().get(profile.family)
    if family is None or family.key_prefix is None or profile.base_url not in family.wires.values():
        return None
    owner = _owner(secret.reveal())
    if owner is None or owner.name == family.name:
        return None
    holder = f"the key of {name}" if name else "the key"
    message = f"{holder} has the form of a key of {owner.title}, not of {family.title}: put the right key there"
    return Problem(path=f"providers.{profile.ref}", message=message)


def with_key_of(route: Route, profile: Profile) -> Profile:
    """The route's target with the key the route supplies instead of its own."""
    names = (route.api_key_env,) if route.api_key_env else ()
    return msgspec.structs.replace(profile, key_names=names, inline_key=route.inline_key, keyless=False)


def faces(config: Config, profile: Profile) -> tuple[Profile, ...]:
    """The profile as it is called: as a target first, then as a fallback, which has the profile's own keys.

    A target's key is that of the first route naming it that supplies one (spec 9).
    """
    routes = (route for route in config.routes if route.model_provider == profile.ref)
    routed = [with_key_of(route, profile) for route in routes if route.api_key_env or route.inline_key]
    return *routed[:1], profile


def foreign_keys(config: Config, keys: Keyring) -> list[Problem]:
    """The keys of a configuration that have another vendor's form: they must not be sent to the wrong address."""
    return [
        problem
        for profile in config.profiles.values()
        for face in faces(config, profile)
        for item in keys.credentials(face)
        if isinstance(item, Credential) and item.secret is not None
        if (problem := check_prefix(profile, item.secret, item.name)) is not None
    ]


def _owner(key: str) -> Family | None:
    """The family whose form a key has, the longest prefix first."""
    known = [family for family in families().values() if family.key_prefix]
    known.sort(key=lambda family: len(family.key_prefix or ""), reverse=True)
    return next((family for family in known if key.startswith(family.key_prefix or "\0")), None)


# -- the system's keyring ---------------------------------------------------------------------------------------------

_stored: dict[str, str | None] = {}


def stored_key(name: str) -> str | None:
    """The keyring's value for a variable; asked once per process, and any trouble of a backend means absent."""
    if name not in _stored:
        _stored[name] = _ask(name) if _backend_is_likely(os.environ) else None
    return _stored[name]


def _ask(name: str) -> str | None:
    try:
        import keyring

        return keyring.get_password(SERVICE, name)
    except Exception:  # noqa: BLE001 (backends raise what they like: D-Bus, OS and their own errors)
        return None


def _backend_is_likely(environ: Mapping[str, str]) -> bool:
    """Whether asking can succeed at all: loading the library and looking for a backend costs a tenth of a second."""
    if "keyring" in sys.modules:
        return True
    named = environ.get("PYTHON_KEYRING_BACKEND")
    if named:
        return not named.startswith(("keyring.backends.null.", "keyring.backends.fail."))
    if sys.platform != "linux" or environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return True
    return importlib.util.find_spec("keyrings") is not None or any(path.exists() for path in _keyring_settings(environ))


def _keyring_settings(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the library's own settings file may be on Linux."""
    home = Path(environ.get("HOME") or "/")
    roots = (Path(environ.get("XDG_CONFIG_HOME") or home / ".config"), home / ".local" / "share")
    return tuple(root / "python_keyring" / "keyringrc.cfg" for root in roots)
