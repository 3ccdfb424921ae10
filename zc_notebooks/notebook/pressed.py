"""What was pressed in a panel, as code that runs when it is pasted into a cell."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from zc_notebooks.redact import redact

MOST: Final = 500
"""Lines that are kept; older ones are dropped, settings in force are not."""
_HEAD: Final = "import zc_notebooks as zc\n"


class _Option(NamedTuple):
    """An option of the calls that follow; ``None`` is the chain's own."""

    name: str
    value: object

    def put(self, options: dict[str, object]) -> None:
        """Changes ``options`` as it says."""
        if self.value is None:
            options.pop(self.name, None)
        else:
            options[self.name] = self.value

    def code(self) -> str:
        """The same as a statement."""
        if self.value is None:
            return f'options.pop("{self.name}", None)'
        return f'options["{self.name}"] = {_literal(self.value)}'


class Pressed:
    """The history of one panel.

    Args:
        name: The chain's name in the code.
        opened: How the chain is made where the code is pasted; ``""`` when the name is there already.
    """

    def __init__(self, name: str, opened: str = "") -> None:
        self.name = name
        self._opened = opened
        self._kept: list[_Option | str] = []
        """Options, and statements."""
        self._options: dict[str, object] = {}
        self._first: dict[str, object] = {}
        """Options in force where what is kept begins."""

    def setting(self, option: str, value: object) -> None:
        """A setting of the calls that follow; one that is changed again before anything used it is forgotten."""
        if self._options.get(option) == value:
            return
        new = _Option(option, value)
        new.put(self._options)
        if self._kept and isinstance(last := self._kept[-1], _Option) and last.name == option:
            self._kept.pop()
        self._keep(new)

    def line(self, text: str) -> None:
        """One statement; ``{chain}`` is the chain's name."""
        self._keep(text.replace("{chain}", self.name))

    def asked(self, prompt: str) -> None:
        """A call with the settings in force."""
        options = ", **options" if self._options else ""
        self._keep(f"answer = await {self.name}.ask({redact(prompt)!r}{options})")

    def code(self) -> str:
        """The history; nothing pressed is an empty text."""
        if not self._kept:
            return ""
        head = _HEAD + (f"\n{self.name} = {self._opened}\n" if self._opened else "")
        begin = f"options = {_literal(self._first)}"
        lines = (kept if isinstance(kept, str) else kept.code() for kept in self._kept)
        return redact("\n".join([head, begin, *lines, ""]))

    def _keep(self, pressed: _Option | str) -> None:
        self._kept.append(pressed)
        while len(self._kept) > MOST:
            oldest = self._kept.pop(0)
            if isinstance(oldest, _Option):
                oldest.put(self._first)


def _literal(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{key}": {_literal(item)}' for key, item in value.items()) + "}"
    if isinstance(value, Decimal):
        return repr(float(value))
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
