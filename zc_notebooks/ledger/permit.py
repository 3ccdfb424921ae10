"""Which statements a query may hold. The rest of the border is DuckDB's own: see :mod:`zc_notebooks.ledger.store`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from zc_notebooks.errors import LedgerError

if TYPE_CHECKING:
    import duckdb

_READING: Final = frozenset(
    {"SELECT", "EXPLAIN", "PRAGMA", "CALL", "MULTI", "CREATE", "SET", "VARIABLE_SET", "RELATION"}
)
"""``MULTI`` is a pivot; ``CREATE`` ends at temporary objects and ``SET`` at variables, because the transaction only
reads and the configuration is locked."""

_GAP: Final = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_EXPLAIN: Final = re.compile(rf"{_GAP}explain\b{_GAP}(?:analyze\b|{_GAP}\((?:[^()]*)\))?{_GAP}", re.I | re.S)
_EXPLAIN_PLAIN: Final = re.compile(rf"{_GAP}explain\b", re.I | re.S)


def permit(cursor: duckdb.DuckDBPyConnection, text: str) -> None:
    """Lets a query through that only reads.

    Raises:
        LedgerError: It is empty, or one of its statements would do more.
        duckdb.Error: It cannot be parsed.
    """
    statements = cursor.extract_statements(text)
    if not statements:
        raise LedgerError("the query is empty; try: select provider_ref, status, count(*) from attempts group by all")
    for statement in statements:
        kind = statement.type.name
        if kind == "EXPLAIN":
            kind = _explained(cursor, statement.query)
        if kind not in _READING:
            raise LedgerError(f"the ledger is only read: {kind.replace('_', ' ')} is not possible in a query")


def _explained(cursor: duckdb.DuckDBPyConnection, text: str) -> str:
    """What an EXPLAIN is about: with ANALYZE it is carried out, and DuckDB would let it write a file it may read."""
    import duckdb

    for head in (_EXPLAIN, _EXPLAIN_PLAIN):
        found = head.match(text)
        try:
            inner = cursor.extract_statements(text[found.end() :]) if found else []
        except duckdb.Error:
            continue
        if len(inner) == 1:
            kind: str = inner[0].type.name
            return "NESTED EXPLAIN" if kind == "EXPLAIN" else kind
    return "EXPLAIN of this"
