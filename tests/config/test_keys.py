"""Where keys come from, what they are called, and which ones are refused (behaviours 15, 16 and 19)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import keyring
import keyring.backend
import keyring.core
import pytest

from tests.config.conftest import Load
from zc_notebooks.config import keys
from zc_notebooks.config.keys import Keyring, Missing, check_prefix
from zc_notebooks.config.load import parse_config
from zc_notebooks.records import KEYLESS, Credential
from zc_notebooks.redact import Secret

Stored = Callable[[str], str | None]


def nothing(_name: str) -> None:
    """A keyring without entries."""


def values(found: tuple[Credential | Missing, ...]) -> list[str]:
    """Key values, ``-`` for keyless, ``?NAME`` for a missing variable."""
    return [
        f"?{item.name}" if isinstance(item, Missing) else "-" if item.secret is None else item.secret.reveal()
        for item in found
    ]


@pytest.fixture
def ring(tmp_path: Path) -> Callable[..., Keyring]:
    """A keyring over a text, an environment and stored entries."""

    def made(text: str, environ: Mapping[str, str] | None = None, stored: Stored = nothing) -> Keyring:
        config = parse_config(text, base_dir=tmp_path, environ=environ)
        found = Keyring(config, {} if environ is None else environ, ask_keyring=stored, state=tmp_path)
        found.profile = next(iter(config.profiles.values()))  # type: ignore[attr-defined]
        return found

    return made


def of(ring: Keyring) -> list[str]:
    """The credentials of its only profile."""
    return values(ring.credentials(ring.profile))  # type: ignore[attr-defined]


def test_order_of_sources(ring: Callable[..., Keyring], tmp_path: Path) -> None:
    """Behaviour 15: the environment wins over .env, .env over the keyring; blank is absent."""
    text = '[providers.openai.a]\nmodel = "m"\napi_key_env = "KEY"'
    environ = {"KEY": " from-environment "}
    (tmp_path / ".env").write_text("KEY=from-env-file\n")
    found = ring(text, environ, lambda _: "from-keyring")
    assert of(found) == ["from-environment"]
    environ["KEY"] = "  "
    assert of(found) == ["from-env-file"]
    (tmp_path / ".env").write_text("KEY=\nOTHER=x\n")
    assert of(found) == ["from-keyring"]
    assert of(ring(text)) == ["?KEY"]


def test_exported_later(ring: Callable[..., Keyring], tmp_path: Path) -> None:
    """Behaviour 16: a variable that appears after construction counts from the next call on, in .env as well."""
    environ: dict[str, str] = {}
    found = ring('[providers.openai.a]\nmodel = "m"\napi_key_env = "KEY"', environ)
    assert of(found) == ["?KEY"]
    (tmp_path / ".env").write_text("export KEY='first-value'\n")
    assert of(found) == ["first-value"]
    (tmp_path / ".env").write_text("KEY=second-value-of-it # comment\n")
    assert of(found) == ["second-value-of-it"]
    (tmp_path / ".env").unlink()
    environ["KEY"] = "exported"
    assert of(found) == ["exported"]


def test_process_environment(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an environment of its own it reads the process's, at each call."""
    config = load('[providers.groq.a]\nmodel = "m"')
    found = Keyring(config, ask_keyring=nothing)
    monkeypatch.setenv("GROQ_API_KEY", "exported-now")
    assert values(found.credentials(config.profiles["groq.a"])) == ["exported-now"]


@pytest.mark.parametrize(
    ("lines", "environ", "expected"),
    [
        ("", {"GROQ_API_KEY": "k-groq"}, ["k-groq"]),
        ("", {}, ["?GROQ_API_KEY"]),
        ('api_key_envs = ["A", "B", "C"]', {"A": "k-aa", "C": "k-cc"}, ["k-aa", "?B", "k-cc"]),
        ('api_key_envs = ["A", "B"]', {"A": "same-key", "B": "same-key"}, ["same-key"]),
        ('api_key = "k-inline"', {"GROQ_API_KEY": "k-groq"}, ["k-inline"]),
        ('api_key_env = "A"\napi_key = "k-inline"', {"A": "k-aa"}, ["k-aa", "k-inline"]),
        ('api_key_env = "A"\napi_key = "k-inline"', {}, ["?A", "k-inline"]),
        ("keyless = true", {"GROQ_API_KEY": "k-groq"}, ["-"]),
        ('keyless = true\napi_key_env = "A"', {"A": "k-aa"}, ["k-aa"]),
        ('keyless = true\napi_key_env = "A"', {}, ["-"]),
    ],
)
def test_credentials(ring: Callable[..., Keyring], lines: str, environ: dict[str, str], expected: list[str]) -> None:
    """Named variables in order, then the key in the file; the catalogue's name only when the profile says nothing."""
    assert of(ring(f'[providers.groq.a]\nmodel = "m"\n{lines}', environ)) == expected


