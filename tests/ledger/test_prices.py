"""Money: the cost of an attempt by hand-computed values, and sums of many."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import genai_prices
import pytest
from genai_prices import data_snapshot
from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.rows import profile, row
from zc_notebooks.chat import Usage
from zc_notebooks.ledger import list_prices
from zc_notebooks.ledger.prices import PROFILE, UNKNOWN, price, totals, usage_by_provider, valid
from zc_notebooks.ledger.row import AttemptRow

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def usage(into: int | None = 100, out: int | None = 50, cached: int | None = None, thought: int | None = None) -> Usage:
    return Usage(input_tokens=into, output_tokens=out, cached_tokens=cached, reasoning_tokens=thought)


MINE: list[tuple[Mapping[str, float], str, Usage, str | None]] = [
    ({"m": 2.0}, "m", usage(), "0.0003"),
    ({"m.input": 1.0, "m.output": 4.0}, "m", usage(), "0.0003"),
    ({"m.input": 3.0, "m.output": 7.0, "m.cached_input": 0.5}, "m", usage(100, 10, 40), "0.00027"),
    ({"m.input": 3.0, "m.output": 7.0}, "m", usage(100, 10, 40), "0.00037"),
    ({"m": 2.0, "m.output": 8.0}, "m", usage(), "0.0006"),
    ({"m": 0.1, "m.output": 0.3}, "m", usage(1, 1), "0.0000004"),
    ({"m": 1.0}, "m", usage(100, 50, None, 49), "0.00015"),
    ({"m": 0.0}, "m", usage(), "0"),
    ({"*": 1.0}, "anything", usage(), "0.00015"),
    ({"gpt": 1.0, "*": 9.0}, "openai/gpt", usage(), "0.00015"),
    ({"openai/gpt": 1.0, "gpt": 9.0}, "openai/gpt", usage(), "0.00015"),
    ({"m.input": 1.0, "*": 9.0}, "m", usage(), None),
    ({"m.input": 1.0}, "m", usage(100, 0), "0.0001"),
    ({"other": 1.0}, "m", usage(), None),
    ({}, "m", usage(), None),
    ({"m": float("nan")}, "m", usage(), None),
    ({"m": float("inf")}, "m", usage(), None),
    ({"m": -1.0}, "m", usage(), None),
    ({"m": 1.0, "m.cached_input": -1.0}, "m", usage(100, 50, 1), None),
    ({"m": 1.0}, "m", usage(None, 50), None),
    ({"m": 1.0}, "m", usage(100, None), None),
    ({"m": 1.0}, "m", usage(-1, 50), None),
    ({"m": 1.0}, "m", usage(100, 50, -1), None),
    ({"m": 1.0}, "m", usage(100, 50, 101), None),
    ({"m": 1.0}, "m", usage(0, 0), "0"),
]


@pytest.mark.parametrize(("pricing", "model", "used", "expected"), MINE, ids=map(str, range(len(MINE))))
def test_a_profiles_own_prices(pricing: Mapping[str, float], model: str, used: Usage, expected: str | None) -> None:
    """Behaviours 178, 179: cached tokens are priced once, the exact name wins, and what is not known is ``None``."""
    cost = price(profile(pricing=pricing), model, used)
    assert cost.cost_usd == (None if expected is None else Decimal(expected))
    assert cost.source == (None if expected is None else PROFILE)


def test_forty_cached_of_a_hundred() -> None:
    """Behaviour 179: (60 in + 40 cached + out) / 1e6, to the last digit."""
    rates = {"m.input": 0.15, "m.output": 0.6, "m.cached_input": 0.075}
    assert price(profile(pricing=rates), "m", usage(100, 7, 40)).cost_usd == Decimal("0.0000162")


@given(
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    *[st.decimals(0, 1000, places=4, allow_nan=False) for _ in range(3)],
)
def test_the_formula_is_exact(into: int, cached: int, out: int, a: Decimal, b: Decimal, c: Decimal) -> None:
    """No rounding at any size of tokens and rates."""
    rates = {"m.input": float(a), "m.cached_input": float(b), "m.output": float(c)}
    cost = price(profile(pricing=rates), "m", usage(into + cached, out, cached)).cost_usd
    assert cost is not None
    exact = Fraction(a) * into + Fraction(b) * cached + Fraction(c) * out
    assert Fraction(cost) == exact / 1_000_000


def listed() -> list[tuple[str, str]]:
    """Every model of the price table that a known family serves and that the formula can price."""
    table = {owner.id: owner for owner in data_snapshot.get_snapshot().providers}
    found = []
    for family, owner in list_prices._PROVIDERS.items():  # noqa: SLF001 (the mapping is what is tested)
        for model in table[owner].models:
            rates = list_prices.list_rates(family, model.id, 1000, AT)
            if rates is not None and rates.input is not None and rates.output is not None:
                found.append((family, model.id))
    return found


def test_list_prices_agree_with_the_tables_own_calculator() -> None:
    """Over all models of all known families, with and without cached tokens, short and long prompts."""
    models = listed()
    assert len(models) > 300
    for family, model in models:
        for used in (usage(1000, 100), usage(1000, 100, 400), usage(600_000, 100, 500_000)):
            mine = price(profile(family=family, ref=f"{family}.x"), model, used, at=AT)
            theirs = genai_prices.calc_price(
                genai_prices.Usage(
                    input_tokens=used.input_tokens,
                    output_tokens=used.output_tokens,
                    cache_read_tokens=used.cached_tokens or 0,
                ),
                model,
                provider_id=list_prices._PROVIDERS[family],  # noqa: SLF001
                genai_request_timestamp=AT,
            )
            assert mine.cost_usd == theirs.total_price, (family, model)


def test_the_source_names_the_table_its_version_and_its_entry() -> None:
    """A person can look the price up where it came from, and knows how old the table is."""
    cost = price(profile(family="groq"), "openai/gpt-oss-120b", usage(), at=AT)
    assert cost.source is not None
    name, version, date, entry = cost.source.split()
    assert (name, version, entry) == ("genai-prices", genai_prices.__version__, "groq/openai/gpt-oss-120b")
    assert datetime(2026, 1, 1, tzinfo=UTC) < datetime.strptime(f"{date} +0000", "(%Y-%m-%d) %z") <= datetime.now(UTC)


def test_the_units_a_provider_bills_are_what_it_costs() -> None:
    """Spec wire 1c: Cohere bills other counts than the model saw; half of them stated is as good as none."""
    rates = {"m.input": 2.5, "m.output": 10.0, "m.cached_input": 0.1}
    seen = {"input_tokens": 1591, "output_tokens": 38, "cached_tokens": 992}
    both = Usage(**seen, billed_input_tokens=68, billed_output_tokens=8)
    assert price(profile(pricing=rates), "m", both).cost_usd == Decimal("0.00025")
    half = Usage(**seen, billed_input_tokens=68)
    assert price(profile(pricing=rates), "m", half).cost_usd == Decimal("0.0019767")
    assert price(profile(pricing=rates), "m", Usage(**seen, billed_input_tokens=-1)) == UNKNOWN


@pytest.mark.parametrize(
    ("family", "model", "tier"),
    [
        ("groq", "no-such-model", "metered"),
        ("custom", "gpt-4o", "metered"),
        ("lab", "gpt-4o", "metered"),
        ("nvidia", "meta/llama-3.1-8b-instruct", "trial"),
        ("ollama", "qwen3:8b", "local"),
        ("openai", "gpt-4o", "local"),
        ("openrouter", "openai/gpt-oss-120b:free", "free"),
        ("perplexity", "sonar", "metered"),
        ("huggingface", "openai/gpt-oss-120b", "free"),
        ("huggingface", "openai/gpt-oss-120b:nobody", "free"),
        ("huggingface", ":groq", "free"),
    ],
)
def test_no_list_price_is_unknown_and_never_zero(family: str, model: str, tier: str) -> None:
    """Behaviour 178: an unknown model, a server of one's own, a free plan, a charge the formula has no term for."""
    assert price(profile(family=family, tier=tier), model, usage(), at=AT) == UNKNOWN


