"""When free tiers run out: days by the tier's own midnight, plain statistics, and silence where there is little."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.tiers import BEGIN, ledger_of, tier_rows
from zc_notebooks.bench.outlook import NOTHING, Outlook, day_of, outlook
from zc_notebooks.bench.robust import Trend, quantile, spread, trend
from zc_notebooks.charts import outlook_chart, show
from zc_notebooks.charts.outlook import growth_words, next_words
from zc_notebooks.cli.app import run
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.reliability.instants import next_midnight

DAYS = 14
NOW = BEGIN + timedelta(days=DAYS, minutes=30)
ZONES = ["utc_midnight", "pacific_midnight", "beijing_midnight"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Outlook:
    """A growing, a wavering, an unlimited and a new tier; and a paid one, which is no tier."""
    random = Random(4)  # noqa: S311 (the same each time)
    ledger = ledger_of(
        tmp_path_factory.mktemp("ledger"),
        tier_rows("google.free", days=DAYS, calls=lambda day: 120 + 6 * day, limit=100, rule="pacific_midnight"),
        tier_rows("cloudflare.free", days=DAYS, calls=lambda _: 90 + random.randrange(-30, 31), limit=80),
        tier_rows("groq.free", days=DAYS, calls=lambda _: 40, limit=100),
        tier_rows("new.free", days=2, calls=lambda _: 40, limit=10, begin=BEGIN + timedelta(days=12)),
        tier_rows("paid.one", days=DAYS, calls=lambda _: 50, limit=20, tier="prepaid"),
    )
    return outlook(ledger, None, now=NOW)


def test_free_tiers_alone_the_most_often_out_first(found: Outlook) -> None:
    """One line each; whole days by its own midnight."""
    assert [(tier.provider_ref, tier.day, tier.days_out, tier.days) for tier in found.tiers] == [
        ("google.free", "Pacific", 13, 13),
        ("cloudflare.free", "UTC", 6, 14),
        ("new.free", "UTC", 2, 2),
        ("groq.free", "UTC (a rolling window)", 0, 14),
    ]


def test_a_growing_tier_runs_out_sooner_next_time(found: Outlook) -> None:
    """100 of 120 + 6 a day: the slope is found, and the next run-out is where half of about 200 calls have come."""
    google = found.tiers[0]
    assert google.growth is not None
    assert google.growth.slope == pytest.approx(6, abs=0.5)
    assert google.growth.low <= 6 <= google.growth.high
    assert google.hour is not None
    assert google.answered is not None
    assert google.answered.median == 100
    coming = google.next
    assert coming is not None
    assert coming.at is not None
    assert coming.day == day_of(NOW + timedelta(hours=12), "pacific_midnight")
    hour = (coming.at - coming.day).total_seconds() / 3600
    assert hour < google.hour.q1
    assert hour == pytest.approx(24 * 100 / (120 + 6 * 14), abs=0.7)
    assert google.out_h is not None
    assert google.hour.median + google.out_h.median == pytest.approx(24, abs=0.5)


def test_a_wavering_tier_may_last(found: Outlook) -> None:
    """Out on some days: the interval of the next one reaches "not at all"."""
    cloudflare = found.tiers[1]
    assert cloudflare.share[0] < 6 / 14 < cloudflare.share[1]
    assert cloudflare.next is not None
    assert cloudflare.next.latest is None
    assert next_words(cloudflare).endswith("to not at all)")


def test_little_is_said_of_little(found: Outlook) -> None:
    """Two days give no median; a tier that never ran out gets its growth and no forecast."""
    new, groq = found.tiers[2:]
    assert (new.note, new.hour, new.next) == ("too little data: 2 whole days", None, None)
    assert (groq.note, groq.hour, groq.next) == ("never ran out", None, None)
    assert groq.growth is not None
    assert groq.share == (0.0, pytest.approx(0.215, abs=0.01))


def test_the_chart(found: Outlook) -> None:
    """One line a tier; the picture carries its words, its size and its domains."""
    refs = [tier.provider_ref for tier in found.tiers]
    spec = outlook_chart(found).to_dict()
    assert spec["width"] == 460
    assert "google.free: out on 13 of 13 days (77% to 100%), usually at " in spec["description"]
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == refs
    assert spec["layer"][1]["encoding"]["x"]["scale"]["domain"] == [0, 24]
    assert show(outlook_chart(found)).data == show(outlook_chart(found)).data


def test_a_day_that_runs_says_nothing_yet(tmp_path: Path) -> None:
    """No share of no days, and no minus before a nought."""
    found = outlook(ledger_of(tmp_path, tier_rows("a.free", days=1, calls=lambda _: 9, limit=5)), None, now=BEGIN)
    assert found.tiers == ()
    found = outlook(Ledger(tmp_path), None, now=BEGIN + timedelta(hours=20))
    told = outlook_chart(found).to_dict()["description"]
    assert told == "a.free: out on 0 of 0 days, too little data: 0 whole days."
    flat = Trend(slope=-0.01, low=-0.04, high=0.04, level=1.0, scatter=0.0, n=3)
    assert growth_words(flat) == "+0.0 calls each day (+0.0 to +0.0)"


def test_nothing_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty ledger: said in the chart and the command."""
    empty = outlook(Ledger(tmp_path), None, now=NOW)
    assert empty.tiers == ()
    assert outlook_chart(empty).to_dict()["description"] == "No attempt at a free tier in this period."
    assert run(["ledger", "outlook", "--ledger", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{NOTHING}\n"


def test_two_credentials_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the table, the words and the picture, by the id that errors and views show."""
    keys = ("11111111", "22222222")
    ledger = ledger_of(
        tmp_path / "ledger",
        *(tier_rows("groq.free", days=5, calls=lambda _: 40, limit=20, credential=key) for key in keys),
    )
    names = [f"groq.free [{key}]" for key in keys]
    found = outlook(ledger, None, now=BEGIN + timedelta(days=5))
    spec = outlook_chart(found).to_dict()
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == names
    assert all(f"{name}: out on 5 of 5 days" in spec["description"] for name in names)
    assert run(["ledger", "outlook", "--ledger", str(tmp_path / "ledger"), "--since", "2026-09-01"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.partition("  ")[0] for line in lines] == names


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table, an object, a picture; a wrong name is one sentence."""
    folder = tmp_path / "ledger"
    ledger_of(folder, tier_rows("google.free", days=5, calls=lambda _: 40, limit=20))
    where = ["ledger", "outlook", "--ledger", str(folder), "--since", "2026-09-01"]
    assert run([*where, "--chart", str(tmp_path / "out.png")]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("google.free")
    assert "5 of 5 days" in out
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert run([*where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tiers"][0]["days_out"] == 5
    assert run([*where, "--chart", "out.pdf"]) == 2
    assert capsys.readouterr().err == "zc: --chart out.pdf: write a name that ends in .svg or .png\n"
    assert run([*where[:-1], "some day"]) == 2
    assert "is no time" in capsys.readouterr().err


@given(
    st.datetimes(min_value=BEGIN.replace(tzinfo=None), max_value=BEGIN.replace(tzinfo=None, year=2030)),
    st.sampled_from(ZONES),
)
def test_every_instant_lies_in_its_day(naive: object, rule: str) -> None:
    """Days follow each other without a gap, where clocks change too."""
    instant = naive.replace(tzinfo=BEGIN.tzinfo)  # type: ignore[attr-defined]
    begin, end = day_of(instant, rule), next_midnight(rule, instant)
    assert end is not None
    assert begin <= instant < end
    assert end - begin in (timedelta(hours=23), timedelta(hours=24), timedelta(hours=25))
    assert next_midnight(rule, begin) == end


numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


@given(numbers)
def test_a_spread_is_in_order(values: list[float]) -> None:
    """Quartiles and the interval lie around the median, within the values; the same each time."""
    one = spread(values)
    slack = 1e-6
    assert min(values) - slack <= one.q1 <= one.median + slack <= one.q3 + 2 * slack <= max(values) + 3 * slack
    assert one.low - slack <= one.median <= one.high + slack
    assert one == spread(values)


@given(st.floats(-50, 50), st.floats(-1e3, 1e3), st.integers(3, 15))
def test_a_line_has_its_slope(slope: float, level: float, n: int) -> None:
    """On a line the slope, its interval and every value are exact."""
    xs = [float(x) for x in range(n)]
    found = trend(xs, [level + slope * x for x in xs])
    assert found is not None
    assert (found.slope, found.low, found.high) == (pytest.approx(slope, abs=1e-6),) * 3
    assert found.at(n + 3) == pytest.approx(level + slope * (n + 3), abs=1e-5)


def test_one_odd_day_does_not_bend_the_line() -> None:
    """Robust: a single outlier leaves the slope where it was. Known quartiles."""
    ys = [10.0 + 2 * x for x in range(11)]
    ys[5] = 500.0
    found = trend([float(x) for x in range(11)], ys)
    assert found is not None
    assert found.slope == pytest.approx(2.0)
    assert trend([1.0, 1.0], [2.0, 3.0]) is None
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.25, 0.5, 1.0)] == [1.0, 1.75, 2.5, 4.0]
