"""What a good file becomes: defaults, refs, pools, tiers, wires, relative paths."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.config.conftest import Faults, Load, codes
from zc_notebooks.config.load import find_config, load_config, user_config
from zc_notebooks.config.schema import Borders, EffortRouting, LedgerConfig
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Capabilities, Reliability

OPENAI = '[providers.openai.a]\nmodel = "m"\n'
WHOLE = """
default_provider = "groq.free"
model_fallback_notice = "redacted"
env_file = "keys/.env"
[providers.groq.free]
api_key_env = "GROQ_API_KEY"
model = "llama-3.3-70b-versatile"
fallback_models = ["llama-3.1-8b-instant"]
fallback = ["google.free", "box"]
[providers.google.free]
api_key_envs = ["GEMINI_KEY_A", "GEMINI_KEY_B"]
model = "gemini-2.5-flash"
context_window = 1000000
[providers.ollama.box]
uri = "http://127.0.0.1:11434"
[[model_routes]]
hint = "local"
model_provider = "ollama.box"
model = "qwen3:8b"
[[model_routes]]
hint = "cloud"
model_provider = "google.free"
model = "gemini-2.5-flash"
api_key_env = "OTHER"
allow_tiers = ["free"]
[effort_routing]
local_hint = "local"
cloud_hint = "cloud"
cloud_escalation = "auto"
latin_keywords = ["prove", " "]
[[chain]]
provider = "groq.free"
[[chain]]
provider = "ollama.box"
model = "qwen3:8b"
allow_tiers = ["local"]
[reliability]
provider_retries = 0
call_timeout_s = 42
anthropic_completion = "message_stop"
[borders]
allow_tiers = ["free", "local"]
budget_day_usd = 0.1
budget_call_usd = 1
[ledger]
path = "data/ledger"
durability = "fsync"
"""


def test_a_whole_file(load: Load, tmp_path: Path) -> None:
    """Every table of a file ends up in its record, without a warning."""
    config = load(WHOLE)
    assert config.warnings == ()
    assert list(config.profiles) == ["groq.free", "google.free", "ollama.box"]
    assert config.default_provider == "groq.free"
    assert config.model_fallback_notice == "redacted"
    assert config.env_file == tmp_path / "keys" / ".env"
    assert config.ledger == LedgerConfig(path=tmp_path / "data" / "ledger", durability="fsync")
    assert config.reliability == Reliability(provider_retries=0, call_timeout_s=42, anthropic_completion="message_stop")
    assert config.borders == Borders(
        allow_tiers=("free", "local"), budget_day_usd=Decimal("0.1"), budget_call_usd=Decimal(1)
    )
    assert config.effort == EffortRouting(
        local_hint="local", cloud_hint="cloud", cloud_escalation="auto", latin_keywords=("prove",)
    )
    assert [(link.provider, link.model, link.allow_tiers) for link in config.chain] == [
        ("groq.free", "llama-3.3-70b-versatile", None),
        ("ollama.box", "qwen3:8b", ("local",)),
    ]
    assert (config.routes[1].api_key_env, config.routes[1].allow_tiers) == ("OTHER", ("free",))


@pytest.mark.parametrize(
    ("uri", "more", "warned"),
    [
        ("http://127.0.0.1:11434", "", False),
        ("http://localhost:11434", "", False),
        ("https://models.example", "", True),
        ("http://192.168.1.7:11434", "allow_plain_http = true", True),
        ("https://models.example", 'tier = "local"', False),
        ("https://models.example", 'tier = "metered"', False),
        ("https://ollama.com", 'api_key_env = "K"', False),
    ],
)
def test_a_family_of_this_machine_at_another_one_is_warned_of(load: Load, uri: str, more: str, warned: bool) -> None:
    """``local`` is a border for prompts: whoever means another machine by it says so."""
    config = load(f'[providers.ollama.box]\nuri = "{uri}"\nmodel = "m"\n{more}\n')
    assert codes(config) == ([("local_elsewhere", "providers.ollama.box.tier")] if warned else [])


def test_defaults_of_a_profile(load: Load) -> None:
    """A profile of a known family needs only a model; policy defaults come from [reliability]."""
    config = load(
        '[providers.groq.a]\nmodel = "m"\n[reliability]\ncall_timeout_s = 7\nanthropic_completion = "message_stop"'
    )
    profile = config.profiles["groq.a"]
    assert (profile.family, profile.alias, profile.wire, profile.tier) == ("groq", "a", "openai_chat", "free")
    assert profile.base_url == "https://api.groq.com/openai/v1"
    assert profile.pool == "groq@https://api.groq.com:443"
    assert (profile.key_names, profile.keyless) == ((), False)
    assert (profile.call_timeout_s, profile.anthropic_completion) == (7, "message_stop")
    assert (profile.connect_timeout_s, profile.read_timeout_s) == (10, 120)
    assert (profile.first_token_timeout_s, profile.idle_timeout_s) == (30, 60)


def test_everything_a_profile_may_say(load: Load) -> None:
    """Every field of a block reaches the profile."""
    profile = load(
        '[providers.openai.a]\napi_key_envs = ["A", " ", "B"]\nuri = "https://Host.example/v9/"\n'
        'wire_api = "openai_responses"\nmodel = "m"\nbilling_pool = "team"\ntier = "trial"\n'
        "context_window = 10\ncontext_windows = {big = 20}\ntemperature = 1\nmax_tokens = 5\nconnect_timeout_s = 1\n"
        "read_timeout_s = 2\nfirst_token_timeout_s = 3\nidle_timeout_s = 4\ncall_timeout_s = 5\nkeyless = true\n"
        "extra_headers = {X-A = 'b'}\nprovider_extra = {a = [1]}\nchat_template_kwargs = {b = true}\n"
        "native_tools = false\nvision = false\nthink = false\nstreaming = false\nstream_tools = false\n"
        'pricing = {"m" = 1, "m.output" = 2.5, "*" = 0}'
    ).profiles["openai.a"]
    assert (profile.key_names, profile.keyless) == (("A", "B"), True)
    assert (profile.base_url, profile.wire) == ("https://host.example/v9", "openai_responses")
    assert (profile.pool, profile.tier) == ("team", "trial")
    assert (profile.window("big"), profile.window("m")) == (20, 10)
    assert (profile.temperature, profile.max_tokens) == (1, 5)
    assert (profile.connect_timeout_s, profile.read_timeout_s, profile.first_token_timeout_s) == (1, 2, 3)
    assert (profile.idle_timeout_s, profile.call_timeout_s) == (4, 5)
    assert profile.extra_headers == {"X-A": "b"}
    assert (profile.provider_extra, profile.chat_template_kwargs) == ({"a": [1]}, {"b": True})
    assert profile.capabilities == Capabilities(
        native_tools=False, vision=False, think=False, streaming=False, stream_tools=False
    )
    assert profile.pricing == {"m": 1, "m.output": 2.5, "*": 0}


@pytest.mark.parametrize(
    ("family", "lines", "base_url", "pool"),
    [
        ("openai", 'uri = "http://127.0.0.1:9/x"', "http://127.0.0.1:9/x", "openai@http://127.0.0.1:9"),
        ("openai", 'uri = "http://localhost:9"', "http://localhost:9", "openai@http://localhost:9"),
        ("openai", 'uri = "HTTPS://Me.Example/V1/"', "https://me.example/V1", "openai@https://me.example:443"),
        ("openai", 'uri = "http://[::1]:9/v1"', "http://[::1]:9/v1", "openai@http://[::1]:9"),
        ("openai", 'uri = "https://h/d?api-version=1"', "https://h/d?api-version=1", "openai@https://h:443"),
        ("ollama", "", "http://127.0.0.1:11434", "ollama@http://127.0.0.1:11434"),
        ("ollama", 'uri = "http://localhost:1/api"', "http://localhost:1", "ollama@http://localhost:1"),
        ("ollama", 'wire_api = "openai_chat"', "http://127.0.0.1:11434/v1", "ollama@http://127.0.0.1:11434"),
        ("vllm", 'uri = "http://127.0.0.1:8000"', "http://127.0.0.1:8000/v1", "vllm@http://127.0.0.1:8000"),
        ("anthropic", 'uri = "https://h"', "https://h/v1", "anthropic@https://h:443"),
        ("anthropic", 'uri = "https://h/anthropic"', "https://h/anthropic/v1", "anthropic@https://h:443"),
        ("google", 'uri = "https://h/v1beta"', "https://h/v1beta", "google@https://h:443"),
        ("google", 'wire_api = "openai_chat"', "https://generativelanguage.googleapis.com/v1beta/openai",
         "google@https://generativelanguage.googleapis.com:443"),
        ("cohere", 'uri = "https://h"', "https://h/v2", "cohere@https://h:443"),
        ("custom", 'uri = "http://127.0.0.1:8080/v1"', "http://127.0.0.1:8080/v1", "custom@http://127.0.0.1:8080"),
        ("custom", 'uri = "http://10.0.0.5:1/v1"\nallow_plain_http = true', "http://10.0.0.5:1/v1", "custom@http://10.0.0.5:1"),
        ("acme", 'uri = "https://acme.example/v1"\nwire_api = "openai_chat"', "https://acme.example/v1", "acme@https://acme.example:443"),
    ],
)  # fmt: skip
def test_addresses(load: Load, family: str, lines: str, base_url: str, pool: str) -> None:
    """A profile's base URL is what its wire appends to, and its pool is family and origin."""
    config = load(f'[providers.{family}.a]\nmodel = "m"\n{lines}')
    profile = config.profiles[f"{family}.a"]
    assert (profile.base_url, profile.pool, codes(config)) == (base_url, pool, [])


