"""From configuration to plan. Numbers are the behaviours of the routing specification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zc_notebooks.config.keys import Keyring
from zc_notebooks.config.load import parse_config
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Plan
from zc_notebooks.reliability.materialize import Ask, plan, require_fallback_keys, variants


def block(name: str, *, model: str | None = "m", **fields: Any) -> str:
    """One keyless profile."""
    own = dict(fields)
    text = f'[providers.custom.{name}]\nuri = "https://{name}.test/v1"\n'
    text += f'model = "{model}"\n' if model is not None else ""
    own = {"fallback": [f"custom.{ref}" for ref in own.pop("fallback", [])], **own}
    text += "".join(f"{key} = {value!r}\n".replace("'", '"') for key, value in own.items() if value != [])
    return text


def load(*blocks: str, start: str | None = "a", extra: str = "") -> Config:
    """A configuration that starts at ``custom.<start>``."""
    head = f'default_provider = "custom.{start}"\n' if start else ""
    return parse_config(head + "".join(blocks) + extra, base_dir=Path(), source="zc.toml")


def order(made: Plan) -> list[str]:
    """``name/model`` of every entry."""
    return [f"{entry.ref.removeprefix('custom.')}/{entry.served(made.requested_model)}" for entry in made.entries]


def codes(made: Plan) -> list[tuple[str, str]]:
    """What was pruned or warned about."""
    return [(item.code, item.path) for item in (*made.pruned, *made.warnings)]


GRAPH: list[tuple[str, list[str], list[str]]] = [
    (
        "20 models, then the fallback",
        [block("a", model="m1", fallback_models=["m2", "m3"], fallback=["b"]), block("b", model="n1")],
        ["a/m1", "a/m2", "a/m3", "b/n1"],
    ),
    (
        "21 depth first",
        [block("a", fallback=["b", "d"]), block("b", fallback=["c"]), block("c"), block("d")],
        ["a/m", "b/m", "c/m", "d/m"],
    ),
    (
        "24 a diamond appears once",
        [block("a", fallback=["b", "c"]), block("b", fallback=["d"]), block("c", fallback=["d"]), block("d")],
        ["a/m", "b/m", "d/m", "c/m"],
    ),
    ("25 a cycle is pruned", [block("a", fallback=["b"]), block("b", fallback=["a"])], ["a/m", "b/m"]),
    ("25 a dangling ref is pruned", [block("a", fallback=["zz"])], ["a/m"]),
    (
        "5 the fourth level is pruned",
        [
            block("a", fallback=["b"]),
            block("b", fallback=["c"]),
            block("c", fallback=["d"]),
            block("d", fallback=["e"]),
            block("e"),
        ],
        ["a/m", "b/m", "c/m", "d/m"],
    ),
]


@pytest.mark.parametrize(("name", "blocks", "served"), GRAPH, ids=[row[0] for row in GRAPH])
def test_graph_order(name: str, blocks: list[str], served: list[str]) -> None:
    """Behaviours 5, 20, 21, 24 and 25: the order of a profile graph."""
    assert order(plan(load(*blocks), Ask())) == served, name


def test_24_the_second_place_of_a_diamond_is_named() -> None:
    """Behaviour 24."""
    blocks = [block("a", fallback=["b", "c"]), block("b", fallback=["d"]), block("c", fallback=["d"]), block("d")]
    assert codes(plan(load(*blocks), Ask())) == [("duplicate_entry_dropped", "providers.custom.c.fallback[0]")]


def test_25_a_long_acyclic_chain_of_profiles() -> None:
    """Behaviour 25: 53 profiles succeed, pruned at level 3."""
    blocks = [block(f"p{i}", fallback=[f"p{i + 1}"] if i < 52 else []) for i in range(53)]
    made = plan(load(*blocks, start="p0"), Ask())
    assert order(made) == ["p0/m", "p1/m", "p2/m", "p3/m"]
    assert codes(made) == [("max_fallback_depth_exceeded", "providers.custom.p3.fallback")]


def test_22_an_unpinned_profile() -> None:
    """Behaviour 22: one unpinned entry, its fallback profiles still walked."""
    made = plan(load(block("a", model=None, fallback=["b"]), block("b")), Ask(model="asked"))
    assert order(made) == ["a/asked", "b/m"]


@pytest.mark.parametrize(
    ("override", "others", "served"),
    [("new", [], ["a/new"]), ("new", ["old"], ["a/new", "a/old"]), (None, [], ["a/old"])],
    ids=["replaces", "listed", "none"],
)
def test_23_an_override(override: str | None, others: list[str], served: list[str]) -> None:
    """Behaviour 23: the profile's own model is a candidate only where it is listed."""
    config = load(block("a", model="old", fallback_models=others))
    assert order(plan(config, Ask(model=override))) == served


def test_26_a_fallback_without_its_key_fails_construction() -> None:
    """Behaviour 26: the message names ref, block and variable."""
    config = load(block("a", fallback=["b"]), block("b", api_key_env="NOT_THERE"))
    made = plan(config, Ask())
    with pytest.raises(
        ConfigError, match=r"custom\.b.*providers\.custom\.a\.fallback\[0\].*NOT_THERE.*\[providers\.custom\.b\]"
    ):
        require_fallback_keys(made, variants(made, Keyring(config, {})))


