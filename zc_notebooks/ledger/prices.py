"""Money (spec 12.2, 12.3): the cost of one attempt, the sums of many. Exact decimals; unknown is ``None``, never 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from zc_notebooks.chat import Usage, UsageByProvider
from zc_notebooks.ledger.list_prices import Rates, list_rates
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Profile, Record

PROFILE: Final = "profile pricing"
_ZERO: Final = Decimal(0)
_HOUR: Final = timedelta(hours=1)
"""Some prices depend on the hour; no call is meant to last longer than one."""


class Cost(Record, frozen=True, kw_only=True):
    """What one attempt cost."""

    cost_usd: Decimal | None = None
    """``None``: the price or the usage is not known."""
    source: str | None = None
    """Where the price stands: ``profile pricing``, or the table with its version and entry."""


UNKNOWN: Final = Cost()


def price(profile: Profile, model: str, usage: Usage, *, at: datetime | None = None) -> Cost:
    """The cost of an attempt that ``profile`` served with ``model``.

    ``((input - cached) * in + cached * (cached rate, else in) + output * out) / 1,000,000``; a provider that states
    the units it bills (Cohere) is priced by those. Reasoning is a part of the output. The rates come from the
    profile's own ``pricing`` (the exact model, the part after its last ``/``, ``*``), else from the list price of its
    family. A local server has no list price, and no price is ever taken to be 0 because a plan is called free.

    Args:
        profile: Who served; never who was asked.
        model: The served model.
        usage: Tokens, input with its cached part and output with its reasoning.
        at: When (some list prices depend on the hour); now by default.
    """
    if not valid(usage):
        return UNKNOWN
    found = rates(profile, model, usage.input_tokens or 0, at or datetime.now(UTC))
    if found is None:
        return UNKNOWN
    cost = _cost(found, usage)
    return UNKNOWN if cost is None else Cost(cost_usd=cost, source=found.source)


def rates(profile: Profile, model: str, input_tokens: int, at: datetime) -> Rates | None:
    """USD per million tokens, as :func:`price` uses them for a prompt of so many tokens; ``None`` is not known."""
    own = _own_rates(profile.pricing, model)
    if own is not None or profile.tier == "local":
        return own
    return list_rates(profile.family, model, input_tokens, at)


def highest(profile: Profile, model: str, input_tokens: int, output_tokens: int, at: datetime) -> Decimal | None:
    """The most that an attempt with at most so many tokens costs at ``at`` or in the hour after; ``None`` is unknown.

    Cached input counts at whichever of its two rates is higher.
    """
    counts = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    usages = (Usage(**counts), Usage(**counts, cached_tokens=input_tokens))
    costs = [price(profile, model, usage, at=when).cost_usd for usage in usages for when in (at, at + _HOUR)]
    known = [cost for cost in costs if cost is not None]
    return max(known) if len(known) == len(costs) else None


def valid(usage: Usage) -> bool:
    """Whether the counts can be priced: input and output there, none negative, no more cached than input."""
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens or 0,
        usage.reasoning_tokens or 0,
        usage.billed_input_tokens or 0,
        usage.billed_output_tokens or 0,
    )
    if usage.input_tokens is None or usage.output_tokens is None:
        return False
    return (
        all(count is not None and count >= 0 for count in counts) and (usage.cached_tokens or 0) <= usage.input_tokens
    )


def _own_rates(pricing: Mapping[str, float], model: str) -> Rates | None:
    """The rates under the first of the three names the profile has any price for."""
    if not pricing:
        return None
    for name in (model, model.rpartition("/")[2], "*"):
        both, cached = pricing.get(name), pricing.get(f"{name}.cached_input")
        into, out = pricing.get(f"{name}.input", both), pricing.get(f"{name}.output", both)
        if into is not None or out is not None or cached is not None:
            return Rates(input=_decimal(into), output=_decimal(out), cached_input=_decimal(cached), source=PROFILE)
    return None


def _decimal(rate: float | None) -> Decimal | None:
    """The number as it was written: 0.1 is a tenth."""
    return None if rate is None else Decimal(str(rate))


def _cost(rates: Rates, usage: Usage) -> Decimal | None:
    into, cached, out = _charged(usage)
    parts = (
        (into - cached, rates.input),
        (cached, rates.input if rates.cached_input is None else rates.cached_input),
        (out, rates.output),
    )
    total = _ZERO
    for tokens, rate in parts:
        if tokens and not _usable(rate):
            return None
        total += tokens * rate if tokens and rate is not None else _ZERO
    return total.scaleb(-6)


def _charged(usage: Usage) -> tuple[int, int, int]:
    """Input with its cached part, that part, and output. Billed units have no cached part: it is left out of them."""
    if usage.billed_input_tokens is not None and usage.billed_output_tokens is not None:
        return usage.billed_input_tokens, 0, usage.billed_output_tokens
    return usage.input_tokens or 0, usage.cached_tokens or 0, usage.output_tokens or 0


def _usable(rate: Decimal | None) -> bool:
    return rate is not None and rate.is_finite() and rate >= 0


def totals(rows: Iterable[AttemptRow]) -> tuple[Decimal | None, bool]:
    """Cost of all rows, and whether it is only a lower bound ("at least"). ``None`` when no part is known."""
    rows = list(rows)
    known = [cost for row in rows if (cost := _row_cost(row)) is not None]
    return (sum(known, _ZERO) if known else None), any(_unknown(row) for row in rows)


def usage_by_provider(rows: Iterable[AttemptRow]) -> tuple[UsageByProvider, ...]:
    """One item per (``provider_ref``, ``model``) that was attempted, sorted; sums of what is known (spec 12.3)."""
    groups: dict[tuple[str, str], list[AttemptRow]] = {}
    for row in rows:
        if row.kind == "attempt":
            groups.setdefault((row.provider_ref, row.model), []).append(row)
    return tuple(_item(ref, model, group) for (ref, model), group in sorted(groups.items()))


def _item(ref: str, model: str, rows: list[AttemptRow]) -> UsageByProvider:
    cost, at_least = totals(rows)
    return UsageByProvider(
        provider_ref=ref,
        model=model,
        input_tokens=_tokens(rows, "input_tokens"),
        output_tokens=_tokens(rows, "output_tokens"),
        cached_input_tokens=_tokens(rows, "cached_input_tokens"),
        reasoning_tokens=_tokens(rows, "reasoning_tokens"),
        cost_usd=cost,
        attempts=len(rows),
        accepted=sum(row.accepted for row in rows),
        at_least=at_least,
    )


def _tokens(rows: Iterable[AttemptRow], column: str) -> int | None:
    known = [value for row in rows if (value := getattr(row, column)) is not None]
    return sum(known) if known else None


def _row_cost(row: AttemptRow) -> Decimal | None:
    if row.cost_usd is not None:
        return Decimal(str(row.cost_usd))
    return _ZERO if row.kind == "attempt" and _refused(row) else None


def _unknown(row: AttemptRow) -> bool:
    """Whether a part of the sum is missing here. Skips have no part; a refusal's is a known zero."""
    if row.kind == "skip" or _refused(row):
        return False
    return row.cost_usd is None or row.input_tokens is None or row.output_tokens is None


def _refused(row: AttemptRow) -> bool:
    """A non-2xx answer: nothing was generated."""
    return row.status.startswith("http_")
