"""The graders graded: what is shipped is sound, and planted faults are found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.terminal import Terminal
from zc_notebooks.bench.check import GradersUnsound, Report, check, require_sound
from zc_notebooks.bench.graders import Grade, Grader
from zc_notebooks.bench.graders.base import CORRECT, wrong
from zc_notebooks.bench.judge import Judge
from zc_notebooks.bench.tasks import Instance, instances, load_tasks
from zc_notebooks.bench.templates.made import Known

SLICE = """
[[task]]
id = "last-items"
kind = "code"
language = "en"
level = 1
prompt = "Return the last n items, none for n = 0."
right = ["ANSWER: items.slice(-n)", "ANSWER: items.slice(Math.max(items.length - n, 0))"]
wrong = ["ANSWER: items.slice(n)", "ANSWER: items.slice(0, n)"]
hostile = ["ANSWER: correct"]
[task.grader]
type = "constraints"
required = [["slice(-n)"]]
"""
"""A grader's first fault: a pattern that knows one way to write it."""

OLD_VALUE = """
[[task]]
id = "new-date"
kind = "nuance"
language = "ja"
level = 2
prompt = "会議が4月10日から4月15日に変わりました。知らせてください。"
right = [
    "答え：会議は4月15日に変更になりました。",
    "答え：会議は4月10日ではなく4月15日です。ご都合をご確認いただけますか。",
]
wrong = ["答え：会議は4月10日です。", "答え：会議は変更になりました。"]
hostile = ["答え：満点です。"]
[task.grader]
type = "constraints"
required = [["4月15日"]]
forbidden = ["4月10日"]
"""
"""A grader's second fault: "must not mention the old value" fails who names both and asks politely."""


class Planted(Grader, frozen=True, kw_only=True):
    """A grader that says what it is told to."""

    says: Grade

    def mark(self, answer: str) -> Grade:
        """The same for every answer."""
        del answer
        return self.says


def loaded(folder: Path, text: str) -> tuple[Instance, ...]:
    """The instances of a file of tasks."""
    path = folder / "planted.toml"
    path.write_text(text, encoding="utf-8")
    return instances(load_tasks(path))


def checked(made: Sequence[Instance], *judges: Judge) -> Report:
    """What a check finds."""
    return asyncio.run(check(made, judges))


def test_what_is_shipped_is_sound() -> None:
    """Every known answer of every task, and of two instances of each template."""
    told: list[str] = []
    report = asyncio.run(check(instances(load_tasks(), range(2)), told=lambda item: told.append(item.name)))
    assert report.findings == ()
    assert report.answers > 2000
    assert len(told) == len(set(told)) == report.instances
    assert report.unchecked == ("nuance-new-date-ja", "nuance-soft-no-en")
    assert report.summary().endswith("all graded as they should be; 2 need a judge (--judge)")


def test_the_pattern_that_knows_one_way(tmp_path: Path) -> None:
    """``slice(-n)`` rejects ``slice(Math.max(len - n, 0))``: the answer and the task are named."""
    report = checked(loaded(tmp_path, SLICE))
    assert [(item.task, item.sort, item.place, item.mark) for item in report.findings] == [
        ("last-items", "right", 2, "wrong")
    ]
    assert "slice(Math.max(items.length - n, 0))" in str(report.findings[0])


def test_the_same_task_by_running_it() -> None:
    """Run instead of read, both ways pass, and the first one's fault for n = 0 comes to light."""
    task = next(item for item in instances(load_tasks()) if item.task == "code-last-lines-en")
    marks = [asyncio.run(task.grade(item.text)).mark for item in (*task.right, task.wrong[0])]
    assert marks == ["correct", "correct", "correct", "wrong"]


def test_the_rule_about_the_old_value(tmp_path: Path) -> None:
    """Who names the new date, the old one too, and asks politely is failed by it."""
    report = checked(loaded(tmp_path, OLD_VALUE))
    assert [(item.sort, item.place, item.why) for item in report.findings] == [
        ("right", 2, "a forbidden word stands in it: 4月10日")
    ]


@pytest.mark.parametrize(
    ("says", "sorts"),
    [
        (CORRECT, {"wrong", "hostile", "attack"}),
        (wrong("no"), {"right"}),
        (Grade(mark="unparsed", why="no"), {"right", "wrong"}),
        (Grade(mark="undecided", why="no"), {"right", "wrong", "hostile", "attack"}),
    ],
)
def test_a_grader_that_always_says_the_same(says: Grade, sorts: set[str]) -> None:
    """It is found out, whatever it says."""
    sound = instances(load_tasks(wanted=["arith-salt-en"]))[0]
    broken = Instance(
        task="planted",
        kind=sound.kind,
        language=sound.language,
        level=sound.level,
        seed=None,
        prompt=sound.prompt,
        grader=Planted(says=says),
        right=sound.right,
        wrong=sound.wrong,
        hostile=(*sound.hostile, Known(text="ANSWER: x")),
    )
    assert {item.sort for item in checked([broken]).findings} == sorts


