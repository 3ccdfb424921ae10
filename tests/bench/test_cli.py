"""``zc bench run``, ``report`` and ``order`` against a lab whose abilities are known."""

from __future__ import annotations

import io
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.test_statistics import run as made
from zc_notebooks.bench.lab_book import taught
from zc_notebooks.bench.results import Results
from zc_notebooks.bench.tasks import instances, load_tasks
from zc_notebooks.cli.app import run as zc
from zc_notebooks.lab import Lab

MODELS = "openrouter.credit,deepseek.thinker,mistral.metered,google.free,openai.prepaid,groq.free"
KINDS = ("-t", "arithmetic", "-t", "extraction", "-t", "relative_dates")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a configuration and the results of one run."""
    folder = tmp_path_factory.mktemp("bench")
    chosen = instances(load_tasks(None, KINDS[1::2]), range(2))
    before = Path.cwd()
    with Lab("bench", seed=3) as lab, taught(chosen), pytest.MonkeyPatch.context() as patch:
        (folder / "zc.toml").write_text(f"# mine\n{lab.config_text()}", encoding="utf-8")
        patch.setenv("ZC_STATE_DIR", str(folder / "state"))
        os.chdir(folder)
        try:
            arguments = ["bench", "run", "-m", MODELS, "--reps", "3", "--seeds", "2", *KINDS]
            assert zc([*arguments, "--budget-usd", "0.01"]) == 1
            assert zc(arguments) == 2
            assert zc([*arguments, "--resume"]) == 0
            yield folder
        finally:
            os.chdir(before)


def test_the_planted_findings_come_out(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The best model is hardly there; the cheapest by the list is dear for a right answer and cut off in most cases."""
    assert zc(["bench", "report", str(measured / "bench.jsonl"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    by = {item["candidate"].partition("/")[0]: item for item in told["candidates"]}
    assert by["groq.free"]["accuracy"]["share"] > 0.9
    assert by["groq.free"]["reachability"]["share"] < 0.3
    assert by["deepseek.thinker"]["truncated"]["share"] > 0.5
    assert by["deepseek.thinker"]["cost_per_correct"] > by["openrouter.credit"]["cost_per_correct"]
    assert all(item["reachability"]["share"] == 1 for name, item in by.items() if name != "groq.free")
    ranking = sorted(by, key=lambda name: -by[name]["accuracy"]["share"])
    assert ranking.index("openai.prepaid") < ranking.index("mistral.metered") < ranking.index("google.free")


def test_the_report_in_words(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables and sentences; unknown files are sentences too."""
    assert zc(["bench", "report", str(measured / "bench.jsonl"), "--by-task"]) == 0
    out = capsys.readouterr().out
    for column in ("right, of answers", "reached, of calls", "unparsed", "USD a task", "USD a right answer", "p95 s"):
        assert column in out.splitlines()[0]
    assert "is better than google.free/gemini-3.5-flash" in out
    assert "p = 0.000" not in out
    (measured / "empty.jsonl").touch()
    assert zc(["bench", "report", str(measured / "empty.jsonl")]) == 0
    assert capsys.readouterr().out == "nothing was measured\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing.jsonl", "nothing.jsonl is no file of results: zc bench run -o nothing.jsonl makes one"),
        ("state", "state is no file of results"),
        ("zc.toml", "zc.toml, line 1 is no result of a measurement"),
    ],
)
@pytest.mark.parametrize("command", ["report", "order"])
def test_no_results(measured: Path, capsys: pytest.CaptureFixture[str], command: str, name: str, says: str) -> None:
    """One sentence, as an object too."""
    assert measured == Path.cwd()
    assert zc(["bench", command, name]) == 2
    assert capsys.readouterr().err == f"zc: {says}\n"
    assert zc(["bench", command, name, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["message"] == says


def test_the_order_is_written_into_the_file(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one that is there leads, its twin follows, somebody sure stands last; the rest of the file stays."""
    file = str(measured / "bench.jsonl")
    assert zc(["bench", "order", file, "--write", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = [place["candidate"].partition("/")[0] for place in told["places"]]
    assert names[:2] == ["openrouter.credit", "groq.free"]
    assert told["written"] is True
    assert "compared" in told
    text = (measured / "zc.toml").read_text(encoding="utf-8")
    assert text.startswith("# mine\n")
    assert [link["provider"] for link in tomllib.loads(text)["chain"]] == names
    assert zc(["bench", "order", file, "--by", "beauty"]) == 2
    assert "none of quality, cost, worth" in capsys.readouterr().err
    assert zc(["bench", "order", file, "--worth", "1"]) == 2
    assert "--worth goes with --by worth" in capsys.readouterr().err
    assert zc(["bench", "order", file, "--since", "long ago"]) == 2
    assert "is no time" in capsys.readouterr().err


def test_an_order_without_a_configuration_is_of_the_embedded_lab(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured there can be put in order; there is nothing to write it into."""
    monkeypatch.chdir(tmp_path)
    good, bad = "openai.prepaid/gpt-5-mini", "deepseek.prepaid/deepseek-v4-flash"
    for result in (*made(good, ["correct"] * 20), *made(bad, ["wrong"] * 20)):
        Results("bench.jsonl").append(result)
    assert zc(["bench", "order", "bench.jsonl", "--since", "none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["places"][0]["candidate"] == good
    assert zc(["bench", "order", "bench.jsonl", "--write"]) == 2
    assert "there is no zc.toml of yours to write into" in capsys.readouterr().err


class Screen(io.StringIO):
    """A terminal, so that the bar is drawn."""

    def isatty(self) -> bool:
        return True


def test_the_bar_of_a_resume_begins_where_the_file_ends(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is measured: the bar is full."""
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    assert zc(["bench", "run", "-m", MODELS, "--reps", "3", "--seeds", "2", *KINDS, "--resume"]) == 0
    cells = len((measured / "bench.jsonl").read_text(encoding="utf-8").splitlines())
    assert f"{cells}/{cells}" in screen.getvalue()


def test_ctrl_c_says_how_to_go_on(
    measured: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured is kept, and said; status 130."""

    async def interrupted(*_: object, **__: object) -> None:
        (measured / "cut.jsonl").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("zc_notebooks.bench.run.measure", interrupted)
    assert zc(["bench", "run", "-m", "google.free", "-t", "arith-salt-en", "-o", "cut.jsonl"]) == 130
    assert "cut.jsonl keeps what is measured: --resume goes on with it\n" in capsys.readouterr().err


def test_nothing_is_decided_by_too_little(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 3 and the reason."""
    lines = (measured / "bench.jsonl").read_text(encoding="utf-8").splitlines()[:8]
    few = measured / "few.jsonl"
    few.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert zc(["bench", "order", str(few)]) == 3
    assert "too little data" in capsys.readouterr().err


def test_a_run_says_what_is_wrong(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that is not configured, tasks that are not there, a file that exists."""
    assert zc(["bench", "run", "-m", "nobody.x", "-o", "new.jsonl", "-t", "arithmetic"]) == 2
    assert "nobody.x" in capsys.readouterr().err
    assert zc(["bench", "run", "-t", "poetry", "-o", "new.jsonl"]) == 2
    assert "no task poetry" in capsys.readouterr().err
    assert zc(["bench", "run", "-o", str(measured / "bench.jsonl")]) == 2
    assert "--resume goes on with it" in capsys.readouterr().err
    assert zc(["bench", "run", "-o", str(measured)]) == 2
    assert "is a folder: name a file" in capsys.readouterr().err
    assert zc(["bench", "run", "-o", str(measured / "bench.jsonl" / "new.jsonl")]) == 2
    assert "bench.jsonl: it is a file; name another file (-o)" in capsys.readouterr().err
    assert zc(["bench", "run", "-m", ",", "-o", "new.jsonl"]) == 2
    assert "--models names nobody" in capsys.readouterr().err
    assert zc(["bench", "run", "--budget-usd", "inf", "-o", "new.jsonl"]) == 2
    assert "leave it out for no limit" in capsys.readouterr().err
    assert not (measured / "new.jsonl").exists()
