"""The most an attempt can cost: every wire's own limits, every way to know a price, never less than the real cost."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.budget import amounts
from zc_notebooks.budget.ceiling import HIDDEN_TOKENS, IMAGE_TOKENS, TOOL_TOKENS, ceiling, input_tokens, output_tokens
from zc_notebooks.chat import ChatRequest, ImagePart, TextPart, Usage
from zc_notebooks.ledger.prices import price
from zc_notebooks.messages import as_request
from zc_notebooks.records import WIRES, Capabilities, Credential, Entry, Profile, Variant
from zc_notebooks.reliability.attempt import prepare
from zc_notebooks.testing import START

PRICED = {"*": 1.0}
"""A millionth of a dollar per token: 1,000 nano-dollars."""


def variant(model: str = "m", **fields: Any) -> Variant:
    """One candidate."""
    given = {"family": "custom", "wire": "openai_chat", "pricing": PRICED, **fields}
    capabilities = Capabilities(vision=True, native_tools=True)
    profile = Profile(
        ref="custom.a", alias="a", base_url="http://a.test/v1", pool="a", capabilities=capabilities, **given
    )
    return Variant(entry=Entry(profile=profile, model=model, index=0), model=model, credential=Credential(id="-"))


def most(request: ChatRequest, one: Variant, max_tokens: int | None = None) -> Any:
    """Its ceiling."""
    return ceiling(one, request, max_tokens=max_tokens, at=START)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("asked", "own", "sent"), [(17, None, 17), (None, 19, 19), (17, 19, 17)])
def test_the_limit_of_every_wire_is_found(wire: Any, asked: int | None, own: int | None, sent: int) -> None:
    """What goes out is what counts: the call's limit, else the profile's, on every wire."""
    request = as_request("hi", max_tokens=asked)
    body = prepare(variant(wire=wire, max_tokens=own), request, stream=False).request.body
    assert output_tokens(body) == sent


def test_a_wires_own_default_counts() -> None:
    """Anthropic's wire always states a limit, so its longest answer is always known."""
    found = most(as_request("hi"), variant(wire="anthropic_messages"))
    assert found.missing is None
    assert found.nano > 1000 * 1024


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ({}, None),
        ({"max_tokens": None}, None),
        ({"max_tokens": 5, "max_completion_tokens": 9}, 9),
        ({"max_tokens": 5, "n": 4}, 20),
        ({"generationConfig": {"maxOutputTokens": 5, "candidateCount": 3}}, 15),
        ({"options": {"num_predict": -1}}, None),
        ({"max_tokens": "many"}, None),
        ({"max_tokens": True}, None),
    ],
)
def test_output_limits(body: Any, limit: int | None) -> None:
    """The largest limit, times the number of answers; what is no limit is none."""
    assert output_tokens(json.dumps(body).encode()) == limit


@pytest.mark.parametrize(
    ("fields", "extra", "missing", "out"),
    [
        ({"context_window": 8000}, {}, None, 8000),
        ({"context_windows": {"m": 500}}, {}, None, 500),
        ({}, {}, "answer", 0),
        ({"pricing": {}}, {"max_tokens": 5}, "price", 0),
        ({"pricing": {"m.input": 1.0}}, {"max_tokens": 5}, "price", 0),
        ({"pricing": {}, "tier": "local", "family": "groq"}, {"max_tokens": 5}, "price", 0),
        ({"provider_extra": {"max_tokens": 77}}, {"max_tokens": 5}, None, 77),
        ({"pricing": {"*": float("nan")}}, {"max_tokens": 5}, "price", 0),
    ],
)
def test_where_the_longest_answer_and_the_price_come_from(fields: Any, extra: Any, missing: Any, out: int) -> None:
    """Window, extras of the profile, or unknown."""
    one, request = variant(**fields), as_request("hi", **extra)
    found = most(request, one)
    assert (found.missing, found.free) == (missing, False)
    if missing is None:
        body = prepare(one, request, stream=True).request.body
        assert found.nano == 1000 * (input_tokens(body, request) + out)


