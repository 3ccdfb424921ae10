"""The README holds: its configuration is right as it stands, and its commands are those there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests import ROOT
from tests.terminal import Terminal
from zc_notebooks.cli.app import app

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
*KEYED, LOCAL = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = re.findall(r"(?:`|^)zc ([^`#\n]+)", TEXT, re.MULTILINE)


@pytest.fixture
def zc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROQ_API_KEY", "gsk_0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-0123456789abcdef0123456789abcdef")
    return Terminal(capsys)


@pytest.mark.parametrize(
    ("text", "ways"),
    [("\n".join(KEYED), [[], ["--hint", "local"], ["--hint", "cloud"]]), (LOCAL, [[]])],
    ids=["keyed, routed, under a budget", "local"],
)
def test_the_configurations_are_right(zc: Terminal, tmp_path: Path, text: str, ways: list[list[str]]) -> None:
    """Taken together, the examples have no problem, and nothing of theirs forbids a candidate of theirs."""
    (tmp_path / "zc.toml").write_text(text, encoding="utf-8")
    assert zc("config", "check", "--json") == 0
    assert zc.json["problems"] == zc.json["warnings"] == []
    for way in ways:
        assert zc("plan", *way) == 0
        assert {line.split()[-1] for line in zc.out.splitlines()[1:]} == {"open"}


def tree(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every command by its words, with its options."""
    if not hasattr(command, "commands"):
        yield path, {word for parameter in command.params for word in parameter.opts}
    for name, inner in getattr(command, "commands", {}).items():
        yield from tree(inner, (*path, name))


OPTIONS = dict(tree(typer.main.get_command(app)))


def named(text: str) -> set[tuple[str, ...]]:
    """The commands that ``ledger sql|tail FILE --option`` speaks of."""
    words = re.findall(r"[a-z][a-z|]*", text.replace("\\|", "|").split(" -")[0])
    first = words[0]
    if (first,) in OPTIONS:
        return {(first,)}
    return {(first, second) for second in words[1].split("|")}


def test_the_commands_are_those_there_are() -> None:
    """Each one is shown, and no other; with options that it has."""
    assert {command for text in COMMANDS for command in named(text)} == OPTIONS.keys()
    for text in COMMANDS:
        for command in named(text):
            assert set(re.findall(r"--[a-z-]+|(?<= )-[a-z]\b", text)) <= OPTIONS[command], text


def test_every_command_but_chat_has_json() -> None:
    assert [command for command, options in OPTIONS.items() if "--json" not in options] == [("chat",)]
