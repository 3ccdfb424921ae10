"""Whatever fleet, prices, failures and calls: what was really charged never exceeds a budget (spec 2.7).

The charges are the servers' own: each scripted host charges what its answer reports, all it could have used when it
reports nothing or the line breaks, and nothing for a refusal.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.fleet import Fleet, profile
from zc_notebooks.budget.ceiling import HIDDEN_TOKENS
from zc_notebooks.budget.spending import Spending
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest
from zc_notebooks.testing import CHAT_DONE, ManualClock, Pieces, chat_answer, chat_chunk, chat_error, chat_usage

PRICES = st.sampled_from([None, 0.0, 0.05, 0.1, 3.0, 75.0, 1000.0, 12345.678901])
LIMITS = st.sampled_from([None, 1, 7, 100, 4096])
HOWS = st.sampled_from(["usage", "usage", "usage", "silent", "lost", "broken", "empty", "unconnected", 401, 429, 500])
AMOUNTS = st.sampled_from([None, 0, 0.000001, 0.001, 0.05, 0.5, 3.0, 20.0])
DAY_S = 86_400.0

hosts = st.fixed_dictionaries(
    {
        "price": PRICES,
        "max_tokens": LIMITS,
        "keys": st.integers(1, 2),
        "hows": st.lists(st.tuples(HOWS, st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6),
    }
)
deeds = st.tuples(
    st.sampled_from(["ask", "ask", "stream", "draft", "probe", "three at once", "an hour", "a day"]),
    st.sampled_from([None, 5, 50]),
    AMOUNTS,
)


class Server:
    """One host that answers as planned and remembers what it charged."""

    def __init__(self, plan: dict[str, Any], books: Books) -> None:
        self.plan, self.books, self.asked = plan, books, 0

    def __call__(self, request: HttpRequest) -> Any:
        how, into, out = self.plan["hows"][self.asked % len(self.plan["hows"])]
        self.asked += 1
        sent = json.loads(request.body)
        most = len(request.body) + HIDDEN_TOKENS, sent.get("max_tokens", 10**6)
        used = int(most[0] * into), int(most[1] * out)
        self.books.charge(self.plan["price"], {"usage": used, "empty": used}.get(how, most), how)
        if how == "lost":
            raise TransportFailure("lost", kind="read", sent=True)
        if how == "unconnected":
            raise TransportFailure("refused", kind="connect", sent=False)
        if isinstance(how, int):
            return chat_error(how)
        if how == "silent":
            return chat_answer(tokens=None)
        text = "" if how == "empty" else "Hello"
        if not sent.get("stream"):
            return chat_answer(text, tokens=used) if how != "broken" else chat_error(200)
        if how == "broken":
            return Pieces(pieces=(chat_chunk(text), "disconnect"))
        return Pieces(pieces=(chat_chunk(text), chat_chunk(finish="stop"), chat_usage(*used), CHAT_DONE))


class Books:
    """What the servers charged, in dollars."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.by_period: Counter[str] = Counter()
        self.total = Decimal(0)

    def charge(self, price: float | None, tokens: tuple[int, int], how: Any) -> None:
        refused = how == "unconnected" or isinstance(how, int)
        cost = Decimal(0) if refused or price is None else Decimal(str(price)) * sum(tokens) / 1_000_000
        self.total += cost
        for period in (f"{self.clock.now():%Y-%m-%d}", f"{self.clock.now():%Y-%m}"):
            self.by_period[period] += cost  # type: ignore[assignment]


