"""One turn around several calls: one decision, one allowlist and one ``turn_id`` for all of them (spec 9, 10)."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import copy_context
from functools import partial, wraps
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar

import msgspec

from zc_notebooks.borders import allowed, allowlist, bordered, heed, narrowed
from zc_notebooks.config.schema import Config
from zc_notebooks.live_config import InForce
from zc_notebooks.nesting import Nested
from zc_notebooks.reliability.materialize import Ask, plan
from zc_notebooks.routing.choice import Choice
from zc_notebooks.routing.effort import Decision
from zc_notebooks.routing.model_switch import ModelSwitch
from zc_notebooks.routing.scope import Overrides, Scope, agents, as_agents

P = ParamSpec("P")
T = TypeVar("T")

Border = Callable[[Iterable[str]], AbstractContextManager[None]]

_TURN: Final = Nested["OpenTurn"]("zc_turn")


class OpenTurn:
    """What the calls of one turn share. Tasks and ``asyncio.to_thread`` inherit it with the context.

    Args:
        config: The configuration, looked up anew for each call.
        overrides: The operators' choices of the turn's chain.
        known: What the scopes held at the turn's entry.
        decision: Where its calls go; ``None`` where nothing was classified.
    """

    def __init__(
        self,
        config: Callable[[], Config],
        overrides: Overrides,
        known: Mapping[Scope, Choice],
        decision: Decision | None,
    ) -> None:
        self._config = config
        self._known = known
        self._switched: tuple[Choice, Choice | None] | None = None
        self.overrides = overrides
        self.decision = decision
        self.id = secrets.token_hex(8)
        """``turn_id`` of its ledger rows."""
        self.allowlist = allowlist() if decision is None else narrowed(decision.allowlist)
        """The only refs its calls may touch; ``None`` is no such border."""
        self.outer = _TURN.get()
        self.ended = False
        self.model_switch = ModelSwitch(self)

    @property
    def config(self) -> Config:
        """The configuration as it is now."""
        return self._config()

    def complete(self, config: Config, ask: Ask) -> Ask:
        """``ask`` with the turn's candidates where it names none of its own."""
        return steer(config, ask, self._choice(config), self.decision)

    def next_choice(self) -> Choice:
        """What a call without wishes of its own starts with."""
        config = self.config
        made = plan(config, self.complete(config, Ask()))
        return Choice(ref=made.entries[0].ref, model=made.entries[0].served(made.requested_model))

    def switch_to(self, choice: Choice) -> None:
        """See :meth:`ModelSwitch.set`, which checks it."""
        self._switched = (choice, self.overrides.agent)

    def end(self) -> None:
        """A switch ends with the turn."""
        self.ended = True
        self._switched = None

    def carry(self, work: Callable[P, T]) -> Callable[P, T]:
        """``work`` as a function that stays in this turn in any thread: ``pool.submit(turn.carry(work), …)``.

        ``asyncio.to_thread`` and tasks need it not; a plain thread or pool starts without the turn and its borders.
        """
        context = copy_context()

        def carried(*args: P.args, **kwargs: P.kwargs) -> T:
            return context.copy().run(_within_call, self, lambda: work(*args, **kwargs))

        return carried

    def _choice(self, config: Config) -> Choice | None:
        """A switch, except in an agent's block that was opened after it: that choice is the nearer one."""
        if self._switched is not None and self._switched[1] == self.overrides.agent:
            return self._switched[0]
        standing = self.overrides.standing(config, self._known)
        return None if standing is None else standing.choice

    def __repr__(self) -> str:
        where = "not classified" if self.decision is None else f"{self.decision.tier}, {self.decision.target}"
        return f"OpenTurn({self.id}: {where})"


def steer(config: Config, ask: Ask, choice: Choice | None, decision: Decision | None) -> Ask:
    """``ask`` with an override or a decision where it says nothing itself. A known hint selects its own target."""
    known_hint = ask.hint is not None and any(route.hint == ask.hint for route in config.routes)
    if ask.start is not None or known_hint:
        return ask
    if choice is not None:
        return msgspec.structs.replace(ask, start=choice.ref, model=ask.model or choice.model)
    if decision is not None and ask.hint is None:
        return msgspec.structs.replace(ask, hint=decision.hint)
    return ask


def open_turn(overrides: Overrides) -> OpenTurn | None:
    """The innermost open turn of one chain."""
    turn = _TURN.get()
    while turn is not None and turn.overrides is not overrides:
        turn = turn.outer
    return turn


@contextmanager
def within(turn: OpenTurn | None, refs: frozenset[str] | None, *, border: Border = allowed) -> Iterator[None]:
    """Inside a turn and its allowlist, whatever context this is entered in."""
    with ExitStack() as stack:
        if refs is not None:
            stack.enter_context(border(refs))
        if turn is not None:
            stack.enter_context(_TURN.within(turn))
        yield


def _within_call(turn: OpenTurn, call: Callable[[], T]) -> T:
    with within(turn, turn.allowlist):
        return call()


def kept(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """``function``, whose coroutine keeps the turn, the borders and the agent's choice of where it was called.

    Without this a list of calls made in a block and awaited after it would be free of the block's border.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        heed()
        turn, refs, chosen = _TURN.get(), allowlist(), agents()
        if turn is None and refs is None and not chosen:
            return function(*args, **kwargs)
        work = _within_work(turn, refs, chosen, partial(function, *args, **kwargs))
        for name in ("__name__", "__qualname__"):  # what a warning of a call that nobody awaited shows
            setattr(work, name, getattr(function, name))
        return work

    mark = getattr(inspect, "markcoroutinefunction", None)  # Python 3.12: frameworks ask whether it is one
    return called if mark is None else mark(called)


async def _within_work(
    turn: OpenTurn | None,
    refs: frozenset[str] | None,
    chosen: Mapping[Overrides, Choice],
    begin: Callable[[], Coroutine[Any, Any, T]],
) -> T:
    with within(turn, refs, border=bordered), as_agents(chosen) if chosen else nullcontext():
        return await begin()


class TurnBlock:
    """``with chain.turn("message") as turn:``, or ``async with``. Inside a turn of the same chain it joins that one."""

    def __init__(self, overrides: Overrides, begin: Callable[[], OpenTurn]) -> None:
        self._overrides = overrides
        self._begin = begin
        self._inside = ExitStack()

    def __enter__(self) -> OpenTurn:
        turn = open_turn(self._overrides)
        if turn is None:
            turn = self._begin()
            self._inside.callback(turn.end)
        self._inside.enter_context(within(turn, turn.allowlist))
        return turn

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside.close()

    async def __aenter__(self) -> OpenTurn:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside.close()


class Entry:
    """One call's way in: its candidates, its turn, and the borders that stood where it was made."""

    def __init__(self, now: InForce, ask: Ask, turn: OpenTurn | None) -> None:
        self.now = now
        """What was decided by, and what the call goes by."""
        self.ask = ask
        self.turn = turn
        self._refs = allowlist() if turn is None or turn.allowlist is None else narrowed(turn.allowlist)

    @property
    def turn_id(self) -> str | None:
        """For the ledger's rows."""
        return None if self.turn is None else self.turn.id

    @contextmanager
    def inside(self) -> Iterator[Self]:
        """The call itself, as a part of its turn."""
        with within(self.turn, self._refs, border=bordered):
            yield self

    def block(self) -> AbstractContextManager[None]:
        """What a user calls in this block belongs to the call's turn."""
        return within(self.turn, self._refs)
