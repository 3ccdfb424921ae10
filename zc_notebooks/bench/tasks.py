"""Tasks with known answers: read from ``data/tasks/*.toml``, or made anew from a template and a seed."""

from __future__ import annotations

import fnmatch
import hashlib
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import msgspec
from jsonschema import SchemaError

from zc_notebooks.bench.extract import INSTRUCTIONS, Language, Rule
from zc_notebooks.bench.graders import AnyGrader, Grade, Grader, Json, Setting
from zc_notebooks.bench.graders.json_schema import validator
from zc_notebooks.bench.judge import Judge
from zc_notebooks.bench.templates import TEMPLATES
from zc_notebooks.bench.templates.made import Known, Made
from zc_notebooks.errors import ZcError
from zc_notebooks.records import Record
from zc_notebooks.redact import short
from zc_notebooks.resources import resource

Kind = Literal["arithmetic", "constraints", "extraction", "relative_dates", "negative", "nuance", "code", "structured"]
"""Six plain ones, code repair, structured output."""
Level = Literal[1, 2, 3]
_RIGHT, _WRONG, _HOSTILE = 2, 2, 1
"""How many known answers of each sort a task needs."""


class TaskError(ZcError, ValueError):
    """A task cannot be used: which file and task, what is wrong, what would be right."""


class Task(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[task]]`` of a file."""

    id: str
    kind: Kind
    language: Language
    level: Level
    prompt: str
    """Without the sentence about the form of the answer, which the rule adds."""
    grader: AnyGrader
    right: tuple[str | Known, ...]
    """Known answers: whole outputs of a model, as text or as ``{text, reasoning}``."""
    wrong: tuple[str | Known, ...]
    hostile: tuple[str | Known, ...]

    def instance(self, seed: int = 0) -> Instance:
        """The task itself; every seed gives the same."""
        del seed
        made = Made(prompt=self.prompt, grader=self.grader, right=self.right, wrong=self.wrong, hostile=self.hostile)
        return _instance(self, made, None)


class TemplateTask(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[template]]`` of a file: a fresh instance for every seed, its answers computed."""

    id: str
    kind: Kind
    language: Language
    level: Level
    template: str
    """Name in :data:`~zc_notebooks.bench.templates.TEMPLATES`."""

    def instance(self, seed: int = 0) -> Instance:
        """The instance of ``seed``: the same everywhere and always."""
        random = Random(f"{self.id}/{seed}")  # noqa: S311 (a task, no secret)
        return _instance(self, TEMPLATES[self.template](random, self.language, self.level), seed)


AnyTask = Task | TemplateTask


class Instance(Record, frozen=True, kw_only=True):
    """What is put to a model, and how its answer is graded."""

    task: str
    """The task's id."""
    kind: Kind
    language: Language
    level: Level
    seed: int | None
    """``None`` for a task that is no template."""
    prompt: str
    """As it is sent."""
    grader: Grader
    right: tuple[Known, ...]
    wrong: tuple[Known, ...]
    hostile: tuple[Known, ...]

    @property
    def rule(self) -> Rule:
        """Where the answer is looked for."""
        return self.grader.rule

    @property
    def name(self) -> str:
        """``id`` or ``id#seed``."""
        return self.task if self.seed is None else f"{self.task}#{self.seed}"

    @property
    def key(self) -> str:
        """16 hex digits of what decides a result: task, prompt as sent, grader. The known answers are not in it."""
        parts = [self.task, self.prompt, self.rule, msgspec.to_builtins(self.grader, str_keys=True)]
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]

    async def grade(self, text: str, *, judges: Sequence[Judge] = (), judged: str | None = None) -> Grade:
        """Grades what a model said. ``text`` is the answer without the reasoning that came in a field of its own.

        Args:
            text: The answer as the completion gives it.
            judges: Models that judge prose, in order of preference.
            judged: Name of the model that answered.

        Raises:
            SandboxMissing: A code task, on a system where code cannot be run safely.
        """
        answer = self.grader.answer_in(text)
        if answer is None:
            return Grade(mark="unparsed", why=_NOT_FOUND[self.rule])
        grade = await self.grader.grade(answer, Setting(prompt=self.prompt, judges=judges, judged=judged))
        return Grade(mark=grade.mark, why=grade.why, answer=answer)


_NOT_FOUND: Final[dict[Rule, str]] = {
    "last_line": "no line with the answer",
    "code": "no closed block of code",
    "json": "no JSON",
    "whole": "no text",
}


