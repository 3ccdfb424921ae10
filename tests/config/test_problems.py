"""What is said about a file that cannot be used: everything at once, clearly, without a traceback or a key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.config.conftest import Faults, Load
from zc_notebooks.config.load import load_config
from zc_notebooks.config.profiles import PROFILE
from zc_notebooks.errors import ConfigError, Problem

KEY = "planted-Zk81-qqWv-0055"


def test_an_unknown_key_lists_every_known_one(faults: Faults) -> None:
    """However many there are: the one that was meant is among them."""
    (found,) = faults('[providers.groq.free]\nmodel = "m"\nendpoint = "https://a.test"\n').values()
    known = found.message.partition("known are ")[2].split(", ")
    assert known == sorted(PROFILE)


def test_all_problems_at_once(faults: Faults) -> None:
    """Every fault of a file is reported, each with its place, its value and what would be right."""
    found = faults(
        'default_provider = "groq"\n'
        "retries = 3\n"
        "[providers.groq.free]\n"
        'modle = "m"\n'
        "temperature = 3\n"
        "[reliability]\n"
        "jitter = -1\n"
        "[[chain]]\n"
        "[[chain]]\n"
        'provider = "groq.fre"\n'
    )
    assert found == {
        "retries": Problem(
            path="retries",
            message="is not a known key: known are borders, chain, default_provider, effort_routing, env_file, ledger, "
            "model_fallback_notice, model_routes, providers, reliability",
            value="3",
            line=2,
        ),
        "providers.groq.free.modle": Problem(
            path="providers.groq.free.modle", message="is not a known key: did you mean 'model'?", line=4
        ),
        "providers.groq.free.temperature": Problem(
            path="providers.groq.free.temperature", message="must be a number from 0 to 2", value="3", line=5
        ),
        "reliability.jitter": Problem(
            path="reliability.jitter", message="must be a number of 0 or more", value="-1", line=7
        ),
        "chain[0].provider": Problem(
            path="chain[0].provider", message="is required and must not be blank", line=8
        ),
        "chain[1].provider": Problem(
            path="chain[1].provider",
            message="names no configured profile: did you mean 'groq.free'?",
            value="'groq.fre'",
            line=10,
        ),
        "default_provider": Problem(
            path="default_provider",
            message="must be a dotted profile ref FAMILY.ALIAS (did you mean 'groq.free'?)",
            value="'groq'",
            line=1,
        ),
    }  # fmt: skip


def test_one_fault_of_a_profile_hides_no_other(faults: Faults) -> None:
    """An address that cannot be used, and both ways to name a key, and an extra that is the call's: all are told."""
    found = faults(
        'default_provider = "groqfree"\n'
        "[providers.groq.free]\n"
        'uri = "ftp://a.test"\napi_key_env = "A"\napi_key_envs = ["B"]\nprovider_extra = { stream = true }\n'
        '[[chain]]\nprovider = "groq.free"\n'
    )
    block = "providers.groq.free"
    assert set(found) == {
        "default_provider", f"{block}.uri", f"{block}.api_key_envs", f"{block}.provider_extra.stream"
    }  # fmt: skip
    assert "did you mean 'groq.free'?" in found["default_provider"].message


def test_names_with_a_fault_of_their_own_are_known(faults: Faults) -> None:
    """What is configured wrongly is configured: it is listed and suggested like everything else."""
    found = faults(
        'default_provider = "x.y"\n'
        '[providers.groq.free]\nuri = "ftp://a.test"\n'
        '[[model_routes]]\nhint = "fast"\nmodel_provider = "groq.free"\n'
        '[effort_routing]\nlocal_hint = "fest"\ncloud_hint = "zzz"\n'
    )
    assert found["default_provider"].message.endswith("configured are groq.free")
    assert found["effort_routing.local_hint"].message.endswith("did you mean 'fast'?")
    assert found["effort_routing.cloud_hint"].message.endswith("hints are fast")


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("retires = 3", "retires", "3"),
        ("retires = true", "retires", "true"),
        (f'passwort = "{KEY}"', "passwort", ""),
        (f'passwort = ["{KEY}"]', "passwort", ""),
        ("reliability = []", "reliability", "a list"),
        ("[model_routes]", "model_routes", "a table"),
        ("[providers.groq]\nfree = 3", "providers.groq.free", "3"),
        (f'[providers.groq]\napi_key = "{KEY}"', "providers.groq.api_key", ""),
    ],
)
def test_what_stands_there(faults: Faults, text: str, path: str, value: str) -> None:
    """The value is told, except text at a name nobody knows: it may be a key."""
    assert faults(text)[path].value == value


