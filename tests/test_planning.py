"""``chain.plan()`` and ``zc plan``: the order, what is left out, and how each candidate stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import KEYS, Fleet, chain_toml, profile
from zc_notebooks.cli.app import run as zc
from zc_notebooks.errors import ConfigError
from zc_notebooks.planning import COLUMNS, lines
from zc_notebooks.reliability.materialize import Ask, plan
from zc_notebooks.testing import chat_answer, chat_error

GRAPH = (
    'default_provider = "custom.a"\n'
    + profile("a", fallback='["custom.b", "custom.e", "custom.zz"]', fallback_models='["m2"]', pricing="{ m = 0.5 }")
    + profile("b", fallback='["custom.c", "custom.a"]', tier='"local"', context_window="4096")
    + profile("c", native_tools="false")
    + profile("e")
)


def fleet_of(folder: Path, toml: str = GRAPH, **options: Any) -> Fleet:
    return Fleet({name: [chat_answer()] for name in "abce"}, folder, toml=toml, **options)


def test_the_graph_is_drawn_as_a_tree(tmp_path: Path) -> None:
    """Entries in order, indented by level; a pruned edge hangs where it was declared."""
    made = fleet_of(tmp_path).chain.plan()
    drawn = [(line[1].replace("\u00a0", " "), line[2], line[7]) for line in lines(made)]
    assert drawn == [
        ("custom.a", "m", "open"),
        ("custom.a", "m2", "open"),
        ("└─ custom.zz", "", "left out: dangling fallback ref"),
        ("└─ custom.b", "m", "open"),
        ("   └─ custom.a", "", "left out: fallback cycle"),
        ("   └─ custom.c", "m", "open"),
        ("└─ custom.e", "m", "open"),
    ]
    assert all(len(line) == len(COLUMNS) for line in lines(made))
    prices = {line[1].strip("\u00a0└─"): line[6] for line in lines(made) if line[0]}
    assert prices["custom.b"] == "unknown"
    assert lines(made)[0][6] == "0.5 / 0.5"
    html = made._repr_html_() or ""
    assert "└─" in html
    assert "left out: fallback cycle" in html


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    """2.6: a blank item is skipped and counts all the same; loading and planning name one and the same place."""
    toml = profile("a", fallback='["", "custom.b", " ", "custom.zz"]') + profile("b", fallback='["", "custom.a"]')
    toml = toml.replace('model = "m"', 'model = "m"\nfallback_models = ["", "x", "x"]')
    config = fleet_of(tmp_path, 'default_provider = "custom.a"\n' + toml).chain.config
    made = plan(config, Ask())
    assert {item.path for item in made.pruned} == {"providers.custom.a.fallback[3]", "providers.custom.b.fallback[1]"}
    assert {item.path for item in made.pruned} <= {item.path for item in config.warnings}
    assert [item.path for item in made.warnings] == [f"providers.custom.{name}.fallback_models[2]" for name in "ab"]
    assert [(entry.ref, entry.model) for entry in made.entries] == [
        (f"custom.{name}", model) for name in "ab" for model in ("m", "x")
    ]


def test_a_level_that_is_left_out_is_not_drawn_as_the_profile_itself(tmp_path: Path) -> None:
    """The fourth level: a line below the last profile says that its list is not walked."""
    toml = "".join(profile(name, fallback=f'["custom.{after}"]') for name, after in zip("abcd", "bcde", strict=True))
    made = fleet_of(tmp_path, toml + profile("e"), environ=KEYS).chain.plan(start="custom.a")
    assert [line[1].strip("\u00a0└─") for line in lines(made)][-2:] == ["custom.d", "its fallback"]
    assert lines(made)[-1][-1] == "left out: max fallback depth exceeded"


def test_how_each_candidate_stands(tmp_path: Path) -> None:
    """Every check that a walk would make first: border, key, cooldown; nobody is called."""
    toml = chain_toml("a", "b", "c", "e", extra='[borders]\nallow_tiers = ["local", "metered"]\n')
    toml = toml.replace('api_key_env = "KEY_B"', 'api_key_env = "KEY_B"\ntier = "free"')
    environ = {name: key for name, key in KEYS.items() if name != "KEY_C"}
    script = {"a": [chat_error(429, "slow", {"retry-after": "90"})], "e": [chat_answer()]}
    fleet = Fleet(script, tmp_path, toml=toml, environ=environ)
    fleet.chain.ask_sync("hello")
    before = len(fleet.transport.requests)
    made = fleet.chain.plan()
    assert [standing.skip for standing in made.standings] == [
        "skipped_cooldown",
        "skipped_tier",
        "skipped_no_key",
        None,
    ]
    states = [line[7] for line in lines(made)]
    assert states[0].startswith("cooling until ")
    assert "stated, minute limit" in states[0]
    assert states[1:] == ["skipped: tier", "skipped: no key: KEY_C is not set", "open"]
    assert len(fleet.transport.requests) == before


@pytest.mark.parametrize(("tiers", "open_ones"), [(None, 4), (["local"], 1), (["free"], 0)])
def test_a_call_narrows_its_plan(tmp_path: Path, tiers: Any, open_ones: int) -> None:
    """``allow_tiers`` of a call is looked at as the call itself would."""
    made = fleet_of(tmp_path).chain.plan(allow_tiers=tiers)
    assert sum(standing.skip is None for standing in made.standings) == open_ones + (tiers is None)


@pytest.mark.parametrize(
    ("tier", "first", "second", "skip"),
    [
        ("metered", '["free"]', '["metered"]', "skipped_tier"),
        ("metered", '["metered"]', '["free"]', None),
        ("metered", None, '["free"]', None),
    ],
)
def test_a_dropped_duplicate_says_nothing_about_tiers(
    tmp_path: Path, tier: str, first: str | None, second: str, skip: str | None
) -> None:
    """2.7: a later link of the same candidate is no candidate, and cannot widen the border of the first one."""
    links = [
        '[[chain]]\nprovider = "custom.a"\n' + (f"allow_tiers = {own}\n" if own else "") for own in (first, second)
    ]
    made = fleet_of(tmp_path, profile("a", tier=f'"{tier}"') + "".join(links)).chain.plan()
    assert [standing.skip for standing in made.standings] == [skip]


def test_a_plan_that_cannot_be_built_says_so(tmp_path: Path) -> None:
    """A fallback without its key: the same sentence as the call would give."""
    environ = {name: key for name, key in KEYS.items() if name != "KEY_B"}
    with pytest.raises(ConfigError, match="KEY_B is not set"):
        fleet_of(tmp_path, environ=environ).chain.plan()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``zc plan --json``: the documented form, skips among what is left out; the table says the same."""
    (tmp_path / "zc.toml").write_text(GRAPH + '[borders]\nallow_tiers = ["local"]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    assert zc(["plan", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"entries", "pruned", "warnings"}
    assert [set(entry) for entry in told["entries"]] == [
        {"provider_ref", "model", "pinned", "billing_pool", "tier", "context_window", "cooling_until"}
    ] * 5
    assert {"code": "skipped_tier", "path": "providers.custom.a", "ref": "custom.a"} in told["pruned"]
    assert {"code": "fallback_cycle", "path": "providers.custom.b.fallback[1]", "ref": "custom.a"} in told["pruned"]
    assert told["entries"][2] == {
        "provider_ref": "custom.b",
        "model": "m",
        "pinned": True,
        "billing_pool": "custom@https://b.test:443",
        "tier": "local",
        "context_window": 4096,
        "cooling_until": None,
    }
    assert zc(["plan"]) == 0
    out = capsys.readouterr()
    assert "skipped: tier" in out.out
    assert "dangling_fallback_ref: providers.custom.a.fallback[2] (custom.zz)" in out.err
    assert zc(["plan", "--source", "tree"]) == 2
    assert "neither graph nor chain" in capsys.readouterr().err
