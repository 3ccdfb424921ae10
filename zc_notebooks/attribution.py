"""Who answered instead of whom: the record of one scope, and the notice that tells a person (spec 11).

A turn that wants to know opens a scope around its calls and takes the record once::

    with attribution.scope() as turn:
        answer = await chain.ask("…")
    record = turn.take()        # or attribution.take() inside the block

Tasks and threads that carry the context write into the same scope; a scope within a scope is a turn of its own.
Without a scope nothing is kept; the answer itself always has its record (``answer.fallback``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace

from zc_notebooks.chat import Identity
from zc_notebooks.config.schema import NoticeMode
from zc_notebooks.nesting import Nested
from zc_notebooks.result import Completion, FallbackRecord

REDACTED: Final = "Note: this answer came from a substitute, because what was asked for could not answer."
"""The whole notice of ``redacted``: a sentence without any place where a name could stand."""


class Scope:
    """The fallback record of one turn: that of its last accepted answer."""

    def __init__(self) -> None:
        self.record: FallbackRecord | None = None
        """``None`` when the entry that was asked for served."""

    def take(self) -> FallbackRecord | None:
        """The record, which is gone from here on."""
        record, self.record = self.record, None
        return record


_SCOPE: Final = Nested[Scope]("zc_fallback_scope")


@contextmanager
def scope() -> Iterator[Scope]:
    """Within the block, accepted answers leave their record in the scope that is yielded."""
    own = Scope()
    with _SCOPE.within(own):
        yield own


def take() -> FallbackRecord | None:
    """The record of the scope in force, which is gone from here on; ``None`` without one."""
    current = _SCOPE.get()
    return None if current is None else current.take()


def accepted(done: Completion, mode: NoticeMode) -> Completion:
    """The moment a turn accepts its answer: its record replaces that of the scope, its notice is added.

    This is the one place that writes a record, so wrappers around a call count once and a rejected answer never.
    """
    current = _SCOPE.get()
    if current is not None:
        current.record = done.fallback
    words = None if done.fallback is None else notice(done.fallback, mode)
    return done if words is None else replace(done, notice=words)


def notice(record: FallbackRecord, mode: NoticeMode) -> str | None:
    """The sentence for a person, or ``None``: ``off``, or the same (ref, model) served in the end."""
    asked, served = record.requested, record.served
    if mode == "off" or (asked.provider_ref, asked.model) == (served.provider_ref, served.model):
        return None
    if mode == "redacted":
        return REDACTED
    cause = record.cause.replace("_", " ")
    said = "" if served.mismatch is None else f" Of the model: {served.mismatch}."
    return f"Note: {_name(asked)} was asked for, {_name(served)} answered ({cause}).{said}"


def _name(who: Identity) -> str:
    return f"{who.provider_ref}/{who.model}"