@pytest.mark.parametrize(
    ("family", "lines", "keyless", "tier"),
    [
        ("ollama", "", True, "local"),
        ("ollama", 'uri = "https://ollama.com"', False, "free"),
        ("ollama", 'uri = "https://ollama.com/v1"\nwire_api = "openai_chat"\nkeyless = true', False, "free"),
        ("ollama", 'uri = "https://notollama.com"', True, "local"),
        ("ollama", "keyless = false", False, "local"),
        ("openai", 'uri = "http://127.0.0.1:1"', False, "prepaid"),
        ("openai", "keyless = true", True, "prepaid"),
        ("llamacpp", "", True, "local"),
        ("sglang", "", True, "local"),
        ("litellm", "", True, "local"),
        ("lmstudio", "", True, "local"),
        ("lab", 'uri = "http://127.0.0.1:1/a"', True, "free"),
        ("custom", 'uri = "http://127.0.0.1:1/a"', True, "metered"),
        ("acme", 'uri = "https://a.example"\nwire_api = "openai_chat"', False, "metered"),
    ],
)
def test_who_needs_a_key(load: Load, family: str, lines: str, keyless: bool, tier: str) -> None:
    """Keyless families need none except at their hosted address; an address alone never makes one keyless."""
    profile = load(f'[providers.{family}.a]\nmodel = "m"\n{lines}').profiles[f"{family}.a"]
    assert (profile.keyless, profile.tier) == (keyless, tier)


