"""Segments become Parquet: every row once, whatever happens meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import ROOT
from tests.ledger.compacting import BreakingDisk, When, keys, kinds, written
from tests.ledger.rows import NOON, row
from tests.ledger.test_read import rows as any_rows
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger import compact as compacting
from zc_notebooks.ledger import listing
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.columns import frame_of_rows
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.locking import alone
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow, encode
from zc_notebooks.ledger.segments import new_name
from zc_notebooks.testing import ManualClock

unix = pytest.mark.skipif(sys.platform == "win32", reason="no flock on this system")


def parquets(folder: Path) -> list[Path]:
    """The Parquet files, in the order of their names."""
    return sorted(folder.glob("*.parquet"))


# -- the same rows in another form -----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.lists(any_rows, max_size=5), st.booleans()), max_size=6))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_compaction_changes_no_value_of_any_row(tmp_path: Path, steps: list[tuple[list[AttemptRow], bool]]) -> None:
    """Segments of any rows, compacted now and then: what is read is what was written, also by an open reader."""
    folder = tmp_path / "ledger"
    shutil.rmtree(folder, ignore_errors=True)
    reader = Ledger(folder)
    given_rows: list[AttemptRow] = []
    for rows, then_compact in steps:
        written(folder, *rows)
        given_rows += rows
        if then_compact:
            compact(folder)
        expected = sorted(map(repr, frame_of_rows(given_rows).rows()))
        for ledger in (reader, Ledger(folder)):
            assert sorted(map(repr, ledger.attempts().rows())) == expected
    reader.close()


def test_sealed_segments_become_one_file_sorted_by_time(tmp_path: Path) -> None:
    """One Parquet file in time's order takes the place of the segments; a database file there is never."""
    for number in (3, 1, 2):
        written(tmp_path, row(f"call-{number}", t=NOON + timedelta(seconds=number)))
    done = compact(tmp_path)
    assert (done.segments, done.rows, done.files, done.open) == (3, 3, 1, 0)
    assert kinds(tmp_path) == {".parquet": 1}
    (path,) = parquets(tmp_path)
    assert pl.read_parquet(path)["call_id"].to_list() == ["call-1", "call-2", "call-3"]
    assert path.stat().st_mode & 0o077 == 0
    assert str(done) == "3 rows of 3 segments compacted, 1 Parquet file, 0 segments still written"
    assert repr(Ledger(tmp_path)) == "Ledger(3 rows, 1 file)"


def test_a_second_compaction_changes_nothing(tmp_path: Path) -> None:
    """Nothing new, nothing done: the file is the same file."""
    written(tmp_path, row("a"))
    compact(tmp_path)
    before = {path.name: path.stat() for path in parquets(tmp_path)}
    done = compact(tmp_path)
    assert (done.segments, done.rows, done.files) == (0, 0, 1)
    assert {path.name: path.stat() for path in parquets(tmp_path)} == before


def test_a_folder_named_like_a_partition_makes_no_column(tmp_path: Path) -> None:
    """``year=2026`` is a folder's name and nothing else, when files are merged too."""
    folder = tmp_path / "year=2026"
    for call in "ab":
        written(folder, row(call, 0))
        compact(folder)
    (path,) = parquets(folder)
    assert "year" not in pl.read_parquet_schema(path)
    assert keys(folder) == [("a", 0), ("b", 0)]


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    """Brackets, stars, quotes and spaces in a path are no patterns; a linked folder is its target."""
    folder = tmp_path / "it's [1] *.led ger"
    written(folder, row("a"))
    compact(folder)
    (tmp_path / "link").symlink_to(folder)
    written(tmp_path / "link", row("b"))
    for name in (folder, tmp_path / "link"):
        assert keys(name) == [("a", 0), ("b", 0)]
    assert compact(tmp_path / "link").segments == 1
    assert keys(folder) == [("a", 0), ("b", 0)]