@pytest.mark.parametrize("uri", ["", 'uri = "https://b.test/v1"\n'], ids=["own address", "uri"])
def test_26_a_bare_alias_is_named_as_written(uri: str) -> None:
    """Behaviour 26: raw ref, resolved ref, block and variable, with or without ``uri``."""
    text = '[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\nfallback = ["spare"]\nkeyless = true\n'
    text += f'[providers.groq.spare]\n{uri}model = "m"\napi_key_env = "SPARE_KEY"\n'
    config = parse_config(f'default_provider = "custom.a"\n{text}', base_dir=Path(), source="zc.toml")
    made = plan(config, Ask())
    with pytest.raises(ConfigError, match=r"'spare' \(groq\.spare\).*SPARE_KEY.*\[providers\.groq\.spare\]"):
        require_fallback_keys(made, variants(made, Keyring(config, {})))


@pytest.mark.parametrize(
    ("fallback", "block_of_it", "environ", "builds"),
    [
        ("ollama.box", '[providers.ollama.box]\nmodel = "m"\n', {}, True),
        ("azure.x", '[providers.azure.x]\nmodel = "m"\napi_key_env = "K"\n', {"K": "0123456789abcdef0"}, False),
        ("groq.x", '[providers.groq.x]\nmodel = "m"\napi_key_env = "K"\n', {"K": "two\nlines-of-a-key"}, False),
    ],
    ids=["keyless and local", "its address is not known", "its key cannot be sent"],
)
def test_27_a_fallback_that_cannot_be_built(
    fallback: str, block_of_it: str, environ: dict[str, str], builds: bool
) -> None:
    """Behaviour 27: construction fails where a resolved fallback's client cannot be built."""
    text = f'default_provider = "custom.a"\n{block("a")}fallback = ["{fallback}"]\n{block_of_it}'
    config = parse_config(text, base_dir=Path(), source="zc.toml")
    made = plan(config, Ask())
    candidates = variants(made, Keyring(config, environ))
    if builds:
        require_fallback_keys(made, candidates)
        return
    with pytest.raises(ConfigError, match=fallback):
        require_fallback_keys(made, candidates)


def chained(*names: str, extra: str = "") -> str:
    """``[[chain]]`` blocks."""
    return "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in names) + extra


def test_33_a_start_that_is_also_in_the_chain() -> None:
    """Behaviour 33: once, at the front."""
    config = load(block("a"), block("b"), start=None, extra=chained("a", "b"))
    made = plan(config, Ask(start="custom.b"))
    assert (order(made), codes(made)) == (["b/m", "a/m"], [])


def test_36_chain_entries_are_not_expanded() -> None:
    """Behaviour 36."""
    config = load(block("a", fallback=["c"], fallback_models=["m9"]), block("b"), block("c"), extra=chained("a", "b"))
    assert order(plan(config, Ask())) == ["a/m", "b/m"]


def test_the_same_chain_entry_twice_is_named() -> None:
    """A later exact duplicate is dropped, with its declaration."""
    config = load(block("a"), block("b"), extra=chained("a", "b", "b"))
    made = plan(config, Ask())
    assert (order(made), codes(made)) == (["a/m", "b/m"], [("duplicate_entry_dropped", "chain[2]")])


ROUTES = '[[model_routes]]\nhint = "fast"\nmodel_provider = "custom.b"\nmodel = "route-model"\n'


@pytest.mark.parametrize(
    ("hint", "served"),
    [("fast", ["b/n"]), (None, ["a/m", "c/m"]), ("Fast", ["a/m", "c/m"]), ("nope", ["a/m", "c/m"])],
)
def test_37_149_150_a_known_hint_uses_its_graph(hint: str | None, served: list[str]) -> None:
    """Behaviours 37, 149 and 150: without a known hint the chain is walked."""
    config = load(block("a"), block("b", model="n"), block("c"), extra=chained("a", "c", extra=ROUTES))
    made = plan(config, Ask(hint=hint))
    assert order(made) == served
    assert ("unknown_hint" in str(codes(made))) is (hint in ("Fast", "nope"))


def test_153_a_target_without_a_model_serves_the_routes() -> None:
    """Behaviour 153: unpinned, its ``fallback_models`` inert, its ``fallback`` still walked."""
    config = load(block("a"), block("b", model=None, fallback=["c"]), block("c"), extra=ROUTES)
    made = plan(config, Ask(hint="fast"))
    assert (order(made), made.entries[0].pinned) == (["b/route-model", "c/m"], False)


def test_no_fallback_keeps_the_first_entry() -> None:
    """Spec 3.1."""
    config = load(block("a"), block("b"), extra=chained("a", "b"))
    assert order(plan(config, Ask(fallback=False))) == ["a/m"]


@pytest.mark.parametrize("start", ["custom.zz", "zz", "custom.zz/m", ""])
def test_an_unknown_start_is_one_sentence(start: str) -> None:
    """What was asked for, and what there is."""
    with pytest.raises(ConfigError, match=r"configured: custom\.a"):
        plan(load(block("a"), extra=chained("a")), Ask(start=start))


def test_two_identical_inputs_plan_identically() -> None:
    """No hash order anywhere."""
    blocks = [block(f"p{i}", fallback=[f"p{(i * 7 + k) % 40}" for k in range(1, 4)]) for i in range(40)]
    first, second = (plan(load(*blocks, start="p0"), Ask()) for _ in range(2))
    assert (order(first), codes(first)) == (order(second), codes(second))
