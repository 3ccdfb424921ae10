"""A report: a notebook run against a ledger, as one file that needs nothing else."""

from __future__ import annotations

import json
import os
import re
from contextlib import nullcontext
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.ledger.rows import row
from zc_notebooks.cli.app import run as zc
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.notebook.report import ReportError, make_report
from zc_notebooks.resources import resource

PARAMETERS = "ledger_path = 'x'\nsince = ''\nlimit = 3"
CHART = """import polars as pl
import zc_notebooks as zc
from zc_notebooks import charts
frame = pl.DataFrame({"a": ["one"], "b": ["two"], "served": ["me.x"]})
charts.show(charts.served(frame, row="a", column="b", title="Who"))"""
TABLE = """print("limit", limit, since)
zc.Ledger(ledger_path).sql("select provider_ref, count(*) as n from attempts group by all")"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    folder = tmp_path / "ledger"
    writer = LedgerWriter(folder)
    for ordinal in range(3):
        writer.write(row(call_id="c1", ordinal=ordinal))
    writer.close()
    return folder


@pytest.fixture
def notebook(tmp_path: Path) -> str:
    made = new_notebook()
    made.cells = [
        new_markdown_cell("# What happened\n\n| a | b |\n|---|---|\n| 1 | <script>alert(1)</script> |"),
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_code_cell(CHART),
        new_code_cell(TABLE),
    ]
    path = tmp_path / "mine.ipynb"
    nbformat.write(made, path)
    return str(path)


@pytest.mark.filterwarnings("ignore")
def test_one_file_that_needs_nothing_else(tmp_path: Path, ledger: Path, notebook: str) -> None:
    """Pictures inside, no script, no address; parameters, versions and a hash at its end; twice the same."""
    first, second = (
        make_report(notebook, tmp_path / name, ledger=ledger, parameters={"since": "7d"})
        for name in ("a.html", "b.html")
    )
    text = first.read_text(encoding="utf-8")
    assert text == second.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "limit 3 7d" in text
    assert not re.search(r"<script|src=\"http|href=\"http|@import", text)
    assert "&lt;script&gt;alert" in text
    for word in ("<th>since</th>", "<th>rows</th><td>3</td>", "hash of the rows", "duckdb", "Python"):
        assert word in text
    assert str(tmp_path) not in text
    assert [path.name for path in tmp_path.glob(".*")] == []


@pytest.mark.filterwarnings("ignore")
def test_outputs_hold_no_key_and_do_nothing(tmp_path: Path, ledger: Path) -> None:
    """In every form; what acts or fetches is shown as its text, and so is markup that hides a key."""
    begin, rest = "sk-" + "proj-", "0123456789abcdefghij"
    show = f"""from IPython.display import display
key = "{begin}" + "{rest}"
class Shown:
    def __init__(self, words, **forms):
        self.words, self.forms = words, forms
    def __repr__(self):
        return self.words + ' ' + key
    def _repr_mimebundle_(self, include=None, exclude=None):
        names = {{"html": "text/html", "svg": "image/svg+xml", "png": "image/png"}}
        return {{"text/plain": repr(self), **{{names[name]: form for name, form in self.forms.items()}}}}
