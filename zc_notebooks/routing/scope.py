"""Operators' choices: which scope holds one, which comes first, and what is said about it (spec 10.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, get_args

from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Record
from zc_notebooks.routing.choice import AUTO, Choice, ChoiceFile, default_choice, read_choice

Scope = Literal["user", "agent", "session"]

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""The first one that holds a choice has its way; what a call itself says (the command line) comes before all."""

_AGENT: ContextVar[Mapping[Overrides, Choice]] = ContextVar("zc_agent_choice")


def agents() -> Mapping[Overrides, Choice]:
    """What the current context holds for all chains."""
    return _AGENT.get({})


@contextmanager
def as_agents(held: Mapping[Overrides, Choice]) -> Iterator[None]:
    """Inside the block the context holds what another one did."""
    token = _AGENT.set(held)
    try:
        yield
    finally:
        with suppress(ValueError):  # left in another context
            _AGENT.reset(token)


class Standing(Record, frozen=True, kw_only=True):
    """The choice that has its way."""

    scope: Scope
    choice: Choice

    def __str__(self) -> str:
        return f"{self.choice} (scope {self.scope})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Used:
    """What became of a choice. As a ``with`` block, it is taken back at the end."""

    scope: Scope
    choice: Choice | None
    """What the scope holds now; ``None`` after ``auto`` or the default's own value."""
    standing: Standing | None
    """What has its way now, in whatever scope; ``None`` is nobody's choice."""
    sentence: str
    undo: Callable[[], object]

    @property
    def shadowed(self) -> bool:
        """Whether another scope's choice comes first."""
        return self.standing is not None and self.standing.scope != self.scope

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"Used({self.sentence})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


class Overrides:
    """The three scopes of one chain: ``session`` is this object, ``agent`` the current context, ``user`` a file."""

    def __init__(self) -> None:
        self._session: Choice | None = None
        self._files: dict[Path | None, ChoiceFile] = {}

    @property
    def agent(self) -> Choice | None:
        """What the current context holds."""
        return agents().get(self)

    def held(self, config: Config, scope: Scope) -> Choice | None:
        """What one scope holds."""
        if scope == "session":
            return self._session
        return self.agent if scope == "agent" else self._file(config).read()

    def snapshot(self, config: Config) -> Mapping[Scope, Choice]:
        """What all scopes hold now."""
        found = {scope: self.held(config, scope) for scope in SCOPES}
        return {scope: choice for scope, choice in found.items() if choice is not None}

    def standing(self, config: Config, known: Mapping[Scope, Choice] | None = None) -> Standing | None:
        """The choice that has its way.

        Args:
            config: In which it must be configured.
            known: An earlier snapshot; only ``agent`` is looked up anew, because a block opened since is nearer.

        Raises:
            ConfigError: It is not configured any more.
        """
        return _first(config, self.snapshot(config) if known is None else {**known, "agent": self.agent})

    def use(self, config: Config, text: str, scope: Scope) -> Used:
        """Makes a choice, or with ``auto`` gives it back.

        Raises:
            ConfigError: It cannot be called, or nobody knows what comes before it; then nothing has changed.
        """
        if scope not in SCOPES:
            raise ConfigError(f"the scope {scope!r} does not exist (one of {', '.join(SCOPES)})")
        named = None if text.strip().casefold() == AUTO else read_choice(config, text)
        is_default = named is not None and named == default_choice(config)
        kept = None if is_default else named
        standing, trouble = None, ""
        try:
            others = {other: self.held(config, other) for other in SCOPES if other != scope}
            standing = _first(config, {**others, scope: kept})
        except ConfigError as error:
            if kept is not None:
                raise
            trouble = str(error)
        before = self._before(config, scope)
        self._put(config, scope, kept)
        return Used(
            scope=scope,
            choice=kept,
            standing=standing,
            sentence=_cleared(scope, named, trouble) if trouble else _sentence(config, scope, named, kept, standing),
            undo=lambda: self._put(config, scope, before),
        )

    def _file(self, config: Config) -> ChoiceFile:
        """Looked up at every call, so its path is worked out once."""
        if config.path not in self._files:
            self._files[config.path] = ChoiceFile(config)
        return self._files[config.path]

    def _before(self, config: Config, scope: Scope) -> Choice | None:
        try:
            return self.held(config, scope)
        except ConfigError:  # a damaged file is being replaced
            return None

    def _put(self, config: Config, scope: Scope, choice: Choice | None) -> None:
        if scope == "session":
            self._session = choice
        elif scope == "user":
            self._file(config).write(choice)
        else:
            others = {chain: held for chain, held in agents().items() if chain is not self}
            _AGENT.set(others if choice is None else {**others, self: choice})


def _first(config: Config, held: Mapping[Scope, Choice | None]) -> Standing | None:
    """The choice of the first scope that holds one. Raises :class:`ConfigError` where it is not configured."""
    for scope in SCOPES:
        choice = held.get(scope)
        if choice is not None:
            return Standing(scope=scope, choice=_configured(config, scope, choice))
    return None


def _configured(config: Config, scope: Scope, choice: Choice) -> Choice:
    if choice.ref not in config.profiles:
        way_out = "zc use auto" if scope == "user" else f'chain.use("auto", scope="{scope}")'
        raise ConfigError(
            f"{choice}, chosen in the scope {scope}, is no configured profile: choose another, or `{way_out}`"
        )
    return choice


def _sentence(
    config: Config, scope: Scope, named: Choice | None, kept: Choice | None, standing: Standing | None
) -> str:
    if kept is not None:
        if standing is None or standing.scope == scope:
            return f"{scope}: {kept} is asked first until `auto`" + _unclassified(config)
        return f"{scope}: {kept} is kept, but {standing} comes first and stays in effect until `auto` there"
    if standing is not None:
        return _cleared(scope, named, f"{standing} stays in effect until `auto` there")
    back = "each turn is judged by its effort" if config.effort is not None else "the configuration's own order holds"
    return _cleared(scope, named, back)


def _cleared(scope: Scope, named: Choice | None, now: str) -> str:
    cleared = f"{named} is the default, so nothing is chosen" if named is not None else "nothing is chosen"
    return f"{scope}: {cleared}; {now}"


def _unclassified(config: Config) -> str:
    return "; no turn is judged by its effort" if config.effort is not None else ""
