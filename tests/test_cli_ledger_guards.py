"""``zc ledger`` and a user's slips: a folder that is not there, a file that is, Ctrl-C, names that hold more."""

from __future__ import annotations

import io
import sys
import warnings
from datetime import timedelta
from pathlib import Path

import pytest

from tests.ledger.compacting import written
from tests.ledger.pressing import ENDLESS, press_ctrl_c
from tests.ledger.rows import NOON, row
from zc_notebooks import sample
from zc_notebooks.cli import output
from zc_notebooks.cli.app import run
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWarning, LedgerWriter
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow, encode
from zc_notebooks.ledger.segments import new_name
from zc_notebooks.testing import ManualClock


@pytest.mark.parametrize(
    "command",
    ["check", "calls", "compact", "export all.csv", "export --otel all.jsonl", "tail", "cost", "outlook", "reprice"],
)
def test_a_ledger_that_is_not_there_is_said(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped --ledger is one sentence and status 2, for programs too, and makes no folder."""
    monkeypatch.chdir(tmp_path)
    assert run(["ledger", *command.split(), "--ledger", "nosuch"]) == 2
    assert capsys.readouterr().err.startswith("zc: there is no folder nosuch: ")
    assert run(["ledger", *command.split(), "--ledger", "nosuch", "--json"]) == 2
    assert "there is no folder nosuch" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_spans_go_to_no_file_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for the other forms: --force replaces a file, nothing writes into the ledger."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "ledger", row())
    Path("spans.jsonl").write_text("mine", encoding="utf-8")
    arguments = ["ledger", "export", "--ledger", "ledger", "--otel"]
    assert run([*arguments, "spans.jsonl"]) == 2
    assert capsys.readouterr().err == (
        "zc: spans.jsonl is there already; choose another name, or --force to replace it\n"
    )
    (segment,) = (tmp_path / "ledger").glob("*.jsonl")
    assert run([*arguments, str(segment), "--force"]) == 2
    assert segment.read_bytes() == encode(row())
    assert run([*arguments, "spans.jsonl", "--force"]) == 0


def test_ctrl_c_cancels_a_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One word, status 130, no traceback."""
    written(tmp_path, row())
    press_ctrl_c(monkeypatch)
    assert run(["ledger", "sql", ENDLESS, "--ledger", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "cancelled\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_table_on_a_terminal_shows_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells and names of columns: an escape or a line end is a picture, and markup is text."""
    screen = _Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    output.table(["a\x1b[2J[red]"], [["x\x1b]0;t\x07\ny\tz"]])
    text = screen.getvalue()
    assert "␛]0;t␇␊y␉z" in text
    assert "[2J[red]" in text
    assert "\x1b[2J" not in text
    assert "\x1b]" not in text


def test_a_sample_that_cannot_be_written_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lost row ends it: one sentence with the reason, no warning beside it."""

    def full(_: LedgerWriter, __: AttemptRow) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LedgerWriter, "_append", full)
    told: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", LedgerWarning)
        with pytest.raises(LedgerError, match=r"could not be written to .*: No space left on device"):
            sample.write_sample(tmp_path / "x", told=lambda done, _: told.append(done))
    assert told == []


def test_what_retention_leaves_out_is_named(tmp_path: Path) -> None:
    """Old rows beside a line that is no row stay, and the result says where and why."""
    now = NOON + timedelta(days=9)
    strange = new_name(NOON.date())
    (tmp_path / strange).write_bytes(encode(row("a")) + b"what\n")
    done = compact(tmp_path, keep="1d", clock=ManualClock(now))
    assert done.not_retained == {strange: "it has lines that are no rows; see zc ledger check"}
    assert f"old rows in {strange} are kept (it has lines that are no rows" in str(done)
    assert Ledger(tmp_path).check().rows == 1
    assert compact(tmp_path, clock=ManualClock(now)).not_retained == {}
