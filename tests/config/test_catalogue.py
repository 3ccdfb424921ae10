"""The catalogue says of every family where it is, how it is spoken to, and where that was read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zc_notebooks.config.address import MANAGED, check_address, unfilled
from zc_notebooks.config.catalogue import Family, auth_for, families
from zc_notebooks.resources import resource

NAMES = """
openai anthropic google groq openrouter mistral deepseek github_models cohere nvidia cloudflare huggingface together
fireworks sambanova xai zai moonshot dashscope siliconflow azure ollama llamacpp lmstudio vllm sglang litellm cerebras
minimax snowflake perplexity custom lab local
"""


def test_families() -> None:
    """Every family of the contract between config, classifier and wires is there, and no other."""
    assert set(families()) == set(NAMES.split())


@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.name)
def test_entry(family: Family) -> None:
    """Addresses are https or loopback, placeholders have variables, keyed families have a key, facts have sources."""
    for address in family.wires.values():
        assert not address.endswith("/")
        if address and unfilled(address) is None and not address.startswith(MANAGED):
            assert check_address(address, allow_plain_http=False) == address
    assert set(re.findall(r"\{(\w+)\}", family.base_url or "")) == set(family.url_vars)
    assert family.keyless or family.key_vars
    assert family.wire in family.wires
    assert family.auth is not None
    assert family.sources
    assert all(fact.of and fact.source for fact in family.sources)
    told = " ".join(fact.of for fact in family.sources)
    assert family.reset_rule is None or "reset_rule" in told or family.name == "ollama"
    assert family.probe is None or re.match(r"https://" if family.probe.at == "url" else "/", family.probe.path)
    assert all(starter.model and starter.alias for starter in family.starters)


@pytest.mark.parametrize(
    ("family", "wire", "auth"),
    [
        ("openai", "openai_chat", "bearer"),
        ("anthropic", "anthropic_messages", "x-api-key"),
        ("google", "gemini", "x-goog-api-key"),
        ("google", "openai_chat", "bearer"),
        ("azure", "openai_chat", "api-key"),
        ("azure", "openai_responses", "api-key"),
        ("deepseek", "anthropic_messages", "x-api-key"),
        ("openrouter", "anthropic_messages", "bearer"),
        ("custom", "anthropic_messages", "x-api-key"),
        ("acme", "gemini", "x-goog-api-key"),
        ("acme", "openai_chat", "bearer"),
    ],
)
def test_auth(family: str, wire: str, auth: str) -> None:
    """A wire carries the key its own way unless the family says otherwise."""
    assert auth_for(family, wire) == auth  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("family", "base_url", "url"),
    [
        ("openai", "https://api.openai.com/v1", "https://api.openai.com/v1/models"),
        ("openai", "http://127.0.0.1:9/x/", "http://127.0.0.1:9/x/models"),
        ("ollama", "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/api/tags"),
        ("huggingface", "https://router.huggingface.co/v1", "https://huggingface.co/api/whoami-v2"),
        ("huggingface", "http://127.0.0.1:9/v1", None),
        ("zai", "https://api.z.ai/api/paas/v4", None),
    ],
)
def test_probe_address(family: str, base_url: str, url: str | None) -> None:
    """A probe stays at the host of the profile, unless the profile is at the family's own address."""
    assert families()[family].probe_url(base_url) == url


def test_resources() -> None:
    """Shipped files are found; a name that is not shipped is said."""
    assert resource("data", "providers.toml").is_file()
    assert resource("data").is_dir()
    with pytest.raises(FileNotFoundError, match=r"data/no\.toml"):
        resource("data", "no.toml")


def test_resources_of_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a wheel the data is in the package itself, which is looked at first."""
    package = tmp_path / "site" / "zc_notebooks"
    for folder in (package, package.parent):
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "x").touch()
    monkeypatch.setattr("zc_notebooks.resources._PACKAGE", package)
    assert resource("data", "x") == package / "data" / "x"
