"""The proposed chain: a reason for each place, or the reason why there is none."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.bench.test_statistics import result, run
from zc_notebooks.bench.order import CannotOrder, Place, Proposal, propose
from zc_notebooks.bench.results import Result
from zc_notebooks.bench.statistics import statistics
from zc_notebooks.bench.write_order import with_order, write_order
from zc_notebooks.config.load import parse_config
from zc_notebooks.config.schema import Config
from zc_notebooks.errors import ConfigError


def config(**tiers: str) -> Config:
    """Profiles ``custom.<name>``, each in a purse of its own (``a2`` shares that of ``a``)."""
    text = ""
    for name, tier in tiers.items():
        text += (
            f'[providers.custom.{name}]\nuri = "https://{name}.test/v1"\nmodel = "m"\ntier = "{tier}"\nkeyless = true\n'
        )
        text += f'billing_pool = "{name[0]}"\n'
    return parse_config(text, base_dir=Path(), source="zc.toml")


def measured(name: str, right: int, of: int = 20, *, unreached: int = 0, **fields: Any) -> list[Result]:
    """``right`` of ``of`` tasks solved, ``unreached`` more not answered; tasks in one order for everybody."""
    candidate = name if "/" in name else f"custom.{name}/model-{name}"
    outcomes = ["correct"] * right + ["wrong"] * (of - right) + ["unreachable"] * unreached
    return run(candidate, outcomes, **fields)


def order(rows: list[Result], found: Config, **options: Any) -> list[str]:
    """The proposed names."""
    made = propose(statistics(rows), found, **options)
    return [place.candidate.removeprefix("custom.").partition("/")[0] for place in made.places]


ABC = config(a="free", b="free", c="free")


def test_quality_first() -> None:
    """By accuracy; among equals the cheaper right answer."""
    rows = measured("a", 8) + measured("b", 18, cost_usd=0.01) + measured("c", 18, cost_usd=0.002)
    assert order(rows, ABC) == ["c", "b", "a"]


def test_cost_first_keeps_a_floor() -> None:
    """The cheapest wrong answers do not win: below 80 % of the best accuracy nobody is cheap."""
    rows = measured("a", 5, cost_usd=0.0001) + measured("b", 18, cost_usd=0.01) + measured("c", 16, cost_usd=0.002)
    assert order(rows, ABC, by="cost") == ["c", "b", "a"]


def test_the_best_of_all_is_called_that() -> None:
    """Also where somebody else can hardly be reached."""
    rows = run("custom.a/model-a", ["correct"] * 8 + ["wrong"] * 4 + ["unreachable"] * 60) + measured("b", 18)
    made = propose(statistics(rows), ABC)
    assert made.places[0].reason.startswith("the best measured accuracy: 90% (")


def test_the_floor_is_of_those_that_can_be_reached() -> None:
    """80 % of an accuracy that is not there would let the cheapest wrong answers win."""
    rows = run("custom.a/model-a", ["correct"] * 10 + ["unreachable"] * 62)
    rows += measured("b", 15, cost_usd=0.01) + measured("c", 10, cost_usd=0.002)
    assert order(rows, ABC, by="cost")[0] == "b"


@pytest.mark.parametrize(("worth", "first"), [(1.0, "b"), (0.001, "c")])
def test_what_a_right_answer_is_worth_decides(worth: float, first: str) -> None:
    """A stated trade-off between quality and cost."""
    rows = measured("b", 20, cost_usd=0.02) + measured("c", 14, cost_usd=0.0001)
    assert order(rows, ABC, by="worth", worth_usd=worth)[0] == first


@pytest.mark.parametrize("worth", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_worth_needs_a_figure(worth: float | None) -> None:
    """One sentence."""
    with pytest.raises(CannotOrder, match="--worth in dollars"):
        order(measured("a", 8) + measured("b", 18), ABC, by="worth", worth_usd=worth)


def test_second_place_is_the_same_model_by_another_way() -> None:
    """A swap then changes nothing downstream."""
    found = parse_config(
        "".join(
            f'[providers.custom.{name}]\nuri = "https://{name}.test/v1"\nkeyless = true\ntier = "free"\n'
            for name in "abc"
        ),
        base_dir=Path(),
        source="zc.toml",
    )
    rows = measured("custom.a/openai/gpt-oss-120b", 19) + measured("custom.b/other", 17)
    rows += measured("custom.c/gpt-oss-120b", 12)
    made = propose(statistics(rows), found)
    assert [place.candidate for place in made.places] == [
        "custom.a/openai/gpt-oss-120b",
        "custom.c/gpt-oss-120b",
        "custom.b/other",
    ]
    assert "another way" in made.places[1].reason


def test_the_last_place_is_sure() -> None:
    """Prepaid or local and reachable throughout; the best one is not wasted on the end."""
    found = config(a="free", b="prepaid", c="free", d="prepaid")
    rows = measured("a", 18, unreached=4) + measured("b", 19) + measured("c", 10, unreached=1) + measured("d", 12)
    made = propose(statistics(rows), found)
    assert [place.candidate[7] for place in made.places] == ["b", "a", "c", "d"]
    assert "reachable in every one of 20 calls" in made.places[-1].reason


def test_neighbours_draw_on_different_purses() -> None:
    """One from another purse goes ahead, unless it is told to be worse."""
    found = config(a="free", a2="free", b="free")
    rows = measured("a", 14) + measured("a2", 13) + measured("b", 12)
    assert order(rows, found) == ["a", "b", "a2"]
    rows = measured("a", 19) + measured("a2", 18) + measured("b", 2)
    assert order(rows, found) == ["a", "a2", "b"]


def test_quality_that_is_not_there_does_not_lead() -> None:
    """The best of all, reached 5 times in 36."""
    rows = run("custom.a/model-a", ["correct"] * 10 + ["unreachable"] * 62) + measured("b", 15) + measured("c", 8)
    made = propose(statistics(rows), ABC)
    assert made.places[0].candidate == "custom.b/model-b"
    assert made.places[0].reason.startswith("the best measured accuracy, of those that can be reached: 75% (")
    assert any("does not lead" in remark for remark in made.remarks)
    place = next(place for place in made.places if place.candidate == "custom.a/model-a")
    assert "a refusal comes fast" in place.reason


def test_who_is_hardly_there_needs_no_more_answers() -> None:
    """Reached in 5 of 36 calls: its five answers are too few to judge it by, and it does not lead anyway."""
    best = run("custom.a/model-a", ["correct"] * 5 + ["unreachable"] * 31)
    made = propose(statistics(best + measured("b", 30, 36) + measured("c", 8, 36)), ABC)
    assert [place.candidate[7] for place in made.places] == ["b", "a", "c"]
    assert any("too little data to tell custom.a/model-a" in remark for remark in made.remarks)
    with pytest.raises(CannotOrder, match="saturated"):
        propose(statistics(best + measured("b", 36, 36) + measured("c", 36, 36)), ABC)
    with pytest.raises(CannotOrder, match="too little data"):
        propose(statistics(best), ABC)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "nothing was measured"),
        (measured("a", 20) + measured("b", 20), "saturated: these tasks are too easy"),
        (measured("a", 0) + measured("b", 0), "saturated: these tasks are too hard"),
        (measured("a", 20) + measured("b", 20) + measured("c", 0, 0, unreached=20), "saturated: these tasks are too"),
        (measured("a", 3, 5) + measured("b", 2, 5), "too little data"),
        (run("custom.a/m", ["unreachable"] * 20) + run("custom.b/m", ["unreachable"] * 20), "nobody answered"),
        (measured("a", 18) + measured("x", 3), "custom.x/model-x was measured and is not configured"),
        (
            [result("custom.a/m", f"t{n}", "correct", served_model="m", reported_model="gpt-5-nano") for n in range(20)]
            + measured("b", 3),
            "another model answered than was asked for: custom.a/m",
        ),
    ],
)
def test_where_nothing_is_decided(rows: list[Result], words: str) -> None:
    """One sentence that says why and what to do."""
    with pytest.raises(CannotOrder, match=words):
        propose(statistics(rows), ABC)


# -- into the file ----------------------------------------------------------------------------------------------------

FILE = """# my providers
default_provider = "groq.free"   # where it starts

