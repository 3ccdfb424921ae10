"""A row that cannot be: refused when it is imported, and no view breaks where one is in the ledger all the same."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.ledger.compacting import written
from tests.ledger.pressing import ENDLESS, press_ctrl_c
from tests.ledger.rows import row
from tests.ledger.test_importing import ANSWERED, file_of, numbers
from zc_notebooks.bench.outlook import outlook
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger import otel
from zc_notebooks.ledger.effective import effective_cost
from zc_notebooks.ledger.importing import import_file
from zc_notebooks.ledger.interrupting import interruptible
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import encode
from zc_notebooks.ledger.views import CUTS

MOST = 2**63 - 1
FAR = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
KEY = "sk-live-abcdefghijklmnopqrstuvwxyz0123456789"
ODD: list[dict[str, Any]] = [
    {"secs": 1e308, "first_token_s": 1e308, "wait_s": 1e308},
    {"secs": -1e308},
    {"input_tokens": MOST, "output_tokens": MOST, "cached_input_tokens": MOST, "reasoning_tokens": MOST},
    {"cost_usd": 1e27},
    {"cost_usd": 9e25},
    {"resets_at": FAR, "reason": "daily_limit", "status": "http_429", "tier": "free", "scope": "model"},
    {"t": FAR},
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: " ".join(f"{name}={value}" for name, value in odd.items()))
def test_no_view_breaks_on_a_row_that_cannot_be(tmp_path: Path, odd: dict[str, Any]) -> None:
    """Twice the odd row (sums overflow too) beside good ones: every view, the costs, the outlook and the spans."""
    good = {"cost_usd": 0.25, "input_tokens": 1, "output_tokens": 1, "secs": 1.0, "accepted": True}
    written(tmp_path, *(row(f"odd-{place}", **{**good, **odd}) for place in range(2)), row("good", 0, **good))
    ledger = Ledger(tmp_path)
    assert all(ledger.view(view).width for view in CUTS)
    cost = effective_cost(ledger)
    assert cost.cost_usd is not None
    assert cost.at_least == ("cost_usd" in odd)
    assert outlook(ledger, None, now=datetime(2026, 12, 1, tzinfo=UTC)).now
    assert otel.export(ledger, tmp_path.parent / f"{tmp_path.name}.jsonl") == 3


def test_what_is_not_known_makes_a_lower_bound(tmp_path: Path) -> None:
    """A length or a price that cannot be is NULL in the views, never a figure."""
    written(tmp_path, row("a", secs=1e308, cost_usd=1e27, input_tokens=MOST, output_tokens=1))
    written(tmp_path, row("b", secs=1.0, cost_usd=0.5, input_tokens=MOST, output_tokens=1))
    ledger = Ledger(tmp_path)
    assert ledger.sql("select total_s, cost_usd, at_least from calls order by call_id").rows()[0] == (None, None, True)
    assert ledger.sql("select input_tokens, output_tokens, cost_usd::double, at_least from spend").rows() == [
        (None, 2, 0.5, True)
    ]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("secs", 1e308),
        ("in", 99999999999999999999),
        ("in", 10**12 + 1),
        ("out", -MOST),
        ("attempt", 2**40),
        ("t", "0001-01-01T00:00:00+09:00"),
        ("t", "9999-12-31T23:59:59-09:00"),
        ("t", "1999-12-31T00:00:00"),
    ],
)
def test_a_short_line_that_cannot_be_is_refused_with_its_number(tmp_path: Path, column: str, value: Any) -> None:
    """The other lines come in, and what came in is what the reader counts."""
    path = file_of(tmp_path / "log.jsonl", ANSWERED, {**ANSWERED, column: value}, ANSWERED)
    found = import_file(path, tmp_path / "ledger")
    assert numbers(found) == (2, 0, 1)
    assert found.problems[0].line == 2
    assert "line 2: " in str(found)
    assert Ledger(tmp_path / "ledger").check().ok
    assert numbers(import_file(path, tmp_path / "ledger")) == (0, 2, 1)


@pytest.mark.parametrize(
    "odd", [{"secs": 2e7}, {"cost_usd": 2e6}, {"billed_input_tokens": 10**13}, {"resets_at": FAR}, {"t": FAR}]
)
def test_a_ledger_row_that_cannot_be_is_refused(tmp_path: Path, odd: dict[str, Any]) -> None:
    """The column is named, its value is not."""
    path = file_of(tmp_path / "rows.jsonl", encode(row("a")), encode(row("b", **odd)))
    found = import_file(path, tmp_path / "ledger")
    assert numbers(found) == (1, 0, 1)
    assert found.problems[0].why.startswith(f"{next(iter(odd))} cannot be: ")


def test_a_litellm_spend_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """1e27 dollars are nobody's bill."""
    line = {"request_id": "r1", "startTime": "2026-11-30T12:00:00", "prompt_tokens": 1, "completion_tokens": 1}
    path = file_of(tmp_path / "log.jsonl", {**line, "spend": 1e27}, {**line, "request_id": "r2", "spend": 0.1})
    assert numbers(import_file(path, tmp_path / "ledger")) == (1, 0, 1)