@pytest.mark.parametrize(
    ("block", "environ", "expected"),
    [
        ("google.a", {"GOOGLE_API_KEY": "second", "GOOGLE_GENERATIVE_AI_API_KEY": "third"}, ["second"]),
        ("google.a", {}, ["?GEMINI_API_KEY"]),
        ("ollama.a", {"OLLAMA_API_KEY": "cloud-key"}, ["-"]),
        ('ollama.a]\nuri = "https://ollama.com" #', {"OLLAMA_API_KEY": "cloud-key"}, ["cloud-key"]),
        ('ollama.a]\nuri = "https://ollama.com" #', {}, ["?OLLAMA_API_KEY"]),
        ('custom.a]\nuri = "https://h/v1" #', {}, ["-"]),
        ('custom.a]\nuri = "https://h/v1"\napi_key_env = "MINE" #', {"MINE": "k-mine"}, ["k-mine"]),
        ('acme-ai.a]\nuri = "https://h/v1"\nwire_api = "openai_chat" #', {"ACME_AI_API_KEY": "k-acme"}, ["k-acme"]),
        ('custom.a]\nuri = "https://h/v1"\napi_key_env = "MINE" #', {}, ["?MINE"]),
        ("cloudflare.a", {"CLOUDFLARE_API_TOKEN": "k-cf0"}, ["?CLOUDFLARE_ACCOUNT_ID"]),
        ("cloudflare.a", {"CLOUDFLARE_API_TOKEN": "k-cf0", "CLOUDFLARE_ACCOUNT_ID": "a"}, ["k-cf0"]),
    ],
)
def test_default_names(ring: Callable[..., Keyring], block: str, environ: dict[str, str], expected: list[str]) -> None:
    """Of a family's alternative variables the first that holds a key counts; an open address is a missing variable."""
    assert of(ring(f"[providers.{block}]\nmodel = 'm'", environ)) == expected


def test_names_of_a_route(ring: Callable[..., Keyring]) -> None:
    """Names given for the call replace the profile's own."""
    found = ring('[providers.openai.a]\nmodel = "m"\napi_key_env = "A"', {"A": "k-aa", "B": "k-bb"})
    assert values(found.credentials(found.profile, names=["B"])) == ["k-bb"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["abc", "two words", "line\nbreak", "bell\x07bell", "schlüssel", "\ud800\ud800abcd"])
def test_unsendable_keys(ring: Callable[..., Keyring], value: str) -> None:
    """A value that no header can carry counts as missing, with a reason that shows none of it."""
    found = ring('[providers.openai.a]\nmodel = "m"\napi_key_env = "A"', {"A": value})
    (item,) = found.credentials(found.profile)  # type: ignore[attr-defined]
    assert isinstance(item, Missing)
    assert item.reason != "is not set"
    assert value not in repr(item)
    assert value[:4] not in item.reason


def test_line_end_of_an_exported_file(ring: Callable[..., Keyring]) -> None:
    """The line end that `$(cat key)` or an editor leaves does not belong to the key."""
    assert of(ring('[providers.openai.a]\nmodel = "m"\napi_key_env = "A"', {"A": "k-value\r\n"})) == ["k-value"]


