"""Several steps of arithmetic, to one decimal."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from random import Random

from zc_notebooks.bench.extract import Language
from zc_notebooks.bench.graders import Number
from zc_notebooks.bench.templates.made import Made, made


def one_decimal(value: Fraction) -> Decimal:
    """Rounded half up, as at school."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal("0.1"), ROUND_HALF_UP)


def _near(value: Fraction) -> bool:
    """Whether the second decimal is so near to a half that a careful person might round otherwise."""
    return abs(value * 10 % 1 - Fraction(1, 2)) < Fraction(1, 20)


def _wrong(right: Decimal, *slips: Fraction) -> list[str]:
    """Slips that give another number, filled up with numbers beside the right one."""
    values = [one_decimal(slip) for slip in slips]
    beside = [right + Decimal("0.1"), right - Decimal("0.1")]
    return [str(value) for value in dict.fromkeys((*values, *beside)) if value != right]


def discount_margin(random: Random, language: Language, level: int) -> Made:
    """A list price, one discount for each level, cost as a share of the list price; the margin on what was paid."""
    while True:
        price = random.randrange(20, 200) * 500
        cuts = [random.choice((5, 8, 10, 12, 15, 20)) for _ in range(level)]
        cost_rate = random.randrange(41, 58)
        paid = Fraction(price)
        for cut in cuts:
            paid *= Fraction(100 - cut, 100)
        cost = price * Fraction(cost_rate, 100)
        margin = (paid - cost) / paid * 100
        if not _near(margin) and margin > 1:
            break
    right = one_decimal(margin)
    slips = (
        (Fraction(price) * Fraction(100 - sum(cuts), 100) - cost)
        / (Fraction(price) * Fraction(100 - sum(cuts), 100))
        * 100,
        (paid - cost) / price * 100,
        (paid - cost) / cost * 100,
    )
    if language == "ja":
        chain = "、さらにその価格から".join(f"{cut}%引き" for cut in cuts)
        prompt = (
            f"定価{price:,}円の商品を、{chain}で販売しました。原価は定価の{cost_rate}%です。"
            "実際の販売価格に対する利益率は何%ですか。小数第1位まで（第2位を四捨五入）求めてください。"
        )
        wordings = [f"{right}%", str(right), f"{right}％", f"{right}パーセント"]
    else:
        chain = ", then a further ".join(f"{cut}% off" for cut in cuts)
        prompt = (
            f"An item with a list price of {price:,} yen was sold at {chain}. It cost {cost_rate}% of the list price. "
            "What is the profit as a percentage of the price actually paid? Round half up to one decimal."
        )
        wordings = [f"{right}%", str(right), f"{right} percent", f"{right} %"]
    grader = Number(value=right, units=("%",), about=True)
    steps = f"{price} × … = {float(paid):.2f}, {float(cost):.2f}"
    return made(prompt, grader, language, wordings, _wrong(right, *slips), steps)


def average_speed(random: Random, language: Language, level: int) -> Made:
    """Legs at different speeds and a rest; the mean speed over everything, to one decimal."""
    while True:
        legs = [(random.randrange(6, 60), random.choice((4, 5, 12, 15, 30, 40, 60))) for _ in range(level + 1)]
        rest = random.choice((10, 15, 20, 25, 40))
        way = Fraction(sum(length for length, _ in legs))
        moving = sum((Fraction(length, speed) for length, speed in legs), Fraction(0))
        speed = way / (moving + Fraction(rest, 60))
        if not _near(speed):
            break
    right = one_decimal(speed)
    slips = (way / moving, Fraction(sum(item for _, item in legs), len(legs)), way / (moving + rest))
    if language == "ja":
        told = "、".join(f"{length}kmを時速{item}km" for length, item in legs)
        prompt = (
            f"{told}で順に進み、途中で合計{rest}分休みました。休憩も含めた全体の平均の速さは時速何kmですか。"
            "小数第1位まで（第2位を四捨五入）求めてください。"
        )
        wordings = [f"時速{right}km", str(right), f"{right}km/h", f"{right}キロメートル毎時"]
    else:
        told = ", then ".join(f"{length} km at {item} km/h" for length, item in legs)
        prompt = (
            f"Somebody travels {told}, and rests for {rest} minutes in all. What is the mean speed in km/h over the "
            "whole time, rest included? Round half up to one decimal."
        )
        wordings = [f"{right} km/h", str(right), f"{right}km/h", f"{right} kilometres per hour"]
    units = ("km/h", "km", "キロメートル", "キロ", "平均")
    return made(
        prompt, Number(value=right, units=units, about=True), language, wordings, _wrong(right, *slips), f"{way} km"
    )
