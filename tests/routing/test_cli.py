"""``zc use``, ``zc effort`` and the overrides of ``zc ask``."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.routing.homes import CLOUD, COMPLEX, HOME, SIMPLE, THIRD, config_text
from tests.terminal import Terminal
from zc_notebooks.lab import Lab


class Watched(Terminal):
    """``zc``, and the lab whose log tells who was asked."""

    def __init__(self, lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(capsys)
        self.lab = lab


@pytest.fixture
def zc(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Watched:
    """``zc`` in a folder whose ``zc.toml`` keeps local work local and sends complex work to the cloud."""
    monkeypatch.chdir(tmp_path)
    Path("zc.toml").write_text(config_text(lab, policy="auto"), encoding="utf-8")
    for name, key in lab.environ().items():
        monkeypatch.setenv(name, key)
    return Watched(lab, capsys)


def served(zc: Watched, *arguments: str) -> str:
    """Who answers, by the command's own account; the lab's log agrees."""
    before = len(zc.lab.requests)
    assert zc("ask", "--json", *arguments) == 0, zc.err
    ref = str(zc.json["served"]["provider_ref"])
    names = {HOME: "home", CLOUD: "cloud", THIRD: "third"}
    assert {request.provider for request in zc.lab.requests[before:] if request.method == "POST"} == {names[ref]}
    return ref


def test_use_holds_for_other_commands(zc: Watched) -> None:
    """166: chosen once, asked first by every later process, until ``auto``."""
    assert served(zc, COMPLEX) == CLOUD
    assert zc("use", THIRD) == 0
    assert f"user: {THIRD}/dear is asked first until `auto`; no turn is judged by its effort" in zc.out
    assert [served(zc, COMPLEX), served(zc, SIMPLE)] == [THIRD, THIRD]
    assert zc("use") == 0
    assert f"{THIRD}/dear (scope user) is asked first" in zc.out
    assert zc("use", "auto") == 0
    assert "each turn is judged by its effort" in zc.out
    assert [served(zc, COMPLEX), served(zc, SIMPLE)] == [CLOUD, HOME]


def test_ask_says_where_a_turn_goes(zc: Watched) -> None:
    """168: one remark with the four fields, and no text of the prompt."""
    assert zc("ask", COMPLEX) == 0
    assert zc.err.splitlines()[0] == f"effort complex (length 31, policy auto): goes to {CLOUD}"
    assert zc("ask", COMPLEX, "--start", HOME) == 0
    assert "effort" not in zc.err


@pytest.mark.parametrize(
    ("arguments", "ref", "model"),
    [
        (["--provider", CLOUD], CLOUD, "large"),
        (["--start", f"{CLOUD}/large-2"], CLOUD, "large-2"),
        (["--provider", CLOUD, "--model", "large-2"], CLOUD, "large-2"),
        (["--model", "dear"], THIRD, "dear"),
        (["--hint", "local"], HOME, "small"),
    ],
)
def test_the_command_line_comes_before_the_user(
    zc: Watched, monkeypatch: pytest.MonkeyPatch, arguments: list[str], ref: str, model: str
) -> None:
    """156, 166: for this run, on every surface alike; with its own model, where the profile is the user's."""
    zc("use", THIRD)
    assert served(zc, SIMPLE, *arguments) == ref
    assert zc.json["served"]["model"] == model
    assert zc("plan", SIMPLE, *arguments, "--json") == 0
    assert zc.json["entries"][0]["provider_ref"] == ref
    monkeypatch.setattr("sys.stdin", io.StringIO(SIMPLE))
    assert zc("chat", *arguments) == 0
    assert f"served by {ref}/{model}" in zc.err


def test_use_as_json(zc: Watched) -> None:
    """The documented object, nothing else."""
    assert zc("use", f"{CLOUD}/large-2", "--json") == 0
    told = zc.json
    assert told.pop("sentence")
    assert told == {
        "scope": "user",
        "chosen": {"ref": CLOUD, "model": "large-2"},
        "in_effect": {"scope": "user", "ref": CLOUD, "model": "large-2"},
        "default": {"ref": HOME, "model": "small"},
        "shadowed": False,
        "classifies": False,
    }
    zc("use", HOME, "--json")
    assert (zc.json["chosen"], zc.json["classifies"]) == (None, True)
    zc("use", "--json")
    assert (zc.json["in_effect"], zc.err) == (None, "")


@pytest.mark.parametrize("named", ["groq", "groq.fre", "", "/x", "no.such/model"])
def test_a_wrong_use_is_one_sentence(zc: Watched, named: str) -> None:
    """It keeps the choice before it."""
    zc("use", CLOUD)
    assert zc("use", named) == 2
    assert zc.err.count("\n") == 1
    assert "no configured profile" in zc.err
    assert served(zc, SIMPLE) == CLOUD


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (SIMPLE, ["simple: its length 2", "code fence no", "keywords none", f"goes to {HOME} (hint local"]),
        ("設計を比較して", ["complex: it has 2 keywords", "keywords 比較, 設計", f"only {HOME} and {CLOUD}"]),
        ("```", ["complex: it holds a code fence", "code fence yes"]),
    ],
)
def test_effort_explains(zc: Watched, text: str, lines: list[str]) -> None:
    """What was counted, which rule decided and where it goes, without one request."""
    before = len(zc.lab.requests)
    assert zc("effort", text) == 0
    assert all(line in zc.out for line in lines), zc.out
    assert len(zc.lab.requests) == before


def test_effort_as_json(zc: Watched) -> None:
    """The documented object; a choice in effect is told, and then there is no decision."""
    assert zc("effort", COMPLEX, "--json") == 0
    told = zc.json
    assert (told["tier"], told["length"], told["fence"], told["keywords"]) == (
        "complex",
        31,
        False,
        ["explain", "why", "compare"],
    )
    assert told["decision"] == {"hint": "cloud", "target": CLOUD, "allowlist": [HOME, CLOUD], "policy": "auto"}
    assert told["override"] is None
    zc("use", THIRD)
    zc("effort", COMPLEX, "--json")
    assert (zc.json["decision"], zc.json["override"]) == (None, {"scope": "user", "choice": f"{THIRD}/dear"})
    zc("effort", COMPLEX)
    assert "while a choice stands, no turn is judged" in zc.out


def test_effort_without_a_configuration(zc: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in figures; no lab is started, and standard input may hold the message."""
    Path("zc.toml").unlink()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("なぜ?".encode())))
    assert zc("effort", "-") == 0
    assert zc.out.startswith("standard: ")
    assert "there is no [effort_routing]" in zc.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["effort"], "give one message"),
        (["effort", ""], "the prompt is empty"),
        (["effort", "hi", "--agreement"], "give one message"),
    ],
)
def test_a_wrong_effort_is_one_sentence(zc: Watched, arguments: list[str], words: str) -> None:
    """No traceback, exit status 2."""
    assert zc(*arguments) == 2
    assert words in zc.err


def test_agreement(zc: Watched) -> None:
    """Over all, per language, whether pairs are judged alike, and the confusion."""
    assert zc("effort", "--agreement") == 0
    assert "agrees with the labels: 61 of 104 (59%)" in zc.out
    assert "English 31 of 52 (60%), Japanese 30 of 52 (58%)" in zc.out
    assert "judged alike: 48 of 52 (92%)" in zc.out
    assert zc("effort", "--agreement", "--json") == 0
    told = zc.json
    assert told["pairs_alike"] == {"count": 48, "of": 52, "fraction": 0.9231}
    assert sum(sum(row.values()) for row in told["confusion"]["all"].values()) == 104
    assert len(told["disagreements"]) == 104 - 61
