"""``zc.toml`` → :class:`~zc_notebooks.config.schema.Config`. All faults of a file are reported at once."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from zc_notebooks.config import fields
from zc_notebooks.config.env_file import EnvFile
from zc_notebooks.config.fields import Check
from zc_notebooks.config.graph import check_graph
from zc_notebooks.config.lines import with_lines
from zc_notebooks.config.policy import read_borders, read_chain, read_effort, read_ledger, read_reliability, read_routes
from zc_notebooks.config.profiles import read_profiles
from zc_notebooks.config.reader import Reader, plain
from zc_notebooks.config.refs import check_ref
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError, Problem
from zc_notebooks.markup import counted

FILE_NAME: Final = "zc.toml"
_LARGEST: Final = 8 << 20
"""Bytes of a config file that is read at all."""

TOP: Final[Mapping[str, Check]] = {
    "default_provider": fields.text,
    "model_fallback_notice": fields.choice("off", "redacted", "detailed"),
    "env_file": fields.text,
    "providers": lambda value: value,
    "model_routes": lambda value: value,
    "chain": lambda value: value,
    "effort_routing": lambda value: value,
    "reliability": lambda value: value,
    "borders": lambda value: value,
    "ledger": lambda value: value,
}
"""Every key of the top level."""


def load_config(path: Path | None, *, environ: Mapping[str, str]) -> Config:
    """Loads a file; ``None`` looks for one (:func:`find_config`) and gives the empty configuration without any.

    Raises :class:`ConfigError` with every fault of the file.
    """
    try:
        found = find_config(environ, Path.cwd()) if path is None else path.absolute()
    except FileNotFoundError:
        raise ConfigError("the working directory no longer exists: go to another one") from None
    if found is None:
        return Config()
    return parse_config(read_text(found), base_dir=found.parent, source=str(found), environ=environ, path=found)


def configured(environ: Mapping[str, str]) -> Config | None:
    """The configuration in force, or ``None`` where the embedded lab answers: there is none, or it names no provider.

    Raises :class:`ConfigError` with every fault of the file.
    """
    config = load_config(None, environ=environ)
    return config if config.profiles else None


def find_config(environ: Mapping[str, str], cwd: Path) -> Path | None:
    """The file in force: ``ZC_CONFIG``, else ``zc.toml`` in ``cwd``, else the user's own.

    Raises :class:`ConfigError` when ``ZC_CONFIG`` names no file.
    """
    named = environ.get("ZC_CONFIG", "").strip()
    if named:
        path = _anchored(cwd, named)
        if not _is_there(path):
            raise ConfigError(f"ZC_CONFIG names {plain(named)}, which is no file")
        return path
    places = (cwd / FILE_NAME, user_config(environ))
    return next((place.absolute() for place in places if place is not None and _is_there(place)), None)


def user_config(environ: Mapping[str, str]) -> Path | None:
    """Where a user's own file would be: ``zc_notebooks/zc.toml`` below ``XDG_CONFIG_HOME`` or ``~/.config``."""
    named = environ.get("XDG_CONFIG_HOME", "").strip()
    home = environ.get("HOME", "").strip()
    if not named and not home:
        try:
            home = str(Path.home())
        except RuntimeError:
            return None
    folder = Path(named) if named else Path(home) / ".config"
    return folder / "zc_notebooks" / FILE_NAME


def _is_there(path: Path) -> bool:
    """A link that leads nowhere is there: it is meant to be a file, and reading it says what is wrong."""
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):
        return False


def read_text(path: Path) -> str:
    """The text of a config file. Raises :class:`ConfigError` in one sentence for whatever is no such file."""
    name = plain(str(path))
    data = _bytes_of(path, name)
    if data is None:
        raise _one(name, f"is a folder or a device, not a file: name a {FILE_NAME}")
    if len(data) > _LARGEST:
        raise _one(name, f"is larger than {_LARGEST >> 20} MiB, which is no configuration")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _one(name, f"is not UTF-8 (line {line}): save it as UTF-8", line) from None