def test_how_it_reads(load: Load) -> None:
    """The text of the error is a headline and one line per problem."""
    with pytest.raises(ConfigError) as caught:
        load("[ledger]\ndurabilty = 'os'\npath = 3")
    assert str(caught.value).splitlines() == [
        "zc.toml has 2 problems:",
        "  ledger.durabilty (line 2): is not a known key: did you mean 'durability'?",
        "  ledger.path (line 3): must be text in quotes (is 3)",
    ]


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ("providers = 3", "providers", "[providers.FAMILY.ALIAS]"),
        ("[providers]\ngroq = 3", "providers.groq", "[providers.FAMILY.ALIAS]"),
        ('[providers.groq]\nmodel = "m"', "providers.groq.model", "alias is missing"),
        ('[providers."a.b".c]\nmodel = "m"', "providers.a.b", "without a dot"),
        ('[providers.groq." "]\nmodel = "m"', "providers.groq.", "alias"),
        ('[providers.groq.a]\nmodel = "m"\n[providers.groq."a "]\nmodel = "m"', "providers.groq.a", "twice"),
        ('[provider.groq.a]\nmodel = "m"', "provider", "did you mean 'providers'"),
        ('[providers.gorq.a]\nmodel = "m"\nuri = "https://h"', "providers.gorq.a.wire_api", "did you mean 'groq'"),
        ('[providers.acme.a]\nmodel = "m"\nwire_api = "openai_chat"', "providers.acme.a.uri", "custom is the family"),
        ('[providers.custom.a]\nmodel = "m"', "providers.custom.a.uri", "no address of its own"),
        ('[providers.openai.a]\nwire_api = "grpc"', "providers.openai.a.wire_api", "must be one of openai_chat, "),
        ('[providers.openai.a]\nuri = "http://host/v1"', "providers.openai.a.uri", "allow_plain_http"),
        ('[providers.openai.a]\nuri = "http://127.0.0.1.evil.example"', "providers.openai.a.uri", "allow_plain_http"),
        ('[providers.openai.a]\nuri = "https://h/#x"', "providers.openai.a.uri", "fragment"),
        ('[providers.openai.a]\nuri = "https://h:99999"', "providers.openai.a.uri", "valid http"),
        ('[providers.openai.a]\nuri = "https://[::1"', "providers.openai.a.uri", "valid http"),
        ('[providers.openai.a]\nuri = "https://"', "providers.openai.a.uri", "such as https://host/v1"),
        ('[providers.openai.a]\nuri = "https://a b/"', "providers.openai.a.uri", "such as https://host/v1"),
        ('[providers.openai.a]\nuri = "https://h/{x}"', "providers.openai.a.uri", "such as https://host/v1"),
        ("[providers.openai.a]\nmax_tokens = 0", "providers.openai.a.max_tokens", "whole number of 1"),
        ("[providers.openai.a]\nmax_tokens = 1.5", "providers.openai.a.max_tokens", "whole number of 1"),
        ("[providers.openai.a]\nmax_tokens = true", "providers.openai.a.max_tokens", "whole number of 1"),
        ("[providers.openai.a]\nread_timeout_s = 0", "providers.openai.a.read_timeout_s", "above 0"),
        (f"[providers.openai.a]\nread_timeout_s = 1{'0' * 400}", "providers.openai.a.read_timeout_s", "above 0"),
        ("[providers.openai.a]\ncontext_windows = {m = 0}", "providers.openai.a.context_windows.m", "whole number"),
        ('[providers.openai.a]\nfallback = "x"', "providers.openai.a.fallback", "list of profile refs"),
        ('[providers.openai.a]\nfallback = ["x", 1]', "providers.openai.a.fallback[1]", "text in quotes"),
        ("[providers.openai.a]\nvision = 1", "providers.openai.a.vision", "true or false"),
        ('[providers.openai.a]\nmodel = "a\\nb"', "providers.openai.a.model", "one line"),
        ('[providers.openai.a]\nmodel = "a\\u0000b"', "providers.openai.a.model", "one line"),
        ("[providers.openai.a]\nmodel = 2020-01-01", "providers.openai.a.model", "text in quotes"),
        ('[providers.openai.a]\nextra_headers = {"a b" = "c"}', "providers.openai.a.extra_headers.a b", "header name"),
        ('[providers.openai.a]\nextra_headers = {a = "ü"}', "providers.openai.a.extra_headers.a", "ASCII"),
        ('[providers.openai.a]\nextra_headers = {a = "b\\r\\nc: d"}', "providers.openai.a.extra_headers.a", "ASCII"),
        ("chain = 3", "chain", "[[chain]]"),
        ("chain = [3]", "chain[0]", "must be a table"),
        ('[providers.openai.a]\napi_key_env = "K"\n[[chain]]\nprovider = "openai.a"', "chain[0].model", "is required"),
        ("model_routes = {}", "model_routes", "[[model_routes]]"),
        ("effort_routing = 1", "effort_routing", "must be a table"),
        ("reliability = []", "reliability", "must be a table"),
        ("[reliability]\nprovider_retries = -1", "reliability.provider_retries", "whole number of 0"),
        ("[borders]\nbudget_day_usd = -1", "borders.budget_day_usd", "0 or more"),
        ("[borders]\nbudget_day_usd = inf", "borders.budget_day_usd", "0 or more"),
        ('default_provider = "openai.x"', "default_provider", "configured are none"),
        ("[ledger]\npath = []", "ledger.path", "text in quotes"),
    ],
)
def test_one_problem(faults: Faults, text: str, path: str, says: str) -> None:
    """Each fault stands at its place and says what would be right."""
    found = faults(text)
    assert path in found
    assert says in found[path].message
    assert found[path].line is not None