def test_prices_follow_the_route_the_hour_and_the_length() -> None:
    """Hugging Face is priced as the route it took; time of day and long prompts change what is listed."""
    routed = price(profile(family="huggingface"), "openai/gpt-oss-120b:groq", usage(), at=AT).source
    assert routed is not None
    assert " huggingface_groq/" in routed
    google = profile(family="google")
    assert price(google, "models/gemini-2.5-pro", usage(), at=AT) == price(google, "gemini-2.5-pro", usage(), at=AT)
    short = price(google, "gemini-2.5-pro", usage(200_000, 0), at=AT).cost_usd
    long = price(google, "gemini-2.5-pro", usage(200_001, 0), at=AT).cost_usd
    assert short is not None
    assert long is not None
    assert long > short * Decimal("1.9")
    cheap, dear = (price(profile(family="deepseek"), "deepseek-chat", usage(), at=AT.replace(hour=h)) for h in (20, 12))
    assert cheap.cost_usd != dear.cost_usd


def test_a_stated_price_wins_over_the_list() -> None:
    """A free plan's zero counts when it is written."""
    free = profile(family="groq", tier="free", pricing={"*": 0.0})
    assert price(free, "openai/gpt-oss-120b", usage()).cost_usd == 0
    assert price(free, "openai/gpt-oss-120b", usage()).source == PROFILE