print(key)
display(Shown("one", html=f"<b>bold {{key}}</b>"))
display(Shown("two", html="<b>{begin}<i>{rest}</i></b>"))
display(Shown("three", html=f"<b>&#115;{{key[1:]}}</b>"))
display(Shown("four", svg=f"<svg><title>drawn {{key}}</title></svg>"))
display(Shown("five", svg="<svg><SCRIPT>alert(1)</SCRIPT></svg>"))
display(Shown("six", png='"><script>alert(1)</script>'))
display(Shown("seven", png="iVBORw0KGgo="))
display(Shown("eight", html="<img src=x onerror=alert(1)>"))
display(Shown("nine"))"""
    cells = [
        new_markdown_cell(f"key {begin}{rest} ![far](https://example.com/a.png)"),
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_code_cell(show),
        new_code_cell("raise ValueError(key)", metadata={"tags": ["raises-exception"]}),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "mine.ipynb")
    out = make_report(str(tmp_path / "mine.ipynb"), tmp_path / "a.html", ledger=ledger)
    text = out.read_text(encoding="utf-8")
    assert rest not in text
    assert not re.search(r"<script|<img src=x|<img[^>]*https:|<[^>]*onerror", text, re.IGNORECASE)
    for shown in ("<b>bold ***</b>", "<title>drawn ***</title>", '<img alt="seven ***" src="data:', "ValueError: ***"):
        assert shown in text
    for words in ("two", "three", "five", "six", "eight", "nine"):
        assert f"<pre>{words} ***</pre>" in text


@pytest.mark.filterwarnings("ignore")
def test_other_rows_are_another_report(tmp_path: Path, ledger: Path, notebook: str) -> None:
    """The hash is of the rows; the code is shown only where it is asked for."""
    first = make_report(notebook, tmp_path / "a.html", ledger=ledger).read_text(encoding="utf-8")
    writer = LedgerWriter(ledger)
    writer.write(row(call_id="c2", ordinal=0))
    writer.close()
    second = make_report(notebook, tmp_path / "b.html", ledger=ledger, code=True).read_text(encoding="utf-8")
    hashes = [re.search(r"hash of the rows</th><td>(\w+)", text) for text in (first, second)]
    assert all(hashes)
    assert hashes[0][1] != hashes[1][1]  # type: ignore[index]
    assert "zc.Ledger(ledger_path)" in second
    assert "zc.Ledger(ledger_path)" not in first


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_ledger_is_said(
    tmp_path: Path, ledger: Path, notebook: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Near the top, among the inputs and on standard error; a sound ledger has no such words."""
    command = ["report", notebook, "--ledger", str(ledger), "-o", str(tmp_path / "a.html")]
    assert zc(command) == 0
    assert capsys.readouterr().err == ""
    assert "zc ledger check" not in (tmp_path / "a.html").read_text(encoding="utf-8")
    (segment,) = ledger.glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(lines[0] + lines[1][: len(lines[1]) // 2] + b"\n" + lines[2])
    (ledger / "attempts-x.parquet").write_text("rubbish")
    said = "1 line could not be read and 1 file was left out: zc ledger check --json names them"
    assert zc([*command, "--json"]) == 0
    told = capsys.readouterr()
    assert told.err == f"zc: {said}\n"
    assert json.loads(told.out)["damage"] == said
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.index("What happened") < text.index(f"Of this ledger, {said}.") < text.index("<svg")
    assert f"<tr><th>damage</th><td>{said}</td></tr>" in text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("source", "parameters", "words"),
    [
        ("1 / 0", {}, "ZeroDivisionError"),
        ("pass", {"speed": 1}, "no parameter 'speed': it has ledger_path, limit, since"),
    ],
)
def test_a_report_that_cannot_be_made(
    tmp_path: Path, ledger: Path, source: str, parameters: dict[str, int], words: str
) -> None:
    """One sentence, and no half file."""
    made = new_notebook()
    made.cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}), new_code_cell(source)]
    path = tmp_path / "bad.ipynb"
    nbformat.write(made, path)
    with pytest.raises(ReportError, match=words):
        make_report(str(path), tmp_path / "out.html", ledger=ledger, parameters=parameters)
    assert not (tmp_path / "out.html").exists()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import time\ntime.sleep(60)", "the cell that begins with 'import time' took longer than 2 seconds"),
        ("import os\nos._exit(3)", "the cell that begins with 'import os' ended the kernel"),
    ],
)
def test_a_cell_that_never_ends_or_ends_its_kernel(
    tmp_path: Path,
    ledger: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    source: str,
    words: str,
) -> None:
    """One sentence that names the cell, and the limit where it was that."""
    monkeypatch.setattr("zc_notebooks.notebook.report.LIMIT_S", 2)
    cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}), new_code_cell(source)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "bad.ipynb")
    command = ["report", str(tmp_path / "bad.ipynb"), "--ledger", str(ledger), "-o", str(tmp_path / "out.html")]
    assert zc(command) == 2
    assert capfd.readouterr().err == f"zc: the notebook of the report stopped: {words}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.ipynb", "ledger"]


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("", ". is a folder: name a file for the report"),
        ("folder", "folder is a folder: name a file for the report"),
        ("pipe", "pipe is no ordinary file: name another one"),
        ("file/below.html", "cannot be written (Not a directory)"),
        ("n" * 300, "cannot be written (File name too long)"),
        ("new/" + "n" * 300, "cannot be written (File name too long)"),
        ("ledger/out.html", "would lie in the ledger's own folder"),
    ],
)
def test_a_place_that_cannot_be_written(
    tmp_path: Path,
    ledger: Path,
    notebook: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    out: str,
    words: str,
) -> None:
    """It is said before a kernel is started, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nbclient.NotebookClient.execute", lambda *_: pytest.fail("a kernel was started"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    os.mkfifo(tmp_path / "pipe")
    assert zc(["report", notebook, "--ledger", str(ledger), "-o", out]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "ledger", "mine.ipynb", "pipe"]
    assert len(list(ledger.iterdir())) == 1


def test_a_report_that_does_not_fit_leaves_nothing(
    tmp_path: Path, ledger: Path, notebook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report that is there stays as it is."""
    out = tmp_path / "out" / "a.html"
    out.parent.mkdir()
    out.write_text("the last one")
    monkeypatch.setattr("nbclient.NotebookClient.execute", lambda *_: None)
    resource = pytest.importorskip("resource", reason="file size limits are of Unix")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(ReportError, match="cannot be written"):
            make_report(notebook, out, ledger=ledger)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.read_text() for path in out.parent.iterdir()] == ["the last one"]


