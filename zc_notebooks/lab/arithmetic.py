"""Arithmetic questions in English and Japanese, found and worked out exactly, without ``eval``."""

from __future__ import annotations

import ast
import operator
import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction

from zc_notebooks.records import Record

_WORDS: tuple[tuple[str, str], ...] = (
    (r"\b(?:to the power of|raised to)\b", " ^ "),
    (r"\bsquared\b|の\s*(?:2|二)乗", " ^ 2"),
    (r"\bcubed\b|の\s*(?:3|三)乗", " ^ 3"),
    (r"(?:\bmultiplied by\b|\btimes\b|かける|掛ける|×|✕|⋅|·)", " * "),
    (r"(?:\bdivided by\b|\bover\b|わる|割る|÷)", " / "),
    (r"(?:\bplus\b|\badded to\b|たす|足す)", " + "),
    (r"(?:\bminus\b|\bless\b|ひく|引く|−|–)", " - "),
    (r"\bmod(?:ulo)?\b", " % "),
    (r"percent of|% of|パーセントの", " / 100 * "),
    (r"(?<=\d)\s*[xX]\s*(?=[\d(])", " * "),
)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}(?::\d{2})?")
_EXPRESSION = re.compile(r"[(\-]*\s*\d[\d,._\s()+*/%^\-]*[\d)]")
_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_MAX_EXPONENT = 64
_MAX_BITS = 4096


class Sum(Record, frozen=True, kw_only=True):
    """An expression found in a text, and its value."""

    expression: str
    value: Fraction

    @property
    def result(self) -> str:
        """The value as people write it: a whole number, or up to ten decimals."""
        return number(self.value)


def number(value: Fraction) -> str:
    """A fraction as a decimal number of at most ten places."""
    if value.denominator == 1:
        return str(value.numerator)
    rounded = round(value * 10**10)
    digits = f"{abs(rounded):011d}"
    text = f"{digits[:-10]}.{digits[-10:]}".rstrip("0").rstrip(".")
    return f"-{text}" if rounded < 0 else text


def find(text: str) -> Sum | None:
    """The longest arithmetic expression of a text with its value, or ``None`` when it holds none that works out."""
    plain = _DATE.sub(" ; ", unicodedata.normalize("NFKC", text))
    for words, sign in _WORDS:
        plain = re.sub(words, sign, plain, flags=re.IGNORECASE)
    candidates = sorted((match.group() for match in _EXPRESSION.finditer(plain)), key=len, reverse=True)
    for candidate in candidates:
        expression = " ".join(candidate.replace("**", "^").replace("_", "").split())
        expression = re.sub(r"(?<=\d),(?=\d{3}\b)", "", expression)
        if re.search(r"\d\s*\)*\s*[+*/%^\-]", expression):
            value = evaluate(expression)
            if value is not None:
                return Sum(expression=expression, value=value)
    return None


def evaluate(expression: str) -> Fraction | None:
    """Value of numbers, ``+ - * / % ^`` and brackets; ``None`` for anything else, or when it grows too large."""
    try:
        tree = ast.parse(expression.replace("^", "**"), mode="eval")
        return _value(tree.body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        return _small(_binary(node.op, _value(node.left), _value(node.right)))
    raise ValueError("not arithmetic")


def _binary(kind: ast.operator, left: Fraction, right: Fraction) -> Fraction:
    if isinstance(kind, ast.Pow):
        if right.denominator != 1 or abs(right) > _MAX_EXPONENT:
            raise ValueError("exponent too large")
        return left ** int(right)
    found = _OPERATORS.get(type(kind))
    if found is None:
        raise ValueError("no such operator here")
    return found(left, right)


def _small(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > _MAX_BITS or value.denominator.bit_length() > _MAX_BITS:
        raise ValueError("too large")
    return value
