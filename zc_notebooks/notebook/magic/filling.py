"""Variables of the notebook in a prompt or a schema, by name and only when asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from zc_notebooks.chat import JsonSchema
from zc_notebooks.notebook.magic.options import MagicError, closest, kind_of, reserved

_FIELD: Final = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


def filled(prompt: str, variables: Mapping[str, Any]) -> str:
    """``prompt`` with ``{name}`` replaced by what the variable holds; values are not filled again.

    Only plain names are looked up: no attribute is read and nothing is called but ``str``. Braces that hold no name
    (JSON, code) stay; ``{{`` and ``}}`` are braces.

    Raises:
        MagicError: There is no such variable.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0][0]
        return str(variable("%%ask --fill", name, variables))

    return _FIELD.sub(value, prompt)


def variable(where: str, name: str, variables: Mapping[str, Any]) -> Any:
    """The variable of this name. Raises :class:`MagicError` when there is none."""
    if name not in variables:
        near = closest(name, [known for known in variables if not known.startswith("_") and not reserved(known)])
        raise MagicError(f"{where}: there is no variable {name!r}{near or ' (define it in a cell above)'}")
    return variables[name]


def schema(name: str, variables: Mapping[str, Any]) -> JsonSchema | Mapping[str, Any]:
    """The JSON schema that a variable holds: a dictionary, a :class:`JsonSchema`, or a model class.

    Raises:
        MagicError: There is no such variable, or it is none of these.
    """
    held = variable("%%ask --schema", name, variables)
    found = schema_of(held)
    if found is None:
        raise MagicError(
            f"%%ask --schema: {name} is {kind_of(held)}; a JSON schema (a dictionary), a msgspec Struct "
            "or a pydantic model is needed"
        )
    return found


def schema_of(held: Any) -> JsonSchema | Mapping[str, Any] | None:
    """``held`` as a schema, ``None`` when it is none."""
    import msgspec

    if isinstance(held, JsonSchema | dict):
        return held
    if isinstance(held, type) and hasattr(held, "model_json_schema"):
        return JsonSchema(name=held.__name__, schema=held.model_json_schema())
    if isinstance(held, type) and issubclass(held, msgspec.Struct):
        return JsonSchema(name=held.__name__, schema=_inlined(msgspec.json.schema(held)))
    return None


def _inlined(made: dict[str, Any]) -> dict[str, Any]:
    """Msgspec names the type once below ``$defs``; a schema whose own type is an object is what providers take.

    A type that names itself stays there as well.
    """
    import msgspec

    ref, defs = made["$ref"], made["$defs"]
    target = ref.removeprefix("#/$defs/")
    named = f'"$ref":"{ref}"'.encode() in msgspec.json.encode(defs)
    rest = {name: part for name, part in defs.items() if named or name != target}
    return {**defs[target], **({"$defs": rest} if rest else {})}
