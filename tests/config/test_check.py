"""The report of a check: problems, warnings, and which profiles have a key from where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zc_notebooks.config.check import check_file

TEXT = """
[providers.groq.free]
model = "m"
fallback = ["nowhere"]
[providers.google.two]
model = "m"
api_key_envs = ["KEY_A", "KEY_B"]
[providers.mistral.file]
model = "m"
api_key_env = "FROM_FILE"
[providers.openai.inline]
model = "m"
api_key = "planted-0123456789"
[providers.cloudflare.open]
model = "m"
[providers.github_models.gone]
model = "m"
[providers.ollama.box]
model = "m"
"""
ENVIRON = {"KEY_A": "planted-aaaa", "CLOUDFLARE_API_TOKEN": "planted-cccc"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A config with an .env file beside it."""
    (tmp_path / ".env").write_text("FROM_FILE=planted-ffff\n")
    (tmp_path / "zc.toml").write_text(TEXT)
    return tmp_path / "zc.toml"


def test_report(path: Path) -> None:
    """Each profile tells its keys' names, where they were found, and whether it could be called."""
    report = check_file(path, ENVIRON)
    assert report.ok
    assert (report.path, report.env_file) == (str(path), str(path.parent / ".env"))
    assert [(item.ref, item.ready, item.keys_text) for item in report.profiles] == [
        ("groq.free", False, "GROQ_API_KEY missing"),
        ("google.two", True, "KEY_A (environment), KEY_B missing"),
        ("mistral.file", True, "FROM_FILE (.env)"),
        ("openai.inline", True, "api_key (inline)"),
        ("cloudflare.open", False, "CLOUDFLARE_API_TOKEN (environment), CLOUDFLARE_ACCOUNT_ID missing"),
        ("github_models.gone", False, "GITHUB_TOKEN missing"),
        ("ollama.box", True, "keyless"),
    ]
    assert [warning.code for warning in report.warnings] == ["inline_api_key", "dangling_fallback_ref", "no_start"]
    assert [item.ref for item in report.profiles if item.retired] == ["github_models.gone"]


def test_plain_data(path: Path) -> None:
    """The report is plain data without any part of a key."""
    data = check_file(path, ENVIRON).to_dict()
    text = json.dumps(data)
    assert "plante" not in text
    assert set(data) == {"ok", "path", "env_file", "problems", "warnings", "profiles"}
    assert data["profiles"][1] == {
        "ref": "google.two",
        "wire": "gemini",
        "base_url": "https://generativelanguage.googleapis.com/v1beta",
        "model": "m",
        "pool": "google@https://generativelanguage.googleapis.com:443",
        "tier": "free",
        "keyless": False,
        "ready": True,
        "keys": [
            {"name": "KEY_A", "found": True, "where": "environment", "note": ""},
            {"name": "KEY_B", "found": False, "where": None, "note": ""},
        ],
        "retired": None,
    }


def test_wrong_keys(path: Path) -> None:
    """A key of another vendor's form and one that cannot be sent are problems."""
    path.write_text('[providers.openai.a]\nmodel = "m"\n[providers.groq.b]\nmodel = "m"')
    report = check_file(path, {"OPENAI_API_KEY": "sk-ant-planted", "GROQ_API_KEY": "planted\x01key"})
    assert not report.ok
    assert [(problem.path, problem.message) for problem in report.problems] == [
        ("providers.openai.a",
         "the key of OPENAI_API_KEY has the form of a key of Anthropic, not of OpenAI: put the right key there"),
        ("providers.groq.b",
         "the key of GROQ_API_KEY holds a space, a control character or a letter outside ASCII, "
         "which no header can carry"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "ready", "text"),
    [
        ({"OPENAI_API_KEY": "planted-oooo"}, False, "ROUTED missing, OPENAI_API_KEY (environment)"),
        ({"ROUTED": "planted-rrrr"}, True, "ROUTED (environment), OPENAI_API_KEY missing"),
        ({"ROUTED": "sk-ant-planted"}, True, "ROUTED (environment, cannot be used), OPENAI_API_KEY missing"),
    ],
)
def test_the_target_of_a_route(path: Path, environ: dict[str, str], ready: bool, text: str) -> None:
    """Called with the route's key; its own one is for the calls that only fall back to it."""
    key = 'api_key_env = "ROUTED"'
    routes = f'[[model_routes]]\nhint = "h"\nmodel_provider = "openai.a"\nmodel = "m"\n{key}\n'
    path.write_text(f'default_provider = "openai.a"\n[providers.openai.a]\nmodel = "m"\n{routes}')
    report = check_file(path, environ)
    assert [(item.ready, item.keys_text) for item in report.profiles] == [(ready, text)]
    assert report.ok is ("cannot be used" not in text)


def test_alternatives(path: Path) -> None:
    """Of a family's alternative variables those with a value are named, or all when none has one."""
    path.write_text('[providers.google.a]\nmodel = "m"')
    (profile,) = check_file(path, {"GOOGLE_API_KEY": "planted-gggg"}).profiles
    assert profile.keys_text == "GOOGLE_API_KEY (environment)"
    (profile,) = check_file(path, {}).profiles
    assert profile.keys_text.count("missing") == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"[reliability]\njitter = 'x'\nretries = 1", "number"), (b"[a", "not valid TOML"), (b"\xff", "not UTF-8")],
)
def test_faulty_file(path: Path, content: bytes, says: str) -> None:
    """A file that does not load is reported, not raised."""
    path.write_bytes(content)
    report = check_file(path, {})
    assert not report.ok
    assert says in str(report.problems[0])
    assert report.to_dict()["problems"][0]["line"] is not None


def test_missing_file(tmp_path: Path) -> None:
    """So is a file that is not there."""
    report = check_file(tmp_path / "zc.toml", {})
    assert [problem.message for problem in report.problems] == ["does not exist: create one with `zc config init`"]
