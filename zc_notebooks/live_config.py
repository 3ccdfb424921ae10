"""The configuration in force: read again when its file changed, the last good one kept when an edit is broken.

Looked at when a turn begins: two ``stat`` calls, and nothing is read while the files are the same. A call keeps what
it began with. What cannot be used (a typing error, half a file, no file) changes nothing: it is said once, and
:attr:`LiveConfig.problem` holds it until the file can be used again.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from zc_notebooks import forks
from zc_notebooks.config.catalogue import families
from zc_notebooks.config.keys import Keyring, foreign_keys
from zc_notebooks.config.load import parse_config, read_text
from zc_notebooks.config.schema import Config
from zc_notebooks.config.stamp import Stamp, stamp_of
from zc_notebooks.errors import ConfigError

TRIES: Final = 5
"""Readings of a file that changes under them, before the next turn looks again."""
WAIT_S: Final = 2.0
"""Seconds a turn waits for another one that is reading; then it goes on with what is in force."""


class BrokenEditWarning(UserWarning):
    """The file of a configuration in use cannot be used any more; what was read before stays in force."""


class InForce(NamedTuple):
    """What a call is made with; never changed, only replaced."""

    config: Config
    keys: Keyring


class _Looked(NamedTuple):
    """Everything a loaded configuration comes from, as far as it can be told without reading."""

    file: Stamp | None
    env_file: Stamp | None
    """Looked at only where addresses hold variables; keys are looked up anew by each call in any case."""
    variables: tuple[str | None, ...]
    """Values of the variables that fill addresses (an account, a resource)."""


class _Source(NamedTuple):
    """What a configuration was read from."""

    text: str | None
    env_file: Stamp | None
    variables: tuple[str | None, ...]


class LiveConfig:
    """One configuration and its file. Threads and event loops may share one; without a file it never changes.

    Args:
        config: What is in force at first.
        environ: Where names are looked up; looked at anew each time.
        adopted: Called with each configuration that takes the place of another.
    """

    def __init__(
        self, config: Config, environ: Mapping[str, str], *, adopted: Callable[[Config], object] | None = None
    ) -> None:
        self._environ = environ
        self._adopted = adopted
        self._lock = threading.Lock()
        self.held = InForce(config, Keyring(config, environ))
        """What was in force when last looked."""
        self.problem: ConfigError | None = None
        """Why the file as it stands cannot be used; ``None`` when it can."""
        self._variables = _variables(config)
        self._seen = self._look()
        self._settled = self._seen.file is None or self._seen.file.settled(time.time_ns())
        forks.register(self)
        self._good = _Source(None if self._seen.file is None else _text_of(config.path), *self._seen[1:])

    def now(self) -> InForce:
        """What a turn that begins now goes by."""
        if self.held.config.path is None or not self._may_have_changed():
            return self.held
        return self._locked(lambda: self._read(anew=False) if self._may_have_changed() else None)

    def reload(self) -> InForce:
        """The same, whatever the file's time says; a problem that stands is said again."""
        return self.held if self.held.config.path is None else self._locked(lambda: self._read(anew=True))

    def before_fork(self) -> None:
        """Nobody is reading while the process forks, so that the child can read."""
        self._lock.acquire()

    def after_fork(self, *, child: bool) -> None:
        """Both sides go on."""
        del child
        self._lock.release()

    # -- inside -----------------------------------------------------------------------------------------------------

    def _locked(self, read: Callable[[], ConfigError | None]) -> InForce:
        if not self._lock.acquire(timeout=WAIT_S):
            return self.held
        try:
            news = read()
        finally:
            self._lock.release()
        if news is not None:
            self._say(news)
        return self.held

    def _say(self, problem: ConfigError) -> None:
        """Where the file stands, not where the call does; in a form that makes nobody print a line of the file."""
        line = next((item.line for item in problem.problems if item.line is not None), None)
        words = f"{problem}\nThe configuration read before stays in force until this is mended."
        warnings.warn_explicit(words, BrokenEditWarning, f"<{self.held.config.path}>", line or 1)

    def _look(self) -> _Looked:
        config = self.held.config
        if not self._variables:
            return _Looked(stamp_of(config.path), None, ())
        values = tuple(self._environ.get(name) for name in self._variables)
        return _Looked(stamp_of(config.path), stamp_of(config.env_file), values)

    def _may_have_changed(self) -> bool:
        return not self._settled or self._look() != self._seen

    def _read(self, *, anew: bool) -> ConfigError | None:
        """Reads until the file stands still meanwhile; returns a problem that has not been said."""
        for _ in range(TRIES):
            looked, read_ns = self._look(), time.time_ns()
            found, source = self._load(looked, anew=anew)
            if self._look() == looked:
                self._seen, self._settled = looked, looked.file is None or looked.file.settled(read_ns)
                return self._judge(found, source, anew=anew)
        return None

    def _load(self, looked: _Looked, *, anew: bool) -> tuple[Config | ConfigError, _Source]:
        """What the file says, or why that cannot be used."""
        held, source = self.held.config, self._good
        try:
            if held.path is None or looked.file is None:
                raise ConfigError(f"{held.path} is gone: put it back, or open another configuration")
            source = _Source(read_text(held.path), *looked[1:])
            if source == self._good and not anew:
                return held, source
            found = self._usable(source.text or "", held.path)
            same = source.text == self._good.text and not anew
            return _readdressed(held, found) if same else found, source
        except ConfigError as problem:
            return problem, source

    def _usable(self, text: str, path: Path) -> Config:
        config = parse_config(text, base_dir=path.parent, source=str(path), environ=self._environ, path=path)
        if not config.profiles:
            raise ConfigError(f"{path} names no provider")
        if problems := foreign_keys(config, Keyring(config, self._environ)):
            raise ConfigError(f"{path}: a key does not belong where it stands", problems)
        return config

    def _judge(self, found: Config | ConfigError, source: _Source, *, anew: bool) -> ConfigError | None:
        if isinstance(found, ConfigError):
            known, self.problem = self.problem, found
            return found if anew or str(found) != str(known) else None
        self.problem, self._good = None, source
        if found != self.held.config:
            self.held, self._variables = InForce(found, Keyring(found, self._environ)), _variables(found)
            if self._adopted is not None:
                self._adopted(found)
        return None


