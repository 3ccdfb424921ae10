"""The ledger's rows in an in-memory DuckDB, and queries that can read them and nothing else.

The database reaches no file: rows are handed to it, external access is off and the configuration is locked before the
first query. Each query runs on its own cursor in a read-only transaction that is rolled back.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.columns import frame_of_lines, frame_of_result
from zc_notebooks.ledger.lines import REQUIRED
from zc_notebooks.ledger.permit import permit
from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.ledger.scan import Fresh
from zc_notebooks.ledger.views import VIEWS, view_sql
from zc_notebooks.redact import redact

if TYPE_CHECKING:
    import duckdb
    import polars as pl

_BATCH: Final = 32 * 1024 * 1024
"""Bytes of JSON handed over at a time."""


class Store:
    """Rows by the file they came from."""

    def __init__(self) -> None:
        import duckdb

        self._lock = threading.Lock()
        self._con: duckdb.DuckDBPyConnection = duckdb.connect(":memory:", config={"temp_directory": ""})
        self._con.execute("set global TimeZone = 'UTC'")
        self._con.execute("set python_enable_replacements = false")
        self._con.execute("create schema store")
        columns = ", ".join(f'"{n}" {t}{" not null" if n in REQUIRED else ""}' for n, t in DUCKDB_TYPES.items())
        self._con.execute(f"create table store.rows ({columns}, _file integer not null, _look bigint not null)")
        for name in VIEWS:
            self._con.execute(f"create view {name} as {view_sql(name)}")
        self._con.execute("set enable_external_access = false")
        self._con.execute("set lock_configuration = true")

    def change(self, gone: Sequence[int], fresh: Iterable[Fresh], look: int) -> int:
        """Takes rows of vanished files out and new ones in, all at once; returns how many came in."""
        with self._lock:
            self._con.execute("begin transaction")
            try:
                if gone:
                    self._con.execute("delete from store.rows where _file in (select unnest($1))", [list(gone)])
                count = sum(self._insert(batch, look) for batch in _batches(fresh))
                self._con.execute("commit")
            except BaseException:
                self._con.execute("rollback")
                raise
            return count

    def _insert(self, batch: Sequence[Fresh], look: int) -> int:
        import polars as pl

        count = sum(part.count for part in batch)
        frame = frame_of_lines(b"".join(part.rows for part in batch), count)
        files = chain.from_iterable([part.segment] * part.count for part in batch)
        frame = frame.with_columns(pl.Series("_file", files, dtype=pl.Int32), pl.lit(look, pl.Int64).alias("_look"))
        self._con.register("incoming", frame.__arrow_c_stream__())
        try:
            self._con.execute("insert into store.rows select * from incoming")
        finally:
            self._con.unregister("incoming")
        return count

    def clear(self) -> None:
        """Forgets every row."""
        with self._lock:
            self._con.execute("delete from store.rows")

    def seen_between(self, after: int, last: int) -> pl.DataFrame:
        """Rows that came in with the looks after ``after`` up to ``last``, in the order of time."""
        columns = ", ".join(DUCKDB_TYPES)
        where = "where _look > $1 and _look <= $2 order by t, call_id, ordinal"
        return self.query(f"select {columns} from store.rows {where}", [after, last])  # noqa: S608 (our own names)

    def query(self, text: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> pl.DataFrame:
        """Runs a query that only reads. The result of its last statement.

        Raises:
            LedgerError: The query is wrong, or would do more than read; one sentence.
        """
        import duckdb

        with self._lock:
            cursor = self._con.cursor()
        try:
            permit(cursor, text)
            cursor.execute("begin transaction read only")
            relation = cursor.sql(text, params=params)
            if relation is None:
                raise LedgerError("the query gives no rows; end it with a SELECT")
            return frame_of_result(relation)
        except duckdb.Error as problem:
            raise LedgerError(_sentence(problem)) from None
        except BaseException as problem:
            if type(problem).__name__ != "PanicException":  # polars' word for a value it cannot hold, no Exception
                raise
            raise LedgerError(
                "a value of the result does not fit a frame (an infinite date?); cast it to text"
            ) from None
        finally:
            cursor.close()

    def close(self) -> None:
        """Frees the memory."""
        self._con.close()


def _batches(fresh: Iterable[Fresh]) -> Iterable[list[Fresh]]:
    batch: list[Fresh] = []
    size = 0
    for part in fresh:
        batch.append(part)
        size += len(part.rows)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _sentence(problem: Exception) -> str:
    """DuckDB's first paragraph on one line: what is wrong and its hint, without the drawing of the query."""
    text = str(problem)
    if "operations are disabled by configuration" in text:
        named = re.search(r'"([^"]*)"', text)
        what = f": {named[1]} cannot be opened" if named else ""
        return redact(f"a ledger query reads the ledger and no other file{what}")
    if "read-only mode" in text:
        return "the ledger is only read: a query cannot change or create anything that stays"
    if "configuration has been locked" in text:
        return "the settings of the ledger's database are locked; a query cannot change them"
    first = text.split("\n\n", 1)[0]
    return redact(" ".join(first.split()))
