"""The walk over the profile graph, against the plain reading of the specification (3.2)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.config.keys import Missing
from zc_notebooks.config.load import parse_config
from zc_notebooks.config.schema import Config, Route
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import KEYLESS, Credential, Profile
from zc_notebooks.reliability.materialize import Ask, plan, require_fallback_keys, require_targets, targets, variants

NAMES = "abcdefgh"
Graph = Mapping[str, tuple[Sequence[str], Sequence[str]]]


def load(graph: Graph) -> Config:
    """Profiles with their (fallback, fallback_models); ``z`` is a name that nobody has."""
    text = 'default_provider = "custom.a"\n'
    for name, (fallback, models) in graph.items():
        refs = [f"custom.{other}" for other in fallback]
        text += f'[providers.custom.{name}]\nuri = "https://{name}.test/v1"\nmodel = "m"\nkeyless = true\n'
        text += f"fallback = {refs!r}\nfallback_models = {list(models)!r}\n".replace("'", '"')
    return parse_config(text, base_dir=Path(), source="zc.toml")


def plain(graph: Graph) -> tuple[list[tuple[str, str]], set[tuple[str, str]]]:
    """Depth first, every path by itself: (ref, model) in order without later duplicates, and all pruned edges."""
    found: dict[tuple[str, str], None] = {}
    pruned: set[tuple[str, str]] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        fallback, models = graph[name]
        for model in ("m", *(model for model in models if model != "m")):
            found.setdefault((name, model))
        if len(path) > 3:
            if fallback:
                pruned.add(("max_fallback_depth_exceeded", f"providers.custom.{name}.fallback"))
            return
        for place, other in enumerate(fallback):
            where = f"providers.custom.{name}.fallback[{place}]"
            if other not in graph:
                pruned.add(("dangling_fallback_ref", where))
            elif other in path:
                pruned.add(("fallback_cycle", where))
            else:
                visit(other, (*path, other))

    visit("a", ("a",))
    return list(found), pruned


GRAPHS = st.fixed_dictionaries(
    {
        name: st.tuples(
            st.lists(st.sampled_from(NAMES + "z"), max_size=4), st.lists(st.sampled_from(["m", "n", "o"]), max_size=2)
        )
        for name in NAMES
    }
)


@given(GRAPHS)
def test_20_21_24_25_the_order_is_that_of_the_plain_walk(graph: Graph) -> None:
    """Behaviours 20, 21, 24 and 25: the same entries in the same order; nothing is pruned that a path would keep."""
    made = plan(load(graph), Ask())
    order, pruned = plain(graph)
    assert [(entry.ref.removeprefix("custom."), entry.model) for entry in made.entries] == order
    said = {(item.code, item.path) for item in made.pruned}
    assert said <= pruned
    assert {item for item in pruned - said if item[0] == "dangling_fallback_ref"} == set()


@given(GRAPHS)
def test_levels_and_declarations_make_a_tree(graph: Graph) -> None:
    """The first entry alone stands at level 0, and whoever declares an entry stands before it, or is its own profile.

    Not always next to it: what two fallbacks share is listed once, below the first of them.
    """
    made = plan(load(graph), Ask())
    levels = [entry.level for entry in made.entries]
    assert levels[0] == 0
    assert all(0 <= level <= 3 for level in levels)
    for place, entry in enumerate(made.entries):
        declaring = ".".join(entry.declared.split(".")[1:3])
        assert declaring in {earlier.ref for earlier in made.entries[: place + 1]}


def test_a_dense_graph_of_1000_profiles_is_walked_edge_by_edge() -> None:
    """Every profile falls back to ten others: each is declared once, and the work does not grow with the paths."""
    names = [f"p{number}" for number in range(1000)]
    text = 'default_provider = "custom.p0"\n'
    for number, name in enumerate(names):
        refs = ", ".join(f'"custom.p{(number * 7 + step * step) % 1000}"' for step in range(1, 11))
        text += (
            f'[providers.custom.{name}]\nuri = "https://x.test/v1"\nmodel = "m"\nkeyless = true\nfallback = [{refs}]\n'
        )
    config = parse_config(text, base_dir=Path(), source="zc.toml")
    made = plan(config, Ask())
    assert len({entry.ref for entry in made.entries}) == len(made.entries) > 500
    declared = len(made.entries) + len(made.warnings)
    assert declared <= 3 * 10 * 1000


class Counting:
    """Keys that some profiles have not, and how often anybody asked."""

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self.without, self.asked = without, 0

    def credentials(self, profile: Profile) -> tuple[Credential | Missing, ...]:
        self.asked += 1
        return (Missing(name="KEY") if profile.alias in self.without else KEYLESS,)


def routed(graph: Graph, targets: Sequence[str]) -> Config:
    routes = [Route(hint=f"h{place}", model_provider=f"custom.{name}", model="m") for place, name in enumerate(targets)]
    return msgspec.structs.replace(load(graph), routes=tuple(routes))


@given(GRAPHS, st.lists(st.sampled_from(NAMES), max_size=4), st.frozensets(st.sampled_from(NAMES), max_size=3))
def test_155_only_what_lacks_a_key_is_planned_and_nothing_is_missed(
    graph: Graph, routes: Sequence[str], without: frozenset[str]
) -> None:
    """The same word as planning every target gives."""
    config = routed(graph, routes)

    def word(check: Callable[[], object]) -> str:
        try:
            check()
        except ConfigError as error:
            return str(error)
        return ""

    def each() -> None:
        for ask in targets(config):
            made = plan(config, ask)
            require_fallback_keys(made, variants(made, Counting(without)))

    said, expected = word(lambda: require_targets(config, Counting(without))), word(each)
    assert said.endswith(expected)
    assert bool(said) == bool(expected)


def test_many_routes_over_one_graph_ask_for_each_key_once() -> None:
    """Every call by a hint looks whether all targets can be built; that must not cost a plan for each of them."""
    graph: Graph = {name: ([other for other in NAMES if other != name], []) for name in NAMES}
    keys = Counting()
    require_targets(routed(graph, NAMES * 10), keys)
    assert keys.asked <= len(NAMES)


SCRIPT = """
from pathlib import Path
from zc_notebooks.config.load import parse_config
from zc_notebooks.reliability.materialize import Ask, plan
text = 'default_provider = "custom.p0"\\n'
for number in range(60):
    refs = ", ".join(f'"custom.p{(number * 7 + step * step) % 60}"' for step in range(1, 5))
    text += f'[providers.custom.p{number}]\\nuri = "https://x.test/v1"\\nmodel = "m"\\n'
    text += f'keyless = true\\nfallback = [{refs}]\\n'
made = plan(parse_config(text, base_dir=Path(), source="zc.toml"), Ask())
print([(entry.ref, entry.model, entry.declared) for entry in made.entries], made.pruned, made.warnings)
"""


def test_no_hash_order_reaches_a_plan() -> None:
    """Two processes with different hash seeds plan the same."""
    told = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
