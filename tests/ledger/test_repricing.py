"""Prices corrected later: a version beside the rows, which stay as they are."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.ledger.rows import NOON, profile, row
from tests.ledger.test_effective import ledger_of
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.compact import compact
from zc_notebooks.ledger.effective import effective_cost
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.repricing import Repricing, reprice
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.ledger.steps import Disk
from zc_notebooks.records import Profile
from zc_notebooks.testing import ManualClock

LATER = NOON + timedelta(days=3)


def clock() -> ManualClock:
    return ManualClock(LATER)


def priced(**pricing: float) -> dict[str, Profile]:
    """One configured profile, ``custom.mine``, with prices for its model ``m``."""
    return {"custom.mine": profile(pricing={name.replace("__", "."): rate for name, rate in pricing.items()})}


def used(call: str, cost: float | None, **fields: Any) -> AttemptRow:
    given: dict[str, Any] = {
        "provider_ref": "custom.mine",
        "model": "m",
        "input_tokens": 100,
        "output_tokens": 50,
        "usage_state": "complete",
        "accepted": True,
        "cost_usd": cost,
        "price_source": None if cost is None else "profile pricing",
        **fields,
    }
    return row(call, 0, **given)


def correct(folder: Path, profiles: dict[str, Profile], **options: Any) -> Repricing:
    return reprice(folder, profiles, clock=clock(), **options)


def costs(folder: Path) -> dict[str, float | None]:
    return dict(Ledger(folder).sql("select call_id, cost_usd from attempts order by call_id").rows())


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def test_a_correction_stands_beside_the_row(tmp_path: Path) -> None:
    """The newest price counts everywhere; the first can still be asked for; no file that was there is changed."""
    ledger = ledger_of(tmp_path, [used("a", None), used("b", 0.5), used("c", 0.0002, t=NOON + timedelta(hours=1))])
    before = files(tmp_path)
    found = correct(tmp_path, priced(m__input=1.0, m__output=2.0))
    assert (found.looked_at, found.changed, found.unpriced, found.kept, found.version) == (3, 2, 0, 0, 1)
    assert (found.before_usd, found.after_usd) == (Decimal("0.5"), Decimal("0.0004"))
    assert str(found) == "2 of 3 attempts cost something else: $0.000400 instead of $0.500000, written as version 1"
    assert costs(tmp_path) == {"a": 0.0002, "b": 0.0002, "c": 0.0002}
    assert {name: content for name, content in files(tmp_path).items() if name in before} == before
    assert files(tmp_path).keys() - before.keys() == {"prices-000001.parquet"}
    told = (
        "select call_id, cost_usd, cost_usd_original, price_source, priced_at, price_version from repriced order by 1"
    )
    assert sorted(ledger.sql(told).rows()) == [
        ("a", 0.0002, None, "profile pricing", LATER, 1),
        ("b", 0.0002, 0.5, "profile pricing", LATER, 1),
    ]
    assert effective_cost(ledger).cost_usd == Decimal("0.0006")
    assert ledger.check().ok


def test_the_same_prices_again_write_nothing(tmp_path: Path) -> None:
    """And the next correction is the next version, which keeps what it does not change."""
    ledger_of(tmp_path, [used("a", None), used("b", 0.5, t=NOON + timedelta(hours=1))])
    correct(tmp_path, priced(m=1.0))
    again = correct(tmp_path, priced(m=1.0))
    assert (again.changed, again.version) == (0, None)
    assert str(again) == "0 of 2 attempts cost something else"
    later = correct(tmp_path, priced(m=2.0), since=NOON + timedelta(minutes=1))
    assert (later.changed, later.version) == (1, 2)
    assert costs(tmp_path) == {"a": 0.00015, "b": 0.0003}
    assert set(files(tmp_path)) >= {"prices-000001.parquet", "prices-000002.parquet"}
    rows = (
        Ledger(tmp_path).sql("select call_id, price_version, cost_usd_original from repriced order by call_id").rows()
    )
    assert rows == [("a", 1, None), ("b", 2, 0.5)]


def test_a_dry_run_only_counts(tmp_path: Path) -> None:
    """Nothing is written."""
    ledger_of(tmp_path, [used("a", 0.5)])
    found = correct(tmp_path, priced(m=1.0), dry_run=True)
    assert (found.changed, found.version, found.dry_run) == (1, None, True)
    assert str(found).endswith("a dry run, nothing was written")
    assert costs(tmp_path) == {"a": 0.5}


KEPT: list[tuple[str, AttemptRow, float | None]] = [
    ("usage is not known", used("a", None, input_tokens=None, output_tokens=None, usage_state="unknown"), None),
    ("a refusal", used("a", 0.0, status="http_429", accepted=False), 0.0),
    ("another program's charge", used("a", 0.7, price_source="litellm spend"), 0.7),
    ("a profile that is gone", used("a", 0.7, provider_ref="groq.gone", model="openai/gpt-oss-120b"), 0.7),
    ("no price today, one then", used("a", 0.7, model="other", price_source="genai-prices 0.2.3 x/other"), 0.7),
    ("a server of one's own", used("a", None, provider_ref="openai.x", model="gpt-4o", tier="local"), None),
]


@pytest.mark.parametrize(("written", "cost"), [case[1:] for case in KEPT], ids=[case[0] for case in KEPT])
def test_what_is_left_as_it_is(tmp_path: Path, written: AttemptRow, cost: float | None) -> None:
    """A known cost never becomes unknown, and only our own prices are ours to change."""
    ledger_of(tmp_path, [written])
    assert correct(tmp_path, priced(m=1.0)).version is None
    assert costs(tmp_path) == {"a": cost}


def test_imported_rows_find_their_list_price(tmp_path: Path) -> None:
    """Behaviour 179: cached tokens once, the billed units where they are stated, at the row's own instant."""
    groq = used("a", None, provider_ref="groq.otel", model="openai/gpt-oss-120b", cached_input_tokens=40)
    billed = used("b", None, billed_input_tokens=10, billed_output_tokens=5)
    ledger_of(tmp_path, [groq, billed])
    correct(tmp_path, priced(m=1.0))
    assert costs(tmp_path) == {"a": 0.000042, "b": 0.000015}  # 60 * 0.15 + 40 * 0.075 + 50 * 0.6 = 42 millionths
    (source,) = Ledger(tmp_path).sql("select price_source from attempts where call_id = 'a'").row(0)
    assert source.startswith("genai-prices ")