[providers.groq.free]   # fast
api_key_env = "GROQ_API_KEY"
model = "m1"

[[chain]]   # mine
provider = "groq.free"   # the fast one
allow_tiers = ["free"]
[[chain]]
provider = "other.gone"
model = "m9"

[reliability]   # patient
provider_retries = 5
"""
MADE = Proposal(
    by="quality",
    places=(
        Place(candidate="deepseek.prepaid/d4", pool="d", reason="the best: 90%"),
        Place(candidate="groq.free/m1", pool="g", reason="next by rank"),
    ),
)


def test_the_rest_of_the_file_stays() -> None:
    """Comments, order and every other key; an entry that stays keeps its own keys."""
    text = with_order(FILE, MADE)
    assert tomllib.loads(text)["chain"] == [
        {"provider": "deepseek.prepaid", "model": "d4"},
        {"provider": "groq.free", "allow_tiers": ["free"], "model": "m1"},
    ]
    for kept in ("# my providers", "# where it starts", "# fast", "# mine", "# the fast one", "# patient"):
        assert kept in text
    assert "# measured: the best: 90%" in text
    assert text.index("[providers.groq.free]") < text.index("[[chain]]") < text.index("[reliability]")
    assert "\n\n[reliability]" in text
    again = with_order(text, MADE)
    assert tomllib.loads(again) == tomllib.loads(text)
    assert again.count("# measured") == text.count("# measured")


COMMENTED = """# what the file is about
[[chain]]
provider = "groq.free"
model = "m1"
# groq is slow at noon

