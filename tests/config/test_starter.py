"""The starter file: it loads, it is ordered by what it costs, and it never holds a value."""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zc_notebooks.config.catalogue import families
from zc_notebooks.config.load import load_config, parse_config
from zc_notebooks.config.starter import starter_config, write_starter
from zc_notebooks.errors import ConfigError

VARIABLES = sorted({name for family in families().values() for name in (*family.key_vars, *family.url_vars.values())})


@given(st.sets(st.sampled_from([*VARIABLES, "OLLAMA_HOST"])))
@settings(deadline=None)
def test_any_set_of_keys(names: set[str]) -> None:
    """Whatever keys there are, the text loads without a problem, crosses pools, and free stands before paid."""
    environ = {name: f"planted-{place:04}" for place, name in enumerate(names)}
    text = starter_config(environ)
    assert "planted" not in text
    reachable = (
        environ | {"AZURE_OPENAI_ENDPOINT": "https://r.example"} if "AZURE_OPENAI_ENDPOINT" in names else environ
    )
    config = parse_config(text, base_dir=Path("/"), environ=reachable)
    assert config.warnings == ()
    order = ["free", "trial", "prepaid", "metered", "local"]
    tiers = [order.index(config.profiles[link.provider].tier) for link in config.chain]
    assert tiers == sorted(tiers)
    assert config.default_provider == (config.chain[0].provider if config.chain else None)
    assert {name for profile in config.profiles.values() for name in profile.key_names} <= names
    assert not any(families()[profile.family].retired for profile in config.profiles.values())
    assert set(config.profiles) == {link.provider for link in config.chain}


def test_no_keys() -> None:
    """Without a key every line is a comment, and taking the marks off gives a file that loads."""
    text = starter_config({"GROQ_API_KEY": " "})
    assert tomllib.loads(text) == {}
    assert "the lab answers" in text
    bare = re.sub(r'(?m)^# (?=\[|[a-z_]+ = ["\[\d])', "", text)
    config = parse_config(bare, base_dir=Path("/"))
    assert [link.provider for link in config.chain] == [
        "groq.free", "google.free", "openrouter.credit", "ollama.box",
    ]  # fmt: skip
    assert config.warnings == ()


def test_text_for_two_keys() -> None:
    """The file names the variables that were found and leaves a local server as a comment."""
    text = starter_config({"GOOGLE_API_KEY": "planted", "OPENAI_API_KEY": "planted"})
    assert 'default_provider = "google.free"' in text
    assert 'api_key_env = "GOOGLE_API_KEY"' in text
    assert '\n# provider = "ollama.box"\n' in text
    assert max(map(len, text.splitlines())) <= 120


def test_writing(tmp_path: Path) -> None:
    """The file is written once and never over another."""
    path = write_starter(tmp_path / "zc.toml", {"GROQ_API_KEY": "planted"})
    assert list(load_config(path, environ={}).profiles) == ["groq.free"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o133 == 0
    path.write_text("mine")
    with pytest.raises(ConfigError, match="left as it is"):
        write_starter(path, {})
    assert path.read_text() == "mine"
    (tmp_path / "link").symlink_to("nowhere")
    for taken, says in {
        "link": "left as it is",
        "no/zc.toml": "cannot be written",
        "a\0b": "cannot be written",
    }.items():
        with pytest.raises(ConfigError, match=says):
            write_starter(tmp_path / taken, {})


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    """A sentence, and the next try begins with nothing in its way."""
    resource = pytest.importorskip("resource", reason="limits of a process are a Unix thing")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(ConfigError, match=r"zc\.toml cannot be written: File too large"):
            write_starter(tmp_path / "zc.toml", {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
    write_starter(tmp_path / "zc.toml", {})
