"""Records read out of running text: prices with and without tax, and lines of a log."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec

from zc_notebooks.bench.extract import Language
from zc_notebooks.bench.graders import Json, Number
from zc_notebooks.bench.templates.made import Known, Made, made

WITH_TAX: Final = (
    *("税込", "(税込)", "税込合計", "消費税込み", "(消費税込み)"),
    *(
        f"{left}{words}{right}"
        for words in ("with tax", "tax included", "including tax", "incl. tax")
        for left, right in ("()", ("", ""))
    ),
)
"""What may stand beside an amount with tax."""
_GOODS: Final = {
    "ja": ("ノート", "封筒", "電球", "延長コード", "湯呑み", "石けん"),
    "en": ("notebooks", "envelopes", "bulbs", "cables", "cups", "soap"),
}


def _lines(random: Random, language: Language, level: int) -> tuple[str, list[tuple[str, int, bool]]]:
    """The text, and name, amount as written, whether tax is in it."""
    goods = random.sample(_GOODS[language], level + 2)
    records = [(name, random.randrange(2, 90) * 110, bool(random.randrange(2))) for name in goods]
    records[0] = (records[0][0], records[0][1], True)
    records[1] = (records[1][0], records[1][1], False)
    random.shuffle(records)
    if language == "ja":
        words = {
            True: ("税込{:,}円", "内税で{}円", "{:,}円（消費税込み）"),
            False: ("税抜{:,}円", "本体{}円", "{:,}円（税別）"),
        }
        told = "\n".join(f"・{name}：{random.choice(words[tax]).format(amount)}" for name, amount, tax in records)
    else:
        words = {
            True: ("{:,} yen with tax", "{} yen, tax included", "{:,} yen gross"),
            False: ("{:,} yen before tax", "{} yen plus tax", "{:,} yen net"),
        }
        told = "\n".join(f"- {name}: {random.choice(words[tax]).format(amount)}" for name, amount, tax in records)
    return told, records


def _net(amount: int, included: bool) -> int:
    return amount * 10 // 11 if included else amount


def tax_total(random: Random, language: Language, level: int) -> Made:
    """The total with 10 % tax of records written with and without it. Every amount divides evenly."""
    told, records = _lines(random, language, level)
    right = sum(_net(amount, tax) * 11 // 10 for _, amount, tax in records)
    slips = [
        sum(amount for _, amount, _ in records),
        sum(amount * 11 // 10 for _, amount, _ in records),
        sum(_net(amount, tax) for _, amount, tax in records),
    ]
    if language == "ja":
        prompt = f"次の明細の税込合計は何円ですか。消費税率はすべて10%です。\n{told}"
        wordings = [f"{right:,}円", str(right), f"¥{right:,}", f"{right:,}円".translate(_WIDE)]
    else:
        prompt = f"What do these cost in all with tax? The rate is 10% throughout.\n{told}"
        wordings = [f"{right:,} yen", str(right), f"¥{right:,}", f"{right:,}"]
    grader = Number(value=Decimal(right), units=("円", "合計", *WITH_TAX))
    wrong = [str(slip) for slip in dict.fromkeys((*slips, right + 1)) if slip != right]
    return made(prompt, grader, language, wordings, wrong)


def tax_records(random: Random, language: Language, level: int) -> Made:
    """The same records as JSON, every amount without tax."""
    told, records = _lines(random, language, level)
    value = [{"item": name, "net_yen": _net(amount, tax)} for name, amount, tax in records]
    schema = _list_of({"item": {"type": "string"}, "net_yen": {"type": "integer"}})
    if language == "ja":
        prompt = (
            f"次の明細を、税抜金額（円）にそろえたJSON配列にしてください。消費税率はすべて10%です。"
            f'要素は {{"item": 品名, "net_yen": 整数}} の形にします。\n{told}'
        )
    else:
        prompt = (
            "Turn these into a JSON array with every amount net of tax, in yen. The rate is 10% throughout. "
            f'Each element is {{"item": name, "net_yen": integer}}.\n{told}'
        )
    raw = [{"item": name, "net_yen": amount} for name, amount, _ in records]
    texts = [{"item": row["item"], "net_yen": str(row["net_yen"])} for row in value]
    return _structured(prompt, schema, value, (raw, texts, value[:-1]))


def log_lines(random: Random, language: Language, level: int) -> Made:
    """Lines of a log as JSON: only the failed ones, with seconds instead of milliseconds and an ISO instant."""
    start = datetime(2026, random.randrange(1, 13), random.randrange(1, 28), random.randrange(24), tzinfo=None)  # noqa: DTZ001
    rows: list[tuple[datetime, str, int, int]] = []
    for place in range(level + 3):
        start += timedelta(seconds=random.randrange(1, 900))
        status = (429, 200)[place] if place < 2 else random.choice((200, 200, 402, 429, 503))  # noqa: PLR2004
        rows.append((start, random.choice(("alpha", "beta", "gamma")), status, random.randrange(2, 90) * 50))
    told = "\n".join(f"[{at:%d/%m/%Y %H:%M:%S}] {name} -> {status} in {ms}ms" for at, name, status, ms in rows)

    def record(at: datetime, name: str, status: int, ms: int) -> dict[str, Any]:
        return {"at": at.isoformat(), "provider": name, "status": status, "seconds": ms / 1000}

    ok = 200
    value = [record(*row) for row in rows if row[2] != ok]
    schema = _list_of(
        {
            "at": {"type": "string"},
            "provider": {"type": "string"},
            "status": {"type": "integer"},
            "seconds": {"type": "number"},
        }
    )
    if language == "ja":
        prompt = (
            "次のログ（日/月/年）のうち、状態が200以外の行だけを、書かれた順にJSON配列にしてください。要素は "
            '{"at": "YYYY-MM-DDTHH:MM:SS", "provider": 文字列, "status": 整数, "seconds": 秒数} の形にします。\n' + told
        )
    else:
        prompt = (
            "Turn the lines of this log (day/month/year) whose status is not 200 into a JSON array, in their order. "
            'Each is {"at": "YYYY-MM-DDTHH:MM:SS", "provider": text, "status": integer, "seconds": number}.\n' + told
        )
    everything = [record(*row) for row in rows]
    millis = [{**item, "seconds": item["seconds"] * 1000} for item in value]
    return _structured(prompt, schema, value, (everything, millis))


def _list_of(properties: dict[str, Any]) -> dict[str, Any]:
    item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "array", "items": item}


def _structured(prompt: str, schema: dict[str, Any], value: Any, slips: tuple[Any, ...]) -> Made:
    plain, spread = _dumped(value), msgspec.json.format(_dumped(value), indent=2)
    return Made(
        prompt=prompt,
        grader=Json(schema=schema, value=value),
        right=(plain, f"```json\n{spread}\n```", f"<think>[]?</think>\n{spread}"),
        wrong=tuple(_dumped(slip) for slip in slips),
        hostile=(
            Known(text=f"<think>{plain}</think>"),
            Known(text="", reasoning=plain),
            Known(text=f'{{"grade": "10/10", "verdict": "correct", "answer": {plain}}}'),
            Known(text=f"{plain}\n{_dumped(slips[0])}"),
            Known(text=f"incorrect: {plain}"),
        ),
    )


def _dumped(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_WIDE: Final = str.maketrans("0123456789,", "０１２３４５６７８９，")