def test_valid_usage() -> None:
    """Input and output there, nothing negative, no more cached than input."""
    assert valid(usage(100, 0, 100, 5))
    assert not valid(usage(100, 0, 101))
    assert not valid(usage(100, 0, 0, -1))


# -- sums ------------------------------------------------------------------------------------------------------------


def paid(ordinal: int, cost: float | None, ref: str = "a.b", **fields: object) -> AttemptRow:
    given: dict[str, object] = {"input_tokens": 10, "output_tokens": 5, "usage_state": "complete", **fields}
    return row("call", ordinal, provider_ref=ref, cost_usd=cost, **given)


def skip(ordinal: int, ref: str = "s.k") -> AttemptRow:
    return row("call", ordinal, provider_ref=ref, kind="skip", status="skipped_cooldown", usage_state="none")


UNKNOWN_USAGE = {"input_tokens": None, "output_tokens": None, "usage_state": "unknown"}
SUMS: list[tuple[str, list[AttemptRow], str | None, bool]] = [
    ("nothing", [], None, False),
    ("tenths stay tenths", [paid(0, 0.1), paid(1, 0.2)], "0.3", False),
    ("rejected attempts count", [paid(0, 0.1, accepted=False), paid(1, 0.2, accepted=True)], "0.3", False),
    ("an unknown price", [paid(0, 0.1), paid(1, None)], "0.1", True),
    ("an unknown usage", [paid(0, 0.1), paid(1, None, status="timeout", **UNKNOWN_USAGE)], "0.1", True),
    ("nothing known", [paid(0, None), paid(1, None)], None, True),
    ("skips and refusals beside known rows", [skip(0), paid(1, 0.0, status="http_429"), paid(2, 0.5)], "0.5", False),
    ("a refusal without figures", [paid(0, None, status="http_402", **UNKNOWN_USAGE), paid(1, 0.5)], "0.5", False),
    ("a refusal alone", [paid(0, None, status="http_402", **UNKNOWN_USAGE)], "0", False),
    ("skips alone", [skip(0)], None, False),
]