@pytest.mark.parametrize("make", [False, True], ids=["missing", "empty"])
def test_nothing_to_compact_is_no_fault(tmp_path: Path, *, make: bool) -> None:
    """A missing folder stays missing."""
    folder = tmp_path / "ledger"
    if make:
        folder.mkdir()
    assert compact(folder).files == 0
    assert folder.exists() is make


def test_small_files_are_merged_and_large_ones_let_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty compactions leave a handful of files, and none beyond the size that is merged."""
    monkeypatch.setattr(compacting, "MERGED", 25)
    for number in range(40):
        written(tmp_path, row("a", number, t=NOON + timedelta(seconds=number)))
        compact(tmp_path)
    assert keys(tmp_path) == [("a", number) for number in range(40)]
    assert len(parquets(tmp_path)) <= 6
    assert max(pl.read_parquet(path).height for path in parquets(tmp_path)) <= 25


def test_much_is_compacted_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment longer than a portion is taken piece by piece, and torn lines are counted once."""
    monkeypatch.setattr(compacting, "BYTES", 300_000)
    written(tmp_path, *(row("long", number, notes="x" * 800) for number in range(2000)))
    for name in "abc":
        written(tmp_path, row(name))
    (tmp_path / new_name(NOON.date())).write_bytes(encode(row("torn")) + encode(row("lost"))[:50])
    done = compact(tmp_path)
    assert (done.rows, kinds(tmp_path)) == (2004, {".parquet": done.files})
    assert keys(tmp_path) == sorted([*((n, 0) for n in ("a", "b", "c", "torn")), *(("long", n) for n in range(2000))])
    assert Ledger(tmp_path).check().torn == 1


# -- what may be taken -----------------------------------------------------------------------------------------------


@unix
def test_a_segment_somebody_writes_stays(tmp_path: Path) -> None:
    """The living writer's rows stay where they are; after its end they go too."""
    writer = LedgerWriter(tmp_path)
    writer.write(row("a", 0))
    written(tmp_path, row("b"))
    done = compact(tmp_path)
    assert (done.segments, done.open, kinds(tmp_path)) == (1, 1, {".parquet": 1, ".jsonl": 1})
    writer.write(row("a", 1))
    assert keys(tmp_path) == [("a", 0), ("a", 1), ("b", 0)]
    writer.close()
    assert compact(tmp_path).segments == 1
    assert keys(tmp_path) == [("a", 0), ("a", 1), ("b", 0)]
    assert kinds(tmp_path) == {".parquet": 1}


@unix
def test_a_held_segment_of_a_past_day_is_taken_and_what_comes_later_is_not_lost(tmp_path: Path) -> None:
    """An idle notebook's rows are compacted; should its clock jump back and it writes there again, that counts."""
    clock = ManualClock(NOON)
    writer = LedgerWriter(tmp_path, clock=clock)
    writer.write(row("a", 0))
    later = ManualClock(NOON + timedelta(days=2))
    reader = Ledger(tmp_path)
    for ordinal in (1, 2):
        assert compact(tmp_path, clock=later).segments == 1
        assert compact(tmp_path, clock=later).segments == 0
        assert kinds(tmp_path) == {".parquet": 1, ".jsonl": 1}
        assert Ledger(tmp_path).check().files == 1
        writer.write(row("a", ordinal))
        expected = [("a", number) for number in range(ordinal + 1)]
        assert keys(tmp_path) == expected
        assert reader.sql("select call_id, ordinal from attempts order by all").rows() == expected
    writer.close()
    compact(tmp_path)
    assert keys(tmp_path) == [("a", 0), ("a", 1), ("a", 2)]
    assert kinds(tmp_path) == {".parquet": 1}