@pytest.mark.filterwarnings("ignore")
def test_a_stopped_report_is_plain_text(tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel colours its errors; what the command says has no escape sequences."""
    made = new_notebook()
    coloured = 'raise ValueError("\\x1b[1;31mred\\x1b[0m")'
    made.cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}), new_code_cell(coloured)]
    nbformat.write(made, tmp_path / "bad.ipynb")
    assert zc(["report", str(tmp_path / "bad.ipynb"), "--ledger", str(ledger)]) == 2
    said = capsys.readouterr().err
    assert "ValueError: red" in said
    assert "\x1b" not in said
    assert len(said.splitlines()) == 1


def test_what_stops_a_report_is_an_object_for_programs(
    tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``--json`` the error is on standard output, as of every command."""
    assert zc(["report", "weather", "--json", "-o", str(tmp_path / "out.html"), "--ledger", str(ledger)]) == 2
    said = capsys.readouterr()
    assert "there is no report 'weather'" in json.loads(said.out)["error"]["message"]
    assert said.err == ""


def test_parameters_that_are_no_python(tmp_path: Path, ledger: Path) -> None:
    """One sentence with the line, before a kernel is started."""
    cell = new_code_cell("ledger_path = ''\nlimit = = 3", metadata={"tags": ["parameters"]})
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "bad.ipynb")
    with pytest.raises(ReportError, match=r"cell tagged parameters is no Python: invalid syntax .*line 2"):
        make_report(str(tmp_path / "bad.ipynb"), tmp_path / "out.html", ledger=ledger)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["weather"], "there is no report 'weather': one of outage, cost"),
        (["none.ipynb"], "none.ipynb cannot be read as a notebook"),
        (["outage", "--ledger", "nowhere"], "nowhere is no ledger"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path,
    ledger: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    """A sentence and status 2."""
    monkeypatch.chdir(tmp_path)
    own = [] if "--ledger" in arguments else ["--ledger", str(ledger)]
    if arguments[0] == "outage":
        monkeypatch.setattr("zc_notebooks.notebook.report.resource", lambda *_: tmp_path / "x.ipynb")
    assert zc(["report", *arguments, *own]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["outage", "cost"])
def test_the_shipped_reports(tmp_path: Path, kind: str) -> None:
    """Each runs against a ledger of another story, or of hardly any."""
    folder = tmp_path / "ledger"
    writer = LedgerWriter(folder)
    for ordinal, status in enumerate(("http_429", "ok")):
        accepted = status == "ok"
        writer.write(row(call_id="c1", ordinal=ordinal, status=status, accepted=accepted, secs=1.0, pool="p"))
    writer.close()
    text = make_report(kind, tmp_path / "out.html", ledger=folder).read_text(encoding="utf-8")
    assert "About this report" in text
    assert text.count("<svg") >= 2
    for of_the_sample in (
        "Every call was answered",
        "shipped sample",
        "<strong>The cause</strong>",
        "The bill has grown",
    ):
        assert of_the_sample not in text


@pytest.mark.parametrize("kind", ["outage", "cost"])
@pytest.mark.parametrize("found", [True, False])
def test_the_ledger_is_opened_once_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, found: bool
) -> None:
    """Whether there are rows to report or not."""
    opened: list[Ledger] = []

    class Watched(Ledger):
        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            opened.append(self)

    monkeypatch.setattr("zc_notebooks.notebook.report.Ledger", Watched)
    monkeypatch.setattr("nbclient.NotebookClient.execute", lambda *_: None)
    period = {} if found else {"since": "2027-01-01"}
    with nullcontext() if found else pytest.raises(ReportError, match="no rows in this period"):
        make_report(kind, tmp_path / "out.html", ledger=SAMPLE, parameters=period)
    (ledger,) = opened
    with pytest.raises(LedgerError, match="was closed"):
        ledger.refresh()