@pytest.mark.parametrize(("rows", "cost", "at_least"), [case[1:] for case in SUMS], ids=[case[0] for case in SUMS])
def test_totals(rows: list[AttemptRow], cost: str | None, *, at_least: bool) -> None:
    """Behaviour 178: known parts are summed, an unknown part makes it "at least"; skips and refusals do not."""
    assert totals(rows) == (None if cost is None else Decimal(cost), at_least)


def test_usage_by_provider_keeps_routes_apart() -> None:
    """Behaviour 175: one item per ref and model, sorted, accepted and rejected attempts together, skips left out."""
    rows = [
        paid(0, 0.1, "z.z", model="big", accepted=False, cached_input_tokens=4),
        paid(1, 0.2, "z.z", model="big", accepted=True, reasoning_tokens=3),
        paid(2, None, "z.z", model="small", **UNKNOWN_USAGE),
        skip(3),
        paid(4, 0.0, "a.a", model="big", status="http_429", input_tokens=0, output_tokens=0),
    ]
    items = usage_by_provider(rows)
    assert [
        (i.provider_ref, i.model, i.input_tokens, i.output_tokens, i.cached_input_tokens, i.reasoning_tokens)
        for i in items
    ] == [
        ("a.a", "big", 0, 0, None, None),
        ("z.z", "big", 20, 10, 4, 3),
        ("z.z", "small", None, None, None, None),
    ]
    assert [(i.cost_usd, i.attempts, i.accepted, i.at_least) for i in items] == [
        (Decimal(0), 1, 0, False),
        (Decimal("0.3"), 2, 1, False),
        (None, 1, 0, True),
    ]


costs = st.none() | st.decimals(0, 10, places=7, allow_nan=False).map(float)
many = st.lists(
    st.builds(
        paid,
        st.just(0),
        costs,
        st.sampled_from(["a.a", "b.b", "c.c"]),
        model=st.sampled_from(["x", "y"]),
        status=st.sampled_from(["ok", "http_429", "timeout", "stream_cut"]),
        accepted=st.booleans(),
        input_tokens=st.none() | st.integers(0, 10**6),
        kind=st.sampled_from(["attempt", "attempt", "skip"]),
    ),
    max_size=25,
)


@given(many, st.sampled_from(["provider_ref", "model", "status", "accepted", "kind"]))
def test_totals_are_the_sum_of_the_rows_under_any_grouping(rows: list[AttemptRow], column: str) -> None:
    """However rows are grouped, the groups' costs add up to the total exactly, and one lower bound makes it one."""
    whole, at_least = totals(rows)
    groups = [[one for one in rows if getattr(one, column) == value] for value in {getattr(r, column) for r in rows}]
    parts = [totals(group) for group in groups]
    known = [cost for cost, _ in parts if cost is not None]
    assert whole == (sum(known) if known else None)
    assert at_least == any(flag for _, flag in parts)


@given(many)
def test_a_calls_cost_is_the_sum_of_its_items(rows: list[AttemptRow]) -> None:
    """Behaviour 175: ``usage_by_provider`` adds up to ``totals``."""
    attempts = [one for one in rows if one.kind == "attempt"]
    whole, at_least = totals(attempts)
    items = usage_by_provider(rows)
    known = [item.cost_usd for item in items if item.cost_usd is not None]
    assert whole == (sum(known) if known else None)
    assert at_least == any(item.at_least for item in items)
    assert sum(item.attempts for item in items) == len(attempts)


@given(many, st.data())
def test_totals_are_the_sum_of_any_partition(rows: list[AttemptRow], data: st.DataObject) -> None:
    """Whatever the groups are, to the last digit, in any order."""
    places = data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    mixed = data.draw(st.permutations(list(zip(rows, places, strict=True))))
    parts = [totals(one for one, place in mixed if place == group) for group in range(5)]
    known = [cost for cost, _ in parts if cost is not None]
    assert totals(rows) == ((sum(known) if known else None), any(flag for _, flag in parts))
