"""What a chain can do about where its calls go: turns, operators' choices, and the entry of every call."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from functools import cached_property

from zc_notebooks.chat import ChatRequest
from zc_notebooks.config.schema import Config
from zc_notebooks.live_config import Configured
from zc_notebooks.messages import Prompt, as_request
from zc_notebooks.reliability.materialize import Ask, read_hint
from zc_notebooks.reliability.shorten import begins_turn
from zc_notebooks.routing.effort import Decision, Telemetry, decide, estimate_effort, telemetry
from zc_notebooks.routing.scope import Overrides, Scope, Standing, Used
from zc_notebooks.routing.turns import Entry, OpenTurn, TurnBlock, open_turn, steer

OnDecision = Callable[[Telemetry], object]

_log = logging.getLogger("zc_notebooks.routing")


class Steered(Configured):
    """The part of a chain that says where calls go when they do not say so themselves."""

    on_decision: OnDecision | None = None
    """Called with four fields for each classified turn, never with text of it."""

    @cached_property
    def overrides(self) -> Overrides:
        """The operators' choices."""
        return Overrides()

    def turn(self, message: Prompt) -> TurnBlock:
        """One turn around several calls: ``with chain.turn("user message") as turn:``, or ``async with``.

        Where ``[effort_routing]`` is configured and no operator chose, the message is classified once; every call in
        the block, in its tasks and in ``asyncio.to_thread``, goes to that route and may touch no other provider.
        The rows of all calls share ``turn.id``. ``turn.model_switch`` lets a model choose for the rest of the turn.
        """
        return TurnBlock(self.overrides, lambda: self._open(self.config, user_text(message)))

    def use(self, candidate: str, scope: Scope = "session") -> Used:
        """Chooses ``family.alias[/model]`` for all turns from the next one on; ``auto`` gives the choice back.

        Args:
            candidate: Choosing the default's own value is the same as ``auto``.
            scope: ``session`` is this object, ``user`` all processes of this machine that use this configuration,
                ``agent`` the current context (``with chain.use("groq.free", scope="agent"):``). ``user`` comes before
                ``agent``, that before ``session``; what a call names itself comes before all.

        Raises:
            ConfigError: It is not configured, has no model, or cannot be kept.
        """
        used = self.overrides.use(self.config, candidate, scope)
        if scope != "agent" and open_turn(self.overrides) is not None:
            return dataclasses.replace(used, sentence=f"{used.sentence} (from the next turn on)")
        return used

    def in_use(self) -> Standing | None:
        """The operators' choice that has its way, and its scope; ``None`` when nobody chose."""
        return self.overrides.standing(self.config)

    def entry(self, ask: Ask, request: ChatRequest | None, *, told: bool = True) -> Entry:
        """The way in of one call; outside a turn it is a turn of its own, classified if ``ask`` says nothing."""
        ask, now, turn = read_hint(ask), self.live.now(), open_turn(self.overrides)
        config = now.config
        if turn is None:
            standing = self.overrides.standing(config)
            if standing is not None or _says_where(ask) or config.effort is None or request is None:
                return Entry(now, steer(config, ask, standing.choice if standing else None, None), None)
            turn = self._open(config, _last_user(request), told=told)
        return Entry(now, turn.complete(config, ask), turn)

    def _open(self, config: Config, text: str, *, told: bool = True) -> OpenTurn:
        known = self.overrides.snapshot(config)
        standing = self.overrides.standing(config, known)
        decision = None if standing is not None else decision_of(config, text)
        if decision is not None and told:
            self._tell(telemetry(decision))
        return OpenTurn(lambda: self.config, self.overrides, known, decision)

    def _tell(self, facts: Telemetry) -> None:
        _log.debug(
            "turn classified: target=%s tier=%s policy=%s length=%d",
            facts.target,
            facts.tier,
            facts.policy,
            facts.length,
        )
        if self.on_decision is not None:
            self.on_decision(facts)


def _says_where(ask: Ask) -> bool:
    """Whether the call names a candidate, a model or a source itself: then it is not classified."""
    return any(getattr(ask, name) is not None for name in ("hint", "start", "model", "requested", "source"))


def decision_of(config: Config, text: str) -> Decision | None:
    """Where a turn with this message goes; ``None`` without ``[effort_routing]``. Calls nobody."""
    if config.effort is None:
        return None
    return decide(estimate_effort(text, config.effort), config.effort, config.routes)


def user_text(message: Prompt) -> str:
    """The last message of a person in a prompt, in which the effort lies; what a tool answered is none."""
    return message if isinstance(message, str) else _last_user(as_request(message))


def _last_user(request: ChatRequest) -> str:
    said = [item for item in request.messages if item.role == "user"]
    return next((item.text for item in reversed(said) if begins_turn(item)), said[-1].text if said else "")
