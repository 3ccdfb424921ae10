"""What the simulated models know: arithmetic, counting, and a plain sentence about anything else.

Every text begins with :data:`MARK`, so that nobody takes it for a real model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import count, cycle, islice

from zc_notebooks.chat import ImagePart
from zc_notebooks.lab import arithmetic
from zc_notebooks.lab.conversation import Conversation
from zc_notebooks.lab.pictures import describe_image
from zc_notebooks.records import Record

MARK = "(simulated) "
_MAX_WORDS = 200_000
_JAPANESE = re.compile(r"[぀-ヿ㐀-鿿]")
_COUNT = re.compile(r"(?i)count (?:up )?to (\d{1,6})|(\d{1,6})\s*まで数え")
_WORD_COUNT = re.compile(r"(?i)\b(\d{1,6})[- ]words?\b|(\d{1,6})\s*(?:語|単語)")
_FILLER = (
    "the", "lab", "answers", "with", "plain", "words", "that", "mean", "nothing",
    "but", "come", "in", "order", "and", "can", "be", "counted",
)  # fmt: skip


class Prepared(Record, frozen=True, kw_only=True):
    """An answer to one prompt: what an able model says, and what one says that errs."""

    kind: str
    """Kind of task, a key of a model's ``ability``."""
    right: str
    wrong: str
    mark: bool = True
    """Whether :data:`MARK` stands before it; an answer that must be of an exact form goes without."""


Answerer = Callable[[Conversation], Prepared | None]
_registered: list[Answerer] = []


def register_answer(answerer: Answerer) -> Answerer:
    """Teaches all labs of this process: the newest answerer that returns something wins. Usable as a decorator."""
    _registered.append(answerer)
    return answerer


def unregister_answer(answerer: Answerer) -> None:
    """Takes an answerer away again; unknown ones are ignored."""
    if answerer in _registered:
        _registered.remove(answerer)


def prepare(conversation: Conversation, model: str) -> Prepared:
    """The answer to a conversation, whatever it asks."""
    for answerer in (*reversed(_registered), _tool_results, _picture, _sum, _counted, _words):
        prepared = answerer(conversation)
        if prepared is not None:
            return prepared
    return _echo(conversation, model)


def _tool_results(conversation: Conversation) -> Prepared | None:
    if not conversation.answers_tools:
        return None
    results = []
    for message in reversed(conversation.request.messages):
        if message.role != "tool":
            break
        results.append(f"{message.name or 'the tool'} says: {message.text}")
    text = "; ".join(reversed(results))
    return Prepared(kind="tools", right=f"According to the tools, {text}", wrong="The tools said nothing of use.")


def _picture(conversation: Conversation) -> Prepared | None:
    last = conversation.request.messages[-1] if conversation.request.messages else None
    images = [part for part in last.parts if isinstance(part, ImagePart)] if last is not None else []
    if not images:
        return None
    seen = "; ".join(describe_image(image) for image in images)
    return Prepared(kind="vision", right=f"I see {seen}.", wrong="I see a landscape with a lake.")


def _sum(conversation: Conversation) -> Prepared | None:
    found = arithmetic.find(conversation.last_user)
    if found is None:
        return None
    wrong = arithmetic.number(found.value + Fraction(10 if abs(found.value) >= 100 else 1))  # noqa: PLR2004
    return Prepared(
        kind="arithmetic",
        right=f"{found.expression} = {found.result}",
        wrong=f"{found.expression} = {wrong}",
    )


def _counted(conversation: Conversation) -> Prepared | None:
    match = _COUNT.search(conversation.last_user)
    if match is None:
        return None
    upto = min(int(match[1] or match[2]), _MAX_WORDS)
    numbers = " ".join(str(place) for place in islice(count(1), upto))
    return Prepared(kind="count", right=numbers, wrong=numbers[:-1])


def _words(conversation: Conversation) -> Prepared | None:
    match = _WORD_COUNT.search(conversation.last_user)
    if match is None:
        return None
    words = min(int(match[1] or match[2]), _MAX_WORDS)
    text = " ".join(islice(cycle(_FILLER), words))
    return Prepared(kind="words", right=text, wrong=text[: len(text) // 2])


def _echo(conversation: Conversation, model: str) -> Prepared:
    asked = " ".join(conversation.last_user.split())
    short = asked if len(asked) <= 60 else asked[:59] + "…"  # noqa: PLR2004
    if _JAPANESE.search(asked):
        right = f"ラボの {model} です。「{short}」というご質問を受け取りました。"
    else:
        right = f"This is {model} of the lab. You asked: “{short}”."
    return Prepared(kind="other", right=right, wrong=right)
