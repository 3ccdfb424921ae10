"""``model_switch``: a model changes the candidate of the rest of its turn, inside the turn's borders (spec 10.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from zc_notebooks.borders import allowlist
from zc_notebooks.chat import ToolCall
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Record
from zc_notebooks.routing.choice import Choice, read_choice

if TYPE_CHECKING:
    from zc_notebooks.routing.turns import OpenTurn

NAME: Final = "model_switch"
TOOL: Final[Mapping[str, Any]] = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": (
            "Get, set or list the model that answers the rest of this turn. "
            "A change ends with the turn and may be refused."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["get", "set", "list"]},
                "ref": {"type": "string", "description": "For set: a configured provider, as family.alias."},
                "model": {"type": "string", "description": "For set: the model; the provider's own when left out."},
            },
            "required": ["action"],
            "additionalProperties": False,
        },
    },
}


class Option(Record, frozen=True, kw_only=True):
    """A profile that the turn may switch to."""

    ref: str
    models: tuple[str, ...]
    """Those that are configured, the profile's own first; others may be named too."""


class ModelSwitch:
    """The switch of one turn. A model's tool call is answered with :meth:`handle`; code uses the other methods."""

    def __init__(self, turn: OpenTurn) -> None:
        self._turn = turn

    @property
    def tool(self) -> dict[str, Any]:
        """The tool definition to send along: ``chain.ask(…, tools=[turn.model_switch.tool])``."""
        copy: dict[str, Any] = msgspec.to_builtins(TOOL)
        return copy

    def get(self) -> Choice:
        """What the turn's next call starts with."""
        return self._turn.next_choice()

    def set(self, ref: str, model: str | None = None) -> Choice:
        """Starts the turn's next calls with ``ref`` until it ends. No operator's choice is touched.

        Raises:
            ConfigError: The ref is not configured, has no model, or is outside the turn's allowlist; nothing changed.
        """
        if self._turn.ended:
            raise ConfigError("model_switch: this turn has ended, so there is nothing to switch")
        config = self._turn.config
        choice = read_choice(config, ref, model)
        permitted = self._permitted(config)
        if choice.ref not in permitted:
            names = ", ".join(permitted) or "none"
            raise ConfigError(f"model_switch: {choice.ref!r} is outside this turn's allowlist (permitted: {names})")
        self._turn.switch_to(choice)
        return choice

    def list(self) -> tuple[Option, ...]:
        """The permitted profiles, in the order of the file."""
        config = self._turn.config
        found = []
        for ref in self._permitted(config):
            profile = config.profiles[ref]
            linked = [link.model for link in config.chain if link.provider == ref]
            routed = [route.model for route in config.routes if route.model_provider == ref and profile.model is None]
            models = dict.fromkeys(name for name in (profile.model, *profile.fallback_models, *linked, *routed) if name)
            found.append(Option(ref=ref, models=tuple(models)))
        return tuple(found)

    def handle(self, arguments: ToolCall | Mapping[str, Any] | str | None) -> str:
        """The answer to a model's call of the tool, always a sentence or a list, never an exception."""
        try:
            given = _arguments(arguments)
            return self._answer(given)
        except ConfigError as error:
            return f"refused: {error}"

    def _answer(self, given: Mapping[str, Any]) -> str:
        action, ref, model = (given.get(name) for name in ("action", "ref", "model"))
        if action == "get":
            return str(self.get())
        if action == "list":
            return "\n".join(f"{item.ref}: {', '.join(item.models) or 'name a model'}" for item in self.list())
        if action != "set":
            raise ConfigError(f"model_switch: the action {action!r} does not exist (get, set or list)")
        if not isinstance(ref, str) or not (model is None or isinstance(model, str)):
            raise ConfigError("model_switch: set needs ref, and model where given, as text")
        return f"{self.set(ref, model or None)} answers the rest of this turn"

    def _permitted(self, config: Config) -> tuple[str, ...]:
        here = allowlist()
        bounds = [bound for bound in (here, self._turn.allowlist) if bound is not None]
        return tuple(ref for ref in config.profiles if all(ref in bound for bound in bounds))


def _arguments(given: ToolCall | Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    found: Any = given.arguments if isinstance(given, ToolCall) else given
    if isinstance(found, str):
        try:
            found = msgspec.json.decode(found)
        except (msgspec.DecodeError, UnicodeError):
            found = None
    if not isinstance(found, Mapping):
        raise ConfigError("model_switch: the arguments are no JSON object")
    return found