@pytest.mark.parametrize(
    ("environ", "base_url"),
    [
        ({"CLOUDFLARE_ACCOUNT_ID": " abc123 "}, "https://api.cloudflare.com/client/v4/accounts/abc123/ai/v1"),
        ({}, "https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1"),
    ],
)
def test_account_in_the_address(load: Load, environ: dict[str, str], base_url: str) -> None:
    """An account comes from its variable; without it the place stays open."""
    assert load('[providers.cloudflare.a]\nmodel = "m"', environ).profiles["cloudflare.a"].base_url == base_url


@pytest.mark.parametrize("endpoint", ["https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/"])
def test_azure_endpoint(load: Load, endpoint: str) -> None:
    """An endpoint is taken with or without the part that follows it."""
    config = load('[providers.azure.a]\nmodel = "m"', {"AZURE_OPENAI_ENDPOINT": endpoint})
    assert config.profiles["azure.a"].base_url == "https://r.openai.azure.com/openai/v1"


@pytest.mark.parametrize(
    ("family", "environ"),
    [
        ("cloudflare", {"CLOUDFLARE_ACCOUNT_ID": "a/b?c"}),
        ("azure", {"AZURE_OPENAI_ENDPOINT": "http://r.example"}),
        ("azure", {"AZURE_OPENAI_ENDPOINT": "r.example"}),
    ],
)
def test_bad_account(faults: Faults, family: str, environ: dict[str, str]) -> None:
    """A variable that makes no address is a problem that names the variable, not its value."""
    problem = faults(f'[providers.{family}.a]\nmodel = "m"', environ)[f"providers.{family}.a"]
    (name, value), *_ = environ.items()
    assert name in problem.message
    assert value not in str(problem)


def test_account_from_the_env_file(tmp_path: Path) -> None:
    """The .env file beside the config fills an address too."""
    (tmp_path / ".env").write_text("CLOUDFLARE_ACCOUNT_ID=fromfile\n")
    (tmp_path / "zc.toml").write_text('[providers.cloudflare.a]\nmodel = "m"')
    config = load_config(tmp_path / "zc.toml", environ={})
    assert "/accounts/fromfile/" in config.profiles["cloudflare.a"].base_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{OPENAI}wire_api = "gemini"', ("wire_api_not_supported_for_family", "providers.openai.a.wire_api")),
        ("[providers.openai.a]", ("empty_profile", "providers.openai.a")),
        ('[providers.openai.a]\nfallback = ["no"]\nfallback_models = ["x"]', ("empty_profile", "providers.openai.a")),
        ("[providers.acme.a]", ("empty_profile", "providers.acme.a")),
        ("[providers.custom.a]\ntier = 'free'", ("empty_profile", "providers.custom.a")),
        (f'{OPENAI}extra_headers = "x"', ("not_a_table", "providers.openai.a.extra_headers")),
        (f"{OPENAI}provider_extra = 3", ("not_a_table", "providers.openai.a.provider_extra")),
        (f"{OPENAI}chat_template_kwargs = [1]", ("not_a_table", "providers.openai.a.chat_template_kwargs")),
        (
            f'{OPENAI}extra_headers = {{Authorization = "Bearer planted-9876543210"}}',
            ("inline_api_key", "providers.openai.a.extra_headers.Authorization"),
        ),
    ],
)
def test_other_warnings(load: Load, text: str, expected: tuple[str, str]) -> None:
    """Each questionable thing is one warning, and the load succeeds."""
    config = load(text)
    assert codes(config) == [expected]
    assert "planted" not in repr(config.profiles) + repr(config.warnings)