@pytest.mark.parametrize("escaped", [False, True])
def test_keys_in_imported_names_are_not_stored(tmp_path: Path, *, escaped: bool) -> None:
    """Short lines and ledger rows: no byte of the folder holds one, and rows keyed by one stay apart."""
    own = encode(row(KEY, model=KEY, provider_ref=f"x.{KEY}")) + encode(row(KEY + "9", model=KEY))
    own = own.replace(b"sk-", b"sk\\u002d") if escaped else own
    short = file_of(tmp_path / "short.jsonl", {**ANSWERED, "provider": KEY, "model": f"m {KEY}", "status": KEY})
    rows = file_of(tmp_path / "rows.jsonl", own)
    assert numbers(import_file(short, tmp_path / "ledger")) == (1, 0, 0)
    assert numbers(import_file(rows, tmp_path / "ledger")) == (2, 0, 0)
    held = b"".join(path.read_bytes() for path in (tmp_path / "ledger").iterdir())
    assert KEY[8:].encode() not in held
    assert Ledger(tmp_path / "ledger").check().ok


def test_own_rows_without_a_key_stay_byte_for_byte(tmp_path: Path) -> None:
    """Fields this version does not know too."""
    line = msgspec.json.encode({**msgspec.to_builtins(row("a")), "new": {"deep": ["words"]}}) + b"\n"
    import_file(file_of(tmp_path / "rows.jsonl", line), tmp_path / "ledger")
    (segment,) = (tmp_path / "ledger").glob("*.jsonl")
    assert segment.read_bytes() == line


def test_spans_replace_no_file_and_stay_out_of_the_ledger(tmp_path: Path) -> None:
    """As the other exports do: a file that is there needs ``force``, a segment is never written."""
    folder, file = tmp_path / "ledger", tmp_path / "spans.jsonl"
    written(folder, row())
    (segment,) = folder.glob("*.jsonl")
    before = segment.read_bytes()
    file.write_text("mine", encoding="utf-8")
    ledger = Ledger(folder)
    with pytest.raises(LedgerError, match="is there already"):
        otel.export(ledger, file)
    for inside in (segment, folder / "new.jsonl"):
        with pytest.raises(LedgerError, match="own folder"):
            otel.export(ledger, inside, force=True)
    assert (file.read_text(encoding="utf-8"), segment.read_bytes()) == ("mine", before)
    assert otel.export(ledger, file, force=True) == 1


def test_ctrl_c_ends_a_query_at_once(tmp_path: Path) -> None:
    """DuckDB is interrupted and the ledger can be asked again."""
    written(tmp_path, row())
    ledger = Ledger(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        press_ctrl_c(patch)
        with pytest.raises(KeyboardInterrupt):
            ledger.sql(ENDLESS)
    assert ledger.sql("select 1 as one").rows() == [(1,)]


def test_interruptible_work_gives_and_raises_as_it_is() -> None:
    """In any thread."""
    assert interruptible(lambda: 1, lambda: None) == 1
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, lambda: None)


@pytest.mark.parametrize("runs", [True, False])
def test_ctrl_c_while_the_work_begins(monkeypatch: pytest.MonkeyPatch, *, runs: bool) -> None:
    """Work that runs by then is interrupted and waited for; other work never begins."""
    begun, told, ended = threading.Event(), threading.Event(), threading.Event()

    class Interrupted(threading.Thread):
        def start(self) -> None:
            if runs:
                super().start()
                begun.wait()
            raise KeyboardInterrupt

    def work() -> None:
        begun.set()
        told.wait()
        ended.set()

    monkeypatch.setattr(threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, told.set)
    assert begun.is_set() == told.is_set() == ended.is_set() == runs


def test_a_thread_that_died_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends before the work could say how it went: that is an error, not a hang."""

    class Dead(threading.Thread):
        def run(self) -> None:
            """Ends at once."""

    monkeypatch.setattr(threading, "Thread", Dead)
    with pytest.raises(RuntimeError, match="ended without a word"):
        interruptible(lambda: 1, lambda: None)
