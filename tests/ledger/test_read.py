"""Reading a folder: what is a row, what is counted, and what changes while it is read."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ledger.rows import NOON, row
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.columns import frame_of_rows, polars_schema
from zc_notebooks.ledger.lines import PIECE
from zc_notebooks.ledger.read import Ledger, LedgerCheck
from zc_notebooks.ledger.row import AttemptRow, encode
from zc_notebooks.testing import ManualClock

LINE = encode(row())


def written(folder: Path, *rows: AttemptRow) -> LedgerWriter:
    """A writer that wrote some rows."""
    writer = LedgerWriter(folder)
    for one in rows:
        assert writer.write(one)
    return writer


def counts(found: LedgerCheck) -> tuple[int, int, int, int]:
    """Rows, torn, foreign, pending."""
    return found.rows, found.torn, found.foreign, found.pending


# -- values ----------------------------------------------------------------------------------------------------------

texts = st.none() | st.text(max_size=12)
instants = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 (hypothesis wants naive bounds)
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
tokens = st.none() | st.integers(-(2**63), 2**63 - 1)
rows = st.builds(
    row,
    call_id=st.text(max_size=12),
    ordinal=st.integers(-(2**31), 2**31 - 1),
    t=instants,
    provider_ref=st.text(max_size=12),
    resets_at=st.none() | instants,
    model_reported=texts,
    notes=texts,
    failover=st.booleans(),
    input_tokens=tokens,
    cost_usd=numbers,
    secs=numbers,
)


@given(st.lists(rows, max_size=20))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_is_what_is_read(tmp_path: Path, given_rows: list[AttemptRow]) -> None:
    """Every value of every row comes back as it was, in any text and at any size."""
    shutil.rmtree(tmp_path / "ledger", ignore_errors=True)
    written(tmp_path / "ledger", *given_rows).close()
    ledger = Ledger(tmp_path / "ledger")
    assert sorted(map(repr, ledger.attempts().rows())) == sorted(map(repr, frame_of_rows(given_rows).rows()))
    assert ledger.check().rows == len(given_rows)
    ledger.close()


@pytest.mark.parametrize("make", [False, True], ids=["missing", "empty"])
def test_no_rows_give_an_empty_frame_with_all_columns(tmp_path: Path, *, make: bool) -> None:
    """A missing or empty folder is an empty ledger, and looking makes no folder."""
    folder = tmp_path / "ledger"
    if make:
        folder.mkdir()
    ledger = Ledger(folder)
    assert dict(ledger.attempts().schema) == polars_schema()
    assert ledger.attempts().is_empty()
    assert ledger.check().ok
    assert str(ledger.check()) == "0 rows in 0 files, all in order"
    assert folder.exists() is make


def test_instants_are_utc_whatever_the_machine_thinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A date in SQL is the UTC date."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    written(tmp_path, row(t=datetime(2026, 11, 30, 23, tzinfo=UTC)))
    found = Ledger(tmp_path).sql("select t, t::date as day from attempts")
    assert found.schema["t"] == pl.Datetime("us", "UTC")
    assert found["day"].to_list() == [date(2026, 11, 30)]


def test_the_repr_is_one_line_without_a_path(tmp_path: Path) -> None:
    """Rows and files, nothing of where they are."""
    written(tmp_path, row("a"), row("b"))
    assert repr(Ledger(tmp_path)) == "Ledger(2 rows, 1 file)"


def test_a_ledger_says_what_of_it_could_not_be_read(tmp_path: Path) -> None:
    """Lines and files, in its repr, its notebook form and as a sentence; a sound one has nothing to say."""
    writer = written(tmp_path, row("a"))
    writer.close()
    ledger = Ledger(tmp_path)
    assert ledger.damage is None
    (segment,) = tmp_path.glob("*.jsonl")
    segment.write_bytes(segment.read_bytes() + LINE[:40] + b"\n[]\n" + LINE[:50])
    (tmp_path / "attempts-x.parquet").write_text("rubbish")
    ledger.refresh()
    said = "3 lines could not be read and 1 file was left out"
    assert ledger.damage == f"{said}: zc ledger check --json names them"
    assert ledger.check().damage == ledger.damage
    assert repr(ledger) == "Ledger(1 row, 1 file, 3 lines could not be read, 1 file was left out)"
    assert said in ledger._repr_html_()
    segment.unlink()
    assert "3 lines" not in ledger._repr_html_()


def test_rows_that_are_there_twice_are_damage(tmp_path: Path) -> None:
    """Each would be counted twice by every view."""
    written(tmp_path, row("a"), row("a"))
    assert Ledger(tmp_path).check().damage == "1 row is there twice: zc ledger check --json names them"


# -- lines that are no rows ------------------------------------------------------------------------------------------


def test_torn_and_foreign_lines_are_counted_and_named(tmp_path: Path) -> None:
    """Nothing turns into NULL unseen: each bad line is counted, with its file, number and reason."""
    bad = [
        b"\n",
        b"[1]\n",
        b'{"a":1}\n',
        b"\x00\x01\n",
        LINE[:40] + b"\n",
        b"\xff\xfe\n",
        LINE.replace(b":0", b':"0"', 1),
    ]
    (tmp_path / "attempts-x.jsonl").write_bytes(LINE + b"".join(bad) + encode(row("last")))
    ledger = Ledger(tmp_path)
    found = ledger.check()
    assert counts(found) == (2, 1, 6, 0)
    assert [line.line for line in found.bad] == [2, 3, 4, 5, 6, 7, 8]
    assert {line.file for line in found.bad} == {"attempts-x.jsonl"}
    assert "Expected `int`, got `str` - at `$.ordinal`" in found.bad[-1].why
    assert not found.ok
    assert str(found) == "2 rows in 1 file, 1 torn line, 6 foreign lines"
    assert ledger.sql("select count(*) from attempts where call_id is null or t is null").item() == 0


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "unended"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_files_made_by_other_hands_are_read(tmp_path: Path, ending: bytes, start: bytes, *, last: bool) -> None:
    """Windows line ends, a byte order mark, and a last line without an end are no reason to lose rows."""
    body = ending.join(encode(row(name)).rstrip(b"\n") for name in "abc") + (ending if last else b"")
    (tmp_path / "mine.jsonl").write_bytes(start + body)
    assert counts(Ledger(tmp_path).check()) == (3, 0, 0, 0)


def test_a_line_longer_than_any_row_is_skipped_without_being_held(tmp_path: Path) -> None:
    """A line of 40 MB is one foreign line, and the rows around it count."""
    (tmp_path / "a.jsonl").write_bytes(LINE + b"x" * 40_000_000 + b"\n" + encode(row("after")))
    assert counts(Ledger(tmp_path).check()) == (2, 0, 1, 0)


def test_an_endless_line_is_one_foreign_line_until_it_ends(tmp_path: Path) -> None:
    """A line that outgrows every row while it is watched is counted once."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE + b"x" * 20_000_000)
    ledger = Ledger(tmp_path)
    assert counts(ledger.check()) == (1, 0, 1, 0)
    with path.open("ab") as file:
        file.write(b"x" * 1000)
    assert counts(ledger.check()) == (1, 0, 1, 0)
    with path.open("ab") as file:
        file.write(b"\n" + LINE)
    assert counts(ledger.check()) == (2, 0, 1, 0)