class World:
    """A fleet with budgets, and its servers' books."""

    def __init__(self, folder: Path, plans: list[dict[str, Any]], budgets: dict[str, Any], unknown: str) -> None:
        self.budgets = {name: value for name, value in budgets.items() if value is not None}
        self.fleet = Fleet(
            {name: [] for name in "abcd"[: len(plans)]},
            folder,
            toml=_toml(plans, self.budgets, unknown),
        )
        self.fleet.chain.site.spending = Spending(None, clock=self.fleet.clock)
        self.books = Books(self.fleet.clock)
        for name, plan in zip("abcd", plans, strict=False):
            self.fleet.transport._script[f"{name}.test"] = [Server(plan, self.books)]  # noqa: SLF001 (its own fake)

    def act(self, deed: str, max_tokens: int | None, asked: float | None) -> None:
        """One deed; a call alone must keep its own budget."""
        if deed in ("an hour", "a day"):
            self.fleet.clock.advance(3600.0 if deed == "an hour" else DAY_S)
            return
        before = self.books.total
        asyncio.run(self._call(deed, max_tokens, asked))
        limits = [Decimal(str(value)) for value in (asked, self.budgets.get("budget_call_usd")) if value is not None]
        if deed == "probe":
            limits = [Decimal(str(self.budgets[name])) for name in ("budget_call_usd",) if name in self.budgets]
        if limits and deed != "three at once":
            assert self.books.total - before <= min(limits)

    async def _call(self, deed: str, max_tokens: int | None, asked: float | None) -> None:
        chain, options = self.fleet.chain, {"max_tokens": max_tokens, "budget_usd": asked}
        if deed == "probe":
            await chain.probe("custom.a")
        elif deed == "ask":
            with suppress(zc.CallError):
                await chain.ask("hi", **options)
        elif deed == "three at once":
            await asyncio.gather(*(chain.ask(f"hi {n}", **options) for n in range(3)), return_exceptions=True)
        else:
            with suppress(zc.CallError):
                async with chain.stream("hi", draft=deed == "draft", **options) as events:
                    async for _ in events:
                        pass

    def check(self) -> None:
        """No period is overspent, nothing stays reserved, a row per request, and what is shown is no less than that."""
        for name, width in (("day", 10), ("month", 7)):
            limit = self.budgets.get(f"budget_{name}_usd")
            charged = [cost for period, cost in self.books.by_period.items() if len(period) == width]
            assert limit is None or max(charged, default=0) <= Decimal(str(limit))
        periods = self.fleet.chain.budget().periods
        assert all(item.reserved_usd == 0 for item in periods)
        for item in periods:
            width = 10 if item.period == "day" else 7
            assert item.spent_usd >= self.books.by_period[f"{self.fleet.clock.now():%Y-%m-%d}"[:width]]
        attempts = Counter(row.provider_ref.removeprefix("custom.") for row in self.fleet.rows if row.kind == "attempt")
        assert attempts == Counter(self.fleet.called)


def _toml(plans: list[dict[str, Any]], budgets: dict[str, Any], unknown: str) -> str:
    blocks = []
    for name, plan in zip("abcd", plans, strict=False):
        fields = {"max_tokens": plan["max_tokens"]} if plan["max_tokens"] else {}
        if plan["price"] is not None:
            fields["pricing"] = f'{{ "*" = {plan["price"]!r} }}'
        keys = '["KEY_A", "KEY_B"]' if plan["keys"] == 2 else '["KEY_A"]'
        blocks.append(profile(name, key=None, api_key_envs=keys, **fields))
        blocks.append(f'[[chain]]\nprovider = "custom.{name}"\n')
    lines = [f"{name} = {value!r}" for name, value in budgets.items()]
    return "\n".join([*blocks, "[borders]", f'unknown_price = "{unknown}"', *lines])


@settings(deadline=None, max_examples=150)
@given(
    plans=st.lists(hosts, min_size=1, max_size=4),
    budgets=st.fixed_dictionaries({"budget_call_usd": AMOUNTS, "budget_day_usd": AMOUNTS, "budget_month_usd": AMOUNTS}),
    todo=st.lists(deeds, min_size=1, max_size=8),
)
def test_what_was_charged_never_exceeds_a_budget(
    plans: list[dict[str, Any]], budgets: dict[str, Any], todo: list[tuple[str, int | None, float | None]]
) -> None:
    """Calls, streams, recoveries, probes, retries, second keys and concurrent calls alike; a skip sends nothing."""
    with TemporaryDirectory() as folder:
        world = World(Path(folder), plans, budgets, "refuse")
        for deed in todo:
            world.act(*deed)
            world.check()
        skipped = {row.status for row in world.fleet.rows if row.kind == "skip"}
        assert not skipped - {"skipped_budget", "skipped_cooldown", "skipped_failed_stream", "skipped_same_credential"}
        world.fleet.chain.close()
