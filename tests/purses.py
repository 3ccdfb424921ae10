"""What a fleet may spend, has spent, and needs at most."""

from __future__ import annotations

from decimal import Decimal

from tests.fleet import Fleet
from zc_notebooks.budget import amounts
from zc_notebooks.budget.ceiling import ceiling
from zc_notebooks.messages import as_request
from zc_notebooks.reliability.materialize import Ask, plan, variants


def spent(fleet: Fleet, period: str = "day") -> Decimal:
    """What the period has cost so far."""
    return next(item.spent_usd for item in fleet.chain.budget().periods if item.period == period)


def left(fleet: Fleet, period: str = "day") -> Decimal | None:
    """What the period has left."""
    return next(item.left_usd for item in fleet.chain.budget().periods if item.period == period)


def need(fleet: Fleet, place: int = 0) -> Decimal:
    """What one attempt at the candidate costs at most when it is asked "hi"."""
    variant = variants(plan(fleet.chain.config, Ask()), fleet.chain.keys)[place]
    return amounts.usd(ceiling(variant, as_request("hi"), max_tokens=None, at=fleet.clock.now()).nano)
