"""Every numbered behaviour of the routing specification has a test that names its number."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
BEHAVIOURS = range(1, 184)

NAME = re.compile(r"def test_((?:\d+_)+)")
SAID = re.compile(r"[Bb]ehaviours?:? ((?:\d+(?: to \d+|–\d+)?(?:, | and )?)+)")
HEAD = re.compile(r'"(?:"")?((?:\d+(?:, | and )?)+)[: ]')
SPAN = re.compile(r"(\d+)(?: to |–)?(\d+)?")


def named(text: str) -> set[int]:
    """Numbers in the names of tests, after the word "behaviour", or at the head of a docstring or case."""
    found = {int(number) for match in NAME.finditer(text) for number in re.findall(r"\d+", match[1])}
    for match in SAID.finditer(text):
        for first, last in SPAN.findall(match[1]):
            found.update(range(int(first), int(last or first) + 1))
    found.update(int(number) for match in HEAD.finditer(text) for number in re.findall(r"\d+", match[1]))
    return found


def test_every_behaviour_is_named() -> None:
    """None is without a test."""
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    found = set().union(*(named(path.read_text(encoding="utf-8")) for path in files))
    assert [number for number in BEHAVIOURS if number not in found] == []
