"""The views as a table for people: made from the schema and the heads of the files, kept beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from zc_notebooks.ledger.views import view_sql
from zc_notebooks.ledger.views.schema import VIEW_COLUMNS

VIEWS_TABLE: Final = Path(__file__).parent / "README.md"
_HEAD: Final = """\
# Views of the ledger

What `zc ledger sql` and `Ledger.sql` can ask; each is a `.sql` file here. Instants and days are UTC, `_s` is seconds,
`_usd` is US dollars, and NULL is unknown. Names and types only grow. What a row is stands at the head of each file.
"""


def views_table() -> str:
    """The whole document."""
    return _HEAD + "".join(_section(name) for name in VIEW_COLUMNS)


def _section(name: str) -> str:
    columns = ", ".join(f"`{column}` {kind}" for column, kind in VIEW_COLUMNS[name].items())
    return f"\n## {name}\n\n{_first_sentence(name)}\n\n{columns}\n"


def _first_sentence(name: str) -> str:
    """The head of the file up to its first full paragraph."""
    lines = []
    for line in view_sql(name).splitlines():
        if not line.startswith("-- "):
            break
        lines.append(line.removeprefix("-- "))
    return " ".join(lines)
