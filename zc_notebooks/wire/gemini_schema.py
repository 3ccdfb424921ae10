"""JSON schemas of tools as Gemini takes them: a subset of OpenAPI's, everything else is a 400 there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_KEPT: Final = frozenset(
    {
        "default",
        "description",
        "example",
        "maximum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minimum",
        "minItems",
        "minLength",
        "minProperties",
        "nullable",
        "pattern",
        "propertyOrdering",
        "title",
    }
)
_READ: Final = frozenset(
    {"$ref", "$defs", "definitions", "allOf", "anyOf", "oneOf", "const", "enum", "format", "items", "properties"}
) | {"required", "type"}
_FORMATS: Final = frozenset({"date-time", "enum", "float", "double", "int32", "int64"})


class GeminiSchema:
    """Converts schemas and remembers in :attr:`dropped` which keywords had to go."""

    def __init__(self) -> None:
        self.dropped: set[str] = set()

    def parameters(self, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """The parameters of a function, or ``None`` where it has none (an empty object is refused)."""
        done = self._convert(schema, _definitions(schema), ())
        if not done.get("properties"):
            return None
        done.setdefault("type", "object")
        return done

    def _convert(self, schema: object, known: Mapping[str, Any], trail: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return self._referred(ref, schema, known, trail)
        done = {key: value for key, value in schema.items() if key in _KEPT}
        self.dropped.update(key for key in schema if key not in _KEPT and key not in _READ)
        self._type(schema, done)
        self._choices(schema, done)
        self._format(schema, done)
        for part in _mappings(schema.get("allOf")):
            _merge(done, self._convert(part, known, trail))
        self._alternatives(schema, done, known, trail)
        self._children(schema, done, known, trail)
        return done

    def _referred(
        self, ref: str, schema: Mapping[str, Any], known: Mapping[str, Any], trail: tuple[str, ...]
    ) -> dict[str, Any]:
        """What a reference stands for, written out; one that leads back to itself ends as any object."""
        name = ref.rsplit("/", 1)[-1]
        if name in trail or name not in known:
            self.dropped.add("$ref")
            return {"type": "object"}
        done = self._convert(known[name], known, (*trail, name))
        if isinstance(schema.get("description"), str):
            done["description"] = schema["description"]
        return done

    def _type(self, schema: Mapping[str, Any], done: dict[str, Any]) -> None:
        kind = schema.get("type")
        if isinstance(kind, str):
            done["type"] = kind
        elif isinstance(kind, list):
            real = [one for one in kind if one != "null"]
            if len(real) < len(kind):
                done["nullable"] = True
            if len(real) == 1:
                done["type"] = real[0]
            elif real:
                done["anyOf"] = [{"type": one} for one in real]
        elif "properties" in schema:
            done["type"] = "object"

    def _choices(self, schema: Mapping[str, Any], done: dict[str, Any]) -> None:
        """Only texts can be enumerated; ``null`` among them becomes ``nullable``."""
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(choices, list):
            return
        texts = [choice for choice in choices if isinstance(choice, str)]
        if len(texts) < len(choices) - choices.count(None) or not texts:
            self.dropped.add("const" if "const" in schema else "enum")
            return
        if None in choices:
            done["nullable"] = True
        done["enum"] = texts
        done.setdefault("type", "string")

    def _format(self, schema: Mapping[str, Any], done: dict[str, Any]) -> None:
        if schema.get("format") in _FORMATS:
            done["format"] = schema["format"]
        elif "format" in schema:
            self.dropped.add("format")

    def _alternatives(
        self, schema: Mapping[str, Any], done: dict[str, Any], known: Mapping[str, Any], trail: tuple[str, ...]
    ) -> None:
        listed = [*_mappings(schema.get("anyOf")), *_mappings(schema.get("oneOf"))]
        real = [one for one in listed if one.get("type") != "null"]
        if len(real) < len(listed):
            done["nullable"] = True
        converted = [self._convert(one, known, trail) for one in real]
        if len(converted) == 1:
            _merge(done, converted[0])
        elif converted:
            done["anyOf"] = converted

    def _children(
        self, schema: Mapping[str, Any], done: dict[str, Any], known: Mapping[str, Any], trail: tuple[str, ...]
    ) -> None:
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            inner = {name: self._convert(value, known, trail) for name, value in properties.items()}
            done["properties"] = {**done.get("properties", {}), **inner}
        items = schema.get("items")
        if isinstance(items, Mapping):
            done["items"] = self._convert(items, known, trail)
        elif "items" in schema:
            self.dropped.add("items")
        if done.get("type") == "array":
            done.setdefault("items", {})
        required = schema.get("required")
        if isinstance(required, list):
            names = [name for name in required if name in done.get("properties", {})]
            if names:
                done["required"] = [*done.get("required", ()), *names]


def _definitions(schema: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for key in ("definitions", "$defs"):
        value = schema.get(key)
        if isinstance(value, Mapping):
            known.update(value)
    return known


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _merge(done: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Adds what ``more`` says; properties and required names of both are kept."""
    for key, value in more.items():
        if key == "properties":
            done[key] = {**done.get(key, {}), **value}
        elif key == "required":
            done[key] = [*done.get(key, ()), *value]
        else:
            done.setdefault(key, value)
