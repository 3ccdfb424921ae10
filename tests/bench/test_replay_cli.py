"""``zc replay``: the table, the object, and one sentence for what cannot be replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench.test_replay import answered, refused
from zc_notebooks.bench.from_ledger import read_policy, replay_ledger
from zc_notebooks.cli.app import run
from zc_notebooks.config.load import load_config
from zc_notebooks.errors import ConfigError, LedgerError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.records import Reliability

EVER = "--since=2020-01-01"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger of four calls, one of which hopped."""
    monkeypatch.chdir(tmp_path)
    ledger = tmp_path / "ledger"
    writer = LedgerWriter(ledger)
    for row in (
        answered("one", 0, cost_usd=0.0),
        refused("two", 5, reason="permission"),
        answered("two", 5.1, "paid.one", ordinal=1, tier="prepaid"),
        answered("three", 10, cost_usd=0.0),
        answered("four", 12, cost_usd=0.0),
    ):
        writer.write(row)
    writer.close()
    return ledger


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status and what was said."""
    status = run(["replay", *arguments])
    return status, *capsys.readouterr()


def test_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Really, would have been, bounds; who served; the coverage and the limits in words."""
    status, out, err = command(capsys, EVER, "--ledger", str(folder), "--chain", "paid.one,groq.free")
    assert (status, err) == (0, "")
    head, _, columns, *lines = out.splitlines()
    assert head.startswith("4 calls, 2026-11-30 12:00 to 2026-11-30 12:12 UTC, through paid.one/m > groq.free/m")
    assert columns.split() == ["really", "would", "have", "been", "at", "least", "at", "most"]
    assert [line.split()[0] for line in lines[:6]] == ["availability", "answered", "attempts", "hops", "waited", "cost"]
    assert any(line.startswith("coverage of ") for line in lines)
    assert sum(line.startswith("- ") for line in lines) == 3


def test_the_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same in numbers; every call only when asked for."""
    _, out, _ = command(capsys, EVER, "--ledger", str(folder), "--chain", "groq.free", "--json")
    found: dict[str, Any] = json.loads(out)
    assert (found["really"]["answered"], found["would_have"]["answered"]) == (4, 3)
    assert set(found) >= {"bounds", "coverage", "served", "limits", "chain", "rate_limit"}
    assert "calls" not in found
    _, out, _ = command(capsys, EVER, "--ledger", str(folder), "--json", "--calls")
    assert [call["would_have_served"] for call in json.loads(out)["calls"]] == [
        "groq.free/m",
        "paid.one/m",
        "groq.free/m",
        "groq.free/m",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([EVER, "--until=2020-01-02"], "no calls in this period: nothing to replay"),
        ([EVER, "--chain", "groq.fre"], "did you mean 'groq.free/m'?"),
        ([EVER, "--policy", "often"], "'often' is no policy"),
        ([EVER, "--policy", "provider_retries=0,provider_retries=1"], "sets provider_retries twice"),
        (["--since", "long ago"], "is no time"),
        ([EVER, "--chain", ","], "--chain names nobody"),
        ([EVER, "--calls"], "--calls goes with --json"),
    ],
)
def test_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    """What is wrong and what to write; exit status 2."""
    status, out, err = command(capsys, "--ledger", str(folder), *arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "setting",
    [
        "provider_retries=-1",
        "provider_retries=1.5",
        'provider_retries="many"',
        "call_timeout_s=inf",
        "call_timeout_s=0",
        "jitter=nan",
        'context_overflow="often"',
        "provider_retris=0",
    ],
)
def test_settings_are_checked_as_those_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    """The same sentence as for ``zc.toml``, but for the line."""
    other = folder.parent / "other.toml"
    other.write_text(f"[reliability]\n{setting}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as file:
        load_config(other, environ={})
    (problem,) = file.value.problems
    status, out, err = command(capsys, "--ledger", str(folder), EVER, "--policy", setting.replace('"', ""))
    assert (status, out, err) == (2, "", f"zc: {replace(problem, line=None)}\n")


def test_all_of_the_calendar(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A period from the first day there is."""
    status, out, _ = command(capsys, "--ledger", str(folder), "--since=0001-01-01")
    assert (status, out.partition(",")[0]) == (0, "4 calls")


def test_a_call_may_take_for_ever(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the file takes, the replay takes."""
    status, _, err = command(capsys, "--ledger", str(folder), EVER, "--policy", "call_timeout_s=1e300")
    assert (status, err) == (0, "")


def test_an_empty_ledger(tmp_path: Path) -> None:
    """A folder that is not there is a ledger without calls."""
    with pytest.raises(LedgerError, match="nothing to replay"):
        replay_ledger(Ledger(tmp_path / "none"))


def test_a_policy_is_a_name_or_settings() -> None:
    """Both forms; what is not named stays."""
    own = Reliability(provider_backoff_ms=50)
    assert read_policy(None, own) == (None, own)
    assert read_policy("cooldown_and_advance", own) == ("cooldown_and_advance", own)
    name, changed = read_policy("provider_retries=0, retry_after_cap_s=5", own)
    assert (name, changed.provider_retries, changed.retry_after_cap_s, changed.provider_backoff_ms) == (None, 0, 5, 50)
