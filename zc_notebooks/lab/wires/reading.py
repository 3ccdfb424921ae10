"""Small readers shared by the decoders: typed access to request JSON that fails as a provider would."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec

from zc_notebooks.chat import Effort, ImagePart, JsonSchema, ToolCall
from zc_notebooks.lab.conversation import Unreadable, dump

T = TypeVar("T")

EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high")


def want(body: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """A required field.

    Raises:
        Unreadable: it is missing or of another type.
    """
    value = optional(body, key, kind)
    if value is None:
        raise Unreadable(f"Missing required parameter: '{key}'.", key)
    return value


def optional(body: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    """A field that may be missing or null.

    Raises:
        Unreadable: it is of another type.
    """
    value = body.get(key)
    if value is None:
        return None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return cast("T", float(value))
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Unreadable(f"Invalid type for '{key}': expected {kind.__name__}, got {type(value).__name__}.", key)
    return value


def objects(body: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """A list of objects; missing is empty.

    Raises:
        Unreadable: it is something else.
    """
    items = optional(body, key, list) or []
    if not all(isinstance(item, dict) for item in items):
        raise Unreadable(f"Invalid type for '{key}': expected a list of objects.", key)
    return items


def strings(body: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """One text or a list of texts.

    Raises:
        Unreadable: it is something else.
    """
    value = body.get(key)
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise Unreadable(f"Invalid type for '{key}': expected a string or a list of strings.", key)
    return tuple(values)


def image(url: str, param: str) -> ImagePart:
    """An image from a URL or a ``data:`` URL.

    Raises:
        Unreadable: the data is no base64.
    """
    if not url.startswith("data:"):
        return ImagePart(url=url, media_type="")
    head, _, data = url[5:].partition(",")
    media_type, _, coding = head.partition(";")
    if coding != "base64":
        raise Unreadable("Invalid image data URL: expected base64.", param)
    return inline_image(data, media_type, param)


def inline_image(data: str, media_type: str, param: str) -> ImagePart:
    """An image from base64 text.

    Raises:
        Unreadable: the text is no base64.
    """
    try:
        return ImagePart(data=base64.b64decode(data, validate=True), media_type=media_type)
    except binascii.Error as error:
        raise Unreadable("Invalid image: the data is not valid base64.", param) from error


def call_from_text(call_id: str, name: str, raw: str, *, signature: str | None = None) -> ToolCall:
    """A tool call whose arguments are JSON text."""
    try:
        parsed = msgspec.json.decode(raw or "{}")
    except msgspec.DecodeError:
        parsed = None
    arguments = parsed if isinstance(parsed, dict) else None
    return ToolCall(id=call_id, name=name, arguments=arguments, raw=raw, signature=signature)


def call_from_object(
    call_id: str, name: str, arguments: Mapping[str, Any], *, signature: str | None = None
) -> ToolCall:
    """A tool call whose arguments are an object."""
    return ToolCall(id=call_id, name=name, arguments=dict(arguments), raw=dump(arguments), signature=signature)


def effort(value: object) -> Effort | None:
    """A reasoning effort, when it is one."""
    return next((known for known in EFFORTS if known == value), None)


def json_schema(spec: Mapping[str, Any]) -> JsonSchema:
    """``{name, schema, strict}`` of the OpenAI wires.

    Raises:
        Unreadable: name or schema is missing.
    """
    return JsonSchema(
        name=want(spec, "name", str), schema=want(spec, "schema", dict), strict=bool(spec.get("strict", False))
    )
