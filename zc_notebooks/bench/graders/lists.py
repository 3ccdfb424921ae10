"""Graders of several words: a set, an order."""

from __future__ import annotations

import re
from typing import Final

from zc_notebooks.bench.graders.base import CORRECT, Grade, Grader, unparsed, wrong
from zc_notebooks.bench.graders.numerals import kanji_number
from zc_notebooks.bench.text_forms import folded, normal, unquoted

_WORDS: Final = r"[,、;/・&+|\n]| and | as well as | plus | と |および|及び|そして"
_SEPARATORS: Final = re.compile(_WORDS, re.IGNORECASE)
_STEPS: Final = re.compile(
    _WORDS + r"|[-=]*>|[→⇒➡⟶]|\$?\\(?:long)?(?:to|rightarrow)\b\$?|,? then |次に| [-–] |—|(?<=\b\w)-(?=\w\b)",
    re.IGNORECASE,
)
"""What stands between the members of an order; a bare hyphen between single letters, or between members."""
_BLANKS: Final = re.compile(r"\s+")
_HYPHENS: Final = re.compile(r"[\s\-–]+")
_NUMBER: Final = re.compile(r"(\d{1,2})(?:[.):]\s*|\s+|番目\s*[:はが]?\s*|(?=[^\d\W]))")
_BULLET: Final = re.compile(r"\s*(?:[-*+•‣・]\s*|(\d{1,2})(?:[.)]|番目\s*[:は]|\s*、)\s*)(?=\S)")
_COUNT: Final = re.compile(
    r"(?:の|、?以上)?\s*\(?(?:の|以上|合?計)*(\d{1,2}|[二三四五六七八九十])(?:人|名|社|つ|個)\)?$"
)
_ORDER: Final = re.compile(r"^先頭から|の順番?$")
_HONORIFICS: Final = re.compile(r"(?:さん|様|氏|君)$")
_BOTH: Final = re.compile(r"both (?:of )?", re.IGNORECASE)
_REMARK: Final = re.compile(r"\(([^()]*)\)")
_LONGEST_LIST: Final = 2000
"""Characters of a text that may be a list of members."""
_NOTHING: Final = frozenset({"none", "nothing", "なし", "無し", "該当なし", "no one", "nobody", "-", "[]", "{}", "n/a"})
_BRACKETS: Final = frozenset({"[]", "{}", "()"})


class Items(Grader, frozen=True, kw_only=True, tag="set"):
    """A set of words: separated by ``, 、 ; / ・ & +``, "and" or と, or as lines of a list.

    In any order unless ``ordered``; an order may also be written with ``→``, ``>`` or "then" between its members.
    """

    items: tuple[tuple[str, ...], ...]
    """The wordings of each member. None at all: the answer is なし or "none"."""
    remarks: tuple[tuple[str, ...], ...] = ()
    """What may stand in brackets behind each member, in the order of ``items``; any other remark makes it wrong."""
    ordered: bool = False

    def mark(self, answer: str) -> Grade:
        """Right when every member is named once and nothing else is."""
        if len(answer) > _LONGEST_LIST:
            return unparsed("too long for a list")
        whole, count = _counted(_one_line(answer))
        whole = _ORDER.sub("", whole) if self.ordered else whole
        known = self._known()
        members = self._members(whole, known)
        if members is None:
            return unparsed("names nothing, and does not say none either")
        why = self._why([known.get(item) for item in members], count)
        return wrong(why) if why else CORRECT

    def _why(self, said: list[int | None], count: int | None) -> str:
        if None in said:
            return "something that does not belong there"
        if len(set(said)) < len(said):
            return "a member is named twice"
        if len(said) < len(self.items):
            return "a member is missing"
        if count is not None and count != len(said):
            return "the number of members it states is another"
        return "another order" if self.ordered and said != sorted(said, key=lambda at: at or 0) else ""

    def _known(self) -> dict[str, int]:
        return {folded(unquoted(word)): place for place, words in enumerate(self.items) for word in words}

    def _members(self, whole: str, known: dict[str, int]) -> list[str] | None:
        if folded(whole) in _NOTHING:
            return []
        bare = whole[1:-1] if whole[:1] + whole[-1:] in _BRACKETS else whole
        parts = (_STEPS if self.ordered else _SEPARATORS).split(self._without_remarks(bare, known))
        items = [folded(unquoted(item)) for item in parts if item.strip()]
        blanks = _HYPHENS if self.ordered else _BLANKS
        words = [word for item in items for word in _joined(item, known, blanks)]
        return [_named(word, known, place) for place, word in enumerate(words, start=1)] or None

    def _without_remarks(self, text: str, known: dict[str, int]) -> str:
        """Without the brackets that say of the member before them what is so."""

        def kept(found: re.Match[str]) -> str:
            before = re.split(r"[^\w]+", folded(text[: found.start()]).rstrip())[-1]
            place = known.get(before)
            allowed = self.remarks[place] if place is not None and place < len(self.remarks) else ()
            said = {folded(part) for part in re.split("[,;、]", found[1])}
            return "" if said <= {folded(remark) for remark in allowed} else found[0]

        return _REMARK.sub(kept, text)


def _one_line(answer: str) -> str:
    """A list in lines with commas between them; a line's number is its place, or it stays."""
    lines = [line for line in answer.replace("**", "").splitlines() if line.strip()]
    if len(lines) < 2:  # noqa: PLR2004
        return unquoted(normal("".join(lines)))
    return ", ".join(_unbulleted(normal(line), place) for place, line in enumerate(lines, 1))


def _unbulleted(line: str, place: int) -> str:
    found = _BULLET.match(line)
    return line if found is None or (found[1] and int(found[1]) != place) else line[found.end() :]


def _counted(text: str) -> tuple[str, int | None]:
    """Without "both" or の3人, and the number that this states."""
    both = _BOTH.match(text)
    if both:
        return text[both.end() :], 2
    found = _COUNT.search(text)
    if found is None or not found.start():
        return text, None
    value = kanji_number(found[1])
    return text[: found.start()], None if value is None else int(value)


def _joined(item: str, known: dict[str, int], blanks: re.Pattern[str]) -> list[str]:
    """The members that と joins, or blanks, or nothing where each is one letter; in a name these join nothing."""
    if _named(item, known) in known:
        return [item]
    for parts in (item.split("と"), blanks.split(item), list(item)):
        words = [unquoted(part) for part in parts if part.strip()]
        if len(words) > 1 and all(_named(word, known) in known for word in words):
            return words
    return [unquoted(part) for part in item.split("と") if part.strip()]


def _named(word: str, known: dict[str, int], place: int | None = None) -> str:
    """The member that is meant: without さん, and without a number in front, which must be its ``place``."""
    found = _NUMBER.match(word)
    if found and (place is None or int(found[1]) == place) and word not in known:
        word = word[found.end() :]
    bare = _HONORIFICS.sub("", word)
    return bare if word not in known and bare in known else word
