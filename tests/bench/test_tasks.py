"""Tasks and templates: what is shipped, what a bad file gets said, and that an instance is the same everywhere."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zc_notebooks.bench.check import check
from zc_notebooks.bench.tasks import Task, TaskError, TemplateTask, instances, load_tasks

GOOD = """
[[task]]
id = "one"
kind = "arithmetic"
language = "en"
level = 1
prompt = "What is 2 + 2?"
grader = { type = "number", value = "4" }
right = ["ANSWER: 4", "ANSWER: 4.0"]
wrong = ["ANSWER: 5", "ANSWER: 3"]
hostile = ["ANSWER: correct"]
"""


def test_what_is_shipped() -> None:
    """At least 36 tasks of eight kinds in two languages and three levels, and templates of every kind."""
    tasks = load_tasks()
    written = [task for task in tasks if isinstance(task, Task)]
    assert len(written) >= 36
    kinds = Counter(task.kind for task in written)
    assert len(kinds) == 8
    assert min(kinds.values()) >= 3
    assert {(task.language, task.level) for task in written} == {
        (lang, at) for lang in ("ja", "en") for at in (1, 2, 3)
    }
    assert {task.kind for task in tasks if isinstance(task, TemplateTask)} == set(kinds)


def test_some_are_chosen() -> None:
    """By id, kind, language or pattern, added up; a name that fits nothing is said."""
    everything = load_tasks()
    assert {task.kind for task in load_tasks(wanted=["code", "nuance"])} == {"code", "nuance"}
    assert [task.id for task in load_tasks(wanted=["arith-salt-en"])] == ["arith-salt-en"]
    assert all(task.id.startswith("date-") for task in load_tasks(wanted=["date-*"]))
    assert len(load_tasks(wanted=["ja", "en"])) == len(everything)
    with pytest.raises(TaskError, match="no task nothing; name an id, a kind, a language or a pattern"):
        load_tasks(wanted=["nothing"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("level = 1", "level = 4", "task one: Invalid enum value 4"),
        ('kind = "arithmetic"', 'kind = "sums"', "task one: Invalid enum value 'sums'"),
        ('language = "en"\n', "", "task one: Object missing required field `language`"),
        ('type = "number"', 'type = "regex"', "task one: Invalid value 'regex'"),
        ('value = "4"', 'value = "four"', "task one: Invalid decimal string"),
        ("level = 1", "level = 1\ncolour = 3", "task one: Object contains unknown field `colour`"),
        (', "ANSWER: 4.0"', "", "task one: right needs at least 2 different answers"),
        ("ANSWER: 4.0", "ANSWER: 4", "task one: right needs at least 2 different answers"),
        ('["ANSWER: correct"]', "[]", "task one: hostile needs at least 1 different answers"),
        ("[[task]]", "[[task]", "is no TOML"),
        (GOOD, "", "no [[task]] and no [[template]] in it"),
        (GOOD, GOOD + GOOD, "task one stands twice"),
        (
            GOOD,
            '[[template]]\nid = "t"\nkind = "code"\nlanguage = "en"\nlevel = 1\ntemplate = "nope"',
            "task t: no template nope; there are average_speed,",
        ),
        (
            '{ type = "number", value = "4" }',
            '{ type = "json", schema = { type = "thing" } }',
            "task one: grader.schema is no JSON schema",
        ),
    ],
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Which file, which task, what is wrong."""
    path = tmp_path / "tasks.toml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(TaskError) as error:
        load_tasks(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value).removesuffix("\n")


def test_a_place_without_tasks(tmp_path: Path) -> None:
    """An empty folder and a missing file are said."""
    with pytest.raises(TaskError, match=r"no \.toml file there"):
        load_tasks(tmp_path)
    with pytest.raises(TaskError, match="cannot be read"):
        load_tasks(tmp_path / "none.toml")


def test_a_key_follows_what_decides_a_result(tmp_path: Path) -> None:
    """Prompt and grader are in it, the known answers are not; every instance of a template has its own."""

    def key(text: str) -> str:
        path = tmp_path / "tasks.toml"
        path.write_text(text, encoding="utf-8")
        return load_tasks(path)[0].instance().key

    assert key(GOOD) == key(GOOD)
    assert key(GOOD.replace("ANSWER: 5", "ANSWER: 6")) == key(GOOD)
    assert len({key(GOOD), key(GOOD.replace("2 + 2", "3 + 1")), key(GOOD.replace('value = "4"', 'value = "5"'))}) == 3
    made = instances(load_tasks(), range(8))
    assert len({item.key for item in made}) == len(made)


def test_keys_stay_what_they_are() -> None:
    """A result of today is found by the same key tomorrow, on any machine."""
    keys = {item.name: item.key for item in instances(load_tasks(wanted=["arith-salt-en", "earliest-date-ja-2"]), [7])}
    assert keys == {"arith-salt-en": "2327bb49e9a7a477", "earliest-date-ja-2#7": "b829aebb4f536e55"}


TEMPLATES = [task for task in load_tasks() if isinstance(task, TemplateTask)]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([task for task in TEMPLATES if task.kind != "code"]), st.integers(0, 2**32))
def test_every_instance_of_a_template_is_sound(task: TemplateTask, seed: int) -> None:
    """Its computed right answers are right, its near misses are read and wrong, its attacks fail."""
    report = asyncio.run(check([task.instance(seed)]))
    assert report.findings == ()


@pytest.mark.parametrize("task", TEMPLATES, ids=lambda task: task.id)
def test_an_instance_is_made_of_its_seed(task: TemplateTask) -> None:
    """The same seed gives the same task, other seeds others; wordings differ and so do right and wrong."""
    assert task.instance(5) == task.instance(5)
    assert len({task.instance(seed).prompt for seed in range(8)}) >= 5
    made = task.instance(5)
    assert len(set(made.right)) >= 2
    assert len(set(made.wrong)) >= 2
    assert len(made.hostile) >= 1
    assert not {item.text for item in made.right} & {item.text for item in (*made.wrong, *made.hostile)}
