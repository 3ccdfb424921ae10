"""One simulated provider's state: account, faults and chance, on the lab's clock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from random import Random

from zc_notebooks.lab.account import Account
from zc_notebooks.lab.answering import Answering, Note
from zc_notebooks.lab.asked import Asked, Route
from zc_notebooks.lab.clock import LabClock
from zc_notebooks.lab.dialect import dialect
from zc_notebooks.lab.failures import Failure, failure
from zc_notebooks.lab.faults import Fault, FaultLike, Plan, Playing, fault
from zc_notebooks.lab.scenario import ProviderSpec


class Provider:
    """A provider's state. Its methods may be called from any thread."""

    def __init__(self, spec: ProviderSpec, clock: LabClock, *, seed: int = 0, latency: float = 1.0) -> None:
        self.spec = spec
        self.clock = clock
        self.latency = latency
        self.dialect = dialect(spec.family, spec.deviations)
        self._seed = seed
        self._lock = threading.RLock()
        self._check_names()
        self.reset()

    def _check_names(self) -> None:
        """Raises KeyError for a failure the scenario names and the lab does not know."""
        spec = self.spec
        words = [*spec.script, *(one.failure for one in spec.flaky), *(one.failure for one in spec.outages)]
        words += [quota.failure for quota in spec.quotas if quota.failure is not None]
        for word in words:
            named = fault(word).failure
            if named is not None:
                failure(named, spec.family)

    def reset(self) -> None:
        """Back to the state the scenario describes, as of now."""
        with self._lock:
            self.started = self.clock.now()
            self._accounts: dict[str | None, Account] = {}
            self._plan = Plan(None)
            self._until: dict[str, datetime] = {}
            self._count = 0
            self._asked_before: Counter[tuple[str, str]] = Counter()

    def set_fault(self, faults: FaultLike | Sequence[FaultLike | None] | None, times: int | None = None) -> None:
        """Sets what goes wrong from now on; see :meth:`zc_notebooks.lab.Lab.set_fault`.

        Raises:
            KeyError: a failure is named that the lab does not know.
        """
        for one in [faults] if faults is None or isinstance(faults, str | Fault) else faults:
            named = None if one is None else fault(one).failure
            if named is not None:
                failure(named, self.spec.family)
        with self._lock:
            self._plan = Plan(faults, times)
            self._until.clear()

    def serve(self, asked: Asked, route: Route, note: Note) -> Playing:
        """What a request gets. ``note`` adds fields to its line in the log."""
        with self._lock:
            if route.operation == "chat":
                self._count += 1
            return Answering(self, asked, route, self._count, note).answer()

    def enter(self, key: str | None) -> None:
        """A request with this key began."""
        with self._lock:
            self.account(key).enter()

    def leave(self, key: str | None, number: int) -> None:
        """It ended."""
        with self._lock:
            self.account(key).leave(number)

    def account(self, key: str | None) -> Account:
        """The account of a key; one for all where no key is asked for."""
        owner = key if key in self.spec.keys else None
        with self._lock:
            if owner not in self._accounts:
                self._accounts[owner] = Account(self.spec, self.started, owner)
            return self._accounts[owner]

    # What follows is for Answering, under the lock.

    def next_fault(self, *, take: bool) -> Fault | None:
        """The fault that strikes now. A standing failure whose reset has come is over."""
        standing = self._plan.standing
        if standing is not None and standing.failure is not None:
            until = self._until.get(failure(standing.failure, self.spec.family).name)
            if until is not None and self.clock.now() >= until:
                self._plan.end()
        return self._plan.next() if take else self._plan.standing

    def until(self, chosen: Failure, ends: datetime | None) -> datetime | None:
        """The end of a failure: the first one it stated, while that is ahead; else ``ends``."""
        known = self._until.get(chosen.name)
        if known is not None and known > self.clock.now():
            return known
        if ends is not None:
            self._until[chosen.name] = ends
        return ends

    def random(self, *words: object) -> Random:
        """A random source of its own for these words, the same for the same seed."""
        return Random("/".join(map(str, (self._seed, self.spec.name, *words))))  # noqa: S311 (a simulation)

    def nth(self, model: str, prompt: str) -> int:
        """How often this model was asked this before."""
        self._asked_before[model, prompt] += 1
        return self._asked_before[model, prompt]
