"""``RouterModelProvider``: chooses a reliability domain by hint (spec 9). Routing picks one; it never bypasses one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from zc_notebooks.markup import counted
from zc_notebooks.reliability.materialize import HINT, Ask, plan, require_targets, targets
from zc_notebooks.reliability.wrapper import WrapperCapabilities, capabilities, stable_identity
from zc_notebooks.routing.turns import kept
from zc_notebooks.shown import safe_repr

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain
    from zc_notebooks.messages import Prompt
    from zc_notebooks.records import Plan
    from zc_notebooks.result import Completion
    from zc_notebooks.streaming import Stream


class ReliableModelProvider:
    """One target with its ordered entries. Finished: a model string is a *requested* model, and pins win.

    Made by :class:`RouterModelProvider`.
    """

    def __init__(self, chain: Chain, ask: Ask) -> None:
        self._chain = chain
        self._ask = ask

    @property
    def plan(self) -> Plan:
        """Its entries in order, and what was pruned; an operator's choice has its way here as in its calls."""
        entry = self._chain.entry(self._ask, None, told=False)
        return plan(entry.now.config, entry.ask)

    @property
    def capabilities(self) -> WrapperCapabilities:
        """What may be asked of it as a whole (spec 3.5)."""
        return capabilities(self.plan)

    def stable_identity(self, model: str) -> bool:
        """Whether a response to a request for ``model`` may be cached (spec 3.5)."""
        return stable_identity(self.plan, model)

    @kept
    async def chat(self, prompt: Prompt, *, model: str | None = None, **options: Any) -> Completion:
        """One answer; options and errors as of :meth:`zc_notebooks.Chain.ask`."""
        return await self._chain.ask(prompt, **self._named(model), **options)

    def stream(self, prompt: Prompt, *, model: str | None = None, **options: Any) -> Stream:
        """The same as events; see :meth:`zc_notebooks.Chain.stream`."""
        return self._chain.stream(prompt, **self._named(model), **options)

    def _named(self, model: str | None) -> dict[str, Any]:
        ask = self._ask
        return {"model": ask.model, "hint": ask.hint, "source": ask.source, "requested": model}

    @safe_repr
    def __repr__(self) -> str:
        made = self.plan
        names = " -> ".join(f"{entry.ref}/{entry.served(made.requested_model)}" for entry in made.entries)
        return f"ReliableModelProvider({names})"


class RouterModelProvider:
    """Everything a configuration can route to, behind one ``chat`` and one ``stream``.

    Args:
        chain: An open chain; its configuration names the primary and the routes.
        model: Construction override of the primary's model; other targets keep theirs.

    Raises:
        ConfigError: A target cannot be built; the message names it.
    """

    def __init__(self, chain: Chain, *, model: str | None = None) -> None:
        require_targets(*chain.live.now())
        self._chain = chain
        self._model = model or None

    @property
    def targets(self) -> Mapping[str, ReliableModelProvider]:
        """Profile ref → its reliability domain: the primary first, then the routes' targets in order."""
        found: dict[str, ReliableModelProvider] = {}
        for ask in targets(self._chain.config):
            provider = self._provider(ask)
            found.setdefault(provider.plan.entries[0].ref, provider)
        return found

    def resolve(self, model: str | None) -> ReliableModelProvider:
        """Who serves ``model``: ``hint:<name>`` of a route its target, anything else the default target."""
        hint = model.removeprefix(HINT) if model is not None and model.startswith(HINT) else None
        return self._provider(Ask(hint=hint))

    def _provider(self, ask: Ask) -> ReliableModelProvider:
        """With the construction override where the configuration's primary answers, and nobody chose another model."""
        entry = self._chain.entry(ask, None, told=False)
        config, hint = entry.now.config, entry.ask.hint
        target = next((route.model_provider for route in config.routes if route.hint == hint), config.default_provider)
        if entry.ask.start is None and target == config.default_provider:
            ask = replace(ask, model=self._model)
        return ReliableModelProvider(self._chain, ask)

    @kept
    async def chat(self, prompt: Prompt, *, model: str | None = None, **options: Any) -> Completion:
        """One answer from the domain that ``model`` selects; a failing target does not spill into another.

        Options and errors as of :meth:`zc_notebooks.Chain.ask`.
        """
        return await self.resolve(model).chat(prompt, model=model, **options)

    def stream(self, prompt: Prompt, *, model: str | None = None, **options: Any) -> Stream:
        """The same as events; see :meth:`zc_notebooks.Chain.stream`."""
        return self.resolve(model).stream(prompt, model=model, **options)

    @safe_repr
    def __repr__(self) -> str:
        hints = ", ".join(f"{HINT}{route.hint}" for route in self._chain.config.routes) or "no hints"
        return f"RouterModelProvider({counted(len(self.targets), 'target')}, {hints})"
