"""Tools and settings of a request, checked: OpenAI's dictionaries and our own records are taken as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, cast, get_args

from zc_notebooks.chat import Effort, JsonSchema, Tool
from zc_notebooks.prompt_parts import InvalidRequest, clean, clean_json, kind, text_at
from zc_notebooks.redact import short


def tools(offered: Sequence[Tool | Mapping[str, Any]]) -> tuple[Tool, ...]:
    """The offered tools; two of one name are refused."""
    if isinstance(offered, Tool | Mapping) or not isinstance(offered, Sequence):
        raise InvalidRequest("tools: expected a list of tools; put the tool into a list")
    known = [_tool(tool, f"tools[{place}]") for place, tool in enumerate(offered)]
    names = [tool.name for tool in known]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidRequest(f"tools[{place}]: a second tool is named {short(name, 40)}; give each its own name")
    return tuple(known)


def _tool(tool: object, where: str) -> Tool:
    name: object
    if isinstance(tool, Tool):
        name, description, parameters = tool.name, tool.description, tool.parameters
    elif isinstance(tool, Mapping) and tool.get("type", "function") == "function":
        function = tool.get("function", tool)
        function = function if isinstance(function, Mapping) else {}
        name, description = function.get("name"), function.get("description") or ""
        parameters = function.get("parameters") or function.get("input_schema") or {}
    else:
        raise InvalidRequest(f"{where}: only tools of type 'function' can be offered, as Tool or OpenAI's dictionary")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{where}: the tool has no name; set function.name")
    if not isinstance(parameters, Mapping):
        raise InvalidRequest(f"{where}.parameters: expected a JSON schema object, got {kind(parameters)}")
    return Tool(
        name=clean(name),
        description=text_at(description, f"{where}.description"),
        parameters=clean_json(parameters, f"{where}.parameters"),
    )


def tool_choice(choice: str | Mapping[str, Any] | None, offered: Sequence[Tool]) -> str | None:
    """``auto``, ``none``, ``required`` or the name of one of ``offered``."""
    if isinstance(choice, Mapping):
        function = choice.get("function", choice)
        choice = function.get("name") if isinstance(function, Mapping) else None
    if choice is None or (choice in {"auto", "none"} and not offered):
        return None
    if choice != "required" and choice not in {"auto", "none"} and choice not in {tool.name for tool in offered}:
        raise InvalidRequest(
            f"tool_choice: {short(repr(choice), 40)} is none of the tools; use auto, none, required or a tool's name"
        )
    if not offered:
        raise InvalidRequest("tool_choice: a tool call is required but no tools are given; pass tools=[…]")
    return choice


def response_format(form: JsonSchema | Mapping[str, Any] | None) -> JsonSchema | None:
    """The schema that a plain JSON schema, OpenAI's dictionary or our record means; ``None`` for text."""
    if form is None or (isinstance(form, Mapping) and form.get("type") == "text"):
        return None
    if isinstance(form, JsonSchema):
        name, schema, strict = form.name, form.schema, form.strict
    elif isinstance(form, Mapping):
        name, schema, strict = _schema_of(form)
    else:
        raise InvalidRequest(f"response_format: expected a JSON schema, got {kind(form)}")
    if not isinstance(schema, Mapping):
        raise InvalidRequest("response_format: the schema is missing; set json_schema.schema to a JSON schema object")
    return JsonSchema(
        name=text_at(name, "response_format.name"),
        schema=clean_json(schema, "response_format.schema"),
        strict=strict,
    )


def _schema_of(form: Mapping[str, Any]) -> tuple[Any, Any, bool]:
    """Name, schema and strictness of a dictionary."""
    if form.get("type") == "json_object":
        return "answer", {"type": "object"}, False
    if form.get("type") != "json_schema":
        return form.get("title") or "answer", form, True
    inner = form.get("json_schema", form)
    if not isinstance(inner, Mapping):
        return "answer", None, False
    return inner.get("name") or "answer", inner.get("schema"), bool(inner.get("strict", False))


def number(value: object, name: str, low: float, high: float) -> float | None:
    """A number within bounds, both included."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise InvalidRequest(f"{name}: {short(repr(value), 40)} is no number from {low} to {high}")
    return float(value)


def whole(value: object, name: str, low: int | None) -> int | None:
    """An integer, not below ``low``."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or (low is not None and int(value) < low):
        bound = "" if low is None else f" of at least {low}"
        raise InvalidRequest(f"{name}: {short(repr(value), 40)} is no whole number{bound}")
    return int(value)


def named(value: object, name: str) -> None:
    """Text or nothing; raises :class:`InvalidRequest` for anything else."""
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(f"{name}: expected text, got {kind(value)}")


def one_of(value: object, name: str, *allowed: str) -> None:
    """One of a few words; raises :class:`InvalidRequest` for anything else."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidRequest(f"{name}: {short(repr(value), 40)} is none of {', '.join(allowed)}")


def flag(value: object, name: str) -> None:
    """True or false; raises :class:`InvalidRequest` for anything else, which would only count as one of them."""
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name}: {short(repr(value), 40)} is neither True nor False")


def stop(value: object) -> tuple[str, ...]:
    """Stop sequences, from one text or several."""
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, Sequence) or not all(isinstance(item, str) and item for item in listed):
        raise InvalidRequest("stop: expected text or a list of texts, none of them empty")
    return tuple(clean(item) for item in listed)


def effort(value: object) -> Effort | None:
    """One of the five words."""
    if value is None or value in get_args(Effort):
        return cast("Effort | None", value)
    raise InvalidRequest(f"reasoning_effort: {short(repr(value), 40)} is none of {', '.join(get_args(Effort))}")