SAMPLE = resource("data", "sample_ledger")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "period"),
    [
        ("outage", {"since": "2026-09-08"}),
        ("cost", {"since": "2026-09-08", "until": "2026-09-09T12:00"}),
    ],
)
def test_the_same_period_is_the_same_report(tmp_path: Path, kind: str, period: dict[str, str]) -> None:
    """Byte by byte, whatever the order in which rows are grouped."""
    first, second = (
        make_report(kind, tmp_path / name, ledger=SAMPLE, parameters=period).read_bytes()
        for name in ("a.html", "b.html")
    )
    assert first == second


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("period", "words"),
    [
        ({"since": "24h"}, "would have been"),
        ({"until": "2026-09-07T06:00"}, "nobody was out"),
    ],
)
def test_a_period_of_an_old_ledger(tmp_path: Path, period: dict[str, str], words: str) -> None:
    """A relative one counts back from the last row; one in which nothing was refused is calm."""
    text = make_report("outage", tmp_path / "a.html", ledger=SAMPLE, parameters=period).read_text(encoding="utf-8")
    assert words in text
    assert "nothing to replay" not in text


@pytest.mark.parametrize("kind", ["outage", "cost"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--since", "2027-01-01"], "has no rows in this period: they go from 2026-09-07 00:0"),
        (["--until", "2020-01-01"], "choose --since and --until among them"),
        (["--ledger", "empty"], "empty has no rows yet: there is nothing to report"),
        (["--since", "long ago"], "is no time"),
    ],
)
def test_a_period_without_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    arguments: list[str],
    words: str,
) -> None:
    """One sentence, status 2, no file; no kernel is started for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nbclient.NotebookClient.execute", lambda *_: pytest.fail("a kernel was started"))
    (tmp_path / "empty").mkdir()
    own = [] if "--ledger" in arguments else ["--ledger", str(SAMPLE)]
    assert zc(["report", kind, *arguments, *own]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
    assert list(tmp_path.glob("*.html")) == []
