"""What a panel's next call is made with, and where that sends it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from zc_notebooks.budget.amounts import MOST, dollars, usd
from zc_notebooks.chain import Chain
from zc_notebooks.errors import ConfigError, ZcError
from zc_notebooks.markup import counted
from zc_notebooks.planning import state
from zc_notebooks.records import Plan, Record, Standing, Tier
from zc_notebooks.redact import short


class Settings(Record, frozen=True, kw_only=True):
    """The options of the calls that follow."""

    fallback: bool = True
    start: str | None = None
    """``family.alias[/model]``; ``None`` is the chain's own first."""
    hint: str | None = None
    tiers: tuple[Tier, ...] | None = None
    """``None``: every tier the configuration permits."""
    budget_usd: Decimal | None = None
    """What one call may cost."""

    def options(self) -> dict[str, Any]:
        """As :meth:`~zc_notebooks.chain.Chain.ask` takes them; what is the chain's own is left out."""
        named = {option: getattr(self, field) for field, option in OPTIONS.items()}
        return {option: value for option, value in named.items() if value is not None and value is not True}


OPTIONS = {"fallback": "fallback", "start": "start", "hint": "hint", "tiers": "allow_tiers", "budget_usd": "budget_usd"}
"""Field of :class:`Settings` → option of a call."""


_LEAST = usd(1)
"""A nano-dollar; less would count as nothing."""


def amount(text: str) -> Decimal | None:
    """US dollars of what was typed; nothing is no limit. What a call's code could not say exactly is no amount.

    Raises:
        ConfigError: It is no amount.
    """
    if not text.strip():
        return None
    try:
        value = Decimal(text.strip().removeprefix("$").strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value.is_signed() or not _said_exactly(value):
        raise ConfigError(
            f"budget per call: {short(text, 30)!r} is no amount of US dollars; write 0.01, or leave it empty"
        )
    return value


def _said_exactly(value: Decimal) -> bool:
    return value == 0 or (_LEAST <= value <= usd(MOST) and Decimal(repr(float(value))) == value)


def destination(chain: Chain, settings: Settings) -> str:
    """Where the next call goes, in one or two sentences. Calls nobody."""
    try:
        made = chain.plan(**settings.options())
    except ZcError as problem:
        return f"The next call cannot be made: {short(str(problem), 200)}"
    words = _order(made, settings)
    if settings.start is not None and settings.hint is not None:
        words += f" The hint {settings.hint!r} counts only without a start."
    limits = []
    if settings.tiers is not None:
        limits.append(_tiers(settings.tiers))
    if settings.budget_usd is not None:
        limits.append(f"at most {dollars(settings.budget_usd)}")
    return words + (f" Allowed: {', '.join(limits)}." if limits else "")


def _tiers(tiers: Sequence[Tier]) -> str:
    """``only the free and the trial tier``."""
    return f"only {' and '.join(f'the {tier}' for tier in tiers)} tier" if tiers else "no tier"


def _why(standing: Standing) -> str:
    words = state(standing).removeprefix("skipped: ")
    return "its tier is not allowed" if words == "tier" else words


def _order(made: Plan, settings: Settings) -> str:
    first = made.entries[0]
    name = f"{first.ref}/{first.served(made.requested_model)}"
    if not settings.fallback:
        standing = made.standing(first)
        way = (
            "" if standing.skip is None or standing.mark is not None else f" It cannot be asked now ({_why(standing)})."
        )
        return f"Fallback is off: the next call goes to {name} alone, and fails if that fails.{way}"
    several = len(made.entries)
    order = f"{'asks' if several == 1 else 'has'} {counted(several, 'candidate')}"
    open_ = next((entry for entry in made.entries if made.standing(entry).skip is None), None)
    if open_ is None:
        return f"Fallback is on: the next call {order}, {name} first. None of them is open now."
    begins = "" if open_ is first else f", and begins at {open_.ref}: the ones before it are not open now"
    return f"Fallback is on: the next call {order}, {name} first{begins}."