def test_torn_lines_are_counted_after_compaction_too(tmp_path: Path) -> None:
    """What a killed writer left unfinished is counted in the file's footer, also when files are merged."""
    for number in range(3):
        (tmp_path / new_name(NOON.date())).write_bytes(encode(row("a", number)) + encode(row("b"))[:60])
        compact(tmp_path)
    found = Ledger(tmp_path).check()
    assert (found.rows, found.torn, found.foreign, kinds(tmp_path)) == (3, 3, 0, {".parquet": 1})


def test_what_is_not_understood_is_left_as_it_is(tmp_path: Path) -> None:
    """A segment with foreign lines, and a file that no writer named, stay; the result says why."""
    strange = new_name(NOON.date())
    (tmp_path / strange).write_bytes(encode(row("a")) + b"\x00\x00\n")
    (tmp_path / "mine.jsonl").write_bytes(encode(row("b")))
    done = compact(tmp_path)
    assert done.left == {
        strange: "it has lines that are no rows; see zc ledger check",
        "mine.jsonl": "its name is not a segment's; zc ledger import takes its rows",
    }
    assert (done.segments, done.open) == (0, 0)
    assert keys(tmp_path) == [("a", 0), ("b", 0)]
    assert (Ledger(tmp_path).check().rows, Ledger(tmp_path).check().foreign) == (2, 1)


def test_copied_rows_are_not_silently_made_one(tmp_path: Path) -> None:
    """Compaction keeps what is there; the check still says that rows are there twice."""
    written(tmp_path, row("a"))
    written(tmp_path, row("a"))
    compact(tmp_path)
    assert (Ledger(tmp_path).check().rows, Ledger(tmp_path).check().duplicates) == (2, 1)


def test_an_empty_segment_goes_when_its_day_is_over(tmp_path: Path) -> None:
    """A writer killed between making its file and its first row leaves nothing for ever."""
    (tmp_path / new_name(NOON.date())).touch()
    compact(tmp_path, clock=ManualClock(NOON))
    assert kinds(tmp_path) == {".jsonl": 1}
    compact(tmp_path, clock=ManualClock(NOON + timedelta(days=1)))
    assert kinds(tmp_path) == {}


# -- crashes ---------------------------------------------------------------------------------------------------------


def folder_with_history(folder: Path) -> list[tuple[str, int]]:
    """A Parquet file that will be merged, and three segments; the keys in it."""
    written(folder, row("old", 0), row("old", 1))
    compact(folder)
    for name in "abc":
        written(folder, row(name, 0), row(name, 1))
    return sorted((name, number) for name in ("old", "a", "b", "c") for number in (0, 1))


WHENS: tuple[When, ...] = ("before", "after")
STEPS = ["write", "sync", "rename", "unlink", "unlink", "unlink", "unlink"]


def fail() -> None:
    raise OSError(28, "No space left on device")


BREAKS: list[tuple[int, When]] = [(0, "half"), *((step, when) for step in range(len(STEPS)) for when in WHENS)]


@pytest.mark.parametrize(("step", "when"), BREAKS, ids=[f"{when}-{step}-{STEPS[step]}" for step, when in BREAKS])
def test_a_step_that_fails_neither_loses_nor_doubles_a_row(tmp_path: Path, step: int, when: When) -> None:
    """Whichever step fails, a new reader, an open one and the next compaction find every row once."""
    expected = folder_with_history(tmp_path)
    reader, disk = Ledger(tmp_path), BreakingDisk(step, when, fail)
    follower = reader.follow()
    try:
        compact(tmp_path, disk=disk)
    except LedgerError as problem:
        assert str(problem) == (  # noqa: PT017 (whether it raises depends on the step)
            f"the ledger {tmp_path.name} could not be compacted, and is as it was: No space left on device"
        )
        assert STEPS[step] != "unlink"
    assert disk.failed
    for _ in range(2):
        assert keys(tmp_path) == expected
        assert sorted(reader.sql("select call_id, ordinal from attempts").rows()) == expected
        assert kinds(tmp_path).get("hidden", 0) == 0
        compact(tmp_path)
    assert kinds(tmp_path) == {".parquet": 1}
    assert follower.new_rows().is_empty()


