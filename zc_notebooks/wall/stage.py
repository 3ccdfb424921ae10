"""The stage: the lab's fleet on a clock that jumps, and chains over it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.config.schema import ChainEntry, Config
from zc_notebooks.lab import Lab, LabClock, Scenario, load_scenario
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.wall.other_process import Job
from zc_notebooks.wall.seen import Actor
from zc_notebooks.wall.trial import Mode, Trial

ChainMaker = Callable[..., Chain]
"""Makes the chain that is put to the test: :class:`~zc_notebooks.chain.Chain`, or one that is broken on purpose."""


class Stage:
    """The lab and its clock, for one trial after the other. Waits move the clock; time limits are real seconds."""

    def __init__(self, make: ChainMaker = Chain) -> None:
        self.scenario: Scenario = load_scenario("wall")
        self.clock = LabClock(self.scenario.start, frozen=True)
        self.lab = Lab(self.scenario, clock=self.clock)
        self._make = make
        self._folders = tempfile.TemporaryDirectory(prefix="zc-wall-")

    def __enter__(self) -> Self:
        self.lab.start()
        self.config = parse_config(self.lab.config_text(), base_dir=self.root, source="the wall's configuration")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lab.close()
        self._folders.cleanup()

    @property
    def root(self) -> Path:
        """A folder that goes with the stage."""
        return Path(self._folders.name)

    def folder(self) -> Path:
        """A new folder below :attr:`root`."""
        return Path(tempfile.mkdtemp(dir=self.root))

    def set_up(self, trial: Trial) -> dict[str, Actor]:
        """The lab as new, with the trial's faults; who plays which role."""
        if self.scenario.start is not None:
            self.clock.set(self.scenario.start)
        self.lab.reset()
        actors = {role: self._actor(said) for role, said in trial.chain.items()}
        self.lab.set_fault(actors["primary"].provider, trial.sets, trial.times)
        if trial.backup_sets is not None:
            self.lab.set_fault(actors["backup"].provider, trial.backup_sets)
        return actors

    def _actor(self, said: str) -> Actor:
        name, _, model = said.partition("/")
        spec = self.scenario.provider(name)
        found = spec.model(model or spec.models[0].id)
        if found is None:
            raise ValueError(f"the wall's fleet has no model {said!r}")
        return Actor(provider=spec.name, ref=spec.ref, model=found)

    def config_of(self, trial: Trial, actors: Mapping[str, Actor]) -> Config:
        """The configuration with the trial's chain and time limits."""
        primary = actors["primary"].ref
        limited = replace(self.config.profiles[primary], **trial.limits)
        entries = tuple(ChainEntry(provider=actor.ref, model=actor.model.id) for actor in actors.values())
        return replace(
            self.config,
            default_provider=primary,
            profiles={**self.config.profiles, primary: limited},
            chain=entries,
        )

    def chain(self, trial: Trial, actors: Mapping[str, Actor], ledger: Path, marks: Path | None = None) -> Chain:
        """A new chain on the stage's clock, without jitter."""
        return self._make(
            self.config_of(trial, actors),
            clock=self.clock,
            ledger=ledger,
            marks=Marks(marks, clock=self.clock),
            random=lambda: 0.0,
            environ={},
        )

    def job(self, trial: Trial, mode: Mode, *, ledger: Path, marks: Path) -> Job:
        """The same call for another process, at the clock's now: the fleet's own chain is the trial's."""
        return Job(
            config=self.lab.config_text(),
            marks=str(marks),
            ledger=str(ledger),
            now=self.clock.now(),
            mode=mode,
            settings=trial.settings,
        )
