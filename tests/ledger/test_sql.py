"""Queries: what a reader may do, and what a reader may not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from tests.ledger.rows import NOON, row
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.ledger.views import DERIVED, VIEWS, view_sql


@pytest.fixture(scope="module", params=["json lines", "parquet"])
def ledger(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """A refusal, a skip and an answer of one call, in both forms rows have. Whatever is asked of it, it stays so."""
    folder = tmp_path_factory.mktemp("ledger")
    writer = LedgerWriter(folder)
    refused = {"status": "http_429", "reason": "daily_limit", "input_tokens": 0, "output_tokens": 0, "secs": 0.13}
    writer.write(row("a", 0, cost_usd=0.0, **refused))
    writer.write(row("a", 1, provider_ref="b.one", kind="skip", status="skipped_cooldown", failover=True))
    answered = {
        "input_tokens": 81,
        "output_tokens": 50,
        "secs": 1.2,
        "cost_usd": 0.1,
        "accepted": True,
        "failover": True,
    }
    writer.write(row("a", 2, t=NOON + timedelta(seconds=2), provider_ref="c.two", **answered))
    writer.close()
    if request.param == "parquet":
        compact(folder)
    opened = Ledger(folder)
    yield opened
    opened.close()


def test_the_attempts_view_has_the_schemas_columns(ledger: Ledger) -> None:
    """The view is the schema, in its order."""
    assert ledger.sql("select * from attempts").columns == list(DUCKDB_TYPES)


def test_the_short_view_has_the_names_of_a_simple_log(ledger: Ledger) -> None:
    """``attempts_short`` shows attempts alone, under nine short names; ``in`` is quoted."""
    found = ledger.sql('select *, "in" + "out" as all_tokens from attempts_short order by t')
    assert found.columns[:9] == ["t", "provider", "model", "in", "out", "secs", "status", "attempt", "failover"]
    assert found.drop("t", "model").rows() == [
        ("groq.free", 0, 0, 0.13, "http_429", 0, False, 0),
        ("c.two", 81, 50, 1.2, "ok", 0, True, 131),
    ]


@pytest.mark.parametrize("name", [*VIEWS, *DERIVED])
def test_every_view_is_a_select_one_can_run_as_it_stands(ledger: Ledger, name: str) -> None:
    """A view's file is itself a query."""
    assert ledger.sql(view_sql(name)).columns == ledger.sql(f"from {name}").columns


READABLE = {
    "describe attempts": len(DUCKDB_TYPES),
    "show tables": len(VIEWS) + len(DERIVED),
    "summarize attempts": len(DUCKDB_TYPES),
    "explain select * from attempts": 1,
    "explain analyze select * from attempts": 1,
    "/* why */ explain (analyze, format json) -- so\n select * from attempts": 1,
    "explain (select 1)": 1,
    "EXPLAIN /* a */ (format json) with x as (select 1) from x": 1,
    "select 1 as x; select 2 as x": 1,
    "with recent as (from attempts) select count(*) from recent": 1,
    "pivot attempts on status using count(*)": 3,
    "create temp table mine as select * from attempts; select * from mine": 3,
    "create temp macro twice(x) as x * 2; select twice(2)": 1,
    "set variable ref = 'c.two'; select * from attempts where provider_ref = getvariable('ref')": 1,
    "call pragma_version()": 1,
    "pragma table_info('attempts')": len(DUCKDB_TYPES),
    "select json_extract('{\"a\": 5}', '$.a') as x": 1,
    "select date_trunc('hour', t at time zone 'Asia/Tokyo') as hour from attempts": 3,
    "select quantile_cont(secs, 0.95), regexp_matches('a', 'a') from attempts": 1,
    "-- a comment\nselect 1 as x": 1,
}


@pytest.mark.parametrize("query", READABLE)
def test_a_reader_may_do_what_only_reads(ledger: Ledger, query: str) -> None:
    """Everything DuckDB offers for reading works, temporary helpers included, and leaves nothing behind."""
    assert ledger.sql(query).height == READABLE[query]
    assert ledger.sql("show tables").height == len(VIEWS) + len(DERIVED)


