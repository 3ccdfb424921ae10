"""Plausible JSON for a schema: structured answers and tool arguments, deterministic from the prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from zc_notebooks.lab import arithmetic

_PLACE = re.compile(r"\b(?:in|at|for|of|to)\s+([A-Z][\w'-]+(?:\s[A-Z][\w'-]+)*)")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_FORMATS = {
    "date": "2026-09-01",
    "date-time": "2026-09-01T12:00:00Z",
    "time": "12:00:00Z",
    "email": "somebody@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_MAX_DEPTH = 12


def value_for(schema: Mapping[str, Any], prompt: str) -> Any:
    """A value that a JSON schema accepts, using names, numbers and sums of the prompt where they fit."""
    return _Maker(schema, prompt).value(schema, "")


class _Maker:
    def __init__(self, root: Mapping[str, Any], prompt: str) -> None:
        self._root = root
        self._prompt = prompt
        self._numbers = [float(found) if "." in found else int(found) for found in _NUMBER.findall(prompt)]
        found = arithmetic.find(prompt)
        self._sum = None if found is None else found.value

    def value(self, schema: object, name: str, depth: int = 0) -> Any:
        """One value; ``name`` is the property it stands under."""
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return None
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), Sequence) and schema["enum"]:
            return self._from_enum(schema["enum"])
        for word in ("anyOf", "oneOf", "allOf"):
            if schema.get(word):
                return self.value(_first_real(schema[word]), name, depth + 1)
        return self._by_type(schema, name, depth)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        found: Any = self._root
        for step in reference[2:].split("/"):
            found = found.get(step, {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, Mapping) else {}

    def _by_type(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        kind = str(kind).lower() if kind else ("object" if "properties" in schema else "string")
        if kind == "object":
            properties = schema.get("properties") or {}
            return {key: self.value(inner, key, depth + 1) for key, inner in properties.items()}
        if kind == "array":
            size = max(int(schema.get("minItems", 1)), 1)
            return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(size)]
        if kind in ("integer", "number"):
            return self._number(schema, whole=kind == "integer")
        if kind == "boolean":
            return True
        return None if kind == "null" else self._text(schema, name)

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> int | float:
        if self._sum is not None:
            value: int | float = int(self._sum) if self._sum.denominator == 1 else float(self._sum)
            self._sum = None
        else:
            value = self._numbers.pop(0) if self._numbers else 1
        low, high = schema.get("minimum"), schema.get("maximum")
        if isinstance(schema.get("exclusiveMinimum"), int | float):
            low = schema["exclusiveMinimum"] + 1
        if isinstance(schema.get("exclusiveMaximum"), int | float):
            high = schema["exclusiveMaximum"] - 1
        if low is not None:
            value = max(value, low)
        if high is not None:
            value = min(value, high)
        return round(value) if whole else value

    def _text(self, schema: Mapping[str, Any], name: str) -> str:
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        place = _PLACE.search(self._prompt)
        if place is not None:
            text = place[1]
        elif re.search(r"expression|formula|calc", name) and (found := arithmetic.find(self._prompt)):
            text = found.expression
        else:
            text = f"simulated {name}".strip()
        text = text.ljust(int(schema.get("minLength", 0)), ".")
        return text[: int(schema["maxLength"])] if "maxLength" in schema else text

    def _from_enum(self, choices: Sequence[Any]) -> Any:
        spoken = self._prompt.lower()
        return next((one for one in choices if isinstance(one, str) and one.lower() in spoken), choices[0])


def _first_real(choices: Sequence[Any]) -> object:
    """The first alternative that is more than ``null``."""
    real = [one for one in choices if isinstance(one, Mapping) and one.get("type") != "null"]
    return real[0] if real else (choices[0] if choices else {})
