"""The beginning of a streamed text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.stream_shown import Opening


class Counted(str):
    """Text that counts how many of its characters were looked at or copied."""

    count = 0

    def strip(self, chars: str | None = None) -> str:
        Counted.count += len(self)
        return super().strip(chars)

    def __add__(self, other: Any) -> Counted:
        Counted.count += len(self) + len(other)
        return Counted(super().__add__(other))

    def __radd__(self, other: Any) -> Counted:
        Counted.count += len(self) + len(other)
        return Counted(str(other) + str(self))


@given(st.lists(st.text(" \n\t", max_size=3), max_size=50), st.text(min_size=1).filter(str.strip))
def test_blanks_wait_for_the_first_word(blanks: list[str], word: str) -> None:
    """Nothing is lost, and nothing is shown before it."""
    opening = Opening()
    assert [opening.feed(blank) for blank in blanks] == [""] * len(blanks)
    assert opening.feed(word) == "".join(blanks) + word
    assert opening.rest() == ""


@given(st.lists(st.text(" \n", min_size=1, max_size=3), max_size=200))
def test_a_flood_of_blanks_is_read_once(blanks: list[str]) -> None:
    """However many pieces come, the work grows as they do."""
    opening = Opening()
    Counted.count = 0
    for blank in blanks:
        opening.feed(Counted(blank))
    assert Counted.count <= len("".join(blanks))
    assert opening.rest() == "".join(blanks)