@pytest.mark.parametrize("content", [b"KEY=\xff\xfe\n", b"\x00\x00", b"KEY", b"= = =\n", b"KEY='unfinished\n"])
def test_broken_env_file(
    ring: Callable[..., Keyring], tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A .env file that cannot be read holds nothing."""
    caplog.set_level(logging.CRITICAL, "dotenv")
    (tmp_path / ".env").write_bytes(content)
    assert of(ring('[providers.openai.a]\nmodel = "m"\napi_key_env = "KEY"')) == ["?KEY"]


def test_env_file_that_is_a_folder(ring: Callable[..., Keyring], tmp_path: Path) -> None:
    """A folder named .env holds nothing."""
    (tmp_path / ".env").mkdir()
    assert of(ring('[providers.openai.a]\nmodel = "m"\napi_key_env = "KEY"')) == ["?KEY"]


def test_ids(ring: Callable[..., Keyring], tmp_path: Path) -> None:
    """The same key has the same id in every run of one installation and another id elsewhere."""
    text = '[providers.openai.a]\nmodel = "m"\napi_key_env = "A"'
    one, again = ring(text, {"A": "k-aaaa"}), ring(text, {"A": "k-aaaa"})
    first, second = one.fingerprint(Secret("k-aaaa")), again.fingerprint(Secret("k-aaaa"))
    assert first == second
    assert len(first) == 8
    assert int(first, 16) >= 0
    assert one.fingerprint(Secret("k-bbbb")) != first
    elsewhere = Keyring(parse_config("", base_dir=tmp_path), {}, state=tmp_path / "new")
    (tmp_path / "new").mkdir()
    assert elsewhere.fingerprint(Secret("k-aaaa")) != first
    (credential,) = one.credentials(one.profile)  # type: ignore[attr-defined]
    assert isinstance(credential, Credential)
    assert (credential.id, credential.name) == (first, "A")
    assert "aaaa" not in repr(credential)
    assert KEYLESS.id == "-"


# -- behaviour 19 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "key", "refused"),
    [
        ("openai.a", "sk-ant-api03-Zk81qqWv0055", True),
        ("openai.a", "sk-or-v1-Zk81qqWv0055", True),
        ("openai.a", "gsk_Zk81qqWv0055", True),
        ("openai.a", "sk-proj-Zk81qqWv0055", False),
        ("openai.a", "Zk81qqWv0055", False),
        ('openai.a]\nuri = "https://proxy.example/v1" #', "sk-ant-api03-Zk81qqWv0055", False),
        ("anthropic.a", "sk-proj-Zk81qqWv0055", True),
        ("anthropic.a", "sk-ant-api03-Zk81qqWv0055", False),
        ("openrouter.a", "sk-or-v1-Zk81qqWv0055", False),
        ("groq.a", "xai-Zk81qqWv0055", True),
        ("xai.a", "nvapi-Zk81qqWv0055", True),
        ("nvidia.a", "pplx-Zk81qqWv0055", True),
        ("perplexity.a", "pplx-Zk81qqWv0055", False),
        ("deepseek.a", "sk-ant-api03-Zk81qqWv0055", False),
    ],
)
def test_prefix(ring: Callable[..., Keyring], block: str, key: str, refused: bool) -> None:
    """Behaviour 19: a key of another vendor's form is a problem that holds no part of it; unknown forms pass."""
    found = ring(f"[providers.{block}]\nmodel = 'm'\napi_key_env = 'A'", {"A": key})
    problem = check_prefix(found.profile, Secret(key), "A")  # type: ignore[attr-defined]
    assert (problem is not None) == refused
    if problem is not None:
        assert problem.path == f"providers.{block}"
        assert not any(part in str(problem) for part in (key[:4], "Zk81", "0055"))


# -- the system's keyring ---------------------------------------------------------------------------------------------


class Backend(keyring.backend.KeyringBackend):
    """Counts what it is asked; the name ``BROKEN`` makes it fail."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []

    def get_password(self, service: str, username: str) -> str | None:
        self.asked.append((service, username))
        if username == "BROKEN":
            raise RuntimeError("the bus is gone")
        return {"STORED": " stored-key "}.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """A backend in place of the system's, with nothing remembered from before."""
    monkeypatch.setattr(keys, "_stored", {})
    before = keyring.core.get_keyring()
    own = Backend()
    keyring.set_keyring(own)
    yield own
    keyring.set_keyring(before)


def test_stored_keys(load: Load, backend: Backend) -> None:
    """The keyring is asked under our service name, once per process and name, and any trouble of it means absent."""
    config = load('[providers.openai.a]\nmodel = "m"\napi_key_envs = ["STORED", "NOWHERE", "BROKEN"]')
    for _ in range(3):
        found = Keyring(config, {}).credentials(config.profiles["openai.a"])
        assert values(found) == ["stored-key", "?NOWHERE", "?BROKEN"]
    assert backend.asked == [("zc_notebooks", "STORED"), ("zc_notebooks", "NOWHERE"), ("zc_notebooks", "BROKEN")]


def test_library_is_not_loaded_in_vain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no backend can be, the library is not even imported."""
    monkeypatch.delitem(os.sys.modules, "keyring")  # type: ignore[attr-defined]
    likely = keys._backend_is_likely  # noqa: SLF001 (the cost of a wrong answer is 0.1 s a start)
    monkeypatch.setattr("sys.platform", "linux")
    home = {"HOME": str(tmp_path)}
    assert not likely(home)
    assert not likely(home | {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"})
    assert likely(home | {"PYTHON_KEYRING_BACKEND": "my.Backend"})
    assert likely(home | {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus"})
    settings = tmp_path / ".config" / "python_keyring" / "keyringrc.cfg"
    settings.parent.mkdir(parents=True)
    settings.touch()
    assert likely(home)
    monkeypatch.setattr("sys.platform", "darwin")
    assert likely({})
