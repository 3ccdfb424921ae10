"""The control panel without a widget: settings, one row per provider, one turn, and a history as code.

Everything a person can press is a method here. Methods may be called from any thread and on any loop; what changed is
told to observers by its topic (``panel``, ``turn``, ``trouble``), and an exception nobody waits for becomes a
:class:`~.trouble.Trouble`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from zc_notebooks.chain import Chain
from zc_notebooks.errors import ConfigError
from zc_notebooks.markup import counted
from zc_notebooks.notebook.controls_settings import OPTIONS, Settings, amount, destination
from zc_notebooks.notebook.controls_turn import PanelTurn, TurnShown
from zc_notebooks.notebook.observed import Observed
from zc_notebooks.notebook.pressed import Pressed
from zc_notebooks.notebook.provider_rows import ProviderRow, probe_words, row_of
from zc_notebooks.probe import ProbeResult
from zc_notebooks.records import TIERS, Record
from zc_notebooks.redact import short
from zc_notebooks.result import Completion
from zc_notebooks.watch import targets

AT_ONCE: Final = 4
"""Probes under way at the same time when all are asked."""


class Progress(Record, frozen=True, kw_only=True):
    """How far "Probe all" is."""

    done: int
    total: int
    unreachable: int

    @property
    def words(self) -> str:
        """``3 of 6 asked, 1 not reachable``."""
        return f"{self.done} of {self.total} asked, {self.unreachable} not reachable"


class ControlsState(Observed):
    """The state of one panel.

    Args:
        chain: What it controls.
        name: The chain's name in :attr:`code`.
        opened: How it is made there; ``""`` when the name exists where the code is pasted.
    """

    def __init__(self, chain: Chain, *, name: str = "chain", opened: str = "") -> None:
        super().__init__()
        self.chain = chain
        self.settings = Settings()
        self.rows: tuple[ProviderRow, ...] = ()
        self.probing: frozenset[str] = frozenset()
        """Refs that are being asked."""
        self.progress: Progress | None = None
        self.says = ""
        """Where the next call goes."""
        self.problem = ""
        """Why the file of the configuration cannot be used, until it is mended."""
        self.turn = TurnShown()
        self.answer: Completion | None = None
        """What the prompt that ended last was answered by; ``None`` when it was not."""
        self._pressed = Pressed(name, opened)
        self._began: dict[str, int] = {}
        self._probes: dict[str, tuple[datetime, ProbeResult]] = {}
        self._turn: PanelTurn | None = None
        self.refresh()

    @property
    def code(self) -> str:
        """What was pressed, as code that runs when pasted into a cell. It holds the prompts that were asked."""
        return self._pressed.code()

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """What can be chosen: ``start``, ``hint``, ``tiers``."""
        config = self.chain.config
        tiers = {profile.tier for profile in config.profiles.values()}
        return {
            "start": tuple(config.profiles),
            "hint": tuple(dict.fromkeys(route.hint for route in config.routes)),
            "tiers": tuple(tier for tier in TIERS if tier in tiers),
        }

    # -- settings -----------------------------------------------------------------------------------------------------

    def set(self, **changes: Any) -> None:
        """Changes settings: ``fallback``, ``start``, ``hint``, ``tiers``, ``budget_usd`` (an amount, or as typed).

        Raises:
            ConfigError: There is no such setting, start, hint or tier, or the budget is no amount.
        """
        checked = {name: self._checked(name, value) for name, value in changes.items()}
        with self._lock:
            self.settings = replace(self.settings, **checked)
            options = self.settings.options()
            for name in checked:
                self._pressed.setting(OPTIONS[name], options.get(OPTIONS[name]))
        self.note("")

    def only(self, ref: str) -> None:
        """The next calls go to this provider alone."""
        self.set(start=ref, fallback=False)

    def _checked(self, name: str, value: Any) -> Any:
        if name not in OPTIONS:
            raise ConfigError(f"there is no setting {name!r} (one of {', '.join(OPTIONS)})")
        if name == "start" and value is not None and value.partition("/")[0] not in self.chain.config.profiles:
            raise ConfigError(f"the start {value!r} is not configured ({', '.join(self.chain.config.profiles)})")
        if name == "hint" and value is not None and value not in self.choices["hint"]:
            known = ", ".join(self.choices["hint"]) or "there is no route"
            raise ConfigError(f"the hint {value!r} belongs to no route ({known})")
        if name == "tiers" and value is not None:
            if wrong := [tier for tier in value if tier not in TIERS]:
                raise ConfigError(f"{wrong[0]!r} is no tier (one of {', '.join(TIERS)})")
            chosen = tuple(tier for tier in TIERS if tier in value)
            return None if set(chosen) >= set(self.choices["tiers"]) else chosen
        if name == "budget_usd":
            return amount("" if value is None else str(value))
        return value

    # -- providers ----------------------------------------------------------------------------------------------------

    def refresh(self, *, always: bool = False) -> None:
        """Looks at marks, headroom and ledger, which other processes change too; tells when something is new."""
        status = self.chain.status()
        rows = tuple(
            row_of(item, probe, at, status.at)
            for item in status.profiles
            for at, probe in [self._probes.get(item.ref, (None, None))]
        )
        says = destination(self.chain, self.settings)
        broken = self.chain.config_problem
        problem = "" if broken is None else short(f"What was read before is in force, because: {broken}", 400)
        if always or (rows, says, problem) != (self.rows, self.says, self.problem):
            self.rows, self.says, self.problem = rows, says, problem
            self._tell("panel")

    async def probe(self, ref: str) -> ProbeResult | None:
        """Asks one provider alone; ``None`` when that is being done already."""
        if not self._enter(ref):
            return None
        self._pressed.line(f'await {{chain}}.probe("{ref}")')
        result = await self._probe(ref)
        self.note(f"{ref}: {probe_words(result)}{f' ({short(result.text)})' if result.text else ''}")
        return result

    async def probe_all(self) -> tuple[ProbeResult, ...]:
        """Asks every provider that has a model, a few at a time; nothing when that is being done already."""
        with self._lock:
            if self.progress is not None:
                return ()
            refs = targets(self.chain, ())
            self.progress = Progress(done=0, total=len(refs), unreachable=0)
        self._pressed.line(f"for ref in {refs!r}:\n    await {{chain}}.probe(ref)")
        gate = asyncio.Semaphore(AT_ONCE)
        try:
            found = [item for item in await asyncio.gather(*(self._one_of_all(ref, gate) for ref in refs)) if item]
        finally:
            ended, self.progress = self.progress, None
            self.note("" if ended is None else f"Probe all: {ended.words}")
        return tuple(found)

    def clear(self, ref: str) -> int:
        """Clears what keeps this provider from being asked; returns how many marks there were."""
        count = self.chain.clear(ref)
        self._pressed.line(f'{{chain}}.clear("{ref}")')
        self._probes.pop(ref, None)
        self.note(f"{ref}: {counted(count, 'mark')} cleared" if count else f"{ref}: no mark to clear")
        return count

    async def _one_of_all(self, ref: str, gate: asyncio.Semaphore) -> ProbeResult | None:
        async with gate:
            result = await self._probe(ref) if self._enter(ref) else None
        with self._lock:
            if self.progress is not None:
                lost = result is not None and not result.reachable
                before = self.progress
                self.progress = replace(before, done=before.done + 1, unreachable=before.unreachable + lost)
        self._tell("panel")
        return result

    def _enter(self, ref: str) -> bool:
        with self._lock:
            if ref in self.probing:
                return False
            self.probing |= {ref}
        self._tell("panel")
        return True

    async def _probe(self, ref: str) -> ProbeResult:
        try:
            result = await self.chain.probe(ref)
            self._probes[ref] = (self.chain.clock.now(), result)
            return result
        finally:
            with self._lock:
                self.probing -= {ref}
            self.refresh(always=True)

    # -- the prompt ---------------------------------------------------------------------------------------------------

    async def send(self, prompt: str) -> Completion | None:
        """Asks with the settings in force; the completion, or ``None`` when there is none (see :attr:`turn`)."""
        with self._lock:
            if self._turn is not None:
                return None
            turn = self._turn = PanelTurn(self.chain, self._turned)
            self.turn = turn.shown
        self._pressed.asked(prompt)
        self._tell("panel")
        self._turned()
        try:
            await turn.run(prompt, self.settings.options())
        finally:
            self.answer, self._turn = turn.completion, None
            if turn.shown.phase == "stopped":
                self._pressed.line("# the answer was stopped here")
            self.refresh(always=True)
        return turn.completion

    def stop(self) -> None:
        """Stops the running answer; what was shown stays. Nothing when none runs."""
        if (turn := self._turn) is not None:
            turn.stop()

    @property
    def asking(self) -> bool:
        """Whether a prompt is being answered."""
        return self._turn is not None

    # -- clicks -------------------------------------------------------------------------------------------------------

    def fresh(self, action: str, seen: int | None) -> bool:
        """Whether a click is to be carried out: not when its page had not yet seen that the action was begun."""
        with self._lock:
            if seen is not None and seen < self._began.get(action, 0):
                return False
            self.version += 1
            self._began[action] = self.version
            return True

    # -- inside -------------------------------------------------------------------------------------------------------

    def _turned(self) -> None:
        if self._turn is not None:
            self.turn = self._turn.shown
        self._tell("turn")
