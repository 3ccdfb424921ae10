"""What a notebook can be given: the names that its cell tagged ``parameters`` sets."""

from __future__ import annotations

import ast
import re
from typing import Final

TAG: Final = "parameters"
_OF_THE_SHELL: Final = re.compile(r"^[%!].*$", re.MULTILINE)


def parameter_names(source: str) -> tuple[str, ...]:
    """The names that a cell's source sets at its top level, in order. Raises :class:`SyntaxError`."""
    found: list[ast.expr] = []
    for line in ast.parse(_OF_THE_SHELL.sub("", source)).body:
        if isinstance(line, ast.Assign):
            found += line.targets
        elif isinstance(line, ast.AnnAssign) and line.value is not None:
            found.append(line.target)
    return tuple(dict.fromkeys(name.id for name in found if isinstance(name, ast.Name)))
