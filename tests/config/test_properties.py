"""What holds for any text and any table: one kind of error, no key in it, good profiles out of good blocks."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from zc_notebooks.config import load, policy, profiles
from zc_notebooks.config.graph import check_graph, resolver
from zc_notebooks.config.lines import lines
from zc_notebooks.config.load import parse_config
from zc_notebooks.config.reader import Reader
from zc_notebooks.errors import ConfigError, Problem
from zc_notebooks.records import Reliability

PLANTED = "Zk81qqWv-planted-0055"
SECTIONS = (policy.ROUTE, policy.CHAIN, policy.EFFORT, policy.BORDERS, policy.LEDGER, policy.RELIABILITY)
WORDS = sorted({*load.TOP, *profiles.PROFILE}.union(*SECTIONS))
REFS = ["openai.a", "groq.a", "a", "", " ", "x.y", "openai.a ", ".", "a.b.c", "\x00", "𝕏"]
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from([*REFS, "http://127.0.0.1:1/v1", "https://h", "openai_chat", "free", PLANTED]),
    st.dates(),
    st.times(),
)
keys = st.one_of(st.sampled_from([*WORDS, *REFS, "openai", "groq", "ollama", "azure"]), st.text(max_size=4))
tables = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
blocks = st.dictionaries(st.sampled_from([*profiles.PROFILE, "other"]), tables, max_size=5)
files = st.fixed_dictionaries(
    {},
    optional={
        "providers": st.dictionaries(
            st.sampled_from(["openai", "groq", "azure", "custom", "ollama", "acme", "", "a.b"]),
            st.dictionaries(st.sampled_from(["a", "b", "", "c.d"]), blocks, max_size=3),
            max_size=3,
        ),
        **{name: tables for name in load.TOP if name != "providers"},
    },
)


def problems_of(text: str) -> tuple[Problem, ...] | None:
    """The problems of a text, ``None`` when it loads."""
    try:
        parse_config(text, base_dir=Path("/"))
    except ConfigError as error:
        return error.problems
    return None


@given(st.one_of(files, st.dictionaries(keys, tables, max_size=4)))
@settings(max_examples=300, deadline=None)
def test_any_table(data: dict[str, Any]) -> None:
    """Any table is read to its end: faults are collected, nothing is raised, and records have sane values."""
    reader = Reader()
    config = load._read(reader, data, Path("/"), {}, None)  # noqa: SLF001 (a table cannot always be written as TOML)
    for profile in config.profiles.values():
        assert profile.ref == f"{profile.family}.{profile.alias}"
        assert all(profile.fallback)
        assert all(profile.fallback_models)
        assert profile.model != ""
    for problem in reader.problems:
        assert problem.message
        assert str(problem).isprintable()
    seen = [(warning.code, warning.path) for warning in reader.warnings]
    assert len(seen) == len(set(seen))


@given(st.text(max_size=200))
@settings(deadline=None)
@example("\x00")
@example("[" * 3000)
@example("a." * 3000 + "b = 1")
@example("[[chain]]\n" * 3)
def test_any_text(text: str) -> None:
    """Any text loads or is a ConfigError."""
    problems = problems_of(text)
    assert problems is None or problems


PIECES = [
    *("[providers.openai.a]", "[providers.groq.b]", "[[chain]]", "[[model_routes]]", "[reliability]", "[", "]", '"'),
    *('model = "m"', 'provider = "openai.a"', "fallback = [", '"groq.b"]', "hint = 'h'", "temperature = 9", "#"),
    *("'''", "= 1", "x.y = 2"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@settings(deadline=None)
def test_any_lines(pieces: list[str]) -> None:
    """Pieces of a config in any order load or are a ConfigError; lines are those of the text."""
    text = "\n".join(pieces)
    found = lines(text)
    assert all(1 <= line <= len(pieces) for line in found.values())
    problems = problems_of(text) or ()
    assert all(problem.line is None or 1 <= problem.line <= len(pieces) for problem in problems)


@given(
    st.sampled_from(sorted({*profiles.PROFILE} - {"api_key_env", "api_key_envs"})),
    st.sampled_from(['"{}"', '["{}"]', "{{k = '{}'}}"]),
)
@settings(deadline=None)
def test_planted_key(field: str, form: str) -> None:
    """A key of a known shape shows nowhere, in whatever field it was put."""
    key = "sk-proj-Zk81qqWv0055planted"
    text = (
        f"[providers.openai.a]\nmodel = 'm'\n{field} = {form.format(key)}\n" if field != "model" else f"model = '{key}'"
    )
    try:
        config = parse_config(text, base_dir=Path("/"))
    except ConfigError as error:
        shown = str(error) + repr(error) + repr(error.problems)
    else:
        shown = repr(config) + repr(config.warnings)
    assert not any(part in shown for part in ("sk-pro", "Zk81qq", "lanted"))


@given(st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefgz"), max_size=3)))
@settings(deadline=None)
def test_graph_warnings_are_what_a_walk_meets(edges: dict[str, list[str]]) -> None:
    """The warnings are exactly the edges that a depth-first walk from some profile prunes."""
    text = "\n".join(
        f"[providers.openai.{name}]\nmodel = 'm'\nfallback = {[f'openai.{to}' for to in targets]}"
        for name, targets in edges.items()
    )
    reader = Reader()
    drafts = profiles.read_profiles(reader, tomllib.loads(text).get("providers", {}), Reliability(), lambda _: None)
    check_graph(reader, drafts)
    met: set[tuple[str, str]] = set()
    names = resolver(drafts)

    def walk(ref: str, path: tuple[str, ...]) -> None:
        own = f"providers.{ref}.fallback"
        if len(path) > 3:
            met.update({("max_fallback_depth_exceeded", own)} if drafts[ref].fallback else set())
            return
        for place, raw in enumerate(drafts[ref].fallback):
            target = names.get(raw)
            if target is None:
                met.add(("dangling_fallback_ref", f"{own}[{place}]"))
            elif target in path:
                met.add(("fallback_cycle", f"{own}[{place}]"))
            else:
                walk(target, (*path, target))

    for start in drafts:
        walk(start, (start,))
    assert {(warning.code, warning.path) for warning in reader.warnings} == met
