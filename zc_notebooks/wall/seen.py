"""What both sides saw: the chain's rows, exception and answer, and the lab's own request log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zc_notebooks.lab import LabRequest
from zc_notebooks.lab.scenario import ModelSpec
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Mark, Record
from zc_notebooks.result import Completion
from zc_notebooks.wall.trial import Mode, Trial

STRANGER: Final = "stranger"
"""The role of whom the trial's chain does not name."""


class Actor(Record, frozen=True, kw_only=True):
    """Who plays a role: a provider of the lab, and the candidate of the chain that names it."""

    provider: str
    ref: str
    model: ModelSpec


class Failed(Record, frozen=True, kw_only=True):
    """The exception a call ended with."""

    name: str
    text: str
    partial: str = ""
    """The text it says was shown."""
    ours: bool = True
    """Whether it is one of the package's own; otherwise the call crashed."""


class Told(Record, frozen=True, kw_only=True):
    """One call from the caller's side. It can be sent from one process to another."""

    rows: tuple[AttemptRow, ...] = ()
    completion: Completion | None = None
    failed: Failed | None = None
    shown: str = ""
    """Text that a reader has seen and that was not taken back."""
    reasoning: str = ""
    redrafts: int = 0
    took_s: float = 0.0
    """Real seconds."""


class Seen(Record, frozen=True, kw_only=True):
    """One call, from both sides."""

    told: Told
    asked: tuple[LabRequest, ...]
    """The lab's own log of it."""


class Run(Record, frozen=True, kw_only=True):
    """One trial in one mode, from both sides."""

    trial: Trial
    mode: Mode
    actors: Mapping[str, Actor]
    """By role, in the chain's order."""
    calls: tuple[Seen, ...]
    marks: tuple[Mark, ...]
    """Live at the end."""
    written: tuple[AttemptRow, ...]
    """What stands in the ledger's files."""
    strays: int
    """Requests in the lab's log that came outside of any call."""

    def role(self, said: AttemptRow | LabRequest) -> str:
        """Whom a row or a request of the log is about."""
        for role, actor in self.actors.items():
            known = actor.ref if isinstance(said, AttemptRow) else actor.provider
            named = said.provider_ref if isinstance(said, AttemptRow) else said.provider
            if (known, actor.model.id) == (named, said.model):
                return role
        return STRANGER

    def requests(self) -> dict[str, int]:
        """How many requests reached whom, by the lab's log."""
        asked = [self.role(request) for call in self.calls for request in call.asked]
        return {role: asked.count(role) for role in self.actors}
