"""What went wrong in a callback: one sentence for the panel, the details to unfold, and listeners for tests.

A click handler runs where nobody waits for it, so an exception in it would be lost. Here it is kept, and shown.
"""

from __future__ import annotations

from collections.abc import Callable
from traceback import format_exception
from typing import Final

from zc_notebooks.records import Record
from zc_notebooks.redact import redact, short


class Trouble(Record, frozen=True, kw_only=True):
    """One exception that no caller was there to take."""

    doing: str
    """What was being done, in words."""
    sentence: str
    details: str
    """The traceback, redacted."""

    @classmethod
    def of(cls, doing: str, error: BaseException) -> Trouble:
        """The trouble that ``error`` is."""
        sentence = f"{doing} did not work: {type(error).__name__}: {short(str(error))}"
        return cls(doing=doing, sentence=sentence, details=redact("".join(format_exception(error))))


LISTENERS: Final[set[Callable[[Trouble], object]]] = set()
"""Called with every trouble of the process, so that a test can fail on one."""


def tell(trouble: Trouble) -> None:
    """Tells every listener."""
    for listener in tuple(LISTENERS):
        listener(trouble)
