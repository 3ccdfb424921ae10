"""Graders of values and texts: what a person takes for the same is the same, and nothing else."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zc_notebooks.bench.graders import (
    Bounds,
    Case,
    Code,
    Constraints,
    Date,
    Exact,
    Grader,
    Items,
    Json,
    Moment,
    Number,
    Time,
)
from zc_notebooks.bench.graders.code import same
from zc_notebooks.bench.graders.instants import day, minutes
from zc_notebooks.bench.graders.numerals import kanji_number, number
from zc_notebooks.bench.text_forms import contains, contains_form, has_digit, length, sentences, words

YEN = ("円", "yen", "¥")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1234.5", "1234.5"),
        ("1,234.5", "1234.5"),
        ("１，２３４．５", "1234.5"),
        ("1 234", "1234"),
        ("¥1,234", "1234"),
        ("1,234円", "1234"),
        ("1,234 円。", "1234"),
        ("「1234」", "1234"),
        ("1,234円です。", "1234"),
        ("-3", "-3"),
        ("−3", "-3"),
        ("▲3円", "-3"),
        ("マイナス3", "-3"),
        ("¥-3", "-3"),
        ("+3", "3"),
        (".5", "0.5"),
        ("1,23", None),
        ("12,34,567", None),
        ("12.5.1", None),
        ("12 or 13", None),
        ("about 12", None),
        ("12/13", None),
        ("12 dollars", None),
        ("円", None),
        ("三千", None),
        ("1e3", None),
        ("", None),
        ("NaN", None),
    ],
)
def test_one_number_and_nothing_else(text: str, value: str | None) -> None:
    """Width, separators, sign and unit are spelling; two numbers or a hedge are no number."""
    assert number(text, YEN) == (None if value is None else Decimal(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("11.7\\%", "11.7"),
        ("11.7\\,\\%", "11.7"),
        ("\\approx 11.7\\text{ percent}", "11.7"),
        ("11.7 per cent", "11.7"),
        ("11.7パーセント", "11.7"),
        ("$11.7$ %", "11.7"),
        ("$11.7\\%$", "11.7"),
        ("x_{2} = 11.7", "11.7"),
        ("x ≈ 11.7%", "11.7"),
        ("約11.7%", "11.7"),
        ("≈ 11.7", "11.7"),
        ("about 11.7%", "11.7"),
        ("approximately -11.7", "-11.7"),
        ("x = 11.7%", "11.7"),
        ("x = 10 = 11.7", None),
        ("rate x = 11.7", None),
        ("about 11.7 or 12", None),
        ("about about 11.7", None),
        ("not 11.7", None),
        ("11.7 hours", None),
    ],
)
def test_a_rounded_number_in_a_formula_or_with_about(text: str, value: str | None) -> None:
    """Where the task rounds, "about" is no hedge; a unit has several spellings."""
    assert number(text, ("%",), about=True) == (None if value is None else Decimal(value))


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        ("時速約12.5km", ("km/h", "km"), "12.5"),
        ("毎時12.5キロメートル", ("km/h", "キロメートル"), "12.5"),
        ("12.5 km per hour", ("km/h",), "12.5"),
        ("12.5 mph", ("km/h", "km"), None),
        ("9,004円（税込）", ("円", "(税込)"), "9004"),
        ("税込9,004円", ("円", "税込"), "9004"),
        ("9,004円（税抜）", ("円", "(税込)"), None),
        ("$9{,}004$ yen", ("円",), "9004"),
        ("9,004 dollars", ("円",), None),
    ],
)
def test_words_beside_a_number(text: str, units: tuple[str, ...], value: str | None) -> None:
    """On either side of it; another unit or another base makes it no answer."""
    assert number(text, units, about=True) == (None if value is None else Decimal(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("三千二百五十", 3250),
        ("十", 10),
        ("二十三", 23),
        ("百一", 101),
        ("二〇二六", 2026),
        ("12万3千", 123000),
        ("1万2345", 12345),
        ("三億二千万", 320000000),
        ("一億", 100000000),
        ("1.5万", 15000),
        ("九千四", 9004),
        ("〇", 0),
        ("万", None),
        ("万億", None),
        ("一万一億", None),
        ("十百", None),
        ("三千か四千", None),
        ("五五十", None),
        ("", None),
    ],
)
def test_kanji_numbers(text: str, value: int | None) -> None:
    """Places in falling order, digits in a row, and both mixed."""
    assert kanji_number(text) == (None if value is None else Decimal(value))


KANJI = "〇一二三四五六七八九"


def in_kanji(value: int) -> str:
    """A number as it is written in Japanese (an independent writer for the reader under test)."""
    if value == 0:
        return "〇"
    text = ""
    for size, name in ((10**8, "億"), (10**4, "万"), (1, "")):
        part, value = divmod(value, size)
        if part:
            for place, sign in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
                digit, part = divmod(part, place)
                if digit:
                    text += ("" if digit == 1 and sign else KANJI[digit]) + sign
            text += name
    return text


@given(st.integers(0, 10**12 - 1))
def test_every_number_reads_back_in_every_spelling(value: int) -> None:
    """Kanji, full width, separators."""
    assert number(in_kanji(value), kanji=True) == value
    assert number(f"{value:,}円", YEN) == value
    assert number(str(value).translate(str.maketrans("0123456789", "０１２３４５６７８９"))) == value


@example("0 000万")
@given(st.text(alphabet="0123456789,.一十百千万億円- "))
def test_no_text_breaks_the_readers(text: str) -> None:
    """Anything is a number or none; also a date, a time."""
    number(text, YEN, kanji=True)
    day(text)
    minutes(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-04-05",
        "2026/4/5",
        "2026.4.5",
        "2026年4月5日",
        "２０２６年４月５日（日）",
        "2026年4月5日 日曜日",
        "2026年4月5日、日曜日",
        "2026. 4. 5",
        "2026 April 5",
        "5-Apr-2026",
        "on April 5, 2026",
        "令和8年4月5日",
        "二〇二六年四月五日",
        "4月5日",
        "April 5, 2026",
        "Apr. 5 2026",
        "5 April 2026",
        "the 5th of April, 2026",
        "Sunday, April 5, 2026",
        "April 5, 2026 (Sunday)",
        "Sun, 5 Apr 2026",
        "April 5",
        "「4月5日」。",
    ],
)
def test_one_day_in_many_spellings(text: str) -> None:
    """Japanese, English, ISO, era years, weekdays that agree."""
    assert day(text, 2026) == date(2026, 4, 5)


@pytest.mark.parametrize(
    "text",
    [
        "04/05/2026",
        "2026-02-30",
        "2026年4月5日（月）",
        "Monday, April 5, 2026",
        "4月5日か6日",
        "26年4月5日",
        "20260405",
        "April 2026",
        "4/5",
        "04.05.2026",
        "5-4-2026",
        "4.25",
        "13/13/2026",
        "31/11/2026",
        "5",
        "",
    ],
)
def test_what_is_no_day(text: str) -> None:
    """What half of the world reads otherwise, what the calendar has not, what contradicts itself."""
    assert day(text, 2026) is None


@pytest.mark.parametrize(
    ("text", "month_first", "value"),
    [
        ("11/20/2026", False, date(2026, 11, 20)),
        ("20/11/2026 (Friday)", False, date(2026, 11, 20)),
        ("20.11.2026", False, date(2026, 11, 20)),
        ("20-11-2026", False, date(2026, 11, 20)),
        ("11/20", False, date(2026, 11, 20)),
        ("5/5/2026", False, date(2026, 5, 5)),
        ("8／10", True, date(2026, 8, 10)),
        ("8/10（月）", True, date(2026, 8, 10)),
        ("8/10（火）", True, None),
        ("20/11", True, None),
        ("8/10/2026", True, None),
    ],
)
def test_two_numbers_are_a_day_when_one_reading_is_left(text: str, month_first: bool, value: date | None) -> None:
    """A day over 12 says which is which; Japanese puts the month first. Otherwise they are no day: unparsed."""
    assert day(text, 2026, month_first=month_first) == value


@given(st.dates(date(2019, 6, 1), date(2099, 12, 31)))
def test_every_day_reads_back(value: date) -> None:
    """By its spellings with a year."""
    weekday = "月火水木金土日"[value.weekday()]
    for text in (
        value.isoformat(),
        f"{value.year}年{value.month}月{value.day}日（{weekday}）",
        f"令和{value.year - 2018}年{value.month}月{value.day}日",
        f"{value:%A}, {value:%B} {value.day}, {value.year}",
        f"{value.day} {value:%b} {value.year}",
        f"{in_kanji(value.month)}月{in_kanji(value.day)}日",
    ):
        assert day(text, value.year) == value


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("13:05", "13:05"),
        ("1:05 pm", "13:05"),
        ("1:05 p.m.", "13:05"),
        ("午後1時5分", "13:05"),
        ("午後1:05", "13:05"),
        ("13時5分", "13:05"),
        ("十三時五分", "13:05"),
        ("午前0時半", "00:30"),
        ("25時", "01:00"),
        ("12 pm", "12:00"),
        ("12 am", "00:00"),
        ("noon", "12:00"),
        ("正午", "12:00"),
        ("午前9時", "09:00"),
        ("7.10pm", "19:10"),
        ("19.10", "19:10"),
        ("7:10 in the evening", "19:10"),
        ("7:10 in the morning", "07:10"),
        ("2 in the afternoon", "14:00"),
        ("12 at night", "00:00"),
        ("2 at night", "02:00"),
        ("深夜0時50分", "00:50"),
        ("深夜24時50分", "00:50"),
        ("夜12時", "00:00"),
        ("夜の7時10分", "19:10"),
        ("夕方5時", "17:00"),
        ("朝7時", "07:00"),
        ("19:10 in the evening", "19:10"),
        ("19:10 in the morning", None),
        ("午前7時 pm", None),
        ("深夜13時", None),
        ("7.1", None),
        ("9", None),
        ("at 7:10 pm", "19:10"),
        ("19:10 (7:10 pm)", "19:10"),
        ("7:10 (19:10)", "19:10"),
        ("9:45（午前）", "09:45"),
        ("19:10:00", "19:10"),
        ("19:10 (7:30 pm)", None),
        ("7:10 pm (7:10 am)", None),
        ("13:65", None),
        ("30:00", None),
        ("13 pm", None),
        ("9時か10時", None),
        ("9:5", None),
    ],
)
def test_times_of_day(text: str, clock: str | None) -> None:
    """Both languages, both clocks, the long day of a timetable."""
    wanted = None if clock is None else int(clock[:2]) * 60 + int(clock[3:])
    assert minutes(text) == wanted


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("がぎぐ", 3),
        ("か\u3099き\u3099", 2),
        ("ｶﾞ", 1),
        ("👨‍👩‍👧と🇯🇵", 3),
        ("葛\U000e0100城", 2),
        ("a\u200bb", 2),
        ("あ\nい", 2),
        (" あ い ", 3),
        ("e\u0301", 1),
    ],
)
def test_lengths_as_a_person_counts(text: str, count: int) -> None:
    """Grapheme clusters; what is not seen and line breaks are not counted."""
    assert length(text) == count


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("It is incorrect.", "correct", False),
        ("It is CORRECT.", "correct", True),
        ("リンゴを食べた", "りんご", True),
        ("ﾘﾝｺﾞを食べた", "リンゴ", True),
        ("り\u200bんご", "りんご", True),
        ("room 18", "8", False),
        ("room 8", "8", True),
        ("一〇日", "十日", False),
        ("a.b", "a?b", False),
    ],
)
def test_words_in_a_text(text: str, word: str, found: bool) -> None:
    """Latin words stand as words; kana, width, case and the invisible make no difference."""
    assert contains(text, word) is found


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("cracks", "crack", True),
        ("CRACKING", "crack", True),
        ("since Mondays", "Monday", True),
        ("Monday's", "Monday", True),
        ("closing", "close", True),
        ("closed", "close", True),
        ("wetting", "wet", True),
        ("carries", "carry", True),
        ("it was written", "write", True),
        ("crackers", "crack", False),
        ("a closer look", "close", False),
        ("disclosed", "close", False),
        ("Maying", "ma", False),
        ("ネコ", "ねこ", True),
    ],
)
def test_the_other_forms_of_a_word(text: str, word: str, found: bool) -> None:
    """Inflections are the word; another word made of it is not."""
    assert contains_form(text, word) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [("18h", True), ("９", True), ("٦", True), ("⑨", True), ("m²", True), ("nine", False), ("九", False)],
)
def test_digits_of_every_script(text: str, found: bool) -> None:
    """Also inside a word; a number in words has none."""
    assert has_digit(text) is found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("We open at nine a.m. on weekdays.", 1),
        ("We serve you until six p.m.", 1),
        ("From nine a.m. Monday to Friday.", 1),
        ("We come at nine a.m. You leave.", 2),
        ("Mr. Hall and Dr. Moss wait.", 1),
        ("Fruit, e.g. plums, is in. Come.", 2),
        ("Pens etc. are here.", 1),
        ("I am. You are.", 2),
    ],
)
def test_a_shortened_word_ends_no_sentence(text: str, count: int) -> None:
    """Titles never; a.m. only where another sentence begins."""
    assert sentences(text) == count


def test_words_and_sentences() -> None:
    """A hyphenated word is one; a decimal point ends no sentence."""
    assert words("A well-kept – secret, 3 of them") == 6
    assert [sentences(text) for text in ("一つ。二つ！", "One. Two", "It is 3.5 m.", "Really?!", "")] == [2, 2, 1, 1, 0]


GRADED: list[tuple[Grader, str, str]] = [
    (Exact(accept=("断り",)), "「断り」。", "correct"),
    (Exact(accept=("Bad",)), "bad", "correct"),
    (Exact(accept=("Bad",), case=True), "bad", "wrong"),
    (Exact(accept=("correct",)), "incorrect", "wrong"),
    (Number(value=Decimal("12.5")), "12.50", "correct"),
    (Number(value=Decimal("12.5")), "12.54", "wrong"),
    (Number(value=Decimal("12.5"), tolerance=Decimal("0.05")), "12.55", "correct"),
    (Number(value=Decimal("12.5")), "12.5 or 13", "unparsed"),
    (Number(value=Decimal(3000), kanji=True), "三千", "correct"),
    (Number(value=Decimal(3000)), "三千", "unparsed"),
    (Date(value=date(2026, 4, 5)), "4月5日", "correct"),
    (Date(value=date(2026, 4, 5), year_optional=False), "4月5日", "unparsed"),
    (Date(value=date(2026, 4, 5)), "2027-04-05", "wrong"),
    (Time(value="09:45"), "午前9時45分", "correct"),
    (Time(value="09:45"), "21:45", "wrong"),
    (Time(value="19:10"), "7:10", "wrong"),
    (Time(value="19:10", twelve=True), "7:10", "correct"),
    (Time(value="19:10", twelve=True), "07:10", "wrong"),
    (Time(value="19:10", twelve=True), "7:10 am", "wrong"),
    (Time(value="00:10", twelve=True), "12:10", "correct"),
    (Time(value="09:45"), "soon", "unparsed"),
    (Moment(value=datetime(2026, 5, 3, 0, 50)), "5月3日（日）の午前0時50分", "correct"),  # noqa: DTZ001
    (Moment(value=datetime(2026, 5, 3, 0, 50)), "May 3, 2026 at 12:50 am", "correct"),  # noqa: DTZ001
    (Moment(value=datetime(2026, 5, 3, 0, 50)), "2026-05-03T00:50", "correct"),  # noqa: DTZ001
    (Moment(value=datetime(2026, 5, 3, 0, 50)), "5月3日、午前0時50分", "correct"),  # noqa: DTZ001
    (Moment(value=datetime(2026, 5, 3, 0, 50)), "2026-05-03T00:50:00", "correct"),  # noqa: DTZ001
    (Moment(value=datetime(2026, 5, 3, 0, 50)), "5月2日24時50分", "wrong"),  # noqa: DTZ001
    (Moment(value=datetime(2026, 5, 3, 0, 50)), "5月3日", "unparsed"),  # noqa: DTZ001
    (Items(items=(("a",), ("b", "B君"))), "b, a", "correct"),
    (Items(items=(("a",), ("b", "B君"))), "[a、B君]", "correct"),
    (Items(items=(("a",), ("b",))), "a and b", "correct"),
    (Items(items=(("a",), ("b",))), "a", "wrong"),
    (Items(items=(("a",), ("b",))), "a, b, a", "wrong"),
    (Items(items=(("a",), ("b",))), "a, b, c", "wrong"),
    (Items(items=(("a",), ("b",)), ordered=True), "b, a", "wrong"),
    (Items(items=(("a",), ("b",)), ordered=True), "a b", "correct"),
    (Items(items=(("a",), ("b",)), ordered=True), "ab", "correct"),
    (Items(items=(("a",), ("b",)), ordered=True), "ba", "wrong"),
    (Items(items=(("a",), ("b",)), ordered=True), "b a", "wrong"),
    (Items(items=(("a",), ("b",)), ordered=True), "aの次にb", "wrong"),
    (Items(items=(("a",), ("b",)), ordered=True), "a→bの順", "correct"),
    (Items(items=(("a",), ("b",)), ordered=True), "①a ②b", "correct"),
    (Items(items=(("a",), ("b",)), ordered=True), "2番目a、1番目b", "wrong"),
    (Items(items=(("al",), ("bo",)), ordered=True), "al-bo", "correct"),
    (Items(items=(("al",), ("bo",))), "al-bo", "wrong"),
    (Items(items=(("al",), ("bo",))), "albo", "wrong"),
    (Items(items=(("al",), ("bo",))), "1. al, 2. bo", "correct"),
    (Items(items=(("al",), ("bo",))), "2. al, 1. bo", "wrong"),
    (Items(items=(("al",), ("bo",))), "`al`, `bo`", "correct"),
    (Items(items=(("al",), ("bo",))), "alさんと、bo氏", "correct"),
    (Items(items=(("al",), ("bo",))), "al or bo", "wrong"),
    (Items(items=(("a",), ("b",))), "a & b", "correct"),
    (Items(items=(("a",), ("b",))), "both a and b", "correct"),
    (Items(items=(("a",), ("b",))), "both", "wrong"),
    (Items(items=(("a",), ("b",))), "- a\n- b", "correct"),
    (Items(items=(("a",), ("b",))), "1. a\n2. b", "correct"),
    (Items(items=(("a",), ("b",))), "2. a\n1. b", "wrong"),
    (Items(items=(("a",), ("b",))), "aとbの2人", "correct"),
    (Items(items=(("a",), ("b",))), "aとbの3人", "wrong"),
    (Items(items=(("さとう",), ("もと",))), "さとうともと", "wrong"),
    (Items(items=(("さとう",), ("もと",))), "さとう、もと", "correct"),
    (Items(items=(("a",), ("b",)), remarks=(("x", "y"), ("z",))), "a (x, y) and b (z)", "correct"),
    (Items(items=(("a",), ("b",)), remarks=(("x", "y"), ("z",))), "a (z) and b", "wrong"),
    (Items(items=(("a",), ("b",)), remarks=(("x", "y"), ("z",))), "a (not) and b (z)", "wrong"),
    (Items(items=(("a",), ("b",))), "a > b", "wrong"),
    (Items(items=(("a",), ("b",)), ordered=True), "a > b", "correct"),
    (Items(items=(("a",), ("b",)), ordered=True), "a→b", "correct"),
    (Items(items=(("a",), ("b",)), ordered=True), "a-b", "correct"),
    (Items(items=(("x-ray",), ("b",)), ordered=True), "x-ray, b", "correct"),
    (Items(items=(("a",), ("b",))), "a-b", "wrong"),
    (Items(items=(("a",), ("b",)), ordered=True), "a, then b", "correct"),
    (Items(items=(("a",), ("b",)), ordered=True), "a < b", "wrong"),
    (Exact(accept=("0201",), ignored=" ()-"), "(02) 0-1", "correct"),
    (Exact(accept=("0201",), ignored=" ()-"), "(02) 0-2", "wrong"),
    (Constraints(digits=False), "from 18h on", "wrong"),
    (Constraints(forbidden=("crack",)), "cracks", "wrong"),
    (Items(items=()), "なし", "correct"),
    (Items(items=()), "a", "wrong"),
    (Constraints(characters=Bounds(least=2, most=3)), "「がぎぐ」", "correct"),
    (Constraints(characters=Bounds(least=2, most=3)), "がぎぐげ", "wrong"),
    (Constraints(required=(("x", "y"),), forbidden=("z",)), "Y and more", "correct"),
    (Constraints(required=(("x", "y"),), forbidden=("z",)), "y, Z", "wrong"),
    (Constraints(starts_with=("dear",), ends_with=("敬具",)), "Dear 敬具。", "correct"),
    (Constraints(starts_with=("dear",)), "Oh dear", "wrong"),
    (Constraints(ends_with=("敬具",)), "敬具 P.S.", "wrong"),
    (Json(value={"a": 1}), '{"a": 1.0}', "correct"),
    (Json(value={"a": 1}), '{"a": 1' + "0" * 4000 + "}", "wrong"),
    (Json(value={"a": 1}), '{"a": 1e999}', "wrong"),
    (Json(value={"a": 1}), "[" * 900 + "]" * 900, "wrong"),
    (Constraints(characters=Bounds(least=10, most=10)), "「鍵」と「箱」です。", "correct"),
    (Json(value={"a": 1}), '{"a": true}', "wrong"),
    (Json(value={"a": 1}), '{"a": 1, "b": 2}', "wrong"),
    (Json(value=[1, 2]), "[2, 1]", "wrong"),
    (Json(value=[1, 2], unordered=True), "[2, 1]", "correct"),
    (Json(schema={"type": "object", "required": ["a"]}), "{}", "wrong"),
    (Json(schema={"type": "object"}), "{}", "correct"),
    (Json(), "nonsense", "unparsed"),
]


@pytest.mark.parametrize(("grader", "answer", "mark"), GRADED)
def test_what_a_grader_says(grader: Grader, answer: str, mark: str) -> None:
    """Right, wrong and unparsed are three things; each but the first has a sentence, without the answer in it."""
    grade = grader.mark(answer)
    assert grade.mark == mark
    assert bool(grade.why) == (mark != "correct")


@pytest.mark.parametrize(
    "piece",
    [
        ",",
        " ",
        "1",
        "[",
        "万",
        "月",
        "1,",
        "and ",
        " と ",
        "a.",
        '"',
        "9月",
        "ー",
        "(",
        "a (",
        "- a\n",
        "と",
        "→",
        "a.m. ",
        "mr.",
        "x=",
        "1/",
    ],
)
def test_a_long_hostile_answer_is_graded_soon(piece: str) -> None:
    """A hundred thousand signs that a careless pattern tries from every place."""
    for grader in {type(grader): grader for grader, _, _ in GRADED}.values():
        began = time.process_time()
        assert grader.mark(piece * 100_000).mark in ("wrong", "unparsed")
        assert time.process_time() - began < 2


@given(st.text())
def test_no_answer_makes_a_grader_raise(answer: str) -> None:
    """Whatever a model says has a grade."""
    for grader in {type(grader): grader for grader, _, _ in GRADED}.values():
        assert grader.mark(answer).mark in ("correct", "wrong", "unparsed")


CODE = Code(
    function="f",
    cases=(Case(args=(2,), gives=[1, 1]), Case(args=(0,), raises="ValueError")),
    unchanged=True,
    seconds=5.0,
)


@pytest.mark.parametrize(
    ("code", "mark", "why"),
    [
        ("def f(n):\n if n < 1: raise ValueError\n return (1,) * n", "correct", ""),
        ("class Own(ValueError): pass\ndef f(n):\n if n < 1: raise Own\n return [1] * n", "correct", ""),
        ("def f(n): return [1] * n", "wrong", "case 2 of 2: did not raise ValueError"),
        ("def f(n): return 1", "wrong", "case 1 of 2: gave another value"),
        ("class Secret(KeyError): pass\ndef f(n): raise Secret", "wrong", "case 1 of 2: raised KeyError"),
        ("def g(n): return 1", "wrong", "the code did not run, or defines no such function"),
        ("def f(n):\n import os; os._exit(0)", "wrong", "its process ended before it had answered"),
        ("def f(n):\n import socket; socket.socket()", "wrong", "it reached for something that is not allowed"),
        ("def f(n):\n while True: print('x' * 99999)", "wrong", "it printed too much"),
        ("I cannot do that.", "unparsed", "the block is not Python"),
        ("import re\ndef f(n):\n if n < 1: raise ValueError('\\d')\n return [1] * n", "correct", ""),
    ],
)
def test_code_is_judged_by_what_it_gives(code: str, mark: str, why: str) -> None:
    """Values, exceptions by class; the reason names no word of the answer."""
    grade = CODE.mark(code)
    assert (grade.mark, grade.why) == (mark, why)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, 0, False),
        (0.1 + 0.2, 0.3, True),
        pytest.param(10**400, 1.0, False, id="beyond every float"),
        ([1, [2]], (1, (2,)), True),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"b": 1}, False),
        ("1", 1, False),
        ({"__type__": "E"}, 1, False),
    ],
)
def test_values_are_compared_on_our_side(one: object, other: object, equal: bool) -> None:
    """By type and value, floats within a billionth."""
    assert same(one, other) is equal
    assert same(other, one) is equal


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(1, 400))
def test_another_day_is_wrong(value: date, days: int) -> None:
    """Not one day off."""
    grader = Date(value=value)
    assert grader.mark(value.isoformat()).mark == "correct"
    assert grader.mark((value + timedelta(days)).isoformat()).mark == "wrong"
