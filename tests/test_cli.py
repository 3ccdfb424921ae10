"""The command line through :func:`zc_notebooks.cli.app.run`, against a lab that the test starts itself."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.rows import row
from tests.terminal import Terminal
from zc_notebooks.chain import Chain
from zc_notebooks.cli.app import run
from zc_notebooks.lab import Lab
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.views.schema import VIEW_COLUMNS

FREE = "groq.free"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """One fleet for the module; each test begins with it as new."""
    with Lab("default", latency=0.0) as running:
        yield running


@pytest.fixture
def zc(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """``zc`` in an empty folder whose ``zc.toml`` names the lab's fleet, and waits no time worth the name."""
    lab.reset()
    monkeypatch.chdir(tmp_path)
    told = lab.config_text()
    quick = told.replace("provider_backoff_ms = 50", "provider_backoff_ms = 1")
    assert quick != told
    (tmp_path / "zc.toml").write_text(quick, encoding="utf-8")
    return Terminal(capsys)


def test_an_answer(zc: Terminal) -> None:
    """The answer alone on standard output; one line per hop and one line of attribution on standard error."""
    assert zc("ask", "What is 17 * 23?") == 0
    assert zc.out == "(simulated) 17 * 23 = 391\n"
    *hops, last = zc.err.splitlines()
    assert all(line.startswith("hop ") for line in hops)
    assert all(len(line.split(": ", 1)[1]) <= 140 for line in hops)
    assert last.startswith("served by deepseek.prepaid/")
    assert " attempts, cost $0.0000" in last


def test_an_answer_as_json(zc: Terminal) -> None:
    """The documented object, nothing else."""
    assert zc("ask", "--json", "What is 17 * 23?") == 0
    answer = zc.json
    assert zc.err == ""
    assert {
        "call_id",
        "text",
        "tool_calls",
        "finish_reason",
        "served",
        "requested",
        "attempts",
        "hops",
        "usage_by_provider",
        "cost_usd",
        "at_least",
    } == set(answer)
    assert answer["served"] == {
        "provider_ref": "deepseek.prepaid",
        "model": "deepseek-v4-flash",
        "model_reported": "deepseek-v4-flash",
    }
    assert answer["requested"] == {"provider_ref": FREE, "model": "openai/gpt-oss-120b"}
    fields = (
        "ordinal kind provider_ref model status reason attempt failover secs wait_s input_tokens output_tokens cost_usd"
    )
    assert all(set(row) == set(fields.split()) for row in answer["attempts"])
    assert [row["ordinal"] for row in answer["attempts"]] == list(range(len(answer["attempts"])))
    assert isinstance(answer["cost_usd"], float)


