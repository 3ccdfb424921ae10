"""The public face of a call: :func:`open` a configuration, :meth:`Chain.ask` a prompt."""

from __future__ import annotations

import asyncio
import os
import random as _random
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from zc_notebooks.borders import Borders
from zc_notebooks.chat import ChatRequest, Identity
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.config.keys import Keyring, check_prefix
from zc_notebooks.config.load import find_config, load_config, parse_config
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.messages import Prompt, as_request
from zc_notebooks.outcome import completion, failure
from zc_notebooks.places import ledger_folder, marks_file
from zc_notebooks.records import Credential, Mark, Plan, Tier, Variant
from zc_notebooks.reliability.conditions import LiveConditions
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.reliability.materialize import Ask, plan, require_fallback_keys, variants
from zc_notebooks.reliability.reliable import CallRecord, OnAttempt, OnFailover, Sends, drive
from zc_notebooks.reliability.rows import CallFacts
from zc_notebooks.reliability.shorten import shorten
from zc_notebooks.reliability.steps import Ended, WalkPolicy
from zc_notebooks.reliability.walk import walk
from zc_notebooks.result import Completion
from zc_notebooks.shown import Shown
from zc_notebooks.sync import shared

if TYPE_CHECKING:
    from zc_notebooks.lab import Lab
    from zc_notebooks.ledger.read import Ledger
    from zc_notebooks.probe import ProbeResult
    from zc_notebooks.status import Status

NO_FILE: Final = "no zc.toml found: answering from the embedded lab (simulated providers, no key needed)"
NO_PROFILES: Final = "{path} names no provider: answering from the embedded lab (simulated providers, no key needed)"


