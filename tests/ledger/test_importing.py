"""Rows from files: which formats, once and only once, and what is said of the rest."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.ledger.rows import NOON, row
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.importing import FORMATS, Imported, import_file
from zc_notebooks.ledger.importing.formats import Line
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import encode

REFUSED = {
    "t": "2026-11-30T12:00:00Z",
    "provider": "A",
    "model": "m",
    "in": 0,
    "out": 0,
    "secs": 0.13,
    "status": "http_429",
    "attempt": 0,
    "failover": False,
}
ANSWERED = {**REFUSED, "provider": "B", "in": 81, "out": 50, "secs": 1.2, "status": "ok", "failover": True}


def file_of(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    """A JSON lines file."""
    path.write_bytes(b"".join(line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def numbers(found: Imported) -> tuple[int, int, int]:
    """Added, present, refused."""
    return found.added, found.present, found.refused


def test_the_short_lines_of_a_usage_log_become_attempts_of_a_call(tmp_path: Path) -> None:
    """A refusal and the answer of the next candidate are one call."""
    path = file_of(tmp_path / "log.jsonl", REFUSED, ANSWERED, {**ANSWERED, "failover": False})
    assert numbers(import_file(path, tmp_path / "ledger")) == (3, 0, 0)
    ledger = Ledger(tmp_path / "ledger")
    found = ledger.sql(
        "select dense_rank() over (order by call_id) < 3 as two_calls, ordinal, provider_ref, status, failover, "
        "accepted, input_tokens, output_tokens, usage_state, cost_usd, secs, t = $1 as same_t from attempts "
        "order by secs, failover desc",
        [NOON],
    )
    assert found.rows() == [
        (True, 0, "A", "http_429", False, False, 0, 0, "complete", None, 0.13, True),
        (True, 1, "B", "ok", True, True, 81, 50, "complete", None, 1.2, True),
        (True, 0, "B", "ok", False, True, 81, 50, "complete", None, 1.2, True),
    ]


@pytest.mark.parametrize("fault", [{"t": "1815-12-10T00:00:00"}, {"t": "noon"}, {"in": -5}])
def test_what_follows_a_refused_beginning_is_not_the_call_before(tmp_path: Path, fault: dict[str, Any]) -> None:
    """A call whose first line cannot be read is a call of its own all the same."""
    path = file_of(tmp_path / "log.jsonl", REFUSED, ANSWERED, {**REFUSED, **fault}, {**ANSWERED, "secs": 2.0})
    assert numbers(import_file(path, tmp_path / "ledger")) == (3, 0, 1)
    counted = "select count(*) from attempts group by call_id order by 1"
    assert Ledger(tmp_path / "ledger").sql(counted).rows() == [(1,), (2,)]


LOGS: list[Sequence[dict[str, Any]]] = [
    [REFUSED, ANSWERED],
    [REFUSED, REFUSED, ANSWERED, ANSWERED],
    [json.loads(encode(row("a", number))) for number in range(3)],
]


@pytest.mark.parametrize("lines", LOGS, ids=["short", "the same lines twice", "own rows"])
def test_importing_twice_adds_nothing(tmp_path: Path, lines: Sequence[dict[str, Any]]) -> None:
    """The second time every row is there already, also when the file has grown meanwhile."""
    path = file_of(tmp_path / "log.jsonl", *lines)
    assert numbers(import_file(path, tmp_path / "ledger")) == (len(lines), 0, 0)
    assert numbers(import_file(path, tmp_path / "ledger")) == (0, len(lines), 0)
    with path.open("ab") as file:
        file.write(msgspec.json.encode({**lines[-1], "ordinal": 77, "secs": 9.5}) + b"\n")
    assert numbers(import_file(path, tmp_path / "ledger")) == (1, len(lines), 0)
    assert Ledger(tmp_path / "ledger").check().duplicates == 0


def test_a_segment_of_another_machine_keeps_fields_this_version_does_not_know(tmp_path: Path) -> None:
    """Own rows are taken as they stand; one that was there by another way is not doubled."""
    LedgerWriter(tmp_path / "ledger").write(row("a", 0))
    newer = msgspec.json.decode(encode(row("a", 1))) | {"region": "eu"}
    path = file_of(tmp_path / "b.jsonl", encode(row("a", 0)), newer)
    assert numbers(import_file(path, tmp_path / "ledger")) == (1, 1, 0)
    (added,) = [file for file in (tmp_path / "ledger").glob("*.jsonl") if b"region" in file.read_bytes()]
    assert msgspec.json.decode(added.read_bytes())["region"] == "eu"


def test_lines_that_are_no_rows_are_counted_and_named(tmp_path: Path) -> None:
    """The rest of the file is taken, and what is wrong is said without repeating the line."""
    torn = b'{"t":"2026-11-30T12:00:00Z","prov\n'
    bad: list[dict[str, Any] | bytes] = [
        b"\xef\xbb\xbf[1]\n",
        REFUSED,
        b"\n",
        torn,
        {"a": 1},
        {**REFUSED, "in": "secret"},
    ]
    found = import_file(file_of(tmp_path / "log.jsonl", *bad, b"\r\n", {**ANSWERED}), tmp_path / "ledger")
    assert numbers(found) == (2, 0, 4)
    assert [(problem.line, problem.why) for problem in found.problems] == [
        (1, "not a JSON object"),
        (4, "not JSON"),
        (5, "not of a format that is known"),
        (6, "Expected `int | null`, got `str` - at `$.in`"),
    ]
    assert "secret" not in str(found)
    assert "4 lines are no rows (line 1: not a JSON object)" in str(found)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[1]\n", b'{"a":1}\n', b"\x00\xff\n", b"[" * 100_000])
def test_a_file_nobody_knows_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    """Nothing is made of it, not even a folder."""
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(LedgerError, match=r"x\.jsonl holds no line that can be imported; known are: ledger rows, "):
        import_file(tmp_path / "x.jsonl", tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """Absent, or a folder."""
    with pytest.raises(LedgerError, match=r"cannot import none\.jsonl: No such file or directory"):
        import_file(tmp_path / "none.jsonl", tmp_path / "ledger")
    with pytest.raises(LedgerError, match=r"Is a directory|Permission denied"):
        import_file(tmp_path, tmp_path / "ledger")


def test_a_failed_import_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows appear at once or none; nothing half-written is left."""
    path = file_of(tmp_path / "log.jsonl", REFUSED)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LedgerError, match="No space left on device"):
        import_file(path, tmp_path / "ledger")
    assert Ledger(tmp_path / "ledger").check().rows == 0
    assert [file.name for file in (tmp_path / "ledger").iterdir()] == [".rewriting.lock"]


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_a_mapping_never_raises(kind: Any) -> None:
    """Whatever is under the names a format is known by, the answer is a row or a refusal."""
    values: list[Any] = [None, 1, "x", [], {}, True, -1e300, "2026-11-30T12:00:00Z"]
    names = ("t", "provider", "status", "call_id", "ordinal", "in")
    objects = [dict.fromkeys(names, value) for value in values]
    lines = [Line(number=n, value=value, raw=msgspec.json.encode(value)) for n, value in enumerate(objects, start=1)]
    assert len(list(kind.rows(lines))) == len(lines)