# apart from both

# deepseek: prepaid, in May
[[chain]]
provider = "deepseek.prepaid" # the card
model = "d4"
[chain.extra]
z = [
  [1],
]

# about patience
[reliability]
provider_retries = 5
[providers.custom."a#b"]
model = "x"
"""


def test_comments_go_where_they_belong() -> None:
    """With the block they stand at; what stands apart, or above another table, stays."""
    text = with_order(COMMENTED, MADE)
    assert text.splitlines() == [
        "# what the file is about",
        "# deepseek: prepaid, in May",
        "[[chain]] # measured: the best: 90%",
        'provider = "deepseek.prepaid" # the card',
        'model = "d4"',
        "[chain.extra]",
        "z = [",
        "  [1],",
        "]",
        "",
        "# apart from both",
        "",
        "[[chain]] # measured: next by rank",
        'provider = "groq.free"',
        'model = "m1"',
        "# groq is slow at noon",
        "",
        *COMMENTED.splitlines()[-5:],
    ]


def test_tables_between_the_blocks_stay_between_them() -> None:
    """The order of the file is kept: places are filled anew."""
    one, other = '[[chain]]\nprovider = "groq.free"\nmodel = "m1"\n', '[[chain]]\nprovider = "deepseek.prepaid"\n'
    text = with_order(f"{one}[a]\nx = 1\n{other}[b]\nx = 2\n", MADE)
    assert [line for line in text.splitlines() if line[0] in "[p"] == [
        "[[chain]] # measured: the best: 90%",
        'provider = "deepseek.prepaid"',
        "[a]",
        "[[chain]] # measured: next by rank",
        'provider = "groq.free"',
        "[b]",
    ]


def test_the_ends_of_lines_stay(tmp_path: Path) -> None:
    """A file with the line ends of Windows has them afterwards, all of them."""
    path = tmp_path / "zc.toml"
    path.write_bytes(FILE.replace("\n", "\r\n").encode())
    write_order(path, MADE)
    data = path.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n") > len(FILE.splitlines())


def test_a_header_inside_a_text_is_none() -> None:
    """Nor is a comment in it one."""
    note = 'note = """\n[[chain]]\nprovider = "x"\n"""\n'
    text = with_order(note + FILE, MADE)
    assert text.startswith(note)
    assert [link["provider"] for link in tomllib.loads(text)["chain"]] == ["deepseek.prepaid", "groq.free"]


def test_a_block_is_taken_once() -> None:
    """A block without a model goes to the first place of its provider; the second one gets a block of its own."""
    places = tuple(Place(candidate=f"groq.free/{model}", pool="g", reason="one") for model in ("a", "b"))
    text = with_order('[[chain]]\nprovider = "groq.free"\n', Proposal(by="quality", places=places))
    assert tomllib.loads(text)["chain"] == [
        {"provider": "groq.free", "model": "a"},
        {"provider": "groq.free", "model": "b"},
    ]


@pytest.mark.parametrize(
    ("text", "words"), [("chain = 3\n", "is no list"), ("chain = [\n", "no TOML"), ('chain = ["a"]\n', "is no list")]
)
def test_a_file_that_cannot_take_it(text: str, words: str, tmp_path: Path) -> None:
    """Nothing is written, in one sentence."""
    path = tmp_path / "zc.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        write_order(path, MADE)
    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_without_a_chain_gets_one(tmp_path: Path) -> None:
    """And keeps its permissions."""
    path = tmp_path / "zc.toml"
    path.write_text('default_provider = "groq.free"\n', encoding="utf-8")
    path.chmod(0o600)
    write_order(path, MADE)
    assert [link["provider"] for link in tomllib.loads(path.read_text(encoding="utf-8"))["chain"]] == [
        "deepseek.prepaid",
        "groq.free",
    ]
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigError, match="cannot be rewritten"):
        write_order(tmp_path / "none.toml", MADE)


def test_what_was_not_measured_stays_in_the_chain() -> None:
    """Nothing is known against it: behind the measured ones, before the sure last place."""
    text = "".join(
        f'[providers.custom.{name}]\nuri = "https://{name}.test/v1"\nmodel = "model-{name}"\nkeyless = true\n'
        f'tier = "{"prepaid" if name == "d" else "free"}"\n'
        for name in "abcd"
    )
    text += "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in "cabd")
    found = parse_config(text, base_dir=Path(), source="zc.toml")
    made = propose(statistics(measured("a", 18) + measured("b", 12) + measured("d", 9)), found)
    assert [place.candidate[7] for place in made.places] == ["a", "b", "c", "d"]
    assert "not measured" in made.places[2].reason


def test_a_link_is_written_through(tmp_path: Path) -> None:
    """The file it leads to is the one that is meant."""
    real = tmp_path / "real.toml"
    real.write_text(FILE, encoding="utf-8")
    link = tmp_path / "zc.toml"
    link.symlink_to("real.toml")
    write_order(link, MADE)
    assert link.is_symlink()
    assert "deepseek.prepaid" in real.read_text(encoding="utf-8")


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file as it was, and none beside it."""
    path = tmp_path / "zc.toml"
    path.write_text(FILE, encoding="utf-8")

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(ConfigError, match="No space left"):
        write_order(path, MADE)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text(encoding="utf-8") == FILE


@pytest.mark.parametrize("header", ["[[ chain ]]", '[["chain"]]', "  [[chain]]"])
def test_a_header_in_another_form(header: str) -> None:
    """What TOML allows is understood."""
    text = with_order(FILE.replace("[[chain]]", header), MADE)
    assert [link["provider"] for link in tomllib.loads(text)["chain"]] == ["deepseek.prepaid", "groq.free"]


@pytest.mark.parametrize(
    ("tier_of_a", "words"), [("prepaid", "whoever is sure to be there leads"), ("free", "no sure last")]
)
def test_what_is_said_of_the_last_place(tier_of_a: str, words: str) -> None:
    """Not "nobody" where somebody is."""
    made = propose(statistics(measured("a", 18) + measured("b", 9)), config(a=tier_of_a, b="free"))
    assert any(words in remark for remark in made.remarks)
