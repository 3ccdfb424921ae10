"""An order that several statements leave only one way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from random import Random
from typing import Final

from zc_notebooks.bench.extract import Language
from zc_notebooks.bench.graders import Items
from zc_notebooks.bench.templates.made import Made, made

_NAMES: Final = {
    "ja": ("佐藤", "鈴木", "高橋", "田中", "伊藤", "渡辺"),
    "en": ("Alma", "Boris", "Chen", "Dora", "Emil", "Farah"),
}
Order = tuple[str, ...]
Clue = tuple[str, Callable[[Order], bool]]


def _clue(random: Random, order: Order, language: Language) -> Clue:
    """A true statement about ``order`` that tells little."""
    one, two = random.sample(order, 2)
    early, late = sorted((one, two), key=order.index)
    japanese = language == "ja"
    gap = order.index(late) - order.index(early)
    choice = random.randrange(3)
    if choice == 0:
        text = f"{early}さんは{late}さんより先です" if japanese else f"{early} comes before {late}"
        return text, lambda other: other.index(early) < other.index(late)
    if choice == 1:
        between = gap - 1
        text = (
            f"{one}さんと{two}さんの間にはちょうど{between}人います"
            if japanese
            else f"exactly {between} people stand between {one} and {two}"
        )
        return text, lambda other: abs(other.index(one) - other.index(two)) == gap
    place = order.index(two)
    text = f"{one}さんは{place + 1}番目ではありません" if japanese else f"{one} is not number {place + 1}"
    return text, lambda other: other.index(one) != place


def order_of_turns(random: Random, language: Language, level: int) -> Made:
    """Clues are added until one order is left; the near misses break exactly one of them."""
    order: Order = tuple(random.sample(_NAMES[language], level + 3))
    left = list(permutations(order))
    clues: list[Clue] = []
    while len(left) > 1:
        clue = _clue(random, order, language)
        kept = [other for other in left if clue[1](other)]
        if len(kept) < len(left):
            clues.append(clue)
            left = kept
    wrong = [other for other in permutations(order) if sum(not holds(other) for _, holds in clues) == 1][:3]
    told = "\n".join(f"- {text}" for text, _ in clues)
    names = sorted(order)
    if language == "ja":
        people = f"{'、'.join(names)}の{len(order)}人"
        prompt = f"{people}が一列に並びます。次の条件から、先頭からの順番を求めてください。\n{told}"
        wordings = ["、".join(order), ", ".join(order), "・".join(order)]
        slips = ["、".join(other) for other in wrong]
    else:
        prompt = f"{', '.join(names)} stand in a row. Work out their order from the front.\n{told}"
        wordings = [", ".join(order), "; ".join(order), f"{', '.join(order[:-1])} and {order[-1]}"]
        slips = [", ".join(other) for other in wrong]
    grader = Items(items=tuple((name, f"{name}さん") for name in order), ordered=True)
    swapped = (order[1], order[0], *order[2:])
    slips.append(("、" if language == "ja" else ", ").join(swapped))
    return made(prompt, grader, language, wordings, list(dict.fromkeys(slips)))
