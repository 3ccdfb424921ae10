"""The public face of a call: candidates, policy, marks and ledger behind one :meth:`Chain.ask`."""

from __future__ import annotations

import asyncio
import os
import random as _random
import threading
import weakref
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec.structs import replace

from zc_notebooks.borders import heed
from zc_notebooks.budget.spending import Spending
from zc_notebooks.calling import Call, Limits, Site, begin
from zc_notebooks.chain_transport import ChainTransport
from zc_notebooks.chat import ChatRequest
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.config.keys import foreign_keys
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.live_config import LiveConfig
from zc_notebooks.markup import counted
from zc_notebooks.messages import Prompt, as_request
from zc_notebooks.places import ledger_folder, marks_file, spend_file
from zc_notebooks.records import LiveMarks, Plan, Tier
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.reliability.materialize import Ask, Source
from zc_notebooks.reliability.reliable import OnAttempt, OnFailover, drive
from zc_notebooks.reliability.walk import walk
from zc_notebooks.result import Completion
from zc_notebooks.routing.steering import OnDecision, Steered
from zc_notebooks.routing.turns import Entry, kept
from zc_notebooks.shown import Shown
from zc_notebooks.sinks import DraftSink, EventSink
from zc_notebooks.stream_attempt import Streams
from zc_notebooks.streaming import Stream, SyncStream
from zc_notebooks.sync import shared
from zc_notebooks.turn import Turn
from zc_notebooks.wakeful import wakeful

if TYPE_CHECKING:
    from zc_notebooks.budget.report import Budget
    from zc_notebooks.lab import Lab
    from zc_notebooks.ledger.read import Ledger
    from zc_notebooks.probe import ProbeResult
    from zc_notebooks.status import Status


