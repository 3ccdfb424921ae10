"""A commented ``zc.toml`` to start from, for the keys that the environment holds: names of variables, never values."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from zc_notebooks.config.catalogue import Family, Starter, families
from zc_notebooks.config.reader import plain
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Record, Tier

_ORDER: Final[tuple[Tier, ...]] = ("free", "trial", "prepaid", "metered", "local")
_EXAMPLES: Final = ("groq", "google", "openrouter")
"""What the template shows, commented out, when no key is found."""
_LOCAL_SIGN: Final = {"ollama": "OLLAMA_HOST"}
"""A variable that tells of a server on one's own machine."""

_HEAD: Final = """\
# zc.toml: which providers answer, in which order. Keys stay in the environment, in .env or in the keyring:
# this file holds the names of their variables only. Check it with `zc config check`.
"""
_NO_KEYS: Final = """\
#
# No key was found in the environment. To use a provider, export its key and take the # off default_provider, off
# its block and off its [[chain]] entry. Without a zc.toml the lab answers: simulated providers, no key needed.
"""
_CHAIN: Final = """\
# The chain, best first. It crosses billing pools: where one vendor's quota ends, another's may not; what costs money
# stands last. Refusals come back fast, so a long chain is cheap.
"""
_TAIL: Final = """\
# Further tables:
#
# [reliability]
# provider_retries = 2
# retry_after_cap_s = 60
# call_timeout_s = 300
#
# [borders]
# allow_tiers = ["free", "trial", "prepaid", "metered", "local"]
# budget_day_usd = 1.00
#
# [ledger]
# path = "data/ledger"
"""


class _Pick(Record, frozen=True, kw_only=True):
    family: Family
    starter: Starter
    variable: str | None

    @property
    def ref(self) -> str:
        return f"{self.family.name}.{self.starter.alias}"

    @property
    def tier(self) -> Tier:
        return self.starter.tier or self.family.tier


def starter_config(environ: Mapping[str, str]) -> str:
    """The text of a starter file. It loads without problems, and without profiles when no key is found."""
    picks = _sorted(_found(environ))
    if not picks:
        examples = [pick for name in _EXAMPLES for pick in _picks(families()[name], environ)]
        return _HEAD + _NO_KEYS + "\n" + _commented(_blocks([*examples, *_local()])) + "\n" + _TAIL
    local = [] if any(pick.tier == "local" for pick in picks) else _local()
    parts = [_HEAD, f'\ndefault_provider = "{picks[0].ref}"\n', "\n", _profiles(picks)]
    parts += [_commented(_profiles(local)), _CHAIN, _chain(picks), _commented(_chain(local)), "\n", _TAIL]
    return "".join(parts)


def write_starter(path: Path, environ: Mapping[str, str]) -> Path:
    """Writes :func:`starter_config` to ``path``. Raises :class:`ConfigError` rather than overwrite anything."""
    name = plain(str(path))
    try:
        write_new(path, starter_config(environ))
    except FileExistsError:
        raise ConfigError(
            f"{name} exists already and is left as it is: remove it first, or name another file"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "its name is no path"
        raise ConfigError(f"{name} cannot be written: {plain(reason)}") from None
    return path


def write_new(path: Path, text: str) -> None:
    """A new file, or none: half of one would be taken for the whole, and stand in the way of a second try.

    Raises:
        FileExistsError: There is something, which stays as it is.
        OSError: It cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def _found(environ: Mapping[str, str]) -> list[_Pick]:
    """Profiles for every family that the environment has all variables of, retired ones left out."""
    return [pick for family in families().values() if _is_ready(family, environ) for pick in _picks(family, environ)]


def _is_ready(family: Family, environ: Mapping[str, str]) -> bool:
    if family.retired is not None:
        return False
    if family.keyless:
        return _is_set(environ, _LOCAL_SIGN.get(family.name, ""))
    return _variable(family, environ) is not None and all(_is_set(environ, name) for name in family.url_vars.values())


def _picks(family: Family, environ: Mapping[str, str]) -> list[_Pick]:
    variable = None if family.keyless else _variable(family, environ) or family.key_vars[0]
    return [_Pick(family=family, starter=starter, variable=variable) for starter in family.starters]


def _local() -> list[_Pick]:
    return _picks(families()["ollama"], {})


def _variable(family: Family, environ: Mapping[str, str]) -> str | None:
    return next((name for name in family.key_vars if _is_set(environ, name)), None)


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    return bool(environ.get(name, "").strip())


def _sorted(picks: Iterable[_Pick]) -> list[_Pick]:
    return sorted(picks, key=lambda pick: _ORDER.index(pick.tier))


def _blocks(picks: list[_Pick]) -> str:
    return f'default_provider = "{picks[0].ref}"\n\n' + _profiles(picks) + _chain(picks)


def _profiles(picks: Iterable[_Pick]) -> str:
    return "".join(_profile(pick) for pick in picks)


def _profile(pick: _Pick) -> str:
    family = pick.family
    told = f"{family.title}. {'' if pick.tier == 'local' else family.limits}".rstrip(". ") + "."
    lines = textwrap.wrap(told, 116, initial_indent="# ", subsequent_indent="# ")
    lines.append(f"[providers.{pick.ref}]")
    if pick.variable is not None:
        lines.append(f'api_key_env = "{pick.variable}"')
    note = f"  # {pick.starter.note}" if pick.starter.note else ""
    lines.append(f'model = "{pick.starter.model}"{note}')
    lines.append(f'tier = "{pick.tier}"')
    return "\n".join(lines) + "\n\n"


def _chain(picks: Iterable[_Pick]) -> str:
    return "".join(f'[[chain]]\nprovider = "{pick.ref}"\n' for pick in picks)


def _commented(text: str) -> str:
    return "".join(f"# {line}\n" if line and line[0] != "#" else f"{line}\n" for line in text.splitlines())