class Configured:
    """What has a live configuration: the part of a chain that users look at."""

    live: LiveConfig
    """The configuration in force and the file it comes from."""

    @property
    def config(self) -> Config:
        """What a turn that begins now goes by: a changed file is read, a broken one is said and changes nothing."""
        return self.live.now().config

    @property
    def config_problem(self) -> ConfigError | None:
        """Why the file as it stands cannot be used, while what was read before stays in force; else ``None``."""
        self.live.now()
        return self.live.problem

    def reload(self) -> Config:
        """Reads the file now, changed or not, and returns what is in force. Warns when the file cannot be used."""
        return self.live.reload().config

    @property
    def keys(self) -> Keyring:
        """The credentials of the configuration in force."""
        return self.live.now().keys


def _text_of(path: Path | None) -> str | None:
    try:
        return None if path is None else read_text(path)
    except ConfigError:
        return None


def _variables(config: Config) -> tuple[str, ...]:
    """The variables that the addresses of a configuration are filled from."""
    names = {profile.family for profile in config.profiles.values()}
    return tuple(sorted({variable for name in names for variable in _variables_of(name)}))


def _variables_of(family: str) -> Collection[str]:
    known = families().get(family)
    return () if known is None else known.url_vars.values()


def _readdressed(held: Config, found: Config) -> Config:
    """``held`` with the addresses of ``found``: all that variables can change in the same text."""
    profiles = {
        ref: replace(profile, base_url=found.profiles[ref].base_url, pool=found.profiles[ref].pool)
        if _variables_of(profile.family) and ref in found.profiles
        else profile
        for ref, profile in held.profiles.items()
    }
    return replace(held, profiles=profiles)