def _bytes_of(path: Path, name: str) -> bytes | None:
    """What a file holds, at most one byte more than it may; ``None`` for what is no regular file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise _one(name, f"is a link to {plain(str(path.readlink()))}, which does not exist") from None
        raise _one(name, "does not exist: create one with `zc config init`") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "its name is no path"
        raise _one(name, f"cannot be read: {plain(reason)}") from None


def _one(name: str, message: str, line: int | None = None) -> ConfigError:
    """A single fault of the whole file: one sentence, which ``.problems`` holds too."""
    error = ConfigError(f"{name} {message}")
    error.problems = (Problem(path=name, message=message, line=line),)
    return error


def parse_config(
    text: str,
    *,
    base_dir: Path,
    source: str = FILE_NAME,
    environ: Mapping[str, str] | None = None,
    path: Path | None = None,
) -> Config:
    """Reads the text of a file. Raises :class:`ConfigError` with every fault, each with its line.

    ``base_dir`` anchors relative paths; ``environ`` fills addresses that hold an account (``None``: nothing is known).
    """
    name = plain(source)
    reader = Reader()
    try:
        config = _read(reader, tomllib.loads(text), base_dir, environ or {}, path)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(name, str(error), text) from None
    except RecursionError:
        raise _one(name, "is nested too deeply for a configuration") from None
    except (ValueError, OverflowError):
        raise _one(name, "is not valid TOML: a number or date in it is out of range") from None
    if reader.problems:
        headline = f"{name} has {counted(len(reader.problems), 'problem')}:"
        raise ConfigError(headline, with_lines(reader.problems, text))
    return config


def _syntax_error(name: str, reason: str, text: str) -> ConfigError:
    """The parser's own words, with a line in any case."""
    last = text.count("\n") + (not text.endswith("\n"))
    reason = reason.replace("at end of document", f"at line {last}, the end")
    place = re.search(r"at line (\d+)", reason)
    return _one(name, f"is not valid TOML: {plain(reason)}", int(place[1]) if place else None)


def _read(
    reader: Reader, data: dict[str, Any], base_dir: Path, environ: Mapping[str, str], path: Path | None
) -> Config:
    top = reader.section(data, TOP, "")
    env_file = _anchored(base_dir, top.get("env_file", ".env"))
    dotenv = EnvFile(env_file)

    def lookup(name: str) -> str | None:
        return environ.get(name, "").strip() or dotenv.values().get(name)

    reliability = read_reliability(reader, top.get("reliability", {}))
    drafts = read_profiles(reader, top.get("providers", {}), reliability, lookup)
    check_graph(reader, drafts)
    profiles = {ref: draft.profile for ref, draft in drafts.items()}
    routes = read_routes(reader, top.get("model_routes", []), profiles)
    chain = read_chain(reader, top.get("chain", []), profiles)
    default = top.get("default_provider")
    if default is not None:
        check_ref(reader, "default_provider", default, profiles)
    ledger = read_ledger(reader, top.get("ledger", {}), lambda named: _anchored(base_dir, named))
    return Config(
        default_provider=default,
        profiles=profiles,
        chain=chain,
        routes=routes,
        effort=read_effort(reader, top.get("effort_routing"), routes),
        reliability=reliability,
        borders=read_borders(reader, top.get("borders", {})),
        ledger=ledger,
        model_fallback_notice=top.get("model_fallback_notice", "off"),
        env_file=env_file,
        path=path,
        warnings=reader.warnings,
    )


def _anchored(base_dir: Path, named: str) -> Path:
    """A path of the file: absolute, ``~`` expanded where there is a home."""
    try:
        path = Path(named).expanduser()
    except RuntimeError:
        path = Path(named)
    return base_dir.absolute() / path
