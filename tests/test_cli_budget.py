"""``zc budget`` and ``zc ask --budget``, against a lab that the test starts itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import Terminal
from zc_notebooks.lab import Lab


@pytest.fixture(scope="module")
def fleet() -> Iterator[Lab]:
    """One fleet for the module."""
    with Lab("default", latency=0.0) as running:
        yield running


@pytest.fixture
def zc(fleet: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """``zc`` in a folder whose ``zc.toml`` names one dear provider."""
    fleet.reset()
    monkeypatch.chdir(tmp_path)
    text = fleet.config_text()
    head = text[: text.index("[[chain]]")].replace('default_provider = "groq.free"', "")
    (tmp_path / "zc.toml").write_text(f'{head}\n[[chain]]\nprovider = "deepseek.prepaid"\n', encoding="utf-8")
    return Terminal(capsys)


def set_borders(text: str) -> None:
    """Adds a ``[borders]`` block to the ``zc.toml``."""
    with Path("zc.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[borders]\n{text}\n")


def test_without_a_budget(zc: Terminal) -> None:
    """One sentence, and where to set one."""
    assert zc("budget") == 0
    assert (zc.out, zc.err) == ("no budget is set (see [borders])\n", "")
    assert zc("budget", "--json") == 0
    assert (zc.json["call_usd"], zc.json["periods"]) == (None, [])


def test_the_periods(zc: Terminal) -> None:
    """Limit, spent, reserved, left, and when it is fresh; the same as JSON, amounts as numbers."""
    set_borders("budget_day_usd = 1.0\nbudget_call_usd = 0.5")
    assert zc("ask", "--max-tokens", "600", "What is 17 * 23?") == 0
    assert zc("budget") == 0
    head, day, month, call = zc.out.splitlines()
    assert head.split() == ["period", "limit", "spent", "reserved", "left", "fresh", "at"]
    assert day.split()[:2] == ["day", "$1.00"]
    assert day.endswith("00:00 UTC")
    assert month.split()[:2] == ["month", "-"]
    assert call == "one call may cost up to $0.50"
    assert zc("budget", "--json") == 0
    period = zc.json["periods"][0]
    assert period.keys() == {
        "period",
        "limit_usd",
        "spent_usd",
        "reserved_usd",
        "left_usd",
        "fresh_at",
        "at_least",
    }
    assert 0 < period["spent_usd"] < 0.01
    assert period["left_usd"] == pytest.approx(1 - period["spent_usd"])


def test_a_call_with_too_little(zc: Terminal, fleet: Lab) -> None:
    """Exit status 4, the reason in one line, and no request."""
    before = len(fleet.requests)
    for options in (("--budget", "0.0000001"), ("--stream", "--budget", "0")):
        assert zc("ask", "--max-tokens", "600", *options, "hello") == 4
        assert "no candidate is permitted by the budget (configured: deepseek.prepaid); no call was made" in zc.err
        assert "budget_usd: $0.00" in zc.err
    assert len(fleet.requests) == before
    assert zc("ask", "--max-tokens", "600", "--budget", "1", "hello") == 0


@pytest.mark.parametrize("amount", ["-1", "much", "nan", "inf"])
def test_what_is_no_amount(zc: Terminal, amount: str) -> None:
    """A usage error in words."""
    assert zc("ask", "--budget", amount, "hello") == 2
    assert "budget" in zc.err
    assert "Traceback" not in zc.err


def test_a_spoilt_file_is_said(zc: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is wrong, with which file, and that nothing that costs is asked."""
    monkeypatch.setenv("ZC_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "spend.sqlite").write_text("not a database, but long enough to look like one" * 50)
    set_borders("budget_month_usd = 1.0")
    assert zc("budget") == 0
    assert "nothing that costs is asked: the spend file cannot be used" in zc.err
    assert zc("ask", "hello") == 4
    assert zc.err.count("spend.sqlite") == 1
