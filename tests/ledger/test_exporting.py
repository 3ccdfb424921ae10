"""The attempts as a file for other programs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.ledger.compacting import written
from tests.ledger.rows import NOON, row
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.testing import ManualClock


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """One row in Parquet, one in JSON lines, a day apart."""
    written(tmp_path / "ledger", row("b", t=NOON - timedelta(days=1), notes="a, 'b' \"c\"\nd"))
    compact(tmp_path / "ledger")
    written(tmp_path / "ledger", row("a"))
    return Ledger(tmp_path / "ledger", clock=ManualClock(NOON))


def read(path: Path) -> pl.DataFrame:
    """What stands in an export."""
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as con:
            rows = con.sql("select call_id, notes from attempts").fetchall()
            return pl.DataFrame(rows, schema=["call_id", "notes"], orient="row")
    frame = pl.read_parquet(path, glob=False) if path.suffix == ".parquet" else pl.read_csv(path)
    assert frame.columns == list(DUCKDB_TYPES)
    return frame.select("call_id", "notes")


@pytest.mark.parametrize("name", ["all.parquet", "all.csv", "all.duckdb", "it's [1] *.parquet"])
def test_an_export_holds_every_row_in_the_order_of_time(ledger: Ledger, tmp_path: Path, name: str) -> None:
    """Rows of both forms; nothing else is left beside the file, which only its owner can read."""
    assert ledger.export(tmp_path / name) == 2
    assert read(tmp_path / name).rows() == [("b", "a, 'b' \"c\"\nd"), ("a", None)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "ledger"])
    assert (tmp_path / name).stat().st_mode & 0o077 == 0


def test_an_export_of_a_period(ledger: Ledger, tmp_path: Path) -> None:
    """The bounds mean what they mean everywhere."""
    assert ledger.export(tmp_path / "day.parquet", since="12h") == 1
    assert ledger.export(tmp_path / "before.parquet", until="12h") == 1
    assert read(tmp_path / "before.parquet")["call_id"].to_list() == ["b"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("all.txt", r"all\.txt: an export is a file that ends in \.parquet, \.csv, \.duckdb"),
        ("all", "an export is a file that ends in"),
        ("ledger/all.parquet", "would lie in the ledger's own folder"),
        ("taken.csv", r"taken\.csv is there already; choose another name, or --force"),
        ("none/all.csv", r"all\.csv could not be written: .*"),
        ("none/all.duckdb", r"all\.duckdb could not be written: .*"),
    ],
)
def test_an_export_that_cannot_be_is_one_sentence(ledger: Ledger, tmp_path: Path, name: str, sentence: str) -> None:
    """Nothing is made, nothing overwritten."""
    (tmp_path / "taken.csv").write_text("mine")
    with pytest.raises(LedgerError, match=sentence) as failed:
        ledger.export(tmp_path / name)
    assert "\n" not in str(failed.value)
    assert (tmp_path / "taken.csv").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger", "taken.csv"]


def test_a_file_is_replaced_when_that_is_wanted(ledger: Ledger, tmp_path: Path) -> None:
    """``force``."""
    (tmp_path / "all.csv").write_text("mine")
    assert ledger.export(tmp_path / "all.csv", force=True) == 2
    assert read(tmp_path / "all.csv").height == 2