REFUSED = [
    "copy attempts to '{out}/a.csv'",
    "copy (select 1) to '{out}/a.parquet' (format parquet)",
    "copy (select 1) to '.tmp/a.csv'",
    "export database '{out}/all'",
    "import database '{out}/all'",
    "attach '{out}/a.duckdb' as other",
    "attach ':memory:' as other",
    "detach memory",
    "install httpfs",
    "load httpfs",
    "select * from read_text('{secret}')",
    "select * from read_blob('{secret}')",
    "select * from read_csv('{secret}')",
    "select * from read_json('{folder}/*.jsonl')",
    "select * from read_parquet('{out}/a.parquet')",
    "select * from glob('{out}/*')",
    "select * from sniff_csv('{secret}')",
    "select * from '{secret}'",
    "select * from read_csv('https://example.test/a.csv')",
    "explain analyze copy (select 1) to '{out}/a.csv'",
    "explain (analyze) copy (select 1) to '{out}/a.csv'",
    "explain /**/ analyze -- x\n copy (select 1) to '{out}/a.csv'",
    "explain (analyze true, format json) copy attempts to '{out}/a.csv'",
    "select 1; /* explain */ explain analyze copy attempts to '{out}/a.csv'",
    "explain analyze export database '{out}/all'",
    "explain analyze attach '{out}/a.duckdb' as other",
    "prepare p as copy (select 1) to '{out}/a.csv'; execute p",
    "explain analyze delete from store.rows",
    "prepare p as delete from store.rows; execute p",
    "create table mine as select 1",
    "create or replace view attempts as select 1",
    "create secret s (type s3)",
    "drop view attempts",
    "drop table store.rows",
    "delete from store.rows",
    "insert into store.rows select * from store.rows",
    "update store.rows set model = 'x'",
    "alter table store.rows add column x int",
    "truncate store.rows",
    "merge into store.rows using (select 1) on false when matched then delete",
    "with gone as (select 1) delete from store.rows",
    "begin; delete from store.rows; commit",
    "commit; delete from store.rows",
    "rollback; delete from store.rows",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "reset enable_external_access",
    "set TimeZone = 'Asia/Tokyo'",
    "set memory_limit = '1GB'",
    "pragma enable_profiling",
    "pragma temp_directory='{out}'",
    "call enable_logging(storage = 'file', storage_path = '{out}')",
    "select * from frame",
]


WRITES = [
    "explain analyze copy (select 1) to '{file}' (format parquet, use_tmp_file false)",
    "explain (analyze) copy (select 1) to '{file}' (use_tmp_file false)",
    "explain /* copy */ analyze -- (\n copy (select 1) to '{file}' (use_tmp_file false)",
    "copy (select 1) to '{file}' (use_tmp_file false)",
    "select * from query('copy (select 1) to ''{file}'' (use_tmp_file false)')",
    "attach '{file}' as other",
    "export database '{file}'",
    "create temp macro m() as table copy (select 1) to '{file}'",
    "with x as (copy (select 1) to '{file}') select 1",
    "select * from read_text('{folder}/.listing.lock')",
    "select * from read_parquet('{folder}/*.parquet')",
    "select * from glob('{folder}/*')",
    "select * from read_parquet('{file}', filename = true) union all select * from read_text('/etc/hostname')",
]


@pytest.mark.parametrize("query", WRITES)
def test_the_one_file_a_query_may_open_is_only_read(tmp_path: Path, query: str) -> None:
    """The ledger's Parquet files are open to its views; no statement changes them or finds others by them."""
    writer = LedgerWriter(tmp_path)
    writer.write(row("a"))
    writer.close()
    compact(tmp_path)
    (file,) = tmp_path.glob("*.parquet")
    before, ledger = file.read_bytes(), Ledger(tmp_path)
    with pytest.raises(LedgerError) as failed:
        ledger.sql(query.format(file=file, folder=tmp_path))
    assert "\n" not in str(failed.value)
    assert file.read_bytes() == before
    assert ledger.attempts().height == 1


