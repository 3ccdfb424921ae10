"""The ledger's rows as an in-memory DuckDB sees them, and queries that can read them and nothing else.

Rows of segments are handed to the database; rows of Parquet files stay where they are. Those files by name are all the
database can open: external access is off, and the configuration is locked before the first query. When a compaction has
made other files, a new database takes the place of the old one. Each query runs on its own cursor in a read-only
transaction that is rolled back.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.columns import frame_of_lines, frame_of_result
from zc_notebooks.ledger.following import follow_sql, keep_known
from zc_notebooks.ledger.interrupting import interruptible
from zc_notebooks.ledger.lines import REQUIRED
from zc_notebooks.ledger.parquet import Compacted, quoted, read_sql, source_sql
from zc_notebooks.ledger.permit import permit
from zc_notebooks.ledger.price_versions import rows_sql
from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.ledger.scan import Fresh
from zc_notebooks.ledger.views import DERIVED, VIEWS, view_sql
from zc_notebooks.redact import redact

if TYPE_CHECKING:
    import duckdb
    import polars as pl

T = TypeVar("T")

_BATCH: Final = 32 * 1024 * 1024
"""Bytes of JSON handed over at a time."""
_TABLES: Final = ("written", "known", "batches")
_COLUMNS: Final = ", ".join(f'"{name}"' for name in DUCKDB_TYPES)


class _Failed(Exception):
    """What DuckDB says of a query, in one sentence. Perhaps a file is at fault and not the query."""


class FilesMoved(Exception):
    """A compaction replaced Parquet files before or while a query read them: look again and ask again."""


class Store:
    """Rows by the segment they came from, and the Parquet files beside them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compacted: tuple[Compacted, ...] = ()
        self._prices: str | None = None
        self._newest = 0
        self._con = database()
        self._viewed: object = None
        """The database that has the views people query."""

    @property
    def compacted(self) -> tuple[Compacted, ...]:
        """The Parquet files it reads."""
        return self._compacted

    def begin(self) -> None:
        """Begins a change that others see as a whole."""
        self._con.execute("begin transaction")

    def change(self, gone: Sequence[int], fresh: Iterable[Fresh], look: int, *, compacted: bool) -> None:
        """Takes rows of vanished segments out and new ones in. ``compacted``: they may have gone to a Parquet file."""
        if gone:
            if compacted:
                keep_known(self._con, gone)
            self._con.execute("delete from store.written where _file in (select unnest($1))", [list(gone)])
        for batch in _batches(fresh):
            self._insert(batch, look)

    def commit(self, compacted: tuple[Compacted, ...], look: int, prices: str | None) -> bool:
        """Ends the change. ``False``: files moved, look again.

        Args:
            compacted: The Parquet files from now on.
            look: The number of this look.
            prices: The file of corrected prices from now on.
        """
        if compacted == self._compacted and prices == self._prices:
            self._con.execute("commit")
            return True
        try:
            new = database(compacted, prices=prices, like=self._con)
        except Exception:
            if _moved(_paths(compacted, prices)):
                return False
            raise
        newest = max((file.footer.newest for file in compacted), default=0)
        if newest > self._newest:
            new.execute("insert into store.batches values ($1, $2, $3)", [self._newest + 1, newest, look])
        self._con.execute("rollback")
        with self._lock:  # queries that run go on with the old one
            self._con, self._compacted, self._newest, self._prices = new, compacted, newest, prices
        return True

    def roll_back(self) -> None:
        """Forgets the change, and every row: what was read cannot be told from what was not."""
        with self._lock:
            self._con = database()
            self._compacted, self._newest, self._prices = (), 0, None

    def _insert(self, batch: Sequence[Fresh], look: int) -> None:
        import polars as pl

        frame = frame_of_lines(b"".join(part.rows for part in batch), sum(part.count for part in batch))
        files = chain.from_iterable([part.segment] * part.count for part in batch)
        frame = frame.with_columns(pl.Series("_file", files, dtype=pl.Int32), pl.lit(look, pl.Int64).alias("_look"))
        hand_over(self._con, frame, "store.written")

    def seen_between(self, after: int, last: int) -> pl.DataFrame:
        """Rows that came in with the looks after ``after`` up to ``last``, in the order of time."""
        return self._run(follow_sql(compacted=bool(self._compacted)), [after, last])

    def query(
        self, text: str, params: Mapping[str, Any] | Sequence[Any] | None = None, *, views: bool = False
    ) -> pl.DataFrame:
        """Runs a query that only reads. The result of its last statement.

        Args:
            text: SQL over ``attempts`` and ``attempts_short``.
            params: Its values.
            views: Whether it may ask the other views too; the first such query makes them, in some 20 ms.

        Raises:
            LedgerError: The query is wrong, or would do more than read; one sentence.
            FilesMoved: The query did not come to its end for no fault of its own.
        """
        return self._run(text, params, views=views)

    def _run(self, text: str, params: Mapping[str, Any] | Sequence[Any] | None, *, views: bool = False) -> pl.DataFrame:
        with self._lock:
            con, files = self._con, _paths(self._compacted, self._prices)
            cursor = con.cursor()
        try:
            if views:
                self._make_views(con)
            return interruptible(lambda: _result(cursor, text, params), cursor.interrupt)
        except _Failed as failed:
            if _moved(files):
                raise FilesMoved from None
            raise LedgerError(_damage(con, files) or str(failed)) from None
        except Exception:
            if _moved(files):
                raise FilesMoved from None
            raise
        finally:
            cursor.close()

    def _make_views(self, con: duckdb.DuckDBPyConnection) -> None:
        """Once in a database's life. Making a view opens the Parquet files: it can fail as a query can."""
        import duckdb

        with self._lock, con.cursor() as cursor:
            if self._viewed is con:
                return
            try:
                for name in DERIVED:
                    cursor.execute(f"create or replace view {name} as {view_sql(name)}")
            except duckdb.Error as problem:
                raise LedgerError(_sentence(problem)) from None
            self._viewed = con

    def opened(self, use: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """What ``use`` makes of a database of its own with the same rows, which may open and write files.

        Raises:
            FilesMoved: It did not come to its end for no fault of its own.
        """
        with self._lock:
            cursor, files, prices = self._con.cursor(), self._compacted, self._prices
        try:
            with cursor, database(files, prices=prices, like=cursor, locked=False) as con:
                return use(con)
        except Exception:
            if _moved(_paths(files, prices)):
                raise FilesMoved from None
            raise

    def close(self) -> None:
        """Frees the memory."""
        self._con.close()


def database(
    compacted: Sequence[Compacted] = (),
    *,
    prices: str | None = None,
    like: duckdb.DuckDBPyConnection | None = None,
    locked: bool = True,
) -> duckdb.DuckDBPyConnection:
    """A database with the ledger's tables and views, filled from another's tables.

    ``locked``: it opens no file but ``compacted`` and ``prices``, and its settings cannot be changed.
    """
    import duckdb

    con: duckdb.DuckDBPyConnection = duckdb.connect(":memory:", config={"temp_directory": ""})
    con.execute("set global TimeZone = 'UTC'")
    con.execute("set python_enable_replacements = false")
    if locked:
        paths = ", ".join(map(quoted, _paths(compacted, prices)))
        con.execute(f"set allowed_paths = [{paths}]")
        con.execute("set enable_external_access = false")
    _make_tables(con, compacted, prices)
    if like is not None:
        for table in _TABLES:
            hand_over(con, like.sql(f"from store.{table}"), f"store.{table}")
    if locked:
        con.execute("set lock_configuration = true")
    return con


def _paths(compacted: Sequence[Compacted], prices: str | None) -> list[str]:
    return [*(file.path for file in compacted), *([] if prices is None else [prices])]


def hand_over(con: duckdb.DuckDBPyConnection, rows: Any, table: str) -> None:
    """Appends rows to a table through Arrow's own interface."""
    con.register("incoming", rows.__arrow_c_stream__())
    try:
        con.execute(f"insert into {table} select * from incoming")  # noqa: S608 (our own names)
    finally:
        con.unregister("incoming")


def _make_tables(con: duckdb.DuckDBPyConnection, compacted: Sequence[Compacted], prices: str | None) -> None:
    con.execute("create schema store")
    columns = ", ".join(f'"{n}" {t}{" not null" if n in REQUIRED else ""}' for n, t in DUCKDB_TYPES.items())
    con.execute(f"create table store.written ({columns}, _file integer not null, _look bigint not null)")
    con.execute("create table store.known (call_id varchar, ordinal integer, _look bigint)")
    con.execute("create table store.batches (first bigint, last bigint, _look bigint)")
    rows = f"select {_COLUMNS} from store.written"  # noqa: S608
    if compacted:
        con.execute(f"create view store.compacted as {read_sql(compacted)}")
        rows = f"select {_COLUMNS} from store.compacted union all {rows}"  # noqa: S608
    if prices is not None:
        con.execute(f"create view store.prices as from {source_sql([prices])}")
    con.execute(f"create view store.rows as {rows_sql(rows, corrected=prices is not None)}")
    for name in VIEWS:
        con.execute(f"create view {name} as {view_sql(name)}")


def _result(
    cursor: duckdb.DuckDBPyConnection, text: str, params: Mapping[str, Any] | Sequence[Any] | None
) -> pl.DataFrame:
    import duckdb

    try:
        permit(cursor, text)
        cursor.execute("begin transaction read only")
        relation = cursor.sql(text, params=params)
        if relation is None:
            raise LedgerError("the query gives no rows; end it with a SELECT")
        return frame_of_result(relation)
    except (duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException) as problem:
        raise _Failed(_sentence(problem)) from None
    except duckdb.Error as problem:
        kind = _Failed if type(problem) is duckdb.Error else LedgerError
        raise kind(_sentence(problem)) from None
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":  # polars' word for a value it cannot hold, no Exception
            raise
        raise LedgerError("a value of the result does not fit a frame (an infinite date?); cast it to text") from None


def _moved(files: Iterable[str]) -> bool:
    return not all(Path(file).exists() for file in files)


def _damage(con: duckdb.DuckDBPyConnection, files: Iterable[str]) -> str | None:
    """Reads each file to its end; a sentence about the first that cannot be read."""
    import duckdb

    with con.cursor() as cursor:
        for file in files:
            read = f"select max(hash(x)) from {source_sql([file])} x"  # noqa: S608 (our own names)
            try:
                interruptible(lambda: cursor.execute(read).fetchall(), cursor.interrupt)  # noqa: B023 (run at once)
            except duckdb.Error:
                return f"{Path(file).name} is damaged and cannot be read; put a copy back, or move it out of the ledger"
    return None


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
