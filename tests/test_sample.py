"""The sample ledger: real rows of the lab, in which nothing fails and the bill grows."""

from __future__ import annotations

from pathlib import Path

import pytest

import zc_notebooks as zc
from zc_notebooks.errors import ConfigError
from zc_notebooks.resources import resource
from zc_notebooks.sample import write_sample


def test_the_first_day_is_an_ordinary_one(tmp_path: Path) -> None:
    """The free tier answers everything and nothing costs anything; every row is inside the day and has its seconds."""
    told: list[tuple[int, int]] = []
    calls = write_sample(tmp_path / "ledger", days=1, told=lambda done, total: told.append((done, total)))
    ledger = zc.Ledger(tmp_path / "ledger")
    (row,) = ledger.sql(
        """select count(*) as rows, count(distinct call_id) as calls, min(provider_ref) as first,
           max(provider_ref) as last, sum(cost_usd) as usd, min(secs) as fastest, min(t)::date::varchar as since
           from attempts"""
    ).to_dicts()
    assert (row["rows"], row["calls"]) == (calls, calls)
    assert (row["first"], row["last"], row["usd"]) == ("groq.free", "groq.free", 0.0)
    assert row["fastest"] > 0.1
    assert row["since"] == "2026-09-07"
    assert told[-1] == (calls, calls)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    """One sentence, nothing written."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds something already"):
        write_sample(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_shipped_rows_tell_the_story() -> None:
    """What the module, the scenario and notebook 05 say of them: who was out when, what a call took, who noticed."""
    ledger = zc.Ledger(resource("data", "sample_ledger"))
    first = ledger.sql(
        """select provider_ref, strftime(min(t), '%d %H h') as t from attempts
           where kind = 'attempt' and not accepted group by all order by min(t)"""
    ).rows()
    assert first == [
        ("groq.free", "08 13 h"),
        ("google.free", "08 20 h"),
        ("openrouter.credit", "09 15 h"),
        ("mistral.metered", "09 15 h"),
    ]
    before, after = ledger.sql(
        "select median(input_tokens) from attempts where accepted and mode <> 'probe' group by t < '2026-09-08 09:00' "
        "order by 1"
    ).to_series()
    assert after / before == pytest.approx(3, abs=0.2)
    ((failed, let_through),) = ledger.sql(
        """select (select count(*) from calls where outcome <> 'answered'),
           avg(accepted::int) from attempts where provider_ref = 'mistral.metered' and kind = 'attempt'"""
    ).rows()
    assert (failed, let_through) == (0, pytest.approx(2 / 3, abs=0.05))
    probes = ledger.sql(
        "select provider_ref, status, strftime(t, '%d %H:%M') from attempts where mode = 'probe' order by t"
    )
    assert probes.rows() == [("groq.free", "ok", "09 21:40"), ("openrouter.credit", "ok", "09 21:40")]
