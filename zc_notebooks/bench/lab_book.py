"""Teaches the lab the tasks: a simulated model gives a known right or a known wrong answer, as its ability has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from zc_notebooks.bench.tasks import Instance
from zc_notebooks.lab.answers import Prepared, register_answer, unregister_answer
from zc_notebooks.lab.conversation import Conversation


@contextmanager
def taught(instances: Sequence[Instance]) -> Iterator[None]:
    """Inside the block every lab of this process knows these instances."""
    known = {item.prompt.strip(): item for item in instances}

    def answer(conversation: Conversation) -> Prepared | None:
        item = known.get(conversation.last_user.strip())
        if item is None:
            return None
        return Prepared(kind=item.kind, right=item.right[0].text, wrong=item.wrong[0].text, mark=False)

    register_answer(answer)
    try:
        yield
    finally:
        unregister_answer(answer)
