"""The live board without a widget: the newest attempts of every process, who was out when, and what today cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.frames import ANSWERED, with_outcome
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.markup import counted
from zc_notebooks.notebook.observed import Observed
from zc_notebooks.notebook.outages import Outage, Outages
from zc_notebooks.records import Record

if TYPE_CHECKING:
    import polars as pl

    from zc_notebooks.ledger.read import Follower

RECENT: Final = 40
"""Attempts and skips that are shown."""
ANEW: Final = timedelta(seconds=30)
"""Without a new row the board is drawn again this often: limits end, and days."""
_NAMED: Final = 5


class Spend(Record, frozen=True, kw_only=True):
    """One model of a provider since midnight UTC. ``None`` is not known."""

    name: str
    """``ref/model``."""
    attempts: int
    answered: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: Decimal | None
    at_least: bool
    """Whether a part of the cost is not known."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Spend:
        """A row of the ledger's view ``spend``."""
        cost = row["cost_usd"]
        return cls(
            name=f"{row['provider_ref']}/{row['model']}",
            attempts=row["attempts"],
            answered=row["accepted"],
            tokens_in=row["input_tokens"],
            tokens_out=row["output_tokens"],
            cost_usd=None if cost is None else Decimal(str(cost)),
            at_least=row["at_least"],
        )

    def cost(self) -> str:
        """In words."""
        return _dollars(self.cost_usd, at_least=self.at_least)


class Seen(Record, frozen=True, kw_only=True):
    """One attempt or skip."""

    t: datetime
    ref: str
    model: str
    mode: str
    outcome: str
    """One of :data:`zc_notebooks.frames.OUTCOMES`."""
    status: str
    reason: str
    secs: float | None
    cost_usd: float | None
    turn: str
    """The first digits of its call, which are the same for all attempts of a call."""

    def words(self) -> str:
        """How it ended, and why unless it was answered; nothing twice."""
        why = () if self.outcome == ANSWERED else (self.reason, self.status)
        more = ", ".join(dict.fromkeys(word for word in why if word and word != self.outcome))
        return f"{self.outcome}: {more}" if more else self.outcome

    def cost(self) -> str:
        """In words; ``-`` is not known."""
        return "-" if self.cost_usd is None else dollars(Decimal(str(self.cost_usd)))


class BoardState(Observed):
    """The state of one board.

    Args:
        folder: The ledger that every process of this machine writes to.
        clock: What "today" and "now" are.
        hours: How far back the timeline goes.
    """

    def __init__(self, folder: Path | str, *, clock: Clock | None = None, hours: float = 24.0) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self.hours = hours
        self.ledger = Ledger(folder, clock=self._clock)
        self._follower: Follower = self.ledger.follow()
        self.at = self._clock.now()
        """When it was last drawn."""
        self._anew = self.at
        self._rows = 0
        """Rows that were there when it was last drawn."""
        self.recent: tuple[Seen, ...] = ()
        """The newest first."""
        self.out = Outages(self.ledger, self._clock, hours)
        self.today: tuple[Spend, ...] = ()
        self.arrived = 0
        """Rows that came since the board was opened."""
        self.paused = False
        """Whether it stands still, so that somebody can read."""
        self.closed = False
        self._draw(all_of_it=True)

    def refresh(self, *, always: bool = False) -> None:
        """Takes in what any process appended; tells only when something came, or time changed what is shown."""
        with self._lock:
            if self.closed or (self.paused and not always):
                return
            rows = self._follower.new_rows()
            self.arrived += rows.height
            self.out.changed(rows)
            fewer = self.ledger.rows < self._rows
            anew = always or fewer or self._clock.now() - self._anew >= ANEW
            if rows.is_empty() and not anew and not self.out.due:
                return
            self._draw(all_of_it=anew)
        self._tell("panel")

    @property
    def outages(self) -> tuple[Outage, ...]:
        """Who was out when, the earliest first."""
        return self.out.shown

    def pause(self, still: bool = True) -> None:
        """Lets it stand still, or follow again."""
        self.paused = still
        self.refresh(always=True)

    def spent(self) -> str:
        """What today cost, in words: ``$0.0123``, ``at least $0.01``, ``nothing``."""
        known = [item.cost_usd for item in self.today if item.cost_usd is not None]
        total = sum(known, Decimal(0)) if known else None
        return _dollars(total, at_least=any(item.at_least for item in self.today))

    def says(self) -> str:
        """The board in one sentence."""
        attempts, answered = sum(item.attempts for item in self.today), sum(item.answered for item in self.today)
        out = list(dict.fromkeys(item.ref for item in self.outages if item.end is None))
        names = ", ".join(out[:_NAMED]) + (f" and {len(out) - _NAMED} more" if len(out) > _NAMED else "")
        today = f"{counted(attempts, 'attempt')}, {counted(answered, 'answer')}, cost {self.spent()}"
        return f"Today: {today}. Out now: {names or 'nobody'}."

    def close(self) -> None:
        """Ends it: the ledger is not looked at any more. What was shown stays."""
        with self._lock:
            if not self.closed:
                self.closed = True
                self.ledger.close()

    def _draw(self, *, all_of_it: bool) -> None:
        now = self._clock.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        self.recent = _recent(self.ledger.tail(RECENT))
        self.today = tuple(Spend.of(row) for row in self.ledger.view("spend", midnight).to_dicts())
        if all_of_it or self.out.due:
            self.out.look()
        self._anew = now if all_of_it else self._anew
        self._rows = self.ledger.rows
        self.at = now


def _recent(frame: pl.DataFrame) -> tuple[Seen, ...]:
    rows: list[dict[str, Any]] = with_outcome(frame).reverse().to_dicts()
    return tuple(
        Seen(
            t=row["t"],
            ref=row["provider_ref"],
            model=row["model"],
            mode=row["mode"],
            outcome=str(row["outcome"]),
            status=row["status"].removeprefix("skipped_").replace("_", " "),
            reason=(row["reason"] or "").replace("_", " "),
            secs=row["secs"],
            cost_usd=row["cost_usd"],
            turn=row["call_id"][:4],
        )
        for row in rows
    )


def _dollars(cost: Decimal | None, *, at_least: bool) -> str:
    if cost is None:
        return "unknown" if at_least else "nothing"
    return f"{'at least ' if at_least else ''}{dollars(cost)}"
