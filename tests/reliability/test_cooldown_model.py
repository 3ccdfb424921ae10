"""The board against a simple reference: any sequence of hits, probes, successes and clearings, on any clock."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.reliability.boards import key, limit, variant
from zc_notebooks.records import Verdict
from zc_notebooks.reliability.cooldown import Lease, Marks
from zc_notebooks.reliability.mark_rules import covers
from zc_notebooks.testing import ManualClock

MODELS = ("m1", "m2:free", "m3:free")
RANK = {"guessed": 0, "inferred": 1, "stated": 2}
SECONDS = st.sampled_from([0.0, 0.5, 5.0, 10.0, 30.0, 59.0, 61.0, 3600.0, 40 * 86400.0])


class Told(NamedTuple):
    """The reference's mark."""

    until: datetime
    provenance: str
    set_at: datetime


class BoardMachine(RuleBasedStateMachine):
    """Two boards on one file, used in turn, must both say what the reference says."""

    @initialize(shared=st.booleans())
    def begin(self, shared: bool) -> None:
        """A fresh board, in memory or in a file that two boards share."""
        self.clock = ManualClock()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "marks.sqlite" if shared else None
        first = Marks(path, clock=self.clock)
        self.boards = [first, Marks(path, clock=self.clock) if shared else first]
        self.told: dict[str | None, Told] = {}
        self.held: dict[str | None, tuple[int, datetime]] = {}
        self.leases: dict[int, tuple[Lease, dict[str | None, Told]]] = {}
        self.turn = 0

    def board(self) -> Marks:
        """Each board in turn."""
        self.turn += 1
        return self.boards[self.turn % 2]

    def mine(self, model: str) -> list[str | None]:
        """Where the reference has a mark that covers ``model``."""
        return [place for place in self.told if covers(place, model) and self.known(place)]

    def known(self, place: str | None) -> bool:
        """Whether the mark has not been over for 32 days."""
        return self.told[place].until > self.clock.now() - timedelta(days=32)

    def expected(self, model: str) -> str:
        """The gate's word by the reference."""
        now = self.clock.now()
        mine = self.mine(model)
        if any(self.told[place].until > now for place in mine):
            return "cooling"
        if any(self.leased(place) for place in mine):
            return "held"
        return "probe" if mine else "open"

    def leased(self, place: str | None) -> bool:
        """Whether the reference says somebody probes this mark."""
        return place in self.held and self.held[place][1] > self.clock.now()

    @rule(
        model=st.sampled_from(MODELS),
        scope=st.sampled_from(["model", "free", None]),
        wait=st.none() | SECONDS,
        source=st.sampled_from(["stated", "inferred"]),
        reason=st.sampled_from(["minute_limit", "daily_limit", "auth"]),
    )
    def hit(self, model: str, scope: str | None, wait: float | None, source: str, reason: Any) -> None:
        """A failure, with or without a stated or inferred end."""
        now = self.clock.now()
        known: dict[str, Any] = (
            {} if scope is None else {"scope": "model"} if scope == "model" else {"covers": "*:free"}
        )
        if wait is not None and source == "stated":
            known["stated_wait_s"] = wait
        elif wait is not None:
            known |= {"resets_at": now + timedelta(seconds=wait), "reset_source": "inferred"}
        verdict = Verdict(reason=reason, status=429, **known)
        self.board().set_from(verdict, variant(model), now=now)
        self.tell(model, verdict, now)

    def tell(self, model: str, verdict: Verdict, now: datetime) -> None:
        """The same for the reference."""
        wait, ends = verdict.stated_wait_s, verdict.resets_at
        if verdict.reason == "auth" or wait == 0:
            return
        if wait is not None:
            new = Told(now + timedelta(seconds=min(wait, 32 * 86400)), "stated", now)
        elif ends is not None and ends > now:
            new = Told(min(ends, now + timedelta(days=32)), "inferred", now)
        else:
            new = Told(now + timedelta(seconds=3600 if verdict.reason == "daily_limit" else 10), "guessed", now)
        free = verdict.covers is not None and model.endswith(":free")
        place = "*:free" if free else model if verdict.scope == "model" else None
        old = self.told.get(place)
        if old is None or old.until <= now:
            self.told[place] = new
        elif old.provenance == "stated":
            return
        elif RANK[new.provenance] > RANK[old.provenance] or new.until > old.until:
            self.told[place] = new

    @rule(seconds=SECONDS)
    def advance(self, seconds: float) -> None:
        """Time goes on."""
        self.clock.advance(seconds)

    @rule(model=st.sampled_from(MODELS))
    def acquire(self, model: str) -> None:
        """Somebody tries for the probe."""
        now, mine = self.clock.now(), self.mine(model)
        granted = bool(mine) and all(
            not self.leased(place) and (self.told[place].until <= now or self.told[place].provenance == "guessed")
            for place in mine
        )
        lease = self.board().acquire(key(model))
        assert (lease is not None) is granted
        if lease is not None:
            number = len(self.leases)
            self.leases[number] = (lease, {place: self.told[place] for place in mine})
            self.held |= dict.fromkeys(mine, (number, now + timedelta(seconds=60)))

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), outcome=st.sampled_from(["success", "other"]))
    def release(self, data: st.DataObject, outcome: Any) -> None:
        """A probe is decided, perhaps one that was given up long ago, perhaps twice."""
        number = data.draw(st.sampled_from(sorted(self.leases)))
        lease, before = self.leases[number]
        self.board().release(lease, outcome)
        for place, (holder, _) in list(self.held.items()):
            if holder == number:
                del self.held[place]
                if outcome == "success" and self.told.get(place) == before.get(place):
                    self.told.pop(place, None)

    @rule(model=st.sampled_from(MODELS), ago=SECONDS)
    def success(self, model: str, ago: float) -> None:
        """An attempt that began a while ago succeeds."""
        started = self.clock.now() - timedelta(seconds=ago)
        older = [place for place in self.mine(model) if self.told[place].set_at < started]
        assert self.board().success(variant(model), started) == len(older)
        self.drop(older)

    @rule(place=st.sampled_from([None, *MODELS, "*:free"]))
    def clear(self, place: str | None) -> None:
        """A person clears one model's mark, or all."""
        gone = list(self.told) if place is None else [one for one in self.told if one == place]
        choice: dict[str, Any] = {"all": True} if place is None else {"model": place}
        assert self.board().clear(**choice) == sum(map(self.known, gone))
        self.drop(gone)

    def drop(self, places: list[str | None]) -> None:
        """The reference forgets marks and their leases."""
        for place in places:
            del self.told[place]
            self.held.pop(place, None)

    @rule()
    def restart(self) -> None:
        """The file is closed and opened again."""
        self.board().close()

    @invariant()
    def both_agree(self) -> None:
        """Every gate and every end is the reference's, on both boards."""
        for marks in self.boards:
            assert [marks.look(key(model)).state for model in MODELS] == [self.expected(model) for model in MODELS]
            assert {one.key.model: (one.until, one.provenance) for one in marks.list(ended=True)} == {
                place: (told.until, told.provenance) for place, told in self.told.items() if self.known(place)
            }

    def teardown(self) -> None:
        """Nothing stays open."""
        for marks in getattr(self, "boards", []):
            marks.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()


BoardMachine.TestCase.settings = settings(
    max_examples=50, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestBoardAgainstReference = BoardMachine.TestCase


def test_a_minute_limit_never_becomes_a_days_mark() -> None:
    """Without a stated time a minute limit ends within ten seconds of its last hit, however often it is hit."""
    clock = ManualClock()
    marks = Marks(None, clock=clock)
    for _ in range(500):
        mark = marks.set_from(limit(), variant(), now=clock.now())
        assert mark is not None
        assert mark.until <= clock.now() + timedelta(seconds=10)
        clock.advance(1)