def _instance(task: AnyTask, made: Made, seed: int | None) -> Instance:
    grader: Grader = made.grader
    return Instance(
        task=task.id,
        kind=task.kind,
        language=task.language,
        level=task.level,
        seed=seed,
        prompt=f"{made.prompt.strip()}\n\n{INSTRUCTIONS[grader.rule, task.language]}",
        grader=grader,
        right=_known(made.right),
        wrong=_known(made.wrong),
        hostile=_known(made.hostile),
    )


def _known(answers: Iterable[str | Known]) -> tuple[Known, ...]:
    return tuple(Known(text=answer) if isinstance(answer, str) else answer for answer in answers)


class _File(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    task: tuple[Task, ...] = ()
    template: tuple[TemplateTask, ...] = ()


def load_tasks(place: Path | None = None, wanted: Sequence[str] = ()) -> tuple[AnyTask, ...]:
    """All tasks of a file or folder, by kind and level.

    Args:
        place: A ``.toml`` file or a folder of them; the shipped ``data/tasks`` by default.
        wanted: Ids, kinds, languages, or patterns of ids (``arith-*``); nothing means all.

    Raises:
        TaskError: A file or task cannot be used, or something wanted is not there.
    """
    found: dict[str, AnyTask] = {}
    for path in _files(resource("data", "tasks") if place is None else place):
        for task in _read(path):
            if task.id in found:
                raise TaskError(f"{path}: task {task.id} stands twice; give one of them another id")
            found[task.id] = task
    return _chosen(tuple(found.values()), wanted)


def _files(place: Path) -> list[Path]:
    paths = sorted(place.glob("*.toml")) if place.is_dir() else [place]
    if not paths:
        raise TaskError(f"{place}: no .toml file there; name a file or folder of tasks")
    return paths


def _read(path: Path) -> list[AnyTask]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise TaskError(f"{path} is no TOML: {error}") from None
    try:
        file = msgspec.convert(raw, _File, str_keys=True)
    except msgspec.ValidationError as error:
        raise TaskError(_sentence(path, raw, str(error))) from None
    tasks: list[AnyTask] = [*file.task, *file.template]
    if not tasks:
        raise TaskError(f"{path}: no [[task]] and no [[template]] in it")
    for task in tasks:
        _check(path, task)
    return tasks


def _sentence(path: Path, raw: dict[str, Any], message: str) -> str:
    """Msgspec's message names a place by number; a person knows the task by its id."""
    for kind in ("task", "template"):
        entries = raw.get(kind)
        for place, entry in enumerate(entries if isinstance(entries, list) else ()):
            if f"`$.{kind}[{place}]" in message and isinstance(entry, dict) and "id" in entry:
                return f"{path}: {kind} {short(str(entry['id']), 60)}: {message}"
    return f"{path}: {message}"


def _check(path: Path, task: AnyTask) -> None:
    where = f"{path}: task {task.id}"
    if isinstance(task, TemplateTask):
        if task.template not in TEMPLATES:
            raise TaskError(
                f"{where}: no template {short(task.template, 40)}; there are {', '.join(sorted(TEMPLATES))}"
            )
        return
    for name, answers, least in (
        ("right", task.right, _RIGHT),
        ("wrong", task.wrong, _WRONG),
        ("hostile", task.hostile, _HOSTILE),
    ):
        if len(set(_known(answers))) < least:
            raise TaskError(f"{where}: {name} needs at least {least} different answers")
    if isinstance(task.grader, Json):
        try:
            validator(msgspec.json.encode(task.grader.schema, order="deterministic"))
        except SchemaError as error:
            raise TaskError(f"{where}: grader.schema is no JSON schema: {short(error.message, 100)}") from None


def _chosen(tasks: tuple[AnyTask, ...], wanted: Sequence[str]) -> tuple[AnyTask, ...]:
    for name in wanted:
        if not any(_is_wanted(task, name) for task in tasks):
            raise TaskError(f"no task {short(name, 60)}; name an id, a kind, a language or a pattern (zc bench tasks)")
    chosen = [task for task in tasks if not wanted or any(_is_wanted(task, name) for name in wanted)]
    return tuple(sorted(chosen, key=lambda task: (task.kind, task.level, task.id)))


def _is_wanted(task: AnyTask, name: str) -> bool:
    return name in (task.kind, task.language) or fnmatch.fnmatchcase(task.id, name)


def instances(tasks: Iterable[AnyTask], seeds: Sequence[int] = (0,)) -> tuple[Instance, ...]:
    """Every task once, every template once for each seed; what two seeds make alike is there once."""
    made = (task.instance(seed) for task in tasks for seed in (seeds if isinstance(task, TemplateTask) else (0,)))
    return tuple({item.key: item for item in made}.values())