class Chain(Steered, Shown):
    """Candidates, policy, marks and ledger. Made by :func:`zc_notebooks.open`; tasks and threads may share one.

    Args:
        config: A loaded configuration.
        transport: Sends requests; :class:`~zc_notebooks.transport.AsyncTransport` unless given.
        clock: Time; the system's unless given.
        ledger: Folder of the attempt ledger.
        marks: The cooldown board.
        spending: What counts against the budgets of day and month.
        random: Source of jitter in [0, 1).
        on_attempt: Called with every row as it is written.
        on_failover: Called with (failed variant, next variant, reason) at each hop.
        on_decision: Called with the four fields of each effort decision.
    """

    def __init__(  # noqa: PLR0913 (everything injectable is a parameter)
        self,
        config: Config,
        *,
        transport: Streams | None = None,
        clock: Clock | None = None,
        ledger: Path | str | None = None,
        marks: Marks | None = None,
        spending: Spending | None = None,
        random: Any = None,
        environ: Mapping[str, str] | None = None,
        on_attempt: OnAttempt | None = None,
        on_failover: OnFailover | None = None,
        on_decision: OnDecision | None = None,
        lab: Lab | None = None,
    ) -> None:
        self.live = LiveConfig(config, os.environ if environ is None else environ, adopted=self._adopt)
        self.lab = lab
        if lab is not None:
            weakref.finalize(self, _leave, lab).atexit = False
        self.on_decision = on_decision
        self.clock = clock or SystemClock()
        self.ledger_path = Path(ledger) if ledger is not None else ledger_folder(config)
        self.board = marks if marks is not None else _marks(config, self.clock, in_memory=lab is not None)
        self._own_board = marks is None
        self._transport = ChainTransport(transport, self.clock)
        if problems := foreign_keys(config, self.live.held.keys):
            raise ConfigError("a key does not belong where it stands", problems)
        self.writer = LedgerWriter(self.ledger_path, durability=config.ledger.durability, gather=True)
        """The ledger's pen, also for probes and other calls outside :meth:`ask`."""
        self.site = Site(
            clock=self.clock,
            board=self.board,
            writer=self.writer,
            spending=spending or Spending(spend_file(config if lab is None else None), clock=self.clock),
            random=random or _random.random,
            on_attempt=on_attempt,
            on_failover=on_failover,
            notice_mode=lambda: self.config.model_fallback_notice,
        )

    @property
    def on_attempt(self) -> OnAttempt | None:
        """Called with every row as it is written; may be set."""
        return self.site.on_attempt

    @on_attempt.setter
    def on_attempt(self, told: OnAttempt | None) -> None:
        self.site.on_attempt = told

    # -- asking -------------------------------------------------------------------------------------------------------

    @kept
    async def ask(  # noqa: PLR0913 (the options of a call)
        self,
        prompt: Prompt,
        *,
        hint: str | None = None,
        start: str | None = None,
        model: str | None = None,
        requested: str | None = None,
        source: Source | None = None,
        fallback: bool = True,
        timeout_s: float | None = None,
        allow_tiers: Sequence[Tier] | None = None,
        budget_usd: Decimal | float | None = None,
        turn_id: str | None = None,
        retries: int | None = None,
        mode: Literal["chat", "bench"] = "chat",
        **settings: Any,
    ) -> Completion:
        """One answer, through the chain.

        Where ``[effort_routing]`` is configured, a call that names no candidate and stands in no :meth:`turn` is a turn
        of its own: classified once, and kept to its allowlist.

        Args:
            prompt: Text, or OpenAI-style message dictionaries, or :class:`~zc_notebooks.chat.Message` s.
            hint: Name of a route.
            start: ``family.alias`` or ``family.alias/model`` to start with.
            model: Model to ask the start for; it is really served. ``hint:fast`` is ``hint="fast"``.
            requested: Model for candidates without one of their own; a pin wins over it.
            source: ``graph`` or ``chain``; by default a known hint uses its profile's graph, and anything else the
                chain where there is one (spec 3.1).
            fallback: ``False`` asks the start candidate alone and disregards marks.
            timeout_s: Wall seconds for the whole call, waits included.
            allow_tiers: Narrows the permitted tiers.
            budget_usd: Narrows what the call may cost, in US dollars.
            turn_id: Groups calls of one turn in the ledger.
            retries: In the place of ``provider_retries``; 0 makes one request to each candidate.
            mode: How its ledger rows are marked; ``bench`` keeps measurements apart from work.
            settings: ``system``, ``tools``, ``images``, ``response_format``, ``max_tokens``, ``temperature``,
                ``top_p``, ``stop``, ``seed``, ``reasoning_effort`` (see :func:`~zc_notebooks.messages.as_request`).

        Raises:
            AllCandidatesFailed: Every candidate failed or was skipped (:class:`CallTimeout`: no time was left).
            NoPermittedCandidate: A border leaves nothing; zero calls were made.
            ContextWindowExceeded: The conversation fits no permitted candidate.
            ConfigError: Nothing says where to start, or a name is not configured.
            InvalidRequest: The prompt or a setting cannot be sent (a ``ValueError``).
        """
        request = as_request(prompt, **settings)
        ask = Ask(start=start, model=model, requested=requested, hint=hint, source=source, fallback=fallback)
        limits = Limits(
            timeout_s=timeout_s,
            allow_tiers=allow_tiers,
            budget_usd=budget_usd,
            turn_id=turn_id,
            retries=retries,
            mode=mode,
        )
        with wakeful(), self.entry(ask, request).inside() as entry:
            call = self._begin(request, entry, limits).warn()
            try:
                await call.conditions.prepare(call.variants, remembered=not call.policy.ignore_cooldown)
                steps = walk(call.variants, call.policy, call.conditions)
                ended = await drive(steps, call.record, call.conditions, call.transport)
            finally:
                call.conditions.close()
                self.writer.report()
        return call.result(ended)

    def ask_sync(self, prompt: Prompt, **options: Any) -> Completion:
        """:meth:`ask` for scripts and notebook cells; Ctrl-C cancels the running request. Same options, same errors."""
        return shared.run(self.ask(prompt, **options))

    def stream(  # noqa: PLR0913 (the options of a call)
        self,
        prompt: Prompt,
        *,
        hint: str | None = None,
        start: str | None = None,
        model: str | None = None,
        requested: str | None = None,
        source: Source | None = None,
        fallback: bool = True,
        timeout_s: float | None = None,
        allow_tiers: Sequence[Tier] | None = None,
        budget_usd: Decimal | float | None = None,
        turn_id: str | None = None,
        retries: int | None = None,
        mode: Literal["chat", "bench"] = "chat",
        draft: bool = False,
        **settings: Any,
    ) -> Stream:
        """The same as :meth:`ask`, as events while they come: ``async with chain.stream("…") as events``.

        The events have types (:mod:`zc_notebooks.events`); the last one is ``Final`` with the completion. What was
        yielded is never sent again: a stream that fails after output raises
        :class:`~zc_notebooks.errors.StreamInterruptedAfterOutput` with ``.partial_text``. With ``draft=True`` what you
        show can be rewritten: after ``Redraft`` the whole answer comes anew.
        """
        heed()
        request = as_request(prompt, **settings)
        ask = Ask(start=start, model=model, requested=requested, hint=hint, source=source, fallback=fallback)
        limits = Limits(
            timeout_s=timeout_s,
            allow_tiers=allow_tiers,
            budget_usd=budget_usd,
            turn_id=turn_id,
            retries=retries,
            mode=mode,
        )
        entry = self.entry(ask, request)

        def begin_turn() -> Turn:
            with entry.inside():
                return Turn(self._begin(request, entry, limits).warn(), report=self.writer.report, draft=draft)

        return Stream(begin_turn, entry.block)

    def stream_sync(self, prompt: Prompt, **options: Any) -> SyncStream:
        """:meth:`stream` for scripts: ``for event in chain.stream_sync("…")``."""
        return SyncStream(self.stream(prompt, **options), shared)

    @kept
    async def tell(
        self, prompt: Prompt, events: EventSink | None = None, draft: DraftSink | None = None, **options: Any
    ) -> Completion:
        """Streams into sinks and returns the completion. With a draft sink alone, output stays rewritable.

        Without any sink nobody listens, and nothing is streamed (spec 8.1): the same as :meth:`ask`.
        """
        if events is None and draft is None:
            return await self.ask(prompt, **options)
        return await self.stream(prompt, draft=events is None, **options).into(events, draft)

    def _begin(self, request: ChatRequest, entry: Entry, limits: Limits) -> Call:
        limits = limits if limits.turn_id else replace(limits, turn_id=entry.turn_id)
        now = entry.now
        return begin(self.site, now.config, now.keys, self._transport.of(now.config), request, entry.ask, limits)

    # -- looking ------------------------------------------------------------------------------------------------------

    def plan(self, prompt: Prompt | None = None, **options: Any) -> Plan:
        """Entries of a call in order, what was pruned and why, and how each stands now. Calls nobody.

        ``prompt`` matters where its effort selects the route. ``options``: ``hint``, ``start``, ``model``,
        ``requested``, ``source``, ``fallback``, ``allow_tiers``, ``budget_usd`` as in :meth:`ask`.
        """
        from zc_notebooks.planning import outlook

        limits = Limits(allow_tiers=options.pop("allow_tiers", None), budget_usd=options.pop("budget_usd", None))
        request = as_request(prompt) if prompt else None
        with self.entry(Ask(**options), request, told=False).inside() as entry:
            return outlook(self._begin(request or as_request("-"), entry, limits))

    @kept
    async def probe(self, ref: str, *, model: str | None = None, timeout_s: float = 20.0) -> ProbeResult:
        """Asks one provider alone whether it is reachable: never a swap, the cheapest honest request first."""
        from zc_notebooks.probe import probe

        with wakeful():
            return await probe(self, ref, model=model, timeout_s=timeout_s)

    def probe_sync(self, ref: str, **options: Any) -> ProbeResult:
        """:meth:`probe` for scripts and cells."""
        return shared.run(self.probe(ref, **options))

    def marks(self) -> LiveMarks:
        """Live cooldown marks, of every process that shares the board."""
        return LiveMarks(self.board.list())

    def budget(self) -> Budget:
        """The budgets of day and month: spent, reserved, left, and when they are fresh again. Calls nobody."""
        from zc_notebooks.budget.report import report

        return report(self.config.borders, self.site.spending, self.clock.now())

    def clear(self, ref: str | None = None, *, pool: str | None = None, everything: bool = False) -> int:
        """Clears marks by ref, by pool, or all of them; returns how many there were.

        Those of a ref are the ones it has set and the ones that keep it out: another profile of its key and pool may
        have set them.
        """
        if ref is not None and ref not in self.config.profiles:
            raise ConfigError(f"the profile {ref!r} is not configured (configured: {', '.join(self.config.profiles)})")
        from zc_notebooks.status import binding

        bound = binding(self.live.now(), ref, self.marks()) if ref is not None else frozenset()
        return self.board.clear(ref=ref, pool=pool, all=everything, keys=bound)

    def status(self) -> Status:
        """Every profile with its marks, what it says is left, and its last outcome. Calls nobody."""
        from zc_notebooks.status import status

        return status(self)

    def watch(self, refs: Sequence[str] = (), *, every_s: float = 600.0, told: Any = None) -> asyncio.Task[None]:
        """Probes candidates one after the other in a task of the running loop, each once in ``every_s`` seconds.

        ``told`` is called with every :class:`~zc_notebooks.probe.ProbeResult`. Cancel the task to stop.
        """
        from zc_notebooks.watch import start

        return start(self, refs, every_s=every_s, told=told)

    @cached_property
    def ledger(self) -> Ledger:
        """The attempt ledger this chain writes to, for queries."""
        from zc_notebooks.ledger.read import Ledger

        return Ledger(self.ledger_path)

    # -- lifetime -----------------------------------------------------------------------------------------------------

    @property
    def transport(self) -> Streams:
        """The transport, made on first use. It knows the candidates on this machine."""
        return self._transport.of(self.config)

    async def aclose(self) -> None:
        """Closes connections, the ledger file and the embedded lab."""
        await self._transport.aclose()
        self._close_rest()

    def close(self) -> None:
        """:meth:`aclose` for synchronous code."""
        if self._transport.is_open:
            shared.run(self._transport.aclose())
        self._close_rest()

    def _adopt(self, config: Config) -> None:
        if self._own_board:
            self.board.guess(config.reliability.cooldown_guess_s, config.reliability.period_guess_s)

    def _close_rest(self) -> None:
        self.writer.close()
        self.board.close()
        self.site.spending.close()
        if self.lab is not None:
            self.lab.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        where = "embedded lab" if self.lab is not None else "zc.toml"
        config = self.live.held.config
        links = len(config.chain) or len(config.profiles)
        pools = len({profile.pool for profile in config.profiles.values()})
        return f"Chain({where}: {counted(links, 'candidate')} in {counted(pools, 'billing pool')})"


def _leave(lab: Lab) -> None:
    """Ends the lab of a chain that was dropped, in whatever thread that was noticed: the lab's own among them."""
    threading.Thread(target=lab.close, name="zc-lab-closing", daemon=True).start()


def _marks(config: Config, clock: Clock, *, in_memory: bool) -> Marks:
    path = marks_file(None if in_memory else config)
    policy = config.reliability
    return Marks(path, clock=clock, guess_s=policy.cooldown_guess_s, period_guess_s=policy.period_guess_s)
