"""Structured output: JSON of a schema, and of one value where the task has one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from zc_notebooks.bench.extract import Rule, strict_json
from zc_notebooks.bench.graders.base import CORRECT, Grade, Grader, unparsed, wrong
from zc_notebooks.bench.text_forms import normal


class Json(Grader, frozen=True, kw_only=True, tag="json"):
    """JSON (draft 2020-12) that the schema allows and that equals ``value``."""

    schema: Mapping[str, Any] = {}
    value: Any = None
    """The expected value; ``None``: whatever the schema allows."""
    unordered: bool = False
    """Whether the order of a list's members makes no difference."""

    rule: ClassVar[Rule] = "json"

    def mark(self, answer: str) -> Grade:
        """Right when schema and value are met; width and blanks of a text make no difference, its type does."""
        try:
            said = strict_json(answer)
        except (ValueError, RecursionError):
            return unparsed("not JSON")
        try:
            return self._judge(said)
        except RecursionError:
            return wrong("nested too deep")

    def _judge(self, said: Any) -> Grade:
        fault = next(validator(msgspec.json.encode(self.schema, order="deterministic")).iter_errors(said), None)
        if fault is not None:
            where = "/".join(str(part) for part in fault.absolute_schema_path)
            return wrong(f"the schema does not allow it ({where})")
        if self.value is None or self._form(said) == self._form(self.value):
            return CORRECT
        return wrong("another value than the right one")

    def _form(self, value: Any) -> Any:
        """Comparable: true is not 1, 1.0 is 1, a text is its normal form, a list is sorted where order is nothing."""
        if isinstance(value, bool) or value is None:
            return ("constant", str(value))
        if isinstance(value, int | float):
            return ("number", str(int(value)) if value == value // 1 else repr(value))
        if isinstance(value, str):
            return ("text", normal(value))
        if isinstance(value, list | tuple):
            items = [self._form(item) for item in value]
            return ("list", tuple(sorted(items, key=repr) if self.unordered else items))
        return ("object", tuple(sorted((key, self._form(item)) for key, item in value.items())))


@cache
def validator(schema: bytes) -> Validator:
    """A validator of an encoded schema. Raises :class:`jsonschema.SchemaError` for one that is none."""
    decoded = msgspec.json.decode(schema)
    Draft202012Validator.check_schema(decoded)
    return Draft202012Validator(decoded)
