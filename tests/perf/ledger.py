"""``python -m tests.perf ledger``: what a row costs to write, 100,000 rows to read, 10,000 segments to compact.

The writer's rows are built, encoded and written; the bare ``os.write`` writes the same bytes. Both alternate in one
run. The queries run in a process of their own: its time is given with and without starting Python and importing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from tests import ROOT
from tests.perf import ledger_views
from tests.perf.measure import Targets, at
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow, encode
from zc_notebooks.ledger.segments import new_name

T = TypeVar("T")

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
BATCH = 500
QUERIES = {
    "failures by provider and hour": (
        "select provider_ref, date_trunc('hour', t) as hour, count(*) filter (not accepted) as failed, count(*) as n "
        "from attempts where kind = 'attempt' group by all order by all"
    ),
    "one row a call": (
        "select call_id, min(t) as t, max(ordinal) + 1 as steps, sum(secs) as secs, sum(cost_usd) as usd, "
        "bool_or(accepted) as answered from attempts group by all"
    ),
    "spend": "select provider_ref, model, accepted, sum(cost_usd::decimal(38, 12)) as usd from attempts group by all",
}
READER = """
import sys, time
start = time.perf_counter()
from zc_notebooks.ledger.read import Ledger
import duckdb, polars
imported, busy = time.perf_counter(), time.process_time()
ledger = Ledger(sys.argv[1])
print(imported - start, time.perf_counter() - imported, time.process_time() - busy)
for query in sys.argv[2:]:
    before = time.perf_counter()
    rows = len(ledger.sql(query))
    print(time.perf_counter() - before, rows)
"""


def row(number: int) -> AttemptRow:
    """One of many: three attempts a call, the last of them answered."""
    answered = number % 3 == 2
    return AttemptRow(
        call_id=f"01JD{number // 3:022d}",
        ordinal=number % 3,
        t=BEGIN + timedelta(seconds=number * 20.25),
        provider_ref=("groq.free", "google.free", "prepaid.one")[number % 3],
        model="openai/gpt-oss-120b",
        kind="attempt",
        mode="chat",
        status="ok" if answered else "http_429",
        requested_ref="groq.free",
        requested_model="openai/gpt-oss-120b",
        credential_id="a1b2c3d4",
        pool="groq@https://api.groq.com",
        reason=None if answered else "daily_limit",
        failover=number % 3 > 0,
        accepted=answered,
        input_tokens=100 if answered else 0,
        output_tokens=50 if answered else 0,
        usage_state="complete",
        cost_usd=0.00012 if answered else 0.0,
        price_source="profile pricing",
        secs=0.5,
        wait_s=0.0,
        tier="free",
    )


def run(arguments: list[str]) -> int:
    """Prints the figures and what of the targets held; exit code 1 with ``--check`` when one was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf ledger", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows to query")
    parser.add_argument("--segments", type=int, default=10_000, help="segments to open and compact")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--attempts", type=int, default=10_000_000, help="attempts for the views; 0 leaves them out")
    options = parser.parse_args(arguments)
    targets = Targets()
    with tempfile.TemporaryDirectory() as folder:
        _append(Path(folder), targets)
    with tempfile.TemporaryDirectory() as folder:
        _query(Path(folder), options.rows, targets)
    with tempfile.TemporaryDirectory() as folder:
        _many(Path(folder), options.segments, targets)
    if options.attempts:
        with tempfile.TemporaryDirectory() as folder:
            ledger_views.measure(Path(folder), options.attempts, targets)
    return targets.show(check=options.check)


def _append(folder: Path, targets: Targets) -> None:
    writer, synced = LedgerWriter(folder / "ledger"), LedgerWriter(folder / "synced", durability="fsync")
    line = encode(row(2))
    bare = os.open(folder / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    took: dict[str, list[float]] = {"bare os.write": [], "row built, encoded, written": []}
    for batch in range(40):
        for _ in range(BATCH):
            start = time.perf_counter()
            os.write(bare, line)
            took["bare os.write"].append(time.perf_counter() - start)
        for number in range(batch * BATCH, (batch + 1) * BATCH):
            start = time.perf_counter()
            writer.write(row(number))
            took["row built, encoded, written"].append(time.perf_counter() - start)
    took["the same with fsync"] = []
    for number in range(200):
        start = time.perf_counter()
        synced.write(row(number))
        took["the same with fsync"].append(time.perf_counter() - start)
    os.close(bare)
    writer.close()
    synced.close()
    print(f"append ({len(line)} bytes a row)\n  {'':32}{'p50 µs':>10}{'p99 µs':>10}{'ratio':>8}")
    base = at(took["bare os.write"], 0.5)
    for name, values in took.items():
        print(f"  {name:32}{at(values, 0.5) * 1e6:10.2f}{at(values, 0.99) * 1e6:10.2f}{at(values, 0.5) / base:8.2f}")
    written = at(took["row built, encoded, written"], 0.5)
    targets.at_most("a row appended, p50 µs", written * 1e6, 10)
    targets.at_most("a row appended, p50, times a bare os.write", written / base, 2)


def _query(folder: Path, rows: int, targets: Targets) -> None:
    writer = LedgerWriter(folder)
    for number in range(rows):
        writer.write(row(number))
    writer.close()
    command = [sys.executable, "-c", READER, str(folder), *QUERIES.values()]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    whole = time.perf_counter() - start
    first, *others = (line.split() for line in done.stdout.splitlines())
    imports, opening = float(first[0]), float(first[1])
    print(f"\nquery ({rows:,} rows of JSON lines, {sum(f.stat().st_size for f in folder.iterdir()) / 1e6:.0f} MB)")
    print(f"  {'import duckdb, polars':32}{imports * 1e3:10.0f} ms")
    opened = f"{opening * 1e3:10.0f} ms, {float(first[2]) * 1e3:.0f} ms of them computing"
    print(f"  {'open: read and check all rows':32}{opened}")
    for name, (took, found) in zip(QUERIES, others, strict=True):
        print(f"  {name:32}{float(took) * 1e3:10.0f} ms{int(found):10,} rows")
    print(f"  {'the whole process':32}{whole * 1e3:10.0f} ms")
    worst = opening + max(float(took) for took, _ in others)
    targets.at_most("open and one query, s", worst, 1.0)


def _many(folder: Path, segments: int, targets: Targets) -> None:
    """A segment for every short-lived process, three rows each; opened, compacted, opened again."""
    for number in range(segments):
        lines = b"".join(encode(row(3 * number + place)) for place in range(3))
        (folder / new_name(BEGIN.date())).write_bytes(lines)
    print(f"\n{segments:,} segments of three rows")
    ledger, opening = _timed("open", lambda: Ledger(folder))
    _, asking = _timed("a query, nothing new", lambda: ledger.sql(QUERIES["spend"]))
    print(f"  {ledger.advice}")
    _timed("compact", lambda: compact(folder))
    compacted, opening_after = _timed("open after that", lambda: Ledger(folder))
    _timed("a query", lambda: compacted.sql(QUERIES["spend"]))
    targets.at_most(f"{segments:,} segments opened, s", opening, 5.0)
    targets.at_most("a query over them, s", asking, 0.5)
    targets.at_most("opened after compaction, s", opening_after, 0.2)


def _timed(what: str, act: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    done = act()
    took = time.perf_counter() - start
    print(f"  {what:32}{took * 1e3:10.0f} ms", flush=True)
    return done, took