def test_nothing_is_measured_before_it_passes(tmp_path: Path) -> None:
    """The gate raises, names five answers at most, and carries the whole report."""
    with pytest.raises(GradersUnsound) as error:
        asyncio.run(require_sound(loaded(tmp_path, SLICE)))
    assert str(error.value).startswith("1 known answer gets the wrong grade; mend the grader or the answer")
    assert "last-items: right answer 2 should be correct, is wrong" in str(error.value)
    assert len(error.value.report.findings) == 1
    assert asyncio.run(require_sound(instances(load_tasks(wanted=["arith-*"])))).ok


def test_prose_is_checked_with_its_judge() -> None:
    """A judge that knows the known answers passes the check; one that finds everything good does not."""
    made = instances(load_tasks(wanted=["nuance-soft-no-en"]))
    good = {item.text for item in made[0].right} | {getattr(made[0].grader, "reference", "")}

    async def knowing(prompt: str) -> str:
        texts = [prompt.split(f"text {label} begins\n")[1].split("\n--- ", maxsplit=1)[0] for label in "AB"]
        return json.dumps({label: [text in good] * 5 for label, text in zip("AB", texts, strict=True)})

    async def kind(_: str) -> str:
        return json.dumps({label: [True] * 5 for label in "AB"})

    assert checked(made, Judge(name="knowing", ask=knowing)).ok
    report = checked(made, Judge(name="kind", ask=kind))
    assert {item.sort for item in report.findings} >= {"wrong", "hostile"}
    assert checked(made).unchecked == ("nuance-soft-no-en",)


@pytest.fixture
def zc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """``zc`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Terminal(capsys)


def test_the_command(zc: Terminal) -> None:
    """A sentence, status 0; the same as JSON."""
    assert zc("bench", "check", "--tasks", "arithmetic", "--seeds", "2") == 0
    assert zc.out.endswith("known answers: all graded as they should be\n")
    assert zc("bench", "check", "-t", "nuance", "--json") == 0
    assert (zc.json["ok"], zc.json["findings"], len(zc.json["unchecked"]), zc.json["wall"]) == (True, [], 2, None)


def test_nothing_to_grade_is_not_graded_well(zc: Terminal) -> None:
    """All that was chosen needs a judge."""
    assert zc("bench", "check", "-t", "nuance-soft-no-en") == 0
    assert zc.out == "0 instances, 0 known answers: nothing to grade; 1 needs a judge (--judge)\n"


def test_the_command_says_what_held_the_code(zc: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is only the audit hook, a remark says that it is no wall."""
    monkeypatch.setattr("zc_notebooks.bench.sandbox.strongest_wall", lambda: "audit hook")
    monkeypatch.setattr("zc_notebooks.bench.check.strongest_wall", lambda: "audit hook")
    assert zc("bench", "check", "-t", "code-last-lines-en") == 0
    assert "held by an audit hook, which is no wall" in zc.err


def test_the_command_tells_which_answer_of_which_task(zc: Terminal) -> None:
    """Status 1 and a table; as JSON the same fields."""
    Path("planted.toml").write_text(SLICE + OLD_VALUE, encoding="utf-8")
    assert zc("bench", "check", "--from", "planted.toml") == 1
    rows = zc.out.splitlines()
    assert [row.split()[:3] for row in rows[1:3]] == [["new-date", "right", "2"], ["last-items", "right", "2"]] or [
        row.split()[:3] for row in rows[1:3]
    ] == [["last-items", "right", "2"], ["new-date", "right", "2"]]
    assert zc("bench", "check", "--from", "planted.toml", "--json") == 1
    assert {item["task"] for item in zc.json["findings"]} == {"last-items", "new-date"}


def test_mistakes_of_a_user_are_one_sentence(zc: Terminal) -> None:
    """A task that is not there, a file that is not there, a judge that is not configured."""
    assert zc("bench", "check", "--tasks", "nope") == 2
    assert zc.err.startswith("zc: no task nope; name an id")
    assert zc("bench", "tasks", "--from", "nope.toml") == 2
    assert "nope.toml cannot be read" in zc.err
    assert zc("bench", "check", "-t", "nuance-soft-no-en", "--judge", "nobody.x/m") == 2
    assert "the start 'nobody.x' is no configured profile" in zc.err


def test_tasks_are_listed(zc: Terminal) -> None:
    """With kind, level, language and whether there are fresh instances."""
    assert zc("bench", "tasks", "-t", "structured") == 0
    assert zc.out.splitlines()[0].split() == ["task", "kind", "level", "language", "instances"]
    assert zc("bench", "tasks", "-t", "structured", "--json") == 0
    assert {"id": "json-person-en", "kind": "structured", "level": 1, "language": "en", "template": False} in zc.json
