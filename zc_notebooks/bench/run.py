"""Models × tasks × repetitions through the chain's own walk, one candidate at a time and never a fallback.

A call is one request: what the walk's own retries would hide is what is measured. Every call is on the ledger (mode
``bench``), every cell is appended to the results as it comes, and a run that was killed goes on with exactly the rest.
A limit that ends within ``max_wait_s`` is waited for; a quota that does not is recorded as unreachable, which is not
wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from zc_notebooks.bench.failing import failed, quota_ends, worth_waiting_s
from zc_notebooks.bench.results import ANSWERED, Cell, Outcome, Result, Results
from zc_notebooks.budget.amounts import dollars
from zc_notebooks.errors import CallError, ConfigError, NoPermittedCandidate, ZcError
from zc_notebooks.ledger.prices import totals
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Record, Tier
from zc_notebooks.reliability.materialize import Ask, parse_start, plan
from zc_notebooks.result import Completion

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain

Judged = Literal["correct", "wrong", "unparsed", "refused", "error"]

_LEAST_WAIT_S: Final = 1.0


class Graded(Record, frozen=True, kw_only=True):
    """What a grader says of an answer."""

    outcome: Judged
    why: str = ""
    """One line without text of the answer."""


class Item(Protocol):
    """One instance of a task."""

    @property
    def task(self) -> str:
        """Name of the task."""
        ...

    @property
    def kind(self) -> str:
        """Kind of task."""
        ...

    @property
    def level(self) -> int:
        """1 to 3."""
        ...

    @property
    def language(self) -> str:
        """``en``, ``ja``."""
        ...

    @property
    def content(self) -> str:
        """Hash of everything that makes it this instance."""
        ...

    @property
    def prompt(self) -> str:
        """As it is sent."""
        ...

    @property
    def max_tokens(self) -> int:
        """Of the answer, its reasoning included."""
        ...

    async def grade(self, answer: str, judged: str) -> Graded:
        """Judges the text that the model ``judged`` gave, reasoning left out."""
        ...


class Settings(Record, frozen=True, kw_only=True):
    """How a run is made."""

    reps: int = 3
    request: Mapping[str, Any] = {}
    """Settings of every request (``temperature``, ``seed``, …); part of each cell's key."""
    max_wait_s: float = 120.0
    """For the limits of one cell together."""
    timeout_s: float = 120.0
    """For one call."""
    concurrency: int = 2
    """Calls at a time to one billing pool; one at a time to a local server."""
    budget_usd: Decimal | float | None = None
    """For the run, what was spent before a resume not counted."""
    allow_tiers: Sequence[Tier] | None = None
    stream: bool = False
    """Streams, so that the time to the first token is measured."""


class Measured(Record, frozen=True, kw_only=True):
    """How a run ended."""

    cells: int
    """Of the whole measurement."""
    before: int
    """Measured by earlier runs."""
    done: int
    """Measured by this one."""
    stopped: str = ""
    """Why cells are left, if some are."""


def cells(items: Sequence[Item], candidates: Sequence[str], settings: Settings) -> list[tuple[Cell, Item]]:
    """Every cell, repetitions last, so that a run that is stopped has a bit of everything."""
    return [
        (
            Cell(task=item.task, content=item.content, candidate=candidate, settings=dict(settings.request), rep=rep),
            item,
        )
        for rep in range(settings.reps)
        for item in items
        for candidate in candidates
    ]


async def measure(
    chain: Chain,
    items: Sequence[Item],
    candidates: Sequence[str],
    results: Results,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    *,
    told: Callable[[Result], object] | None = None,
) -> Measured:
    """Measures every cell that ``results`` does not hold yet.

    Args:
        chain: Its configuration, clock and ledger are used; its fallbacks are not.
        items: Instances of tasks.
        candidates: ``family.alias`` or ``family.alias/model``.
        results: Appended to.
        settings: How.
        told: Called with each result as it comes.

    Raises:
        ConfigError: A candidate is not configured or has no model.
        ResultsError: The results cannot be read or written, or another run measures into them.
    """
    every = cells(items, named(chain, candidates), settings)
    with results.held():
        return await _measure(chain, every, results, settings, told)