def test_compaction_before_and_after_keeps_it(tmp_path: Path) -> None:
    """Rows change form, corrections stay with their keys; a reader that is open sees each at once."""
    ledger = ledger_of(tmp_path, [used("a", 0.5), used("b", 0.5)])
    compact(tmp_path)
    correct(tmp_path, priced(m=1.0))
    assert ledger.sql("select sum(cost_usd) from attempts").row(0) == (0.0003,)
    writer = LedgerWriter(tmp_path)
    writer.write(used("c", 0.5))
    writer.close()
    compact(tmp_path)
    correct(tmp_path, priced(m=1.0))
    for reader in (ledger, Ledger(tmp_path)):
        assert reader.sql("select count(*), count(distinct cost_usd), max(cost_usd) from attempts").row(0) == (
            3,
            1,
            0.00015,
        )
        assert reader.check().ok


@pytest.mark.parametrize("step", ["sync", "rename"])
def test_a_crash_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A full disk is one sentence; no half a version is ever seen, and the next run writes it."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    ledger_of(tmp_path, [used("a", 0.5)])
    before = files(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Disk, step, full)
        with pytest.raises(LedgerError, match="cannot be repriced: No space left on device"):
            correct(tmp_path, priced(m=1.0))
    assert files(tmp_path) == before
    assert not list(tmp_path.glob(".new-*"))
    assert correct(tmp_path, priced(m=1.0)).version == 1