class Chain(Shown):
    """Candidates, policy, marks and ledger behind one ``ask``. Made by :func:`open`; safe to share between tasks.

    Args:
        config: A loaded configuration.
        transport: Sends requests; :class:`~zc_notebooks.transport.AsyncTransport` unless given.
        clock: Time; the system's unless given.
        ledger: Folder of the attempt ledger.
        marks: The cooldown board.
        random: Source of jitter in [0, 1).
        on_attempt: Called with every row as it is written.
        on_failover: Called with (failed variant, next variant, reason) at each hop.
    """

    def __init__(
        self,
        config: Config,
        *,
        transport: Sends | None = None,
        clock: Clock | None = None,
        ledger: Path | str | None = None,
        marks: Marks | None = None,
        random: Any = None,
        environ: Mapping[str, str] | None = None,
        on_attempt: OnAttempt | None = None,
        on_failover: OnFailover | None = None,
        lab: Lab | None = None,
    ) -> None:
        self.config = config
        self.lab = lab
        self.clock = clock or SystemClock()
        self.keys = Keyring(config, os.environ if environ is None else environ)
        self.ledger_path = Path(ledger) if ledger is not None else ledger_folder(config)
        self.board = marks if marks is not None else _marks(config, self.clock, in_memory=lab is not None)
        self._transport = transport
        self._random = random or _random.random
        _refuse_foreign_keys(config, self.keys)
        self._writer = LedgerWriter(self.ledger_path, durability=config.ledger.durability)
        self.on_attempt = on_attempt
        self._on_failover = on_failover

    # -- asking -------------------------------------------------------------------------------------------------------

    async def ask(
        self,
        prompt: Prompt,
        *,
        hint: str | None = None,
        start: str | None = None,
        model: str | None = None,
        fallback: bool = True,
        timeout_s: float | None = None,
        allow_tiers: Sequence[Tier] | None = None,
        turn_id: str | None = None,
        **settings: Any,
    ) -> Completion:
        """One answer, through the chain.

        Args:
            prompt: Text, or OpenAI-style message dictionaries, or :class:`~zc_notebooks.chat.Message` s.
            hint: Name of a route.
            start: ``family.alias`` or ``family.alias/model`` to start with.
            model: Model to ask the start for.
            fallback: ``False`` asks the start candidate alone and disregards marks.
            timeout_s: Wall seconds for the whole call, waits included.
            allow_tiers: Narrows the permitted tiers.
            turn_id: Groups calls of one turn in the ledger.
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
        ask = Ask(start=start, model=model, hint=hint, fallback=fallback)
        return await self._call(request, ask, timeout_s=timeout_s, allow_tiers=allow_tiers, turn_id=turn_id)

    def ask_sync(self, prompt: Prompt, **options: Any) -> Completion:
        """:meth:`ask` for scripts and notebook cells; Ctrl-C cancels the running request. Same options, same errors."""
        return shared.run(self.ask(prompt, **options))

    async def _call(
        self,
        request: ChatRequest,
        ask: Ask,
        *,
        timeout_s: float | None,
        allow_tiers: Sequence[Tier] | None,
        turn_id: str | None,
    ) -> Completion:
        made = plan(self.config, ask)
        candidates = variants(made, self.keys)
        require_fallback_keys(made, candidates)
        started = self.clock.monotonic()
        limit = timeout_s if timeout_s is not None else made.entries[0].profile.call_timeout_s
        requested = Identity(provider_ref=made.entries[0].ref, model=made.requested_model)
        call = self._record(request, requested, candidates, turn_id)
        conditions = LiveConditions(
            request,
            marks=self.board,
            clock=self.clock,
            deadline=started + limit,
            random=self._random,
            borders=Borders.of(self.config, made, allow_tiers),
        )
        try:
            steps = walk(candidates, self._policy(made, ask), conditions)
            ended = await drive(steps, call, conditions, self.transport)
        finally:
            conditions.close()
        return self._result(ended, call, requested, made, self.clock.monotonic() - started)

    def _record(
        self, request: ChatRequest, requested: Identity, candidates: Sequence[Variant], turn_id: str | None
    ) -> CallRecord:
        facts = CallFacts(
            call_id=secrets.token_hex(8),
            mode="chat",
            requested_ref=requested.provider_ref,
            requested_model=requested.model,
            turn_id=turn_id,
        )
        return CallRecord(
            facts,
            request,
            clock=self.clock,
            write=self._writer.write,
            shortened=shorten,
            on_attempt=self.on_attempt,
            on_failover=self._on_failover,
            several=frozenset(item.ref for item in candidates if item.place > 0),
        )

    def _policy(self, made: Plan, ask: Ask) -> WalkPolicy:
        chain = made.source == "chain"
        reliability = self.config.reliability
        return WalkPolicy(
            reliability=reliability,
            rate_limit=reliability.chain_rate_limit_policy if chain else reliability.graph_rate_limit_policy,
            overflow=reliability.context_overflow,
            chain=chain,
            ignore_cooldown=not ask.fallback,
        )

    def _result(self, ended: Ended, call: CallRecord, requested: Identity, made: Plan, secs: float) -> Completion:
        if ended.kind != "answered" or call.answer is None or call.served is None:
            raise failure(ended, call, made)
        return completion(call, requested, secs)

    # -- looking ------------------------------------------------------------------------------------------------------

    def plan(self, prompt: Prompt | None = None, **options: Any) -> Plan:
        """Entries of a call in order, what was pruned and why, and the marks that cover them. Calls nobody.

        ``options``: ``hint``, ``start``, ``model``, ``fallback`` as in :meth:`ask`.
        """
        del prompt
        import msgspec

        made = plan(self.config, Ask(**options))
        keys = [candidate.key for candidate in variants(made, self.keys)]
        live = {mark.key: mark for key in keys if (mark := self.board.look(key).mark) is not None}
        return msgspec.structs.replace(made, marks=tuple(live.values()))

    async def probe(self, ref: str, *, model: str | None = None, timeout_s: float = 20.0) -> ProbeResult:
        """Asks one provider alone whether it is reachable: never a swap, the cheapest honest request first."""
        from zc_notebooks.probe import probe

        return await probe(self, ref, model=model, timeout_s=timeout_s)

    def probe_sync(self, ref: str, **options: Any) -> ProbeResult:
        """:meth:`probe` for scripts and cells."""
        return shared.run(self.probe(ref, **options))

    def marks(self) -> tuple[Mark, ...]:
        """Live cooldown marks, of every process that shares the board."""
        return self.board.list()

    def clear(self, ref: str | None = None, *, pool: str | None = None, everything: bool = False) -> int:
        """Clears marks by ref, by pool, or all of them; returns how many there were."""
        if ref is not None and ref not in self.config.profiles:
            raise ConfigError(f"the profile {ref!r} is not configured (configured: {', '.join(self.config.profiles)})")
        return self.board.clear(ref=ref, pool=pool, all=everything)

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
    def transport(self) -> Sends:
        """The transport, made on first use."""
        if self._transport is None:
            from zc_notebooks.transport import AsyncTransport

            self._transport = AsyncTransport()
        return self._transport

    @property
    def writer(self) -> LedgerWriter:
        """The ledger's pen, for probes and other calls outside ``ask``."""
        return self._writer

    async def aclose(self) -> None:
        """Closes connections, the ledger file and the embedded lab."""
        close = getattr(self._transport, "aclose", None)
        if close is not None:
            await close()
        self._close_rest()

    def close(self) -> None:
        """:meth:`aclose` for synchronous code."""
        close = getattr(self._transport, "aclose", None)
        if close is not None:
            shared.run(close())
        self._close_rest()

    def _close_rest(self) -> None:
        self._writer.close()
        self.board.close()
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
        links = len(self.config.chain) or len(self.config.profiles)
        pools = len({profile.pool for profile in self.config.profiles.values()})
        return f"Chain({where}: {links} candidates in {pools} billing pools)"