async def _measure(
    chain: Chain,
    every: Sequence[tuple[Cell, Item]],
    results: Results,
    settings: Settings,
    told: Callable[[Result], object] | None,
) -> Measured:
    done = results.done()
    left = [(cell, item) for cell, item in every if cell.key not in done]
    run = _Run(chain, results, settings, told)
    pools: dict[str, list[tuple[Cell, Item]]] = {}
    for cell, item in left:
        pools.setdefault(run.pool(cell.candidate), []).append((cell, item))
    run.share_between(len(pools))
    try:
        async with asyncio.TaskGroup() as group:
            for pool, queue in pools.items():
                waiting = iter(queue)
                for _ in range(run.width(pool)):
                    group.create_task(run.work(waiting))
    except* ZcError as several:
        raise several.exceptions[0] from None
    return Measured(cells=len(every), before=len(every) - len(left), done=run.done, stopped=run.stopped)


def named(chain: Chain, candidates: Iterable[str]) -> list[str]:
    """``family.alias/model`` of what calls that start there would ask, each once.

    Raises:
        ConfigError: A candidate is not configured or has no model.
    """
    return list(dict.fromkeys(_named(chain, candidate) for candidate in candidates))


def _named(chain: Chain, candidate: str) -> str:
    entry = plan(chain.config, Ask(start=candidate, fallback=False)).entries[0]
    if entry.model is None:
        raise ConfigError(f"{candidate} has no model: name it ({candidate}/MODEL)")
    return f"{entry.ref}/{entry.model}"


class _Run:
    """One run: what its workers share."""

    def __init__(
        self, chain: Chain, results: Results, settings: Settings, told: Callable[[Result], object] | None
    ) -> None:
        self.chain = chain
        self.done = 0
        self.stopped = ""
        self._results = results
        self._settings = settings
        self._told = told
        self._spent = Decimal(0)
        self._pools = 1
        self._out: dict[str, tuple[datetime, str]] = {}
        """Candidate → when its quota is over, and why; it is not asked before."""

    def pool(self, candidate: str) -> str:
        """The billing pool of a candidate."""
        return self.chain.config.profiles[parse_start(candidate)[0]].pool

    def width(self, pool: str) -> int:
        """Calls at a time to ``pool``."""
        profiles = [profile for profile in self.chain.config.profiles.values() if profile.pool == pool]
        return 1 if any(profile.tier == "local" for profile in profiles) else max(1, self._settings.concurrency)

    async def work(self, waiting: Iterator[tuple[Cell, Item]]) -> None:
        """Measures one cell after the other until none is left or the run is stopped."""
        for cell, item in waiting:
            if self.stopped:
                return
            result = await _Attempting(self, cell, item, self._settings).result()
            if result is None:
                return
            self._keep(result)

    def _keep(self, result: Result) -> None:
        self._results.append(result)
        self.done += 1
        self._spent += Decimal(repr(result.cost_usd or 0.0))
        if self._told is not None:
            self._told(result)

    def left_usd(self) -> Decimal | None:
        """What one call may cost: the rest of the run's budget, shared by the calls that may run at a time."""
        if self._settings.budget_usd is None:
            return None
        rest = Decimal(str(self._settings.budget_usd)) - self._spent
        return max(rest, Decimal(0)) / (max(1, self._settings.concurrency) * self._pools)

    def share_between(self, pools: int) -> None:
        """How many pools are asked at a time."""
        self._pools = max(1, pools)

    def stop(self, error: NoPermittedCandidate) -> None:
        """A border forbids the next call: what is left stays for a resume."""
        words = str(error).splitlines()[0]
        if self._settings.budget_usd is not None and any(row.status == "skipped_budget" for row in error.rows):
            budget, spent = (dollars(Decimal(str(amount))) for amount in (self._settings.budget_usd, self._spent))
            words = (
                f"{spent} of the run's budget of {budget} is spent, and the rest is too small for one more call at its "
                f"highest possible cost"
            )
        self.stopped = words

    def out(self, candidate: str) -> tuple[float, str]:
        """Seconds until the quota of a candidate is over, which is not asked before, and why; 0 where it is."""
        until, why = self._out.get(candidate, (None, ""))
        return (0.0, "") if until is None else (max((until - self.chain.clock.now()).total_seconds(), 0.0), why)

    def put_out(self, candidate: str, until: datetime, why: str) -> None:
        """Do not ask before ``until``."""
        self._out[candidate] = (until, why)


