"""What the simulated models know, and how their texts are counted and cut."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.asking import ask
from zc_notebooks.lab import (
    Conversation,
    Lab,
    Prepared,
    parse_scenario,
    register_answer,
    unregister_answer,
)
from zc_notebooks.lab.arithmetic import evaluate, find, number
from zc_notebooks.lab.plausible import value_for
from zc_notebooks.lab.tokens import cut, estimate, pieces


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("What is 17*23?", "391"),
        ("what is 12 + 30", "42"),
        ("１７×２３＝？", "391"),
        ("12かける3は？", "36"),
        ("100を8で割る: 100 ÷ 8", "12.5"),
        ("(3+4)^2 を計算", "49"),
        ("10/3", "3.3333333333"),
        ("2,000 + 500", "2500"),
        ("25 percent of 80", "20"),
        ("5 - 8", "-3"),
        ("100 % 7", "2"),
        ("three of 2026-08-25 at 10:30", None),
        ("9**9**9", None),
        ("1/0", None),
        ("hello", None),
        ("", None),
    ],
)
def test_arithmetic_is_found_and_exact(text: str, result: str | None) -> None:
    """Sums in English and Japanese, and nothing where there is none."""
    found = find(text)
    assert (None if found is None else found.result) == result


@given(st.text(max_size=80))
def test_any_text_may_hold_a_sum(text: str) -> None:
    """No text makes the search raise."""
    find(text)


@given(st.integers(-999, 999), st.sampled_from("+-*"), st.integers(0, 999))
def test_sums_are_right(left: int, sign: str, right: int) -> None:
    """The value is Python's own."""
    assert evaluate(f"{left} {sign} {right}") == Fraction(
        {"+": left + right, "-": left - right, "*": left * right}[sign]
    )


@given(st.fractions(max_denominator=1000))
def test_numbers_are_written_as_people_write_them(value: Fraction) -> None:
    """At most ten decimals, never an exponent, never a minus zero."""
    text = number(value)
    assert abs(Fraction(text) - value) <= Fraction(1, 10**10)
    assert "e" not in text
    assert text != "-0"


@given(st.text())
def test_pieces_join_to_the_text(text: str) -> None:
    """A stream loses nothing, and a cut text costs no more than it may."""
    assert "".join(pieces(text)) == text
    assert estimate(cut(text, 5)) <= 5
    assert text.startswith(cut(text, 5))


@pytest.fixture
def _capital() -> Iterator[None]:
    def capital(conversation: Conversation) -> Prepared | None:
        if "capital" not in conversation.last_user:
            return None
        return Prepared(kind="geography", right="Paris", wrong="Lyon", mark=False)

    register_answer(capital)
    yield
    unregister_answer(capital)


ABILITY = """
name = "ability"
title = "Two models of known ability"
[[provider]]
name = "p"
family = "custom"
alias = "p"
[[provider.model]]
id = "able"
ability = { geography = 0.8 }
[[provider.model]]
id = "talker"
verbosity = 12.0
thinking = 400
ability = { "*" = 0.0 }
"""


@pytest.mark.usefixtures("_capital")
def test_ability_is_the_chance_of_the_right_answer(client: httpx.Client) -> None:
    """A registered answer is given rightly as often as the model is able, otherwise wrongly."""
    with Lab(parse_scenario(ABILITY), latency=0) as lab:
        url = lab.base_url("p") + "/chat/completions"
        body = {"model": "able", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
        told = [client.post(url, json=body).json()["choices"][0]["message"]["content"] for _ in range(150)]
    assert set(told) == {"Paris", "Lyon"}
    assert 0.7 < told.count("Paris") / len(told) < 0.9


def test_verbose_models_say_and_think_more(client: httpx.Client) -> None:
    """A cheap model by list price that spends many times the tokens, and errs."""
    with Lab(parse_scenario(ABILITY), latency=0) as lab:
        url = lab.base_url("p") + "/chat/completions"
        usages: dict[str, Any] = {}
        for model in ("able", "talker"):
            body = {"model": model, "messages": [{"role": "user", "content": "What is 17*23?"}]}
            answer = client.post(url, json=body).json()
            usages[model] = answer["usage"]["completion_tokens"]
    assert usages["talker"] > 20 * usages["able"]
    assert "17*23 = 401" in answer["choices"][0]["message"]["content"]


def test_texts_of_a_length(wires: Lab, client: httpx.Client) -> None:
    """A prompt can ask for so many numbers or words."""
    told = {
        prompt: ask(wires, client, "openai_chat", prompt).json()["choices"][0]["message"]["content"]
        for prompt in ("Count to 12", "12まで数えて", "Say 30 words", "こんにちは", "Who are you?")
    }
    assert told["Count to 12"] == told["12まで数えて"] == "(simulated) 1 2 3 4 5 6 7 8 9 10 11 12"
    assert len(told["Say 30 words"].split()) == 31
    assert "「こんにちは」" in told["こんにちは"]
    assert "“Who are you?”" in told["Who are you?"]


def test_tool_results_become_an_answer(wires: Lab, client: httpx.Client) -> None:
    """After the results a text follows that uses them, and two tools can be called at once."""
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
        for name in ("clock", "thermometer")
    ]
    messages: list[Any] = [{"role": "user", "content": "Use both tools"}]
    url = wires.base_url("chat") + "/chat/completions"
    body = {"model": "openai/gpt-oss-120b", "messages": messages, "tools": tools}
    message = client.post(url, json=body).json()["choices"][0]["message"]
    calls = message["tool_calls"]
    assert [call["function"]["name"] for call in calls] == ["clock", "thermometer"]
    messages.append(message)
    for call, result in zip(calls, ("noon", "21 degrees"), strict=True):
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    text = client.post(url, json=body).json()["choices"][0]["message"]["content"]
    assert "noon" in text
    assert "21 degrees" in text
    messages[-1]["tool_call_id"] = "call_nobody_made"
    assert client.post(url, json=body).status_code == 400


LEAF = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 3, "maximum": 9},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["red", "blue"]},
        {"const": 7},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    ]
)
SCHEMAS = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items, "minItems": 2}, inner),
        st.builds(
            lambda properties: {"type": "object", "properties": properties, "required": list(properties)},
            st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3),
        ),
    ),
    max_leaves=8,
)


@given(SCHEMAS, st.text(max_size=30))
def test_values_fit_their_schema(schema: Any, prompt: str) -> None:
    """Whatever the schema nests, each value has its type and each object its properties."""
    _fits(value_for(schema, prompt), schema)


def _fits(value: Any, schema: Any) -> None:
    if "enum" in schema:
        assert value in schema["enum"]
    elif "const" in schema:
        assert value == schema["const"]
    elif "anyOf" in schema:
        assert isinstance(value, int)
    elif schema["type"] == "array":
        assert len(value) >= 2
        for item in value:
            _fits(item, schema["items"])
    elif schema["type"] == "object":
        assert set(value) == set(schema["properties"])
        for key, inner in schema["properties"].items():
            _fits(value[key], inner)
    elif schema["type"] == "integer":
        assert schema["minimum"] <= value <= schema["maximum"]
    else:
        types: dict[Any, Any] = {"string": str, "number": (int, float), "boolean": bool}
        assert isinstance(value, types[schema["type"] if isinstance(schema["type"], str) else schema["type"][0]])
