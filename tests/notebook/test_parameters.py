"""What a notebook's cell tagged ``parameters`` lets set."""

from __future__ import annotations

import pytest

from zc_notebooks.notebook.parameters import parameter_names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("", ()),
        ("ledger_path = 'x'\nsince = ''  # or = '7d'", ("ledger_path", "since")),
        ("a: int = 3\nb: int\nc = d = 4", ("a", "c", "d")),
        ("# old = 1\n%config A.b = 2\n!x = 3\ntext = '''\nnot = 4\n'''", ("text",)),
        ("many = dict(\n    one=1,\n)\nmany['two'] = 2\nif many == 3:\n    inner = 4", ("many",)),
        ("a = 1\nb = 2\na = 3", ("a", "b")),
    ],
)
def test_names_that_are_set(source: str, names: tuple[str, ...]) -> None:
    """Assignments to plain names at the top level; no comment, text, comparison, item or keyword of a call."""
    assert parameter_names(source) == names