class _Attempting:
    """One cell: asked, waited for, graded."""

    def __init__(self, run: _Run, cell: Cell, item: Item, settings: Settings) -> None:
        self._run = run
        self._cell = cell
        self._item = item
        self._settings = settings
        self._clock = run.chain.clock
        self._rows: list[AttemptRow] = []
        self._waited = 0.0

    async def result(self) -> Result | None:
        """The cell's result, or ``None`` when the run's budget forbids it."""
        started = self._clock.now()
        seconds, why = self._run.out(self._cell.candidate)
        if seconds and not await self._wait(seconds):
            return self._made(started, "unreachable", why)
        while True:
            try:
                done = await self._ask()
            except NoPermittedCandidate as error:
                self._run.stop(error)
                return None
            except CallError as error:
                self._rows.extend(error.rows)
                if await self._worth_another(error):
                    continue
                outcome, why = failed(error)
                self._remember(error)
                return self._made(started, outcome, why)
            self._rows.extend(done.attempts)
            outcome, why = await self._judged(done)
            return self._made(started, outcome, why, done)

    def _ask(self) -> Awaitable[Completion]:
        options: dict[str, Any] = {
            "start": self._cell.candidate,
            "fallback": False,
            "timeout_s": self._settings.timeout_s,
            "allow_tiers": self._settings.allow_tiers,
            "budget_usd": self._run.left_usd(),
            "turn_id": f"bench:{self._cell.key}",
            "retries": 0,
            "mode": "bench",
            "max_tokens": self._item.max_tokens,
            **self._settings.request,
        }
        if self._settings.stream:
            return self._run.chain.stream(self._item.prompt, draft=True, **options).into()
        return self._run.chain.ask(self._item.prompt, **options)

    async def _judged(self, done: Completion) -> tuple[Outcome, str]:
        if done.finish_reason == "length":
            return "truncated", f"cut at {self._item.max_tokens} tokens"
        graded = await self._item.grade(done.text, done.served.model)
        return graded.outcome, graded.why

    async def _worth_another(self, error: CallError) -> bool:
        """Waits for a limit that ends in time."""
        seconds = worth_waiting_s(error, self._clock.now(), self._run.chain.config.reliability.cooldown_guess_s)
        return seconds is not None and await self._wait(max(seconds, _LEAST_WAIT_S))

    async def _wait(self, seconds: float) -> bool:
        """Whether the cell may wait that long; if so it has."""
        if self._waited + seconds > self._settings.max_wait_s:
            return False
        self._waited += seconds
        await self._clock.sleep(seconds)
        return True

    def _remember(self, error: CallError) -> None:
        """The candidate is not asked again before its quota is over."""
        until = quota_ends(error)
        if until is not None:
            self._run.put_out(self._cell.candidate, until, failed(error)[1])

    def _made(self, started: datetime, outcome: Outcome, why: str, done: Completion | None = None) -> Result:
        cell, item = self._cell, self._item
        model = parse_start(cell.candidate)[1]
        attempts = [row for row in self._rows if row.kind == "attempt"]
        cost, at_least = totals(self._rows)
        last = next((row for row in reversed(attempts) if row.accepted), attempts[-1] if attempts else None)
        spoke = outcome in ANSWERED or done is not None
        return Result(
            key=cell.key,
            t=started,
            task=item.task,
            kind=item.kind,
            level=item.level,
            language=item.language,
            content=cell.content,
            candidate=cell.candidate,
            rep=cell.rep,
            outcome=outcome,
            why=why,
            served_model=(done.served.model if done is not None else model) or "",
            reported_model=last.model_reported if last is not None and spoke else None,
            call_id="" if last is None else last.call_id,
            attempts=len(attempts),
            input_tokens=None if last is None else last.input_tokens,
            output_tokens=None if last is None else last.output_tokens,
            reasoning_tokens=None if last is None else last.reasoning_tokens,
            secs=last.secs if last is not None and spoke else None,
            first_token_s=None if last is None else last.first_token_s,
            waited_s=self._waited + sum(row.wait_s or 0.0 for row in attempts),
            cost_usd=0.0 if not attempts else None if cost is None else float(cost),
            at_least=at_least,
        )
