"""What is new since a look, when rows change form between two looks.

A row of a segment is new at the look that read it. A row first met in a Parquet file is new at the look that met the
file, unless it was read from its segment before: the keys of rows whose segments went away are kept with their look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from zc_notebooks.ledger.row import DUCKDB_TYPES

if TYPE_CHECKING:
    import duckdb

_COLUMNS: Final = ", ".join(f'"{name}"' for name in DUCKDB_TYPES)
_WRITTEN: Final = f"select {_COLUMNS} from store.written where _look > $1 and _look <= $2"  # noqa: S608 (our own names)
_COMPACTED: Final = f"""
select {_COLUMNS}
from store.compacted c
join store.batches b on c._batch between b.first and b.last and b._look > $1
left join (select call_id as k_call, ordinal as k_ordinal, min(_look) as k_look from store.known group by all) k
    on c.call_id = k.k_call and c.ordinal = k.k_ordinal
where c._batch >= (select coalesce(min(first), 9223372036854775807) from store.batches where _look > $1)
    and coalesce(k.k_look, b._look) > $1 and coalesce(k.k_look, b._look) <= $2
"""  # noqa: S608


def keep_known(con: duckdb.DuckDBPyConnection, gone: Sequence[int]) -> None:
    """Remembers when the rows of some segments were read, before they are let go."""
    con.execute(
        "insert into store.known select call_id, ordinal, _look from store.written where _file in (select unnest($1))",
        [list(gone)],
    )


def follow_sql(*, compacted: bool) -> str:
    """Rows that came in with the looks after ``$1`` up to ``$2``, in the order of time."""
    rows = f"{_WRITTEN} union all {_COMPACTED}" if compacted else _WRITTEN
    return f"select * from ({rows}) order by t, call_id, ordinal"  # noqa: S608
