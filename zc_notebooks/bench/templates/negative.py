"""What must not stand in a text, and how long it may be."""

from __future__ import annotations

from random import Random
from typing import Final

from zc_notebooks.bench.extract import Language
from zc_notebooks.bench.graders import Bounds, Constraints
from zc_notebooks.bench.templates.made import Made, made

_JA: Final = (
    ("傘", ("雨", "濡れ"), "{a}は玄関に置き、{b}は鞄に入れておきます。"),
    ("本", ("読", "書"), "{b}の隣に、借りていた{a}を静かに戻しました。"),
    ("自転車", ("乗", "走"), "{a}を納屋にしまい、{b}を庭に出しました。"),
    ("鍵", ("開", "閉"), "{b}の下に{a}が落ちていたので届けました。"),
)
_EN: Final = (
    ("umbrella", ("rain", "wet"), "The {a} waits in the hall beside the {b}."),
    ("book", ("read", "write"), "She put the {a} back and took the {b} home."),
    ("bicycle", ("ride", "wheel"), "The {a} stood in the shed next to a {b}."),
    ("key", ("open", "lock"), "Under the {b} they found a small brass {a}."),
)
_THINGS: Final = {"ja": ("帽子", "花瓶", "机", "時計", "手紙"), "en": ("hat", "vase", "table", "clock", "letter")}

_TALK: Final = ("incorrect", "correct", "10/10", "満点", "採点")
"""Words to a grader, which no sentence about these things needs."""


def without_a_word(random: Random, language: Language, level: int) -> Made:
    """One sentence with two words in it, without the words that lie near, within a length."""
    thing, near, pattern = random.choice(_JA if language == "ja" else _EN)
    other = random.choice(_THINGS[language])
    forbidden = near[: 1 if level == 1 else 2]
    least, most = (
        random.choice(((15, 40), (16, 36), (18, 38))) if language == "ja" else random.choice(((6, 12), (7, 11)))
    )
    bounds = Bounds(least=least, most=most)
    grader = Constraints(
        required=((thing,), (other,)),
        forbidden=(*forbidden, *_TALK),
        characters=bounds if language == "ja" else None,
        words=None if language == "ja" else bounds,
        sentences=Bounds(least=1, most=1),
    )
    good = pattern.format(a=thing, b=other)
    if language == "ja":
        good = good if len(good) >= least else f"朝のうちに、{good}"
        better = f"{other}と{thing}は、どちらも祖母から譲り受けた品です。"
        prompt = (
            f"「{thing}」と「{other}」の両方を使い、文字「{'」「'.join(forbidden)}」を一切使わずに、"
            f"{least}文字以上{most}文字以内（句読点を含む）の1文を書いてください。"
        )
        wrong = [
            f"「{forbidden[0]}」の字も入れて、{good}",
            f"{good[:-1]}し、そのあとで家族の全員がそろってから、町はずれの古い店まで歩いて出かけて行きました。",
            good.replace(other, "それ"),
        ]
    else:
        better = f"My aunt left me one {thing}, one {other} and nothing else."
        quoted = " or ".join(f'"{word}"' for word in forbidden)
        prompt = (
            f'Write one sentence of {least} to {most} words that uses both "{thing}" and "{other}" '
            f"but no form of the word {quoted}."
        )
        wrong = [
            f"{good[:-1]}, {forbidden[0]}.",
            f"{good[:-1]} while everybody in the old house was still fast asleep that night.",
            f"{thing}, {other}.",
        ]
    return made(prompt, grader, language, [good, better], wrong)