def _refuse_foreign_keys(config: Config, keys: Keyring) -> None:
    """A key of another vendor's form fails construction: it must not be sent to the wrong address (spec 2.2)."""
    problems = [
        problem
        for profile in config.profiles.values()
        for item in keys.credentials(profile)
        if isinstance(item, Credential) and item.secret is not None
        if (problem := check_prefix(profile, item.secret, item.name)) is not None
    ]
    if problems:
        raise ConfigError("a key does not belong where it stands", problems)


def _marks(config: Config, clock: Clock, *, in_memory: bool) -> Marks:
    path = marks_file(None if in_memory else config)
    policy = config.reliability
    return Marks(path, clock=clock, guess_s=policy.cooldown_guess_s, period_guess_s=policy.period_guess_s)


def open(  # noqa: A001 (the package is used as zc.open)
    path: Path | str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    quiet: bool = False,
    **options: Any,
) -> Chain:
    """Opens a configuration: ``path``, else ``$ZC_CONFIG``, else ``./zc.toml``, else the user's, else the lab.

    Args:
        path: A ``zc.toml``.
        environ: Variables to read keys and ``ZC_CONFIG`` from; the process's unless given.
        quiet: Do not say on standard error that the embedded lab answers.
        options: See :class:`Chain`.

    Raises:
        ConfigError: The file cannot be used; ``.problems`` lists every fault.
    """
    variables = os.environ if environ is None else environ
    found = Path(path) if path is not None else find_config(variables, Path.cwd())
    config = load_config(found, environ=variables) if found is not None else Config()
    if config.profiles:
        return Chain(config, environ=variables, **options)
    why = NO_FILE if found is None else NO_PROFILES.format(path=found)
    return _open_lab(variables, why=None if quiet else why, **options)


def _open_lab(environ: Mapping[str, str], *, why: str | None, **options: Any) -> Chain:
    from zc_notebooks.lab import Lab

    lab = Lab("default").start()
    try:
        config = parse_config(lab.config_text(), base_dir=Path.cwd(), source="the lab's configuration")
        options.setdefault("ledger", ledger_folder(None))
        chain = Chain(config, environ=environ, lab=lab, **options)
    except BaseException:
        lab.close()
        raise
    if why is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(why + "\n")
    return chain
