"""Behaviours 1 to 14, 17 and 18 of the specification: what a file says and what is said about it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.config.conftest import Faults, Load, codes


def line_of(*names: str) -> str:
    """Profiles that fall back each to the next."""
    blocks = [
        f'[providers.openai.{name}]\nmodel = "m"\nfallback = ["openai.{after}"]' for name, after in pairwise(names)
    ]
    return "\n".join([*blocks, f'[providers.openai.{names[-1]}]\nmodel = "m"'])


def test_dangling_fallback(load: Load) -> None:
    """Behaviour 1: an unknown fallback is one warning at its place, and the load succeeds."""
    config = load('[providers.openai.primary]\nmodel = "m"\nfallback = ["openai.nowhere"]')
    assert codes(config) == [("dangling_fallback_ref", "providers.openai.primary.fallback[0]")]
    assert config.warnings[0].ref == "openai.primary"


def test_good_fallback(load: Load) -> None:
    """Behaviour 2: a fallback that resolves and has none of its own is no warning."""
    assert codes(load(line_of("a", "b"))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[providers.openai.a]\nmodel="m"\nfallback=["openai.b"]\n[providers.openai.b]\nmodel="m"\nfallback=["openai.a"]',
            ["providers.openai.a.fallback[0]", "providers.openai.b.fallback[0]"],
        ),
        ('[providers.openai.a]\nmodel="m"\nfallback=["openai.a"]', ["providers.openai.a.fallback[0]"]),
        (line_of("a", "b", "c", "a2").replace("openai.a2]", 'openai.a2]\nfallback=["openai.b"]'),
         ["providers.openai.b.fallback[0]", "providers.openai.c.fallback[0]", "providers.openai.a2.fallback[0]"]),
    ],
    ids=["two", "itself", "three"],
)  # fmt: skip
def test_cycles(load: Load, text: str, expected: list[str]) -> None:
    """Behaviour 3: a fallback that leads back on its own path is a cycle at its place."""
    config = load(text)
    assert [path for code, path in codes(config) if code == "fallback_cycle"] == expected


def test_blank_fallback(load: Load) -> None:
    """Behaviour 4: a blank fallback is skipped in silence."""
    config = load('[providers.openai.a]\nmodel = "m"\nfallback = ["", "  "]')
    assert codes(config) == []
    assert config.profiles["openai.a"].fallback == ()


def test_depth(load: Load) -> None:
    """Behaviour 5: three levels are fine, a fourth is one warning at the profile of level 3."""
    assert codes(load(line_of("p", "f1", "f2", "f3"))) == []
    deep = load(line_of("p", "f1", "f2", "f3", "f4"))
    assert codes(deep) == [("max_fallback_depth_exceeded", "providers.openai.f3.fallback")]


@pytest.mark.parametrize(
    ("models", "code"),
    [
        ('["  "]', ("empty_fallback_model", "providers.openai.a.fallback_models[0]")),
        ('["x", " m "]', ("fallback_model_duplicates_primary", "providers.openai.a.fallback_models[1]")),
        ('["x", "y"]', None),
    ],
)
def test_fallback_models(load: Load, models: str, code: tuple[str, str] | None) -> None:
    """Behaviour 6: blank and repeated fallback models are one warning each, distinct ones none."""
    config = load(f'[providers.openai.a]\nmodel = "m"\nfallback_models = {models}')
    assert codes(config) == ([] if code is None else [code])


def test_inert_fallback_models(load: Load) -> None:
    """Behaviour 7: fallback models without a model do nothing, and that is said."""
    config = load('[providers.openai.a]\napi_key_env = "KEY"\nfallback_models = ["x"]')
    assert codes(config) == [("fallback_models_inert", "providers.openai.a.fallback_models")]


def test_one_bad_edge_from_everywhere(load: Load) -> None:
    """Behaviour 8: a bad edge that five profiles reach is one warning."""
    users = "\n".join(f'[providers.groq.p{n}]\nmodel = "m"\nfallback = ["openai.bad"]' for n in range(5))
    config = load(f'{users}\n[providers.openai.bad]\nmodel = "m"\nfallback = ["openai.nowhere"]')
    assert codes(config) == [("dangling_fallback_ref", "providers.openai.bad.fallback[0]")]


def test_trimming(load: Load) -> None:
    """Behaviour 9: a blank model is no model, and refs are trimmed once."""
    config = load(
        '[providers.openai.x]\nmodel = "   "\napi_key_env = "KEY"\n'
        '[[model_routes]]\nhint = " fast "\nmodel_provider = " openai.x "\nmodel = " m "'
    )
    assert config.profiles["openai.x"].model is None
    assert (config.routes[0].hint, config.routes[0].model_provider, config.routes[0].model) == ("fast", "openai.x", "m")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("hint", '"  "', "required"),
        ("model", '""', "required"),
        ("model_provider", '"x"', "dotted"),
        ("model_provider", '"openai.y"', "did you mean 'openai.x'"),
        ("model_provider", '" "', "required"),
    ],
)
def test_route_faults(faults: Faults, name: str, value: str, says: str) -> None:
    """Behaviour 10: a blank or unresolved field of a route is a hard error that names the field."""
    fields = {"hint": '"fast"', "model_provider": '"openai.x"', "model": '"m"'} | {name: value}
    block = "\n".join(f"{key} = {text}" for key, text in fields.items())
    found = faults(f'[providers.openai.x]\nmodel = "m"\n[[model_routes]]\n{block}')
    assert list(found) == [f"model_routes[0].{name}"]
    assert says in found[f"model_routes[0].{name}"].message


def test_hints(load: Load, faults: Faults) -> None:
    """Behaviour 11: one hint names one route; hints differ by case."""
    profile = '[providers.openai.x]\nmodel = "m"\n'
    route = '[[model_routes]]\nhint = "{}"\nmodel_provider = "openai.x"\nmodel = "m"\n'
    found = faults(profile + route.format("fast") + route.format("fast"))
    assert list(found) == ["model_routes[1].hint"]
    assert [route.hint for route in load(profile + route.format("Fast") + route.format("fast")).routes] == [
        "Fast",
        "fast",
    ]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("temperature = 2.1", "temperature"),
        ("temperature = -0.1", "temperature"),
        ("temperature = nan", "temperature"),
        ('uri = "ftp://host/v1"', "uri"),
        ('uri = "host/v1"', "uri"),
        ('pricing = {"m.input" = -1}', "pricing.m.input"),
        ('pricing = {"*" = nan}', "pricing.*"),
        ('pricing = {"m" = inf}', "pricing.m"),
    ],
)
def test_numbers_and_addresses(faults: Faults, line: str, path: str) -> None:
    """Behaviour 12: what cannot be a temperature, an address or a price is a hard error."""
    assert list(faults(f'[providers.openai.a]\nmodel = "m"\n{line}')) == [f"providers.openai.a.{path}"]


@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_ends_of_temperature(load: Load, temperature: float) -> None:
    """Behaviour 12: both ends are accepted."""
    config = load(f'[providers.openai.a]\nmodel = "m"\ntemperature = {temperature}')
    assert config.profiles["openai.a"].temperature == temperature


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('model_fallback_notice = "loud"', "model_fallback_notice"),
        ('[reliability]\ngraph_rate_limit_policy = "wait"', "reliability.graph_rate_limit_policy"),
        ('[reliability]\nchain_rate_limit_policy = "wait"', "reliability.chain_rate_limit_policy"),
        ('[reliability]\ncontext_overflow = "cut"', "reliability.context_overflow"),
        ('[effort_routing]\nlocal_hint = "here"\ncloud_hint = "fast"', "effort_routing.local_hint"),
        ('[effort_routing]\nlocal_hint = "fast"\ncloud_hint = "up"', "effort_routing.cloud_hint"),
        ('[effort_routing]\nlocal_hint = "fast"', "effort_routing.cloud_hint"),
        (
            '[effort_routing]\nlocal_hint="fast"\ncloud_hint="fast"\ncloud_escalation="ask"',
            "effort_routing.cloud_escalation",
        ),
        ('[borders]\nunknown_price = "ask"', "borders.unknown_price"),
        ('[borders]\nallow_tiers = ["free", "cheap"]', "borders.allow_tiers[1]"),
        ('[ledger]\ndurability = "none"', "ledger.durability"),
    ],
)  # fmt: skip
def test_words(faults: Faults, text: str, path: str) -> None:
    """Behaviour 13: an effort hint without a route and an unknown word are hard errors."""
    route = '[providers.openai.x]\nmodel = "m"\n[[model_routes]]\nhint="fast"\nmodel_provider="openai.x"\nmodel="m"\n'
    assert list(faults(f"{text}\n{route}")) == [path]


def test_inline_key(load: Load) -> None:
    """Behaviour 14: a key in the file loads with a warning, and nothing shows it."""
    key = "planted-key-0123456789"
    config = load(f'[providers.openai.a]\nmodel = "m"\napi_key = "{key}"')
    assert codes(config) == [("inline_api_key", "providers.openai.a.api_key")]
    profile = config.profiles["openai.a"]
    assert profile.inline_key is not None
    assert profile.inline_key.reveal() == key
    assert "planted" not in repr(profile) + repr(config) + repr(config.warnings) + str(config.warnings[0])


def test_two_ways_to_name_a_key(faults: Faults) -> None:
    """Behaviour 14: api_key_env beside api_key_envs is a hard error."""
    found = faults('[providers.openai.a]\nmodel = "m"\napi_key_env = "A"\napi_key_envs = ["B"]')
    assert list(found) == ["providers.openai.a.api_key_envs"]


def test_bare_alias(load: Load) -> None:
    """Behaviour 17: a bare alias of two families dangles, one of a single family resolves."""
    text = '[providers.openai.a]\nmodel = "m"\nfallback = ["b"]\n[providers.groq.b]\nmodel = "m"\n'
    assert codes(load(text)) == []
    ambiguous = load(text + '[providers.mistral.b]\nmodel = "m"')
    assert codes(ambiguous) == [("dangling_fallback_ref", "providers.openai.a.fallback[0]")]


@pytest.mark.parametrize(("pool", "expected"), [("same", ["chain"]), ("other", [])])
def test_chain_pools(load: Load, pool: str, expected: list[str]) -> None:
    """Behaviour 18: a chain in one billing pool is a warning, one across two is none."""
    config = load(
        f'[providers.groq.a]\nmodel = "m"\nbilling_pool = "same"\n'
        f'[providers.openai.b]\nmodel = "m"\nbilling_pool = "{pool}"\n'
        '[[chain]]\nprovider = "groq.a"\n[[chain]]\nprovider = "openai.b"'
    )
    assert [path for code, path in codes(config) if code == "chain_single_billing_pool"] == expected