def test_route_keys(load: Load) -> None:
    """A second key for one target is a conflict; the same key twice is none; an inline one is a warning of its own."""
    route = '[[model_routes]]\nhint = "{}"\nmodel_provider = "openai.x"\nmodel = "m"\n{}\n'
    text = '[providers.openai.x]\nmodel = "m"\n' + "".join(
        route.format(hint, key)
        for hint, key in [
            ("a", 'api_key_env = "A"'),
            ("b", 'api_key_env = "A"'),
            ("c", ""),
            ("d", 'api_key = "planted-9876543210"'),
        ]
    )
    config = load(text)
    assert codes(config) == [("inline_api_key", "model_routes[3].api_key"), ("route_key_conflict", "model_routes[3]")]
    assert config.routes[3].inline_key is not None
    assert "planted" not in repr(config.routes) + repr(config.warnings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"gpt-4.1" = 2', {"gpt-4.1": 2}),
        ("gpt-4.1 = 2", {"gpt-4.1": 2}),
        ("gpt-4.1.input = 2", {"gpt-4.1.input": 2}),
    ],
)
def test_dotted_models(load: Load, text: str, expected: dict[str, float]) -> None:
    """A bare dotted key, which TOML nests, means the model with the dot."""
    assert (
        load(f'[providers.openai.a]\nmodel = "m"\n[providers.openai.a.pricing]\n{text}').profiles["openai.a"].pricing
        == expected
    )


def test_dotted_alias(load: Load) -> None:
    """A ref splits at its first dot."""
    config = load('default_provider = "openai.a.b"\n[providers.openai."a.b"]\nmodel = "m"')
    assert config.profiles["openai.a.b"].alias == "a.b"


def test_nothing(load: Load) -> None:
    """An empty file is a configuration without profiles."""
    config = load("")
    assert (config.profiles, config.chain, config.default_provider) == ({}, (), None)
    assert repr(config) == "Config(no file: 0 profiles, 0 chain entries, 0 routes, 0 warnings)"


# -- which file -------------------------------------------------------------------------------------------------------


def test_finding_the_file(tmp_path: Path) -> None:
    """ZC_CONFIG first, then the working directory, then the user's own, then nothing."""
    cwd, home = tmp_path / "here", tmp_path / "home"
    (home / ".config" / "zc_notebooks").mkdir(parents=True)
    cwd.mkdir()
    environ = {"HOME": str(home)}
    assert find_config(environ, cwd) is None
    own = home / ".config" / "zc_notebooks" / "zc.toml"
    own.write_text("")
    assert find_config(environ, cwd) == own
    (cwd / "zc.toml").write_text("")
    assert find_config(environ, cwd) == cwd / "zc.toml"
    named = tmp_path / "other.toml"
    named.write_text("")
    assert find_config(environ | {"ZC_CONFIG": "../other.toml"}, cwd).resolve() == named  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="ZC_CONFIG"):
        find_config(environ | {"ZC_CONFIG": "nowhere.toml"}, cwd)
    assert user_config({"XDG_CONFIG_HOME": "/x"}) == Path("/x/zc_notebooks/zc.toml")


def test_loading_without_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path and no file in force give the empty configuration."""
    monkeypatch.chdir(tmp_path)
    config = load_config(None, environ={"HOME": str(tmp_path)})
    assert (config.path, config.profiles) == (None, {})


def test_loading_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is anchored, a byte order mark is accepted, and .env is beside the file."""
    monkeypatch.chdir(tmp_path)
    Path("zc.toml").write_bytes(b'\xef\xbb\xbf[providers.ollama.box]\nmodel = "m"\n')
    config = load_config(Path("zc.toml"), environ={})
    assert config.path == tmp_path / "zc.toml"
    assert config.env_file == tmp_path / ".env"
    assert repr(config).startswith(f"Config({tmp_path / 'zc.toml'}: 1 profile,")
