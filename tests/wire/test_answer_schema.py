"""Schemas of answers: what strict modes take, and what becomes of the others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.asking import encode, say, target
from zc_notebooks.chat import JsonSchema
from zc_notebooks.wire.answer_schema import closed

TEXT = {"type": "string"}
CITY = {"type": "object", "properties": {"city": TEXT}, "required": ["city"]}
SHUT = {**CITY, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "shut"),
    [
        pytest.param(CITY, SHUT, id="ordinary"),
        pytest.param(SHUT, SHUT, id="closed already"),
        pytest.param({"type": "array", "items": CITY}, {"type": "array", "items": SHUT}, id="in an array"),
        pytest.param({"anyOf": [CITY, {"type": "null"}]}, {"anyOf": [SHUT, {"type": "null"}]}, id="an alternative"),
        pytest.param({"$defs": {"c": CITY}, "$ref": "#/c"}, {"$defs": {"c": SHUT}, "$ref": "#/c"}, id="ref"),
        pytest.param(
            {"type": "object", "properties": {"properties": CITY}},
            {"type": "object", "properties": {"properties": SHUT}, "additionalProperties": False},
            id="a property of that name",
        ),
        pytest.param({**CITY, "type": ["object", "null"]}, {**SHUT, "type": ["object", "null"]}, id="or null"),
        pytest.param({"const": None, "default": None}, {"const": None, "default": None}, id="null values"),
        pytest.param({"type": "object"}, None, id="any object"),
        pytest.param({**CITY, "additionalProperties": True}, None, id="open on purpose"),
        pytest.param({**CITY, "additionalProperties": TEXT}, None, id="a map"),
        pytest.param({"type": "array", "items": {"type": "object"}}, None, id="open inside"),
        pytest.param({**CITY, "allOf": [CITY]}, None, id="put together"),
        pytest.param({"type": "object", "properties": {}, "additionalProperties": False},
                     {"type": "object", "properties": {}, "additionalProperties": False}, id="the empty object"),
    ],
)  # fmt: skip
def test_closed(schema: dict[str, Any], shut: dict[str, Any] | None) -> None:
    """Objects are closed where nobody opened them; a schema is left as it was given."""
    before = repr(schema)
    assert closed(schema) == shut
    assert repr(schema) == before


def sent(
    name: Any, schema: dict[str, Any], *, strict: bool = True, title: str = "answer"
) -> tuple[Any, tuple[str, ...]]:
    body, encoded = encode(
        say(response_format=JsonSchema(name=title, schema=schema, strict=strict)),
        target(name, family="openai", model="claude-opus-4-8"),
    )
    if name == "openai_chat":
        return body["response_format"]["json_schema"], encoded.notes
    if name == "openai_responses":
        return {key: value for key, value in body["text"]["format"].items() if key != "type"}, encoded.notes
    return body.get("output_config", {}).get("format", {}).get("schema"), encoded.notes


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses"])
def test_strict_where_the_schema_bears_it(name: Any) -> None:
    """An ordinary schema is closed; one with optional or open parts is sent without ``strict``, and that is said."""
    assert sent(name, CITY) == ({"name": "answer", "schema": SHUT, "strict": True}, ())
    optional = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}
    told, notes = sent(name, optional)
    assert told == {"name": "answer", "schema": {**optional, "additionalProperties": False}, "strict": False}
    assert notes == ("schema not strict: it has open or optional parts",)
    for loose in ({**CITY, "additionalProperties": True}, {"type": "array", "items": CITY}):
        assert sent(name, loose)[0]["strict"] is False
    for odd in (None, [["city"]]):
        assert sent(name, {**CITY, "required": odd})[0]["strict"] is False
    assert sent(name, CITY, strict=False) == ({"name": "answer", "schema": CITY, "strict": False}, ())
    assert sent(name, CITY, title="Città di prova!")[0]["name"] == "Citt__di_prova_"


def test_schemas_that_claude_refuses_go_into_the_prompt() -> None:
    """Open objects and limits on numbers, texts and lists."""
    assert sent("anthropic_messages", CITY)[0] == SHUT
    for schema in ({"type": "object"}, {**CITY, "properties": {"city": {**TEXT, "minLength": 1}}}):
        told, notes = sent("anthropic_messages", schema)
        assert (told, "schema in the prompt" in notes) == (None, True)
