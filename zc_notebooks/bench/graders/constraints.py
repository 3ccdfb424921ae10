"""What a text must and must not be: words, lengths, sentences."""

from __future__ import annotations

from zc_notebooks.bench.graders.base import CORRECT, Grade, Grader, wrong
from zc_notebooks.bench.text_forms import (
    contains,
    contains_form,
    folded,
    has_digit,
    length,
    sentences,
    unwrapped,
    words,
)
from zc_notebooks.records import Record


class Bounds(Record, frozen=True, kw_only=True):
    """Least and most, both included."""

    least: int = 0
    most: int | None = None

    def hold(self, count: int) -> bool:
        """Whether ``count`` lies within."""
        return self.least <= count and (self.most is None or count <= self.most)


class Constraints(Grader, frozen=True, kw_only=True, tag="constraints"):
    """A text that keeps to every rule. A rule about words asks for what stands there, not for what it means."""

    required: tuple[tuple[str, ...], ...] = ()
    """Of each group at least one wording must stand in the text."""
    forbidden: tuple[str, ...] = ()
    """An English word stands for its inflected forms too."""
    digits: bool = True
    """Whether digits, of any script, may stand in it."""
    characters: Bounds | None = None
    """As a person counts them; line breaks and quotation marks around the whole are not counted."""
    words: Bounds | None = None
    sentences: Bounds | None = None
    starts_with: tuple[str, ...] = ()
    ends_with: tuple[str, ...] = ()

    def mark(self, answer: str) -> Grade:
        """Right when nothing is broken; ``why`` names the first that is."""
        text = unwrapped(answer)
        why = self._counts(text) or self._wording(text)
        return wrong(why) if why else CORRECT

    def _counts(self, text: str) -> str:
        counted = (
            ("characters", self.characters, length(text)),
            ("words", self.words, words(text)),
            ("sentences", self.sentences, sentences(text)),
        )
        for name, bounds, count in counted:
            if bounds is not None and not bounds.hold(count):
                return f"{count} {name}, allowed are {bounds.least} to {bounds.most}"
        return ""

    def _wording(self, text: str) -> str:
        for word in self.forbidden:
            if contains_form(text, word):
                return f"a forbidden word stands in it: {word}"
        if not self.digits and has_digit(text):
            return "a digit stands in it"
        for group in self.required:
            if not any(contains(text, word) for word in group):
                return f"a required word is missing: {group[0]}"
        plain = folded(text)
        if self.starts_with and not plain.startswith(tuple(map(folded, self.starts_with))):
            return "it begins with something else"
        if self.ends_with and not plain.rstrip("。.!！").endswith(tuple(map(folded, self.ends_with))):
            return "it ends with something else"
        return ""
