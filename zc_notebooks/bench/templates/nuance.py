"""What a speaker of the language hears at once: clock times said in words, and who did something by how it is said."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random
from typing import Final

from zc_notebooks.bench.extract import Language
from zc_notebooks.bench.graders import Exact, Moment, Time
from zc_notebooks.bench.templates.calendar_rules import DAYS_JA
from zc_notebooks.bench.templates.made import Made, made

_HOURS: Final = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_VERBS: Final = (
    ("見せた資料をご覧になり", "お持ちの資料を拝見し"),
    ("申し上げた話をお聞きになり", "なさったお話を伺い"),
    ("用意したお茶を召し上がり", "くださったお菓子をいただき"),
)
"""Said of the other, said of oneself."""


def late_clock(random: Random, language: Language, level: int) -> Made:
    """A time as a timetable or a person says it; what a clock shows then."""
    if language == "ja":
        return _late_clock_ja(random, level)
    hour, before, late = random.randrange(2, 12), random.choice((5, 10, 20, 25)), random.randrange(2)
    name, half = _HOURS[hour - 1], ("in the afternoon or evening", "in the morning")[1 - late]
    base = hour + 12 * late
    phrases = {
        1: (f"quarter to {name}", base * 60 - 15, base * 60 + 15),
        2: (f"half {name}, as the British say it", base * 60 + 30, base * 60 - 30),
        3: (f"{before} minutes before half past {name}", base * 60 + 30 - before, base * 60 + 30 + before),
    }
    phrase, right, slip = phrases[level]
    prompt = f'"Be there at {phrase}", she wrote, and meant a time {half}. What does a clock show then?'
    hours, minutes = divmod(right, 60)
    halves = ("am", "pm") if hours < 12 else ("pm", "am")  # noqa: PLR2004
    short = f"{(hours - 1) % 12 + 1}:{minutes:02}"
    wordings = [f"{hours:02}:{minutes:02}", f"{short} {halves[0]}", short]
    wrong = [f"{slip // 60:02}:{slip % 60:02}", f"{short} {halves[1]}", f"{(hours + 1) % 24:02}:{minutes:02}"]
    return made(prompt, Time(value=wordings[0], twelve=True), "en", wordings, wrong)


def _late_clock_ja(random: Random, level: int) -> Made:
    day = date(2026, random.randrange(1, 13), random.randrange(1, 28))
    hour, minute = random.randrange(24, 28), random.choice((10, 20, 30, 40))
    length = (0, 50, 95)[level - 1]
    end = hour * 60 + minute + length
    told = f"{day.month}月{day.day}日（{DAYS_JA[day.weekday()]}）の{hour}時{minute}分から"
    told += f"{length}分間" if length else ""
    asked = "終わる" if length else "始まる"
    prompt = f"番組表に「{told}放送」とあります。放送が{asked}のは、時計では何月何日の何時何分ですか。"
    on = day + timedelta(end // 1440)
    hours, minutes = divmod(end % 1440, 60)
    clock, date_ = f"{hours}時{minutes}分", f"{on.month}月{on.day}日"
    right = [f"{date_}{clock}", f"{date_}の午前{clock}", f"{date_}（{DAYS_JA[on.weekday()]}） {hours:02}:{minutes:02}"]
    right += [f"{on.isoformat()}T{hours:02}:{minutes:02}", f"{date_} {hours}:{minutes:02}"]
    wrong = [
        f"{day.month}月{day.day}日{clock}",
        f"{date_}午後{clock}",
        f"{day.month}月{day.day}日{hours + 24}時{minutes}分",
    ]
    value = datetime(on.year, on.month, on.day, hours, minutes)  # noqa: DTZ001 (what a clock shows)
    return made(prompt, Moment(value=value, month_first=True), "ja", right, wrong)


def who_did_it(random: Random, language: Language, level: int) -> Made:
    """Japanese: the verb's politeness says who did it. English: each pronoun and passive says who.

    The higher the level, the more sentences go by before the question.
    """
    if language == "ja":
        return _who_ja(random, level)
    one, two = random.sample(("Priya", "Tom", "Lena", "Omar", "Ruth", "Sven"), 2)
    done, thing = random.choice(
        (("checked", "figures"), ("painted", "gate"), ("translated", "letter"), ("packed", "crates"))
    )
    verb = {"checked": "check", "painted": "paint", "translated": "translate", "packed": "pack"}[done]
    asked = random.randrange(2)
    lead = f"{one} had {two} {verb} the {thing}."
    more = (
        "",
        f" The news was then sent out by {one}.",
        f" Had {two} not been ill, it would have been sent by both.",
    )
    questions = ((f"Who {done} the {thing}?", two, one), (f"Who wanted the {thing} {done}?", one, two))
    question, right, wrong = questions[asked]
    prompt = f"{lead}{''.join(more[:level])} {question} Answer with one name."
    return made(
        prompt,
        Exact(accept=(right,)),
        "en",
        [right, f"{right}.", right.upper()],
        [wrong, f"{one} and {two}", "unknown"],
    )


def _who_ja(random: Random, level: int) -> Made:
    boss = random.choice(("部長", "先生", "社長"))
    verbs = random.sample(_VERBS, level)
    kinds = [random.randrange(2) for _ in verbs]
    asked = random.randrange(level)
    told = "、".join(verbs[place][kinds[place]] for place in range(level))
    right, wrong = (boss, "私") if kinds[asked] == 0 else ("私", boss)
    number = "" if level == 1 else f"{asked + 1}番目の"
    prompt = (
        f"私は{boss}に会った日の日記に「{told}、帰路についた」と書きました（主語は省いてあります）。"
        f"{number}動作「{verbs[asked][kinds[asked]]}」をしたのは、{boss}と私のどちらですか。一語で答えてください。"
    )
    accept = [right, f"{right}です", f"{right}さん"]
    accept += ["わたし", "書き手", "筆者"] if right == "私" else []
    return made(
        prompt,
        Exact(accept=tuple(accept)),
        "ja",
        [accept[0], accept[1], f"「{right}」"],
        [wrong, f"{wrong}です", f"{boss}と私の両方"],
    )
