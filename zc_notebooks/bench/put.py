"""A task's instance as a measurement puts it: how long the answer may be, and who judges it."""

from __future__ import annotations

from collections.abc import Sequence

from zc_notebooks.bench.judge import Judge
from zc_notebooks.bench.run import Graded
from zc_notebooks.bench.tasks import Instance
from zc_notebooks.records import Record

MAX_TOKENS = 1024
"""Of an answer, its reasoning included: enough for every task here, and a thinker's hurdle."""


class Put(Record, frozen=True, kw_only=True):
    """See :class:`~zc_notebooks.bench.run.Item`."""

    instance: Instance
    judges: Sequence[Judge] = ()
    max_tokens: int = MAX_TOKENS

    @property
    def task(self) -> str:
        """The task's id, the same for every instance of a template."""
        return self.instance.task

    @property
    def kind(self) -> str:
        """Kind of task."""
        return self.instance.kind

    @property
    def level(self) -> int:
        """1 to 3."""
        return self.instance.level

    @property
    def language(self) -> str:
        """``en`` or ``ja``."""
        return self.instance.language

    @property
    def content(self) -> str:
        """The instance's key, and the length allowed: another limit is another cell."""
        return f"{self.instance.key}-{self.max_tokens}"

    @property
    def prompt(self) -> str:
        """As it is sent."""
        return self.instance.prompt

    async def grade(self, answer: str, judged: str) -> Graded:
        """Judges the answer of ``judged``. A judge that cannot decide is a fault of the measurement, not an answer."""
        grade = await self.instance.grade(answer, judges=self.judges, judged=judged)
        if grade.mark == "undecided":
            return Graded(outcome="error", why=f"the judge did not decide: {grade.why}")
        return Graded(outcome=grade.mark, why=grade.why)


def put(instances: Sequence[Instance], judges: Sequence[Judge] = (), max_tokens: int = MAX_TOKENS) -> tuple[Put, ...]:
    """Every instance that can be judged; those that need a judge are left out where none is named."""
    return tuple(
        Put(instance=item, judges=judges, max_tokens=max_tokens)
        for item in instances
        if judges or not item.grader.judged_by_model
    )
