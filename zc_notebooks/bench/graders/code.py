"""Code is run and judged by what it gives, never by how it looks."""

from __future__ import annotations

import asyncio
import builtins
import math
from typing import Any, ClassVar

from zc_notebooks.bench.extract import Rule, extract
from zc_notebooks.bench.graders.base import CORRECT, Grade, Grader, Setting, unparsed, wrong
from zc_notebooks.bench.sandbox import Called, Limits, run_calls
from zc_notebooks.records import Record


class Case(Record, frozen=True, kw_only=True):
    """One call and what it must give."""

    args: tuple[Any, ...]
    """JSON data."""
    gives: Any = None
    """JSON data; a tuple counts as a list, a float within 1e-9."""
    raises: str = ""
    """The exception it must raise instead, or a base class of it."""


class Code(Grader, frozen=True, kw_only=True, tag="code"):
    """A Python function that gives the right value in every case."""

    function: str
    cases: tuple[Case, ...]
    unchanged: bool = False
    """Whether it must leave its arguments as they were."""
    seconds: float = 10.0

    rule: ClassVar[Rule] = "code"

    def answer_in(self, text: str) -> str | None:
        """The last block that defines the function: an example of its use behind it is no answer."""
        return extract(text, self.rule, defines=self.function)

    async def grade(self, answer: str, setting: Setting) -> Grade:
        """Runs the answer in a sandbox, in a thread."""
        del setting
        return await asyncio.to_thread(self.mark, answer)

    def mark(self, answer: str) -> Grade:
        """Right when every case is; the expected values never enter the process that runs the code."""
        ran = run_calls(answer, self.function, [case.args for case in self.cases], Limits(seconds=self.seconds))
        if ran.ending == "syntax":
            return unparsed("the block is not Python")
        if ran.ending != "finished":
            return wrong(_ENDINGS[ran.ending])
        if len(ran.calls) != len(self.cases):
            return wrong("it answered another number of calls than were made")
        for place, (case, called) in enumerate(zip(self.cases, ran.calls, strict=True), start=1):
            why = self._fault(case, called)
            if why:
                return wrong(f"case {place} of {len(self.cases)}: {why}")
        return CORRECT

    def _fault(self, case: Case, called: Called) -> str:
        if case.raises:
            return "" if case.raises in called.raised else f"did not raise {case.raises}"
        if called.raised:
            return f"raised {_known(called.raised)}"
        if not same(called.value, case.gives):
            return "gave another value"
        return "changed its arguments" if self.unchanged and not same(called.arguments, case.args) else ""


_ENDINGS = {
    "failed": "the code did not run, or defines no such function",
    "refused": "it reached for something that is not allowed",
    "time": "it was not done in time",
    "output": "it printed too much",
    "died": "its process ended before it had answered",
}


def _known(kinds: tuple[str, ...]) -> str:
    """The nearest class that Python itself has; a class of the answer's own is text of the answer."""
    return next((kind for kind in kinds if hasattr(builtins, kind)), "an exception")


def _close(one: float, other: float) -> bool:
    try:
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:  # an integer beyond every float
        return False


def same(said: Any, expected: Any) -> bool:
    """Whether two pieces of JSON data are equal; true is not 1, floats are close, tuples are lists."""
    if isinstance(said, bool) or isinstance(expected, bool) or said is None or expected is None:
        return said is expected
    if isinstance(said, int) and isinstance(expected, int):
        return said == expected
    if isinstance(said, float | int) and isinstance(expected, float | int):
        return _close(said, expected)
    if isinstance(said, list | tuple) and isinstance(expected, list | tuple):
        return len(said) == len(expected) and all(map(same, said, expected))
    if isinstance(said, dict) and isinstance(expected, dict):
        return said.keys() == expected.keys() and all(same(said[key], expected[key]) for key in said)
    return type(said) is type(expected) and bool(said == expected)
