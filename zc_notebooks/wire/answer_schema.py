"""JSON schemas of answers as strict modes take them: objects closed and, on OpenAI's wires, every property required.

OpenAI, Groq, Cerebras and Anthropic answer an ordinary schema, which says nothing about further properties, with a 400
(read in their documentation and in reports, 2026). An answer of the closed schema is one of the open schema too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from zc_notebooks.chat import JsonSchema

_SCHEMAS: Final = frozenset({"items", "additionalItems", "contains", "not", "if", "then", "else"})
"""Keywords whose value is a schema."""
_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_OPEN: Final = frozenset({"patternProperties", "allOf", "unevaluatedProperties", "propertyNames"})
"""Keywords that closing an object would contradict, or that strict modes do not know."""
_UNKNOWN_TO_CLAUDE: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems"}
    | {"maxItems", "uniqueItems", "minProperties", "maxProperties", "not", "if", "then", "else", "contains"}
)
_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")


def json_mode(schema: JsonSchema) -> bool:
    """Whether any JSON object will do: what OpenAI calls ``json_object``."""
    return not schema.strict and dict(schema.schema) == {"type": "object"}


def described(wanted: JsonSchema, notes: list[str]) -> dict[str, Any]:
    """``name``, ``schema`` and ``strict`` of OpenAI's wires; strictness that the schema does not bear is noted."""
    name = _NAME.sub("_", wanted.name)[:64] or "answer"
    shut = closed(wanted.schema) if wanted.strict else None
    if shut is not None and shut.get("type") == "object" and _all_required(shut):
        return {"name": name, "schema": shut, "strict": True}
    if wanted.strict:
        notes.append("schema not strict: it has open or optional parts")
    return {"name": name, "schema": shut or wanted.schema, "strict": False}


def _all_required(schema: Mapping[str, Any]) -> bool:
    return all(name in (part.get("required") or ()) for part in _parts(schema) for name in part.get("properties") or ())


def for_claude(wanted: JsonSchema) -> Mapping[str, Any] | None:
    """The schema as Anthropic takes it; ``None`` where it has parts that are refused."""
    shut = closed(wanted.schema)
    return None if shut is None or any(_UNKNOWN_TO_CLAUDE & part.keys() for part in _parts(shut)) else shut


def closed(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema with every object closed to further properties; ``None`` where one is open on purpose."""
    done: dict[str, Any] = {}
    for key, value in schema.items():
        inner = _closed_value(key, value)
        if inner is None and value is not None:
            return None
        done[key] = inner
    kind = schema.get("type")
    if kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema:
        if _OPEN & schema.keys() or schema.get("additionalProperties", False) is not False:
            return None
        if not schema.get("properties") and "additionalProperties" not in schema:
            return None
        done["additionalProperties"] = False
    return done


def _closed_value(key: str, value: Any) -> Any:
    """The value of one keyword, closed; ``None`` when it cannot be."""
    if key in _SCHEMAS and isinstance(value, Mapping):
        return closed(value)
    if key in _LISTS and isinstance(value, list):
        items = [closed(one) if isinstance(one, Mapping) else one for one in value]
        return None if None in items else items
    if key in _NAMED and isinstance(value, Mapping):
        named = {name: closed(one) if isinstance(one, Mapping) else one for name, one in value.items()}
        return None if None in named.values() else named
    return value


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema and every schema in it."""
    yield schema
    for key, value in schema.items():
        inner: list[Any] = []
        if key in _SCHEMAS:
            inner = [value]
        elif key in _LISTS and isinstance(value, list):
            inner = value
        elif key in _NAMED and isinstance(value, Mapping):
            inner = [*value.values()]
        for one in inner:
            if isinstance(one, Mapping):
                yield from _parts(one)