def test_lines_over_the_edges_of_what_is_read_at_once(tmp_path: Path) -> None:
    """Rows and bad lines anywhere around the reader's own boundaries are told apart."""
    pad = PIECE - len(LINE) - 20
    long_row = encode(row("long", notes="x" * pad))
    (tmp_path / "a.jsonl").write_bytes(LINE + long_row + b"[]\n" + LINE * 700 + LINE[:50] + b"\n" + LINE * 700)
    assert counts(Ledger(tmp_path).check()) == (1402, 1, 1, 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_what_is_no_segment_is_named_and_never_opened(tmp_path: Path) -> None:
    """A folder, a pipe, a link and a text file are reported with a reason each; hidden files are let be."""
    written(tmp_path, row())
    (tmp_path / "sub.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "link.jsonl").symlink_to("/etc/passwd")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / ".hidden").write_text("hello")
    found = Ledger(tmp_path).check()
    assert found.left_out == {
        "sub.jsonl": "a folder",
        "pipe.jsonl": "a named pipe",
        "link.jsonl": "a symbolic link",
        "notes.txt": "not a .jsonl file",
    }
    assert (found.files, found.rows) == (1, 1)
    assert "notes.txt is not read (not a .jsonl file)" in str(found)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """A file without permission is reported and the rest is read."""
    written(tmp_path, row())
    (tmp_path / "secret.jsonl").write_bytes(LINE)
    (tmp_path / "secret.jsonl").chmod(0)
    found = Ledger(tmp_path).check()
    assert found.left_out == {"secret.jsonl": "Permission denied"}
    assert found.rows == 1


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text on this system")
def test_a_name_of_any_bytes_can_be_reported(tmp_path: Path) -> None:
    """Names that are no text, or have line ends in them, are shown as one line and can be written as JSON."""
    for name in (b"\xff.txt", b"a\nb.jsonl"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"[]\n")
    found = Ledger(tmp_path).check()
    assert found.left_out == {"\ufffd.txt": "not a .jsonl file"}
    assert [line.file for line in found.bad] == ["a b.jsonl"]
    assert msgspec.json.decode(msgspec.json.encode(found))["foreign"] == 1


def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    """One sentence, and closing twice is no fault."""
    ledger = Ledger(tmp_path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="this ledger was closed"):
        ledger.attempts()


def test_a_file_in_place_of_a_folder_is_one_sentence(tmp_path: Path) -> None:
    """The commonest mistake is named."""
    (tmp_path / "a.jsonl").write_bytes(LINE)
    with pytest.raises(LedgerError, match=r"a\.jsonl is a file; a ledger is a folder of \.jsonl files"):
        Ledger(tmp_path / "a.jsonl")


def test_a_copied_segment_is_noticed(tmp_path: Path) -> None:
    """Rows that are there twice are counted as such."""
    written(tmp_path, row("a"), row("b"))
    segment = next(tmp_path.iterdir())
    shutil.copy(segment, tmp_path / "copy.jsonl")
    found = Ledger(tmp_path).check()
    assert (found.rows, found.duplicates, found.ok) == (4, 2, False)
    assert "2 rows there twice" in str(found)


# -- a folder that changes -------------------------------------------------------------------------------------------


def test_rows_of_any_writer_appear_in_the_next_query(tmp_path: Path) -> None:
    """An open ledger sees what was appended since, once."""
    first = written(tmp_path, row("a", 0))
    ledger = Ledger(tmp_path)
    first.write(row("a", 1))
    written(tmp_path, row("b", 0))
    assert ledger.attempts().select("call_id", "ordinal").rows() == [("a", 0), ("a", 1), ("b", 0)]
    assert repr(ledger) == "Ledger(3 rows, 2 files)"


def test_a_row_in_the_middle_of_being_written_is_pending_and_then_a_row(tmp_path: Path) -> None:
    """While its writer lives, an unfinished last line is no fault."""
    writer = written(tmp_path, row("a"))
    segment = next(tmp_path.iterdir())
    ledger = Ledger(tmp_path)
    with segment.open("ab") as file:
        file.write(LINE[:50])
    found = ledger.check()
    assert counts(found) == (1, 0, 0, 1)
    assert found.ok
    assert "1 row being written" in str(found)
    with segment.open("ab") as file:
        file.write(LINE[50:])
    assert counts(ledger.check()) == (2, 0, 0, 0)
    writer.close()


def test_an_unfinished_row_is_torn_once_its_writer_is_gone(tmp_path: Path) -> None:
    """The same line counts as torn when nobody will finish it, without being read again and again."""
    writer = written(tmp_path, row("a"))
    segment = next(tmp_path.iterdir())
    with segment.open("ab") as file:
        file.write(LINE[:50])
    ledger = Ledger(tmp_path)
    assert counts(ledger.check()) == (1, 0, 0, 1)
    writer.close()
    assert counts(ledger.check()) == (1, 1, 0, 0)
    assert counts(ledger.check()) == (1, 1, 0, 0)
    assert ledger.check().bad[0].line == 2


def test_a_last_row_without_an_end_counts_once(tmp_path: Path) -> None:
    """A row taken before its line end was there is not taken again when the end and more rows follow."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode(row("a")).rstrip(b"\n"))
    ledger = Ledger(tmp_path)
    assert counts(ledger.check()) == (1, 0, 0, 0)
    with path.open("ab") as file:
        file.write(b"\n")
    assert counts(ledger.check()) == (1, 0, 0, 0)
    with path.open("ab") as file:
        file.write(encode(row("b")) + encode(row("c")).rstrip(b"\n"))
    assert counts(ledger.check()) == (3, 0, 0, 0)
    with path.open("ab") as file:
        file.write(b"\n" + encode(row("d")))
    assert counts(ledger.check()) == (4, 0, 0, 0)


def test_a_removed_file_takes_its_rows_along(tmp_path: Path) -> None:
    """What is no longer in the folder is no longer in the ledger; a removed folder is an empty one."""
    folder = tmp_path / "ledger"
    written(folder, row("a"))
    written(folder, row("b"))
    ledger = Ledger(folder)
    next(folder.iterdir()).unlink()
    assert ledger.attempts().height == 1
    shutil.rmtree(folder)
    assert ledger.attempts().is_empty()
    written(folder, row("c"))
    assert ledger.attempts()["call_id"].to_list() == ["c"]


@pytest.mark.parametrize("new", [b"", LINE, LINE * 3], ids=["emptied", "the same size", "longer"])
def test_a_replaced_file_is_read_anew(tmp_path: Path, new: bytes) -> None:
    """Another file under the same name replaces the rows of the first."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode(row("call-0")))
    ledger = Ledger(tmp_path)
    other = tmp_path / "other"
    other.write_bytes(new)
    other.rename(path)
    assert ledger.attempts()["call_id"].to_list() == ["call-1"] * (len(new) // len(LINE))


def test_a_file_edited_in_place_is_read_anew(tmp_path: Path) -> None:
    """A change that does not grow the file is noticed by its time."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode(row("call-0")))
    ledger = Ledger(tmp_path)
    path.write_bytes(LINE)
    os.utime(path, ns=(0, 0))
    assert ledger.attempts()["call_id"].to_list() == ["call-1"]


def test_new_rows_come_once_to_each_follower(tmp_path: Path) -> None:
    """A board gets what any process appended since it last asked, in the order of time."""
    writer = written(tmp_path, row("old"))
    ledger = Ledger(tmp_path)
    board, later = ledger.follow(), None
    writer.write(row("b", t=NOON + timedelta(seconds=1)))
    written(tmp_path, row("a"))
    ledger.attempts()
    assert board.new_rows()["call_id"].to_list() == ["a", "b"]
    later = ledger.follow()
    writer.write(row("c"))
    for follower in (board, later):
        assert follower.new_rows()["call_id"].to_list() == ["c"]
        assert follower.new_rows().is_empty()
        assert dict(follower.new_rows().schema) == polars_schema()
    assert ledger.new_rows().height == 3


# -- periods ---------------------------------------------------------------------------------------------------------

PERIODS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [0, 1, 2, 3]),
    ({"since": "24h"}, [2, 3]),
    ({"since": "36 h"}, [1, 2, 3]),
    ({"since": "1.5d", "until": "60m"}, [1, 2]),
    ({"since": "2w"}, [0, 1, 2, 3]),
    ({"since": "5400s"}, [3]),
    ({"since": timedelta(days=1)}, [2, 3]),
    ({"since": "2026-11-30"}, [2, 3]),
    ({"since": date(2026, 11, 29), "until": date(2026, 11, 30)}, [1]),
    ({"since": datetime(2026, 11, 30, 11, tzinfo=UTC)}, [3]),
    ({"until": datetime(2026, 11, 30, 11, tzinfo=UTC)}, [0, 1, 2]),
    ({"until": "2026-11-29T12:00"}, [0, 1]),
    ({"since": "2026-11-30T20:00:00+09:00"}, [3]),
    ({"since": "2026-12-24"}, []),
]
"""Rows begin 3 days, 24 h 1 s, 2 h and 30 min before noon of November 30."""


@pytest.mark.parametrize(("period", "expected"), PERIODS, ids=[str(period) for period, _ in PERIODS])
def test_a_period_is_what_people_write(tmp_path: Path, period: dict[str, Any], expected: list[int]) -> None:
    """Begin is included, end is not; bare numbers of hours count back from now; dates are UTC."""
    ages = (timedelta(days=3), timedelta(hours=24, seconds=1), timedelta(hours=2), timedelta(minutes=30))
    written(tmp_path, *(row("a", number, t=NOON - age) for number, age in enumerate(ages)))
    found = Ledger(tmp_path, clock=ManualClock(NOON)).attempts(**period)
    assert found["ordinal"].to_list() == expected


@pytest.mark.parametrize(
    ("period", "sentence"),
    [
        ({"since": "yesterday"}, "since = 'yesterday' is no time: write \"24h\""),
        ({"since": ""}, "since = '' is no time"),
        ({"until": "24 hours"}, "until = '24 hours' is no time"),
        ({"since": 24}, "since = 24 is no time"),
        ({"since": True}, "since = True is no time"),
        ({"since": "99999999999d"}, "is no time"),
        ({"since": "1h", "until": "2h"}, "the period ends .* before it begins"),
    ],
)
def test_a_period_that_cannot_be_read_is_one_sentence(tmp_path: Path, period: dict[str, Any], sentence: str) -> None:
    """What is wrong and what would be right, without a traceback of ours."""
    with pytest.raises(LedgerError, match=sentence) as failed:
        Ledger(tmp_path, clock=ManualClock(NOON)).attempts(**period)
    assert "\n" not in str(failed.value)


def test_the_tail_is_the_newest_oldest_first(tmp_path: Path) -> None:
    """``tail`` orders by time over all files, and refuses a negative number."""
    for name, seconds in (("c", 3), ("a", 1), ("b", 2)):
        written(tmp_path, row(name, t=NOON + timedelta(seconds=seconds)))
    ledger = Ledger(tmp_path)
    assert ledger.tail(2)["call_id"].to_list() == ["b", "c"]
    assert ledger.tail(0).is_empty()
    with pytest.raises(LedgerError, match="0 or more"):
        ledger.tail(-1)
