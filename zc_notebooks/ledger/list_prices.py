"""List prices: the packaged table of ``genai-prices``, looked up by family and model. No network.

The table is loaded with the first look-up (0.15 s), so never for a profile that states its own prices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final

from zc_notebooks.records import Record

_PROVIDERS: Final[Mapping[str, str]] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "groq": "groq",
    "openrouter": "openrouter",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "cohere": "cohere",
    "cerebras": "cerebras",
    "cloudflare": "cloudflare",
    "together": "together",
    "fireworks": "fireworks",
    "azure": "azure",
    "xai": "x-ai",
    "zai": "zai",
    "moonshot": "moonshotai",
    "minimax": "minimax",
    "perplexity": "perplexity",
}
"""Family → provider of the table. Every other family has no list price."""

_BEYOND: Final = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok")
"""Charges the formula has no term for. A model with one of them has no list price here: a part is not the price."""


class Rates(Record, frozen=True, kw_only=True):
    """USD per million tokens; ``None`` is not known."""

    input: Decimal | None
    output: Decimal | None
    cached_input: Decimal | None = None
    """``None``: cached tokens cost what the others do."""
    source: str = ""


def list_rates(family: str, model: str, input_tokens: int, at: datetime) -> Rates | None:
    """The table's rates for one request at one instant (some depend on the hour or the prompt's length)."""
    provider, name = _provider(family, model)
    found = None if provider is None else _find(provider, name)
    if found is None:
        return None
    info, source = found
    listed = info.get_prices(at).__dict__
    if any(listed.get(name) is not None for name in _BEYOND):
        return None
    return Rates(
        input=_at_length(listed.get("input_mtok"), input_tokens),
        output=_at_length(listed.get("output_mtok"), input_tokens),
        cached_input=_at_length(listed.get("cache_read_mtok"), input_tokens),
        source=source,
    )


def _provider(family: str, model: str) -> tuple[str | None, str]:
    """Hugging Face routes to others: ``model:groq`` is priced as its Groq route."""
    if family == "huggingface":
        name, _, route = model.rpartition(":")
        return (f"huggingface_{route}", name) if name else (None, model)
    if family == "google":
        model = model.removeprefix("models/")
    return _PROVIDERS.get(family), model


@lru_cache(maxsize=4096)
def _find(provider: str, model: str) -> tuple[Any, str] | None:
    """The table's entry and how a row names it: ``genai-prices 0.2.3 (2026-10-19) groq/openai/gpt-oss-120b``."""
    snapshot, version = _table()
    try:
        owner, info = snapshot.find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return info, f"genai-prices {version} {owner.id}/{info.id}"


@cache
def _table() -> tuple[Any, str]:
    """The packaged table, and its version with its date."""
    import genai_prices
    from genai_prices import data_snapshot

    snapshot = data_snapshot.get_snapshot()
    dated = max((day for day in _days(snapshot) if day <= datetime.now(UTC).date()), default=None)
    version = genai_prices.__version__
    return snapshot, version if dated is None else f"{version} ({dated:%Y-%m-%d})"


def _days(snapshot: Any) -> Iterator[date]:
    """Days from which a price of the table holds. The newest of the past is the table's date: it is not older."""
    for owner in snapshot.providers:
        for model in owner.models:
            listed = model.prices if isinstance(model.prices, list) else []
            for item in (*listed, *(model.price_variants or ())):
                day = getattr(item.constraint, "start_date", None)
                if day is not None:
                    yield day


def _at_length(listed: Any, input_tokens: int) -> Decimal | None:
    """A rate, or of a tiered one the tier of this prompt: it holds for all tokens of the request."""
    if listed is None or isinstance(listed, Decimal):
        return listed
    rate: Decimal = listed.base
    for tier in listed.tiers:
        if input_tokens > tier.start:
            rate = tier.price
    return rate


def list_window(family: str, model: str) -> int | None:
    """The context window in tokens that the table states for a model, or ``None``."""
    provider, name = _provider(family, model)
    found = None if provider is None else _find(provider, name)
    window = None if found is None else found[0].context_window
    return window if isinstance(window, int) and window > 0 else None