def test_a_damaged_version_is_passed_over(tmp_path: Path) -> None:
    """The one before counts, the check names it, and its number is not given again."""
    ledger_of(tmp_path, [used("a", 0.5)])
    correct(tmp_path, priced(m=1.0))
    (tmp_path / "prices-000002.parquet").write_bytes(b"PAR1 and no more")
    assert costs(tmp_path) == {"a": 0.00015}
    assert Ledger(tmp_path).check().left_out == {"prices-000002.parquet": "damaged"}
    assert correct(tmp_path, priced(m=2.0)).version == 3
    assert costs(tmp_path) == {"a": 0.0003}


def test_a_version_that_cannot_be_opened_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its prices do not count, and it is named with the system's reason."""
    ledger_of(tmp_path, [used("a", 0.5)])
    correct(tmp_path, priced(m=1.0))
    shut = tmp_path / "prices-000002.parquet"
    shut.touch()
    opened = os.open

    def refuse(path: Any, *how: Any, **options: Any) -> int:
        if path == shut:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *how, **options)

    monkeypatch.setattr("zc_notebooks.ledger.price_versions.os.open", refuse)
    assert costs(tmp_path) == {"a": 0.00015}
    assert Ledger(tmp_path).check().left_out == {shut.name: "Permission denied"}


def test_a_missing_ledger_is_an_empty_one(tmp_path: Path) -> None:
    """Nothing is made."""
    assert correct(tmp_path / "none", {}).looked_at == 0
    assert not (tmp_path / "none").exists()


class Crowd:
    """Threads whose problems are kept; the lasting ones go round until they are stopped."""

    def __init__(self) -> None:
        self.problems: list[BaseException] = []
        self._stop = threading.Event()
        self._once: list[threading.Thread] = []
        self._lasting: list[threading.Thread] = []

    def once(self, work: Callable[[], object]) -> None:
        self._once.append(threading.Thread(target=self._guarded, args=(work,)))

    def lasting(self, work: Callable[[], object]) -> None:
        self._lasting.append(threading.Thread(target=self._round, args=(work,)))

    def run(self) -> None:
        for thread in (*self._lasting, *self._once):
            thread.start()
        for thread in self._once:
            thread.join()
        self._stop.set()
        for thread in self._lasting:
            thread.join()

    def _round(self, work: Callable[[], object]) -> None:
        while not self._stop.is_set():
            self._guarded(work)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as problem:  # noqa: BLE001 (what a thread meets is what the test asks for)
            self.problems.append(problem)


def write_rows(folder: Path, name: str) -> None:
    writer = LedgerWriter(folder)
    for number in range(150):
        assert writer.write(replace(used(f"{name}-{number}", 0.5), ordinal=number))
    writer.close()


def test_beside_writers_and_a_compactor(tmp_path: Path) -> None:
    """Every row once, every cost corrected in the end, and no query fails meanwhile."""
    crowd, reader = Crowd(), Ledger(tmp_path)
    crowd.once(lambda: write_rows(tmp_path, "a"))
    crowd.once(lambda: write_rows(tmp_path, "b"))
    crowd.lasting(lambda: correct(tmp_path, priced(m=1.0)))
    crowd.lasting(lambda: compact(tmp_path))
    crowd.lasting(lambda: reader.sql("select count(*), sum(cost_usd) from attempts"))
    crowd.run()
    assert [one for one in crowd.problems if "rewriting the ledger" not in str(one)] == []
    correct(tmp_path, priced(m=1.0))
    told = "select count(*), count(distinct (call_id, ordinal)), min(cost_usd), max(cost_usd) from attempts"
    assert Ledger(tmp_path).sql(told).row(0) == (300, 300, 0.00015, 0.00015)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=4))
def test_the_last_price_counts(tmp_path_factory: pytest.TempPathFactory, rates: list[float]) -> None:
    """After any corrections the costs are those of the last prices, and the rows say what they said."""
    folder = tmp_path_factory.mktemp("ledger")
    ledger_of(folder, [used("a", None), used("b", 7.0)])
    for rate in rates:
        correct(folder, priced(m=rate))
    assert set(costs(folder).values()) == {rates[-1] * 150 / 1e6}
    originals = Ledger(folder).sql("select call_id, cost_usd_original from repriced order by call_id").rows()
    assert originals == [("a", None), ("b", 7.0)]
