"""What a grader is: a frozen description of the right answer that says of any answer how it fares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from zc_notebooks.bench.extract import Rule, extract
from zc_notebooks.records import Record

if TYPE_CHECKING:
    from zc_notebooks.bench.judge import Judge

Mark = Literal["correct", "wrong", "unparsed", "undecided"]
"""``unparsed``: no answer in the stated form. ``undecided``: the judge could not be asked, or contradicted itself."""


class Grade(Record, frozen=True, kw_only=True):
    """What a grader says of one answer."""

    mark: Mark
    why: str = ""
    """One sentence for every mark but ``correct``; never text of the answer, so that it may stand in a file."""
    answer: str | None = None
    """What was extracted by the rule."""


CORRECT: Grade = Grade(mark="correct")


def wrong(why: str) -> Grade:
    """A grade: an answer in the stated form that is not right."""
    return Grade(mark="wrong", why=why)


def unparsed(why: str) -> Grade:
    """A grade: no answer in the stated form."""
    return Grade(mark="unparsed", why=why)


class Setting(Record, frozen=True, kw_only=True):
    """What a grader may need beyond the answer."""

    prompt: str = ""
    judges: Sequence[Judge] = ()
    """In order of preference; the first that is not the judged is asked."""
    judged: str | None = None
    """Name of the model that answered, so that it does not judge itself."""


class Grader(Record, frozen=True, kw_only=True, tag_field="type"):
    """Base of all graders. ``rule`` says where the answer stands unless the task says otherwise."""

    rule: ClassVar[Rule] = "last_line"
    judged_by_model: ClassVar[bool] = False

    def answer_in(self, text: str) -> str | None:
        """What of a model's output is its answer, or ``None``."""
        return extract(text, self.rule)

    async def grade(self, answer: str, setting: Setting) -> Grade:
        """Grades an extracted answer. Never raises for what an answer says."""
        del setting
        return self.mark(answer)

    def mark(self, answer: str) -> Grade:
        """The same for a grader that needs only the answer."""
        raise NotImplementedError
