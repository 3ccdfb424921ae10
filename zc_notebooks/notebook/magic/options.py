"""The options of each magic, read from its line; whatever is wrong with a line is one sentence."""

from __future__ import annotations

import builtins
import keyword
import re
import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import ModuleType
from typing import Any, Final

from zc_notebooks.errors import ZcError
from zc_notebooks.markup import clean
from zc_notebooks.records import Record


class MagicError(ZcError):
    """A magic cannot do what its line says, or was interrupted. IPython prints the sentence and no frames."""

    def _render_traceback_(self) -> list[str]:
        return [clean(line) for line in str(self).splitlines()]


class Option(Record, frozen=True, kw_only=True):
    """One option of a magic."""

    name: str
    """With its dashes."""
    value: str | None = None
    """What its value is called; ``None``: it takes none."""
    help: str

    @property
    def usage(self) -> str:
        """``--hint HINT``."""
        return self.name if self.value is None else f"{self.name} {self.value}"


HINT: Final = Option(name="--hint", value="HINT", help="name of a route")
START: Final = Option(name="--start", value="REF[/MODEL]", help="candidate to start with")
OUT: Final = Option(name="--out", value="NAME", help="keep the result in this variable instead of showing it")
OPTIONS: Final[Mapping[str, tuple[Option, ...]]] = {
    "%%ask": (
        HINT,
        START,
        Option(name="--no-fallback", help="the start candidate alone: fails loudly, never a silent swap"),
        Option(name="--stream", help="show the answer while it comes, rewritten in place"),
        Option(name="--schema", value="NAME", help="variable with the JSON schema that the answer must follow"),
        OUT,
        Option(name="--fill", help="put variables in for {name}; {{name}} stays as {name}"),
    ),
    "%%zcsql": (OUT,),
    "%zc plan": (HINT, START),
}
COMMANDS: Final[Mapping[str, str]] = {
    "status": "every provider: how it stands, what is left, its last outcome",
    "marks": "what is not asked until when, and who said so",
    "probe": "REF …: ask these alone whether they are reachable",
    "plan": "[--hint HINT] [--start REF]: who would be asked, in which order",
    "cost": "what today's attempts cost, by provider and model (UTC)",
    "budget": "what may be spent, was spent, and is left",
    "use": "NAME: ask through the chain in this variable",
}
"""What ``%zc`` does → help."""


_SHELL: Final = frozenset({"In", "Out", "display", "exit", "get_ipython", "quit"})
_HISTORY: Final = re.compile(r"_{1,3}|_i{1,3}|_i?\d+|_[iod]h|__\w+__")
"""``_``, ``_i3``, ``_oh`` and the like, which the shell writes itself; and Python's ``__name__`` and the like."""


def parse(magic: str, line: str) -> tuple[dict[str, Any], list[str]]:
    """Options (name without dashes → value, ``True`` for one without) and the other words of a line, up to a ``#``.

    Raises:
        MagicError: A quotation mark is not closed, an option is unknown, or its value is missing or not wanted.
    """
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        raise MagicError(f"{magic}: a quotation mark is not closed in {line.strip()!r}") from None
    known = {option.name: option for option in OPTIONS.get(magic, ())}
    found: dict[str, Any] = {}
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        name, given, value = word.partition("=")
        option = known.get(name)
        if option is None:
            raise MagicError(_unknown(magic, "option", name, [item.usage for item in known.values()]))
        if option.value is None:
            if given:
                raise MagicError(f"{magic} {name} takes no value")
            found[name.lstrip("-")] = True
            continue
        if not given:
            value = words.pop(0) if words and words[0] not in known else ""
        if not value.strip():
            raise MagicError(f"{magic} {name} needs a value: {option.usage} ({option.help})")
        found[name.lstrip("-")] = value
    return found, rest


def command_of(word: str) -> str:
    """The command of ``%zc`` that ``word`` is. Raises :class:`MagicError`."""
    if word not in COMMANDS:
        raise MagicError(_unknown("%zc", "command", word, list(COMMANDS)))
    return word


def name_of(magic: str, name: str, variables: Mapping[str, Any]) -> str:
    """``name`` as a variable may be called. Raises :class:`MagicError`."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise MagicError(f"{magic} --out {name!r}: a variable cannot have this name")
    if reserved(name):
        raise MagicError(f"{magic} --out {name!r}: this name is IPython's or Python's own; take another")
    if isinstance(variables.get(name), ModuleType):
        raise MagicError(f"{magic} --out {name!r}: this is an imported module; take another name")
    return name


def reserved(name: str) -> bool:
    """Whether the shell or Python has this name."""
    return name in _SHELL or _HISTORY.fullmatch(name) is not None or hasattr(builtins, name)


def kind_of(held: object) -> str:
    """``an int``, ``a str``."""
    name = type(held).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def closest(word: str, known: Sequence[str]) -> str:
    """``; did you mean …?`` where something is near, else nothing."""
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _unknown(magic: str, kind: str, word: str, usages: Sequence[str]) -> str:
    near = closest(word, [usage.split()[0] for usage in usages])
    knows = f"it knows {', '.join(usages)}" if usages else f"it takes no {kind}s"
    return f"{magic} knows no {kind} {word!r}{near or ';'} {knows}"