def test_the_price_tables_window_is_the_longest_answer() -> None:
    """A model with a list price needs no ``max_tokens``: its window is known too, and it is dear to use it all."""
    found = most(as_request("hi"), variant("openai/gpt-oss-120b", family="groq", pricing={}))
    assert found.missing is None
    assert amounts.usd(found.nano) > Decimal("0.05")


def test_the_dearer_of_two_input_prices_counts() -> None:
    """Cached input is not always the cheaper one."""
    request = as_request("hi", max_tokens=1)
    plain = most(request, variant(pricing={"m.input": 1.0, "m.output": 1.0})).nano
    assert most(request, variant(pricing={"m.input": 1.0, "m.output": 1.0, "m.cached_input": 0.1})).nano == plain
    assert most(request, variant(pricing={"m.input": 1.0, "m.output": 1.0, "m.cached_input": 2.0})).nano > plain


@pytest.mark.parametrize("pricing", [{"*": 0.0}, {"m.input": 0.0, "m.output": 0.0}])
def test_a_price_of_zero_is_free_without_a_limit(pricing: Any) -> None:
    """Nothing else need be known."""
    assert most(as_request("hi"), variant(pricing=pricing)).free


def test_images_count_by_number_and_tools_by_their_text() -> None:
    """A megabyte of image is one ceiling; tools bring hidden instructions beside their text."""
    text = as_request("look", max_tokens=1)
    plain = most(text, variant()).nano
    parts = (TextPart(text="look"), *(ImagePart(data=b"\x89PNG" * 250_000) for _ in range(2)))
    images = as_request([{"role": "user", "content": "look"}], max_tokens=1)
    with_images = ChatRequest(messages=(type(images.messages[0])(role="user", parts=parts),), max_tokens=1)
    extra = most(with_images, variant()).nano - plain
    assert 2 * IMAGE_TOKENS * 1000 <= extra < (2 * IMAGE_TOKENS + 500) * 1000
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    tools = most(as_request("look", max_tokens=1, tools=[tool]), variant()).nano - plain
    assert TOOL_TOKENS * 1000 < tools < (TOOL_TOKENS + 200) * 1000


@given(
    text=st.text(min_size=1, max_size=200),
    rate=st.floats(0.001, 5000),
    limit=st.integers(1, 10_000),
    into=st.floats(0, 1),
    out=st.floats(0, 1),
    cached=st.floats(0, 1),
)
def test_no_cost_within_the_counts_is_above_the_ceiling(
    text: str, rate: float, limit: int, into: float, out: float, cached: float
) -> None:
    """Any usage of at most a token per byte of text and at most the limit costs at most this."""
    one, request = variant(pricing={"*": rate, "*.cached_input": rate / 3}), as_request(f"x{text}", max_tokens=limit)
    input_used = int((len(text.encode("utf-8", "replace")) + HIDDEN_TOKENS) * into)
    used = Usage(input_tokens=input_used, cached_tokens=int(input_used * cached), output_tokens=int(limit * out))
    cost = price(one.entry.profile, "m", used).cost_usd
    assert cost is not None
    assert amounts.cost(cost) <= most(request, one).nano


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (Decimal("0"), "$0.00"),
        (Decimal("1"), "$1.00"),
        (Decimal("1E+3"), "$1000.00"),
        (Decimal("0.25"), "$0.25"),
        (Decimal("0.000000001"), "$0.000000001"),
        (1_500_000_000, "$1.50"),
        (1, "$0.000000001"),
    ],
)
def test_amounts_are_shown_exactly(amount: Any, shown: str) -> None:
    """At least cents, and every digit there is."""
    assert amounts.dollars(amount) == shown


@pytest.mark.parametrize("huge", [Decimal("1E+300"), Decimal(10) ** 9])
def test_huge_amounts_stay_countable(huge: Decimal) -> None:
    """They count as the most that is counted."""
    assert amounts.cost(huge) == amounts.limit(huge) == amounts.MOST