def test_no_second_fault_from_the_first(faults: Faults) -> None:
    """Who names a faulty profile or an incomplete route is not at fault too."""
    found = faults(
        'default_provider = "openai.a"\n[providers.openai.a]\nuri = "ftp://x"\n[[chain]]\nprovider = "openai.a"\n'
        '[[model_routes]]\nhint = "h"\nmodel_provider = "openai.a"\n'
        '[effort_routing]\nlocal_hint = "h"\ncloud_hint = "h"'
    )
    assert list(found) == ["providers.openai.a.uri", "model_routes[0].model"]


@pytest.mark.parametrize(
    "line",
    [
        f'api_key_env = "{KEY}"',
        f'api_key_envs = ["A", "{KEY}"]',
        f'api_key = "{KEY}\\n{KEY}"',
        f'api_key = "{KEY} {KEY}"',
        f'api_key = "{KEY}é"',
        f'api_key = ["{KEY}"]',
        f'uri = "https://me:{KEY}@host/v1"',
        f'uri = "https://host/v1?key={KEY}"',
        f'api_kee = "{KEY}"',
        f'extra_headers = {{x = "{KEY}\\u0007"}}',
        'api_key_env = "abcDEF0123456789abcDEF0123456789"',
        'api_key_env = "gsk_abcDEF0123456789"',
        'model = ["x"]\napi_key = "abc"',
    ],
)
def test_no_key_in_a_problem(load: Load, line: str) -> None:
    """A fault about a key never shows any of it."""
    with pytest.raises(ConfigError) as caught:
        load(f"[providers.openai.a]\n{line}")
    shown = str(caught.value) + repr(caught.value) + repr(caught.value.problems)
    for part in ("planted", "qqWv", "0055", "abcDEF", "gsk_", "'abc'", '"abc"'):
        assert part not in shown


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[providers", "not valid TOML"),
        ("a = 1\nb = \n", "line 2"),
        ("a = 1\na = 2", "line 2"),
        ("a = \x00", "not valid TOML"),
        ("a = 'x", "not valid TOML"),
        ("a = " + "[" * 20_000, "nested too deeply"),
        ("[providers.openai.a.pricing]\n" + ".".join("a" * 5_000) + " = 1", "nested too deeply"),
        ("a = 1" + "0" * 10_000, "out of range"),
        ("a = 2020-13-45", "not valid TOML"),
    ],
)
def test_broken_text(load: Load, text: str, says: str) -> None:
    """A text that is no TOML is one clear sentence."""
    with pytest.raises(ConfigError, match=says) as caught:
        load(text)
    assert len(str(caught.value)) < 500


def test_broken_files(tmp_path: Path) -> None:
    """Whatever is no file of text is one clear sentence that names it."""
    (tmp_path / "latin").write_bytes(b"[providers]\n# caf\xe9\n")
    (tmp_path / "zeros").write_bytes(bytes(100))
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(100 << 20)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    expected = {
        "latin": r"not UTF-8 \(line 2\)",
        "zeros": "not valid TOML",
        "huge": "larger than 8 MiB",
        "pipe": "folder or a device",
        ".": "folder or a device",
        "missing": "does not exist",
        "loop": "cannot be read",
        "a\0b": "cannot be read",
        "x" * 5000: "cannot be read",
        "latin/zc.toml": "cannot be read",
    }
    for name, says in expected.items():
        with pytest.raises(ConfigError, match=says) as caught:
            load_config(tmp_path / name, environ={})
        assert "\n" not in str(caught.value).partition("\n  ")[0]


def test_lines_of_odd_files(load: Load) -> None:
    """A place that cannot be told, such as in a one-line table, is that of what surrounds it."""
    with pytest.raises(ConfigError) as caught:
        load(
            '"a\\"b" = 1\n[ providers . "groq" . a ] # x\n"model" = "m"\npricing = {x = -1}\n'
            "fallback_models = [\n  3,\n]"
        )
    assert {problem.path: problem.line for problem in caught.value.problems} == {
        'a"b': None,
        "providers.groq.a.pricing.x": 4,
        "providers.groq.a.fallback_models[0]": 5,
    }