def test_standard_input(zc: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads the prompt from there."""
    monkeypatch.setattr("sys.stdin", io.StringIO("What is 2 + 3?\n"))
    assert zc("ask", "-") == 0
    assert "= 5" in zc.out


def test_no_fallback(zc: Terminal) -> None:
    """The start alone; not answered is exit status 3 (behaviour 38)."""
    assert zc("ask", "hi", "--no-fallback") == 3
    assert zc.out == ""
    assert zc.err.startswith(f"{FREE}/openai/gpt-oss-120b: ")
    assert zc("ask", "hi", "--no-fallback", "--json") == 3
    failed = zc.json
    assert failed["error"]["type"] == "AllCandidatesFailed"
    assert failed["error"]["earliest_reset"] is not None
    assert ([row["provider_ref"] for row in failed["attempts"]], failed["hops"]) == ([FREE], [])


def test_a_start(zc: Terminal) -> None:
    """A ref with a model of its own."""
    assert zc("ask", "hi", "--start", "openai.prepaid/gpt-5-mini", "--json") == 0
    assert zc.json["served"]["provider_ref"] == "openai.prepaid"


def test_nothing_permitted(zc: Terminal, tmp_path: Path) -> None:
    """A border that leaves nothing is exit status 4 and no call."""
    with (tmp_path / "zc.toml").open("a") as file:
        file.write('\n[borders]\nallow_tiers = ["trial"]\n')
    assert zc("ask", "hi") == 4
    assert "allow_tiers" in zc.err


MISTAKES: list[tuple[list[str], str]] = [
    (["ask"], "Missing argument"),
    (["ask", ""], "the prompt is empty"),
    (["ask", "x", "--start", "groq.fre"], "did you mean 'groq.free'"),
    (["ask", "x", "--timeout", "-1"], "--timeout"),
    (["ask", "x", "--max-tokens", "0"], "--max-tokens"),
    (["ask", "x", "--bogus"], "No such option"),
    (["bogus"], "No such command"),
    (["ledger", "sql", "selec 1"], "syntax error"),
    (["ledger", "sql", "select * from nothing"], "nothing"),
    (["config", "check", "none.toml"], "none.toml"),
    (["config", "init"], "zc.toml"),
    (["lab", "up", "nowhere"], "nowhere"),
    (["probe", "nobody.x"], "nobody.x"),
    (["marks", "--clear", "nobody.x"], "nobody.x"),
    (["watch", "--every", "soon"], "soon"),
    (["explain", "none.json"], "none.json"),
    (["explain", "--case", "none.json"], "none.json"),
    (["plan", "--start", "x.y"], "x.y"),
]


@pytest.mark.parametrize(("arguments", "words"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES])
def test_a_users_mistake(zc: Terminal, arguments: list[str], words: str) -> None:
    """One sentence on standard error, exit status 2, no traceback, nothing on standard output."""
    assert zc(*arguments) == 2
    assert words in zc.err
    assert "Traceback" not in zc.err
    assert zc.out == ""


@pytest.mark.parametrize(("arguments", "words"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES])
def test_a_users_mistake_as_json(zc: Terminal, arguments: list[str], words: str) -> None:
    """The same for a program: an object on standard output, whoever noticed the mistake."""
    assert zc(*arguments, "--json") == 2
    told = zc.json
    found = told["problems"] if arguments[:2] == ["config", "check"] else told["error"]["message"]
    assert words in str(found)
    assert "Traceback" not in zc.err


def test_words_after_two_dashes_are_no_option(zc: Terminal) -> None:
    """A prompt may be called --json."""
    assert zc("ask", "--start", "openai.prepaid", "--", "--json") == 0
    assert zc.out.startswith("(simulated)")
    assert zc("ask", "--start", "x.y", "--", "--json") == 2
    assert zc.out == ""


def test_a_cancelled_call_as_json(zc: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 130, and the object holds what had happened until then."""
    whole = Chain.ask_sync

    def stopped(chain: Chain, *asked: Any, **options: Any) -> None:
        whole(chain, *asked, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Chain, "ask_sync", stopped)
    assert zc("ask", "hi", "--json") == 130
    assert zc.json["error"] == {"type": "TurnCancelled", "message": "cancelled", "earliest_reset": None}
    assert [row["ordinal"] for row in zc.json["attempts"]] == list(range(8))
    assert [hop["from"].split("/")[0] for hop in zc.json["hops"]][:2] == [FREE, "openrouter.credit"]
    assert zc.err == "cancelled\n"
    assert zc("ask", "hi") == 130
    assert (zc.out, zc.err.splitlines()[-1]) == ("", "cancelled")


@pytest.mark.parametrize(
    ("command", "status"), [(["ask", "-"], 2), (["chat"], 0), (["explain", "-", "--provider", "groq"], 0)]
)
def test_a_closed_standard_input(
    zc: Terminal, monkeypatch: pytest.MonkeyPatch, command: list[str], status: int
) -> None:
    """Nothing can be read there, which is as if it were empty."""
    monkeypatch.setattr("sys.stdin", None)
    assert zc(*command) == status
    assert "Traceback" not in zc.err


def test_a_broken_configuration(zc: Terminal, tmp_path: Path) -> None:
    """All problems at once, for people and as JSON."""
    (tmp_path / "zc.toml").write_text('defualt_provider = "a.b"\n[providers.groq.x]\ntemperature = 9\n')
    assert zc("ask", "hi") == 2
    assert "defualt_provider" in zc.err
    assert "temperature" in zc.err
    assert zc("config", "check", "--json") == 2
    assert len(zc.json["problems"]) == 2


def test_plan(zc: Terminal) -> None:
    """In order, with what a person asks about; the documented JSON form."""
    assert zc("plan") == 0
    assert zc.out.splitlines()[1].split()[:3] == ["1", FREE, "openai/gpt-oss-120b"]
    assert zc("plan", "--json", "--start", "openai.prepaid") == 0
    made = zc.json
    assert set(made) == {"entries", "pruned", "warnings"}
    assert made["entries"][0] == {
        "provider_ref": "openai.prepaid",
        "model": "gpt-5-mini",
        "pinned": True,
        "billing_pool": "lab-f",
        "tier": "prepaid",
        "context_window": 400000,
        "cooling_until": None,
    }


def test_marks_are_shared_and_cleared(zc: Terminal) -> None:
    """A limit that one command met is known to the next one, until somebody clears it."""
    zc("ask", "hi")
    assert zc("marks", "--json") == 0
    assert FREE in {mark["provider_ref"] for mark in zc.json["marks"]}
    assert zc("plan", "--json") == 0
    assert zc.json["entries"][0]["cooling_until"] is not None
    assert zc("marks", "--clear", FREE) == 0
    assert "cleared 1 mark" in zc.out
    assert zc("marks", "--all", "--json") == 0
    assert zc.json["marks"] == []


def test_probe_and_status(zc: Terminal) -> None:
    """Each on its own; exit status 3 when a named one is not reachable."""
    assert zc("probe", "deepseek.prepaid") == 0
    assert "reachable" in zc.out
    assert zc("probe", FREE, "--json") == 3
    assert [(item["state"], item["reachable"]) for item in zc.json] == [("limited", False)]
    assert zc("status", "--json") == 0
    states = {item["ref"]: item for item in zc.json["profiles"]}
    assert "back in" in states[FREE]["state"]
    assert states["deepseek.prepaid"]["last"]["status"] in ("ok", "empty")


def test_watch_writes_probe_rows(zc: Terminal) -> None:
    """One round, spread in time; a candidate that is known to be out is not asked again."""
    assert zc("watch", "--every", "1s", "--rounds", "1", "deepseek.prepaid", "--json") == 0
    assert zc.json["reachable"] is True
    assert zc("ledger", "sql", "select distinct mode from attempts", "--json") == 0
    assert zc.json == [{"mode": "probe"}]


def test_ledger(zc: Terminal) -> None:
    """Rows of the calls before, the short names, and the check."""
    zc("ask", "hi")
    assert zc("ledger", "tail", "-n", "2", "--json") == 0
    assert [row["status"] for row in zc.json][-1] == "ok"
    assert zc("ledger", "sql", 'select provider, "in", "out", status, attempt, failover from attempts_short') == 0
    assert zc("ledger", "check", "--json") == 0
    assert zc.json["torn"] == 0
    assert zc("ledger", "tail") == 0
    assert "deepseek.prepaid" in zc.out


@pytest.mark.parametrize("view", ["calls", "exhaustion", "reachability", "spend", "latency", "state"])
def test_ledger_views(zc: Terminal, view: str) -> None:
    """A view over a period, for people and as JSON with all columns; a wrong period is one sentence."""
    zc("ask", "hi")
    assert zc("ledger", view, "--since", "24h") == 0
    assert "deepseek.prepaid" in zc.out or view == "exhaustion"
    assert zc("ledger", view, "--json") == 0
    columns = VIEW_COLUMNS["last_state" if view == "state" else view]
    assert all(list(line) == list(columns) for line in zc.json)
    assert zc("ledger", view, "--since", "soon") == 2
    assert zc.err.startswith("zc: since = 'soon' is no time")


def test_a_lower_bound_says_so(zc: Terminal, tmp_path: Path) -> None:
    """178: the display says "at least"; what is not known at all is a dash."""
    writer = LedgerWriter(tmp_path / "rows")
    writer.write(row("a", 0, t=datetime.now(UTC), accepted=True, cost_usd=0.000025, input_tokens=1, output_tokens=1))
    writer.write(row("a", 1, t=datetime.now(UTC), status="timeout"))
    writer.write(row("b", 0, t=datetime.now(UTC), provider_ref="b.one", status="timeout"))
    writer.close()
    assert zc("ledger", "spend", "--ledger", str(tmp_path / "rows")) == 0
    lines = {line.split()[1]: line for line in zc.out.splitlines()}
    assert lines["groq.free"].endswith("at least 0.000025")
    assert lines["b.one"].endswith("-")


def test_ledger_cost(zc: Terminal) -> None:
    """What an answered call costs, in a sentence and as JSON; a wrong period is one sentence."""
    zc("ask", "hello")
    assert zc("ledger", "cost", "--since", "1h", "--json") == 0
    assert (zc.json["calls"], zc.json["answered"]) == (1, 1)
    assert {"cost_usd", "per_answer_usd", "at_least"} <= zc.json.keys()
    assert zc("ledger", "cost") == 0
    assert zc.out.startswith("1 of 1 call answered")
    assert zc("ledger", "cost", "--since", "soon") == 2
    assert zc.err.startswith("zc: since = 'soon' is no time")


def test_ledger_files(zc: Terminal, tmp_path: Path) -> None:
    """A short log comes in once; what is wrong with a file is one sentence, an object for programs."""
    line = '{"t":"2026-11-30T12:00:00Z","provider":"A","model":"m","in":1,"out":2,"status":"ok"}\n'
    (tmp_path / "log.jsonl").write_text(line)
    assert zc("ledger", "import", "log.jsonl", "--json") == 0
    assert (zc.json["added"], zc.json["present"], zc.json["refused"]) == (1, 0, 0)
    assert zc("ledger", "compact", "--keep", "99999d", "--json") == 0
    assert (zc.json["rows"], zc.json["files"], zc.json["dropped"]) == (1, 1, 0)
    assert zc("ledger", "compact") == 0
    assert zc.out.startswith("0 rows of 0 segments compacted, 1 Parquet file")
    assert zc("ledger", "export", "all.csv", "--json") == 0
    assert zc.json == {"file": "all.csv", "rows": 1}
    assert zc("ledger", "export", "all.csv") == 2
    assert zc.err == "zc: all.csv is there already; choose another name, or --force to replace it\n"
    assert zc("ledger", "export", "all.csv", "--force", "--since", "1s") == 0
    assert zc.out == "0 rows written to all.csv\n"
    assert zc("ledger", "export", "all.csv", "--otlp") == 2
    assert zc("ledger", "compact", "--keep", "soon") == 2
    assert zc.err.startswith("zc: keep = 'soon' is no time")
    assert zc("ledger", "import", "log.jsonl") == 0
    assert zc.out == "0 rows added from a file of short usage log, 1 was there already\n"
    (tmp_path / "log.jsonl").write_text(line + "what\n")
    assert zc("ledger", "import", "log.jsonl") == 3
    assert zc("ledger", "import", "nothing.jsonl") == 2
    assert zc.err == "zc: cannot import nothing.jsonl: No such file or directory\n"
    assert zc("ledger", "import", "nothing.jsonl", "--json") == 2
    assert zc.json["error"]["type"] == "LedgerError"


def test_ledger_reprice(zc: Terminal, tmp_path: Path) -> None:
    """What a correction would do, what it did, and the rows are in order as before."""
    zc("ask", "hi")
    assert zc("ledger", "reprice") == 0
    file = tmp_path / "zc.toml"
    text, number = re.subn(r"(?m)^pricing = .*$", 'pricing = { "*" = 123.0 }', file.read_text(encoding="utf-8"))
    assert number
    file.write_text(text, encoding="utf-8")
    assert zc("ledger", "reprice", "--dry-run", "--since", "1h", "--json") == 0
    assert (zc.json["changed"], zc.json["dry_run"], zc.json["version"]) == (1, True, None)
    assert zc("ledger", "reprice") == 0
    assert zc.out.endswith("written as version 1\n")
    assert zc("ledger", "check") == 0
    assert zc("ledger", "reprice", "--until", "soon") == 2


def test_a_file_without_providers_has_the_labs_ledger(zc: Terminal, tmp_path: Path) -> None:
    """Where the embedded lab answers, its rows are what the ledger's commands read, empty zc.toml or none."""
    (tmp_path / "zc.toml").write_text("# providers come later\n")
    assert zc("ask", "hi") == 0
    assert zc("ledger", "tail", "--json") == 0
    assert zc.json


def test_ledger_spans(zc: Terminal, tmp_path: Path) -> None:
    """Calls go out as spans and come in again; where they go has to be said."""
    zc("ask", "hi")
    assert zc("ledger", "export", "--otel", "spans.jsonl", "--since", "1h", "--json") == 0
    assert zc.json == {"file": "spans.jsonl", "calls": 1}
    assert "hi" not in (tmp_path / "spans.jsonl").read_text(encoding="utf-8").split('"')
    assert zc("ledger", "import", "spans.jsonl", "--ledger", "other", "--json") == 0
    assert zc.json["format"] == "OpenTelemetry spans"
    assert zc.json["added"] >= 1
    assert zc("ledger", "export", "--otel", "no/such/folder.jsonl") == 2
    assert zc.err == "zc: folder.jsonl could not be written: No such file or directory\n"
    assert zc("ledger", "export") == 2
    assert zc.err.startswith("zc: say where the attempts go: a FILE that ends in .parquet, .csv or .duckdb, or --otel")


def test_a_first_configuration(zc: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of variables, never values; it loads; it is never overwritten."""
    monkeypatch.setenv("GROQ_API_KEY", "gsk_planted0123456789")
    assert zc("config", "init", "new.toml") == 0
    text = (tmp_path / "new.toml").read_text(encoding="utf-8")
    assert "GROQ_API_KEY" in text
    assert "planted" not in text
    assert zc("config", "check", "new.toml") == 0
    assert zc("config", "init", "new.toml") == 2
    assert (tmp_path / "new.toml").read_text(encoding="utf-8") == text


def test_a_check_of_nothing(zc: Terminal, tmp_path: Path) -> None:
    """Without a file, and with one that names no provider: who answers then; the same object as ever."""
    assert zc("config", "check", "--json") == 0
    fields = set(zc.json)
    (tmp_path / "zc.toml").write_text("", encoding="utf-8")
    assert zc("config", "check") == 0
    assert "embedded lab" in zc.out
    (tmp_path / "zc.toml").unlink()
    assert zc("config", "check") == 0
    assert "embedded lab" in zc.out
    assert zc("config", "check", "--json") == 0
    assert (set(zc.json), zc.json["ok"], zc.json["profiles"]) == (fields, True, [])


def test_explain(zc: Terminal, tmp_path: Path) -> None:
    """What a response means, with its evidence."""
    (tmp_path / "body.json").write_text(
        '{"error":{"message":"Please try again in 7.66s","code":"rate_limit_exceeded"}}'
    )
    assert zc("explain", "--provider", "groq", "--status", "429", "body.json", "--json") == 0
    told = zc.json
    assert (told["outcome"], told["reason"], told["retry_after_s"]) == ("error", "minute_limit", 7.66)
    assert told["evidence"]
    assert zc("explain", "--provider", "groq", "--status", "402", "--header", "retry-after: 5", "body.json") == 0
    assert "next" in zc.out


def test_version(zc: Terminal) -> None:
    """The package's own."""
    assert zc("--version") == 0
    assert zc.out.startswith("zc 0.")


def test_a_streamed_answer(zc: Terminal) -> None:
    """The same text on standard output, the same attribution."""
    assert zc("ask", "--stream", "What is 17 * 23?", "--start", "deepseek.prepaid") == 0
    assert zc.out == "(simulated) 17 * 23 = 391\n"
    assert "served by deepseek.prepaid" in zc.err


def test_an_interrupted_stream(zc: Terminal, lab: Lab) -> None:
    """Exit status 5: what was shown stays, nothing is replayed."""
    lab.set_fault("f", "cut:3", times=1)
    assert zc("ask", "--stream", "Tell me something about lighthouses", "--start", "openai.prepaid") == 5
    assert zc.out.startswith("(simulated)")
    assert "not replayed" in zc.err


def test_a_schema_and_an_instruction(zc: Terminal, tmp_path: Path) -> None:
    """The answer follows the schema; a file that is none is a sentence."""
    schema = tmp_path / "schema.json"
    schema.write_text('{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}')
    assert zc("ask", "a number", "--system", "be brief", "--schema", str(schema), "--start", "openai.prepaid") == 0
    assert isinstance(json.loads(zc.out)["n"], int)
    schema.write_text("[1]")
    assert zc("ask", "a number", "--schema", str(schema)) == 2
    assert "no JSON schema" in zc.err


def test_chat(zc: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn by turn from standard input; an end of file leaves."""
    monkeypatch.setattr("sys.stdin", io.StringIO("What is 2 + 2?\n\n/new\nWhat is 3 + 3?\n/quit\nignored\n"))
    assert zc("chat", "--start", "openai.prepaid") == 0
    assert zc.out == "(simulated) 2 + 2 = 4\n(simulated) 3 + 3 = 6\n"


def test_a_spent_time_limit_says_so(zc: Terminal) -> None:
    """Exit status 3, and the first line names the time limit."""
    assert zc("ask", "hi", "--timeout", "0.001") == 3
    assert [line for line in zc.err.splitlines() if "time for this call was spent" in line] == zc.err.splitlines()[:1]


def test_a_closed_standard_output(zc: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever started the command may have closed it: no traceback, the same exit status."""
    assert zc("--version") == 0
    with monkeypatch.context() as closed:
        closed.setattr("sys.stdout", None)
        assert run(["ask", "What is 2 + 2?", "--start", "openai.prepaid"]) == 0
        assert run(["plan"]) == 0


def test_a_place_for_state_that_is_none(zc: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ledger, marks and choices can be neither read nor written, the answer still arrives."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ZC_STATE_DIR", str(tmp_path / "file"))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert zc("ask", "hi", "--start", "openai.prepaid") == 0
    assert zc.out.startswith("(simulated)")
    assert "row could not be written" in zc.err


def test_a_warning_is_one_sentence(zc: Terminal, tmp_path: Path) -> None:
    """A ledger that cannot be written warns in a line, without a source line of ours."""
    with (tmp_path / "zc.toml").open("a") as file:
        file.write('\n[ledger]\npath = "blocked"\n')
    (tmp_path / "blocked").write_text("a file")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert zc("ask", "hi", "--start", "openai.prepaid") == 0
    assert "zc: warning: 1 row could not be written" in zc.err
    assert ".py:" not in zc.err


@pytest.mark.usefixtures("zc")
def test_a_warning_stands_below_a_streamed_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a line of its own, on a terminal that shows both."""
    with (tmp_path / "zc.toml").open("a") as file:
        file.write('\n[ledger]\npath = "blocked"\n')
    (tmp_path / "blocked").write_text("a file")
    both = io.StringIO()
    monkeypatch.setattr("sys.stdout", both)
    monkeypatch.setattr("sys.stderr", both)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run(["ask", "hi", "--stream", "--start", "openai.prepaid"]) == 0
    first, second, *_ = both.getvalue().splitlines()
    assert first.startswith("(simulated)")
    assert first.count("zc: ") == 0
    assert second.startswith("zc: warning: 1 row could not be written")