@unix
def test_kill_9_at_every_step_neither_loses_nor_doubles_a_row(tmp_path: Path) -> None:
    """A real process killed before each of its steps; its lock is free at once, and what it left is tidied."""
    for step, when in [(0, "half"), *((step, "before") for step in range(len(STEPS)))]:
        folder = tmp_path / f"{step}-{when}"
        expected = folder_with_history(folder)
        reader = Ledger(folder)
        command = [sys.executable, "-m", "tests.ledger.compacting", str(folder), str(step), when]
        assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
        assert keys(folder) == expected
        assert sorted(reader.sql("select call_id, ordinal from attempts").rows()) == expected
        compact(folder)
        assert keys(folder) == expected
        assert kinds(folder) == {".parquet": 1}
        reader.close()


def test_the_steps_are_those_that_are_broken_above(tmp_path: Path) -> None:
    """The crash tests cover every step there is."""
    folder_with_history(tmp_path)
    disk = BreakingDisk(-1, "before", fail)
    compact(tmp_path, disk=disk)
    assert disk.steps == STEPS


@unix
def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second compaction is refused in one sentence and changes nothing."""
    written(tmp_path, row("a"))
    with alone(tmp_path), pytest.raises(LedgerError, match=r"another process is rewriting the ledger .* right now"):
        compact(tmp_path)
    assert kinds(tmp_path) == {".jsonl": 1}
    assert compact(tmp_path).segments == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """Somebody else's ledger can be read, not compacted."""
    written(tmp_path, row("a"))
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(LedgerError, match="could not be compacted, and is as it was: Permission denied"):
            compact(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_removed_under_a_compaction_is_one_sentence(tmp_path: Path) -> None:
    """The rows are gone with the folder; the compaction says so and makes none."""
    folder = tmp_path / "ledger"
    written(folder, row("a"))
    disk = BreakingDisk(1, "before", lambda: shutil.rmtree(folder))
    with pytest.raises(LedgerError, match="could not be compacted"):
        compact(folder, disk=disk)
    assert not folder.exists()


# -- readers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_a_reader_sees_every_row_once_at_every_step(tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open readers and new ones, before and after each step of a compaction that goes on."""
    monkeypatch.setattr(listing, "_WAIT_S", 0.01)  # for a compaction that replaces files, and waits for this reader
    expected = folder_with_history(tmp_path)
    open_since, seen = Ledger(tmp_path), []

    def look() -> None:
        seen.append(keys(tmp_path))
        seen.append(sorted(open_since.sql("select call_id, ordinal from attempts").rows()))

    for when in WHENS:
        compact(tmp_path, disk=BreakingDisk(step, when, look))
        look()
    assert all(found == expected for found in seen)


def test_a_query_whose_files_are_replaced_under_it_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that had listed the files before a compaction still gets every row once."""
    expected = folder_with_history(tmp_path)
    ledger = Ledger(tmp_path)
    store = ledger._store  # noqa: SLF001 (the moment between look and query)
    plain, waiting = store.query, [True]

    def query(*arguments: object, **named: object) -> pl.DataFrame:
        if waiting.pop() if waiting else False:
            compact(tmp_path)
        return plain(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "query", query)
    assert sorted(ledger.sql("select call_id, ordinal from attempts").rows()) == expected


def test_a_file_replaced_between_look_and_opening_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that listed a Parquet file which is gone when its database opens it."""
    from zc_notebooks.ledger import store

    expected = folder_with_history(tmp_path)
    plain, waiting = store.database, [True]

    def database(*arguments: object, **named: object) -> object:
        if arguments and (waiting.pop() if waiting else False):
            compact(tmp_path)
        return plain(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "database", database)
    ledger = Ledger(tmp_path)
    assert sorted(ledger.sql("select call_id, ordinal from attempts").rows()) == expected


def test_a_segment_removed_between_look_and_reading_is_found_in_its_new_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that listed segments before a compaction and opens them after it."""
    expected = folder_with_history(tmp_path)
    ledger = Ledger.__new__(Ledger)
    from zc_notebooks.ledger import scan

    plain, waiting = scan.read_segment, [True]

    def read(*arguments: object) -> object:
        if waiting.pop() if waiting else False:
            compact(tmp_path)
        return plain(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(scan, "read_segment", read)
    ledger.__init__(tmp_path)  # type: ignore[misc]
    assert sorted(ledger.sql("select call_id, ordinal from attempts").rows()) == expected
    assert ledger.check().duplicates == 0


def test_followers_get_each_row_once_through_compactions(tmp_path: Path) -> None:
    """Rows seen in a segment do not come again from a Parquet file; rows first met there come, and once."""
    written(tmp_path, row("old"))
    ledger = Ledger(tmp_path)
    quick, slow, got = ledger.follow(), ledger.follow(), []
    for number in range(12):
        written(tmp_path, row("a", 2 * number))
        if number % 3 == 0:
            got += quick.new_rows()["ordinal"].to_list()
        written(tmp_path, row("a", 2 * number + 1))
        if number % 2 == 0:
            compact(tmp_path)
        if number % 4 == 0:
            ledger.attempts()
    got += quick.new_rows()["ordinal"].to_list()
    assert sorted(got) == list(range(24))
    assert sorted(slow.new_rows()["ordinal"].to_list()) == list(range(24))
    assert quick.new_rows().is_empty()


def test_a_damaged_file_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """A Parquet file cut short, and one of somebody else, are left out with a reason."""
    written(tmp_path, row("a"))
    compact(tmp_path)
    written(tmp_path, row("b"))
    (path,) = parquets(tmp_path)
    os.truncate(path, path.stat().st_size - 5)
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "other.parquet")
    found = Ledger(tmp_path).check()
    assert found.left_out == {path.name: "damaged", "other.parquet": "not written by a ledger"}
    assert (found.rows, found.ok) == (1, False)


def test_damage_in_the_middle_of_a_file_names_the_file(tmp_path: Path) -> None:
    """A query does not silently go without a million rows: it says which file cannot be read."""
    written(tmp_path, *(row("a", number, notes=f"{number}" * 20) for number in range(500)))
    compact(tmp_path)
    (path,) = parquets(tmp_path)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    ledger = Ledger(tmp_path)
    for ask in (ledger.attempts, ledger.check):
        with pytest.raises(LedgerError, match=rf"^{path.name} is damaged and cannot be read; put a copy back"):
            ask()


# -- versions --------------------------------------------------------------------------------------------------------


def test_files_of_an_older_version_stay_readable(tmp_path: Path) -> None:
    """Columns that a file lacks are NULL, in JSON lines and in Parquet, and merging fills them the same way."""
    old = msgspec.json.decode(encode(row("old", secs=1.0)))
    del old["tier"], old["notes"]
    (tmp_path / new_name(NOON.date())).write_bytes(msgspec.json.encode(old) + b"\n")
    compact(tmp_path)
    (path,) = parquets(tmp_path)
    metadata = pl.read_parquet_metadata(path)
    footer = metadata["zc_ledger"].replace('"notes",', "").replace('"tier",', "")
    pl.read_parquet(path).drop("notes", "tier").write_parquet(path, metadata={"zc_ledger": footer})
    query = "select call_id, tier, notes, secs from attempts order by call_id"
    assert Ledger(tmp_path).sql(query).rows() == [("old", None, None, 1.0)]
    written(tmp_path, row("new", tier="free"))
    for _ in range(2):
        assert Ledger(tmp_path).sql(query).rows() == [("new", "free", None, None), ("old", None, None, 1.0)]
        compact(tmp_path)


def test_fields_of_a_newer_version_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this version does not know survives compaction and merging, and a version that knows it can read it."""
    from zc_notebooks.ledger import parquet

    newer = msgspec.json.decode(encode(row("newer"))) | {"region": "eu", "weight": 2.5}
    (tmp_path / new_name(NOON.date())).write_bytes(msgspec.json.encode(newer) + b"\n" + encode(row("plain")))
    compact(tmp_path)
    (path,) = parquets(tmp_path)
    frame = pl.read_parquet(path).with_columns(pl.lit("col").alias("added_later"))
    frame.write_parquet(path, metadata={"zc_ledger": pl.read_parquet_metadata(path)["zc_ledger"]})
    written(tmp_path, row("more"), row("and more"))
    compact(tmp_path)
    (path,) = parquets(tmp_path)
    kept = pl.read_parquet(path)
    assert kept.sort("call_id")["added_later"].to_list() == [None, None, "col", "col"]
    assert [msgspec.json.decode(text) for text in kept["_more"].drop_nulls()] == [{"region": "eu", "weight": 2.5}]
    monkeypatch.setattr(parquet, "DUCKDB_TYPES", {"call_id": "VARCHAR", "region": "VARCHAR", "weight": "DOUBLE"})
    import duckdb

    sql = parquet.read_sql([parquet.Compacted(path=str(path), size=0, footer=parquet.read_footer(path))])  # type: ignore[arg-type]
    found = duckdb.sql(f"select region, weight from ({sql}) where call_id in ('newer', 'plain') order by call_id")  # noqa: S608
    assert found.fetchall() == [("eu", 2.5), (None, None)]


# -- retention -------------------------------------------------------------------------------------------------------


def test_rows_older_than_what_is_kept_go(tmp_path: Path) -> None:
    """``keep`` drops rows by their time, from segments and from Parquet files, and nothing else."""
    clock = ManualClock(NOON)
    for age in (100, 91, 89, 1):
        written(tmp_path, row(f"{age} days", t=NOON - timedelta(days=age)))
        if age == 91:
            compact(tmp_path, clock=clock)
    done = compact(tmp_path, keep="90d", clock=clock)
    assert (done.rows, done.dropped) == (2, 2)
    assert keys(tmp_path) == [("1 days", 0), ("89 days", 0)]
    assert compact(tmp_path, keep="90d", clock=clock).dropped == 0
    assert compact(tmp_path, keep=timedelta(hours=1), clock=clock).dropped == 2
    assert kinds(tmp_path) == {}


@unix
def test_a_dropped_file_never_brings_back_what_it_replaced(tmp_path: Path) -> None:
    """Old rows whose segment could not be removed stay dropped: the file that says so stays as long as the segment."""
    clock = ManualClock(NOON)
    writer = LedgerWriter(tmp_path, clock=ManualClock(NOON - timedelta(days=100)))
    writer.write(row("old", t=NOON - timedelta(days=100)))
    for _ in range(2):
        compact(tmp_path, keep="90d", clock=clock)
        assert keys(tmp_path) == []
        assert kinds(tmp_path) == {".parquet": 1, ".jsonl": 1}
    writer.close()
    compact(tmp_path, keep="90d", clock=clock)
    assert kinds(tmp_path) == {}


@pytest.mark.parametrize("keep", ["soon", "", "90", "2999-01-01", "-3d", timedelta(0), timedelta(days=-1)])
def test_a_time_to_keep_that_cannot_be_meant_is_one_sentence(tmp_path: Path, keep: str | timedelta) -> None:
    """Nothing is dropped because of a slip."""
    written(tmp_path, row("a", t=datetime(2000, 1, 1, tzinfo=UTC)))
    with pytest.raises(LedgerError, match=r"keep = .*"):
        compact(tmp_path, keep=keep)
    assert keys(tmp_path) == [("a", 0)]