@pytest.mark.parametrize("query", REFUSED)
def test_a_reader_may_not_write_or_read_anything_else(ledger: Ledger, tmp_path: Path, query: str) -> None:
    """No file is opened or made, nothing changes, and the refusal is one sentence."""
    out, secret = tmp_path / "out", tmp_path / "secret.txt"
    out.mkdir()
    secret.write_text("planted")
    frame = pl.DataFrame({"x": [1]})  # a query must not see the caller's variables
    before = ledger.attempts()
    with pytest.raises(LedgerError) as failed:
        ledger.sql(query.format(out=out, secret=secret, folder=ledger.folder))
    assert "\n" not in str(failed.value)
    assert "planted" not in str(failed.value)
    assert list(out.iterdir()) == []
    assert ledger.attempts().equals(before)
    assert frame.height == 1


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "the query is empty; try: select"),
        ("  -- nothing\n", "the query is empty"),
        ("selec 1", 'syntax error at or near "selec"'),
        ("select nope from attempts", 'column "nope" not found .* Candidate bindings: .*"notes"'),
        ("select * from attempt", 'attempt does not exist! Did you mean "attempts"'),
        ("select 'x'::int from attempts", "Could not convert string 'x' to INT32"),
        ("select in from attempts_short", "syntax error"),
        ("copy attempts to 'x.csv'", "the ledger is only read: COPY is not possible in a query"),
        ("from read_text('/etc/hostname')", "reads the ledger and no other file: /etc/hostname cannot be opened"),
        ("create table x as select 1", "a query cannot change or create anything that stays"),
        ("set threads = 1", "the settings of the ledger's database are locked"),
        ("select $1", "1"),
    ],
)
def test_a_wrong_query_is_one_sentence_with_its_hint(ledger: Ledger, query: str, sentence: str) -> None:
    """DuckDB's own words are kept where they help; its drawing of the query is not."""
    with pytest.raises(LedgerError, match=sentence) as failed:
        ledger.sql(query)
    assert "\n" not in str(failed.value)


def test_values_are_passed_apart_from_the_text(ledger: Ledger) -> None:
    """Parameters by number and by name."""
    assert ledger.sql("select count(*) from attempts where status = $1", ["ok"]).item() == 1
    assert ledger.sql("select count(*) from attempts where status = $s", {"s": "'; drop"}).item() == 0


def test_results_come_as_types_a_notebook_can_use(ledger: Ledger) -> None:
    """Sums are integers, differences of instants are durations, twice the same name is told apart."""
    found = ledger.sql(
        "select sum(input_tokens) as tokens, max(t) - min(t) as span, sum(cost_usd::decimal(38, 9)) as usd "
        "from attempts"
    )
    assert found.row(0) == (81, timedelta(seconds=2), Decimal("0.1"))
    assert found.schema["tokens"] == pl.Int64
    twins = ledger.sql("select a.call_id, b.call_id, 1 as call_id_1 from attempts a, attempts b limit 1")
    assert twins.columns == ["call_id", "call_id_1", "call_id_1_1"]
    wide = ledger.sql(
        "select 170141183460469231731687303715884105727::hugeint as big, [interval 1 day] as days, uuid() u"
    )
    assert wide["big"][0] > 10**38
    assert wide["days"][0] == "[1 day]"


def test_a_ledger_is_shared_by_threads_while_it_grows(tmp_path: Path) -> None:
    """Queries of several threads, with rows arriving meanwhile, each see whole calls and never fail."""
    writer = LedgerWriter(tmp_path)
    ledger = Ledger(tmp_path)
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            seen = 0
            while seen < 400:
                found = ledger.sql("select count(*) as n, count(distinct (call_id, ordinal)) as d from attempts").row(0)
                assert found[0] == found[1] >= seen
                seen = found[0]
        except BaseException as problem:  # noqa: BLE001 (handed to the test)
            problems.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(400):
        writer.write(row("a", number))
    for thread in threads:
        thread.join(timeout=60)
    assert problems == []
    assert ledger.attempts().height == 400
