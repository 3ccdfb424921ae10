"""What was pressed in a panel, as code that runs when it is pasted into a cell."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from zc_notebooks.redact import redact

MOST: Final = 500
"""Lines that are kept; older ones are dropped, settings in force are not."""
_HEAD: Final = "import zc_notebooks as zc\n"


class Pressed:
    """The history of one panel.

    Args:
        name: The chain's name in the code.
        opened: How the chain is made where the code is pasted; ``""`` when the name is there already.
    """

    def __init__(self, name: str, opened: str = "") -> None:
        self.name = name
        self._opened = opened
        self._lines: list[str] = []
        self._options: dict[str, Any] = {}
        self._first: dict[str, Any] = {}
        """Options in force where the kept lines begin."""

    def setting(self, option: str, value: object) -> None:
        """A setting of the calls that follow; ``None`` is back to the chain's own."""
        before = dict(self._options)
        if value is None:
            self._options.pop(option, None)
        else:
            self._options[option] = value
        if self._options != before:
            self._keep(_setting(option, value))

    def line(self, text: str) -> None:
        """One statement; ``{chain}`` is the chain's name."""
        self._keep(text.replace("{chain}", self.name))

    def asked(self, prompt: str) -> None:
        """A call with the settings in force."""
        options = ", **options" if self._options else ""
        self._keep(f"answer = await {self.name}.ask({redact(prompt)!r}{options})")

    def code(self) -> str:
        """The history; nothing pressed is an empty text."""
        if not self._lines:
            return ""
        head = _HEAD + (f"\n{self.name} = {self._opened}\n" if self._opened else "")
        begin = f"options = {_literal(self._first)}"
        return redact("\n".join([head, begin, *self._lines, ""]))

    def _keep(self, line: str) -> None:
        """A setting that is changed again before anything used it replaces its line."""
        if line.startswith("options"):
            key = _key(line)
            while self._lines and self._lines[-1].startswith("options") and _key(self._lines[-1]) == key:
                self._lines.pop()
        self._lines.append(line)
        while len(self._lines) > MOST:
            self._forget(self._lines.pop(0))

    def _forget(self, line: str) -> None:
        if line.startswith("options"):
            scope: dict[str, Any] = {"options": self._first}
            key, found = _key(line), line.partition(" = ")
            if found[1]:
                import ast

                scope["options"][key] = ast.literal_eval(found[2])
            else:
                scope["options"].pop(key, None)


def _setting(option: str, value: object) -> str:
    return f'options.pop("{option}", None)' if value is None else f'options["{option}"] = {_literal(value)}'


def _key(line: str) -> str:
    return line.split('"')[1]


def _literal(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{key}": {_literal(item)}' for key, item in value.items()) + "}"
    if isinstance(value, Decimal):
        return repr(float(value))
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
