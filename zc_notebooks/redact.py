"""One redactor for every text that leaves: errors, rows, logs, reprs, notebook output."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator

_MASK = "***"
_MIN_KEY = 4
"""A known value shorter than this would redact ordinary words; a key that short is refused at the edge."""

_LONG = 12
"""Characters of a value from which its beginnings and ends are no ordinary text."""

_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|gsk_|xai-|nvapi-|pplx-|hf_|xoxb-|xoxp-|ghp_|gho_|ghu_|github_pat_|AIza)[A-Za-z0-9_\-.*]+"
)
_TOKEN_MARKS = (
    "sk-",
    "gsk_",
    "xai-",
    "nvapi-",
    "pplx-",
    "hf_",
    "xoxb-",
    "xoxp-",
    "ghp_",
    "gho_",
    "ghu_",
    "github_pat_",
    "AIza",
)
"""Cheap pieces, one of which stands in any such token."""
_SAME_EVERYWHERE = re.compile(r"[A-Za-z0-9_.~-]*")
"""Values that no form of text writes in another way."""
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=\-]+")
_URL = re.compile(r"(?i)\b(https?|wss?)://(?:[^\s/@\"'<>?#]*@)?([^\s\"'<>?#]*)(\?[^\s\"'<>#]*)?")
_KEY_FIELD = re.compile(
    r"(?i)([\"']?(?:api[-_]?key|x-goog-api-key|x-api-key|authorization)[\"']?\s*[:=]\s*[\"']?)"
    r"((?:bearer|basic)\s+)?([^\s\"',}&]+)"
)


class Secret:
    """A credential value whose text forms are ``***``. The value itself is read only with :meth:`reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        register(value)

    def reveal(self) -> str:
        """The value, for the one place that puts it into a request header."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({_MASK})"

    def __str__(self) -> str:
        return _MASK

    def __format__(self, spec: str) -> str:
        return _MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> str:
        raise TypeError("a Secret cannot be pickled: pass the variable's name and read the key where it is used")


class Redactor:
    """Removes every registered credential, key-shaped tokens, bearer values and the private parts of URLs.

    Adding is idempotent and thread-safe. Pieces of a known key of four characters or more at its start or end are
    removed too, because servers echo keys shortened ("sk-ab…yz", "****wxyz"), in any case, and in the forms that
    addresses, JSON and HTML give its characters.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._lock = threading.Lock()
        self._known: re.Pattern[str] | None = None
        """Made when a text first holds a piece of a known value: making it takes milliseconds for each key."""
        self._hints: tuple[str, ...] = ()
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Registers one credential; every later call removes it and its recognisable ends."""
        value = value.strip()
        if len(value) < _MIN_KEY:
            return
        with self._lock:
            if value in self._values:
                return
            self._values.add(value)
            self._known = None
            for form in _forms(value):
                self._hints += (form[:_MIN_KEY].lower(), form[-_MIN_KEY:].lower())

    def __call__(self, text: str) -> str:
        """``text`` without secrets. Never raises; text without any comes back as it was."""
        folded = text.lower()
        if any(hint in folded for hint in self._hints):
            text = self._of_known_values().sub(_MASK, text)
        if "key" in folded or "authorization" in folded:
            text = _KEY_FIELD.sub(rf"\1{_MASK}", text)
        if "bearer" in folded or "basic" in folded:
            text = _BEARER.sub(rf"\1\2{_MASK}", text)
        for mark in _TOKEN_MARKS:
            if mark in text:
                text = _TOKEN.sub(_MASK, text)
                break
        return _URL.sub(_clean_url, text) if "://" in text else text

    def _of_known_values(self) -> re.Pattern[str]:
        with self._lock:
            if self._known is None:
                self._known = _pattern(self._values)
            return self._known


def _clean_url(match: re.Match[str]) -> str:
    return f"{match[1]}://{match[2]}"


def _pattern(values: Iterable[str]) -> re.Pattern[str]:
    """Whole values before their pieces, and long pieces before short ones: what is left of a match stays."""
    forms = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
    long = [form for form in forms if len(form) >= _LONG]
    pieces = {piece for form in long for piece in _pieces(form)}
    parts = [re.escape(form) for form in forms]
    parts += [pattern for form in long for pattern in _beside_a_mask(form)]
    parts += [re.escape(piece) for piece in sorted(pieces, key=len, reverse=True)]
    return re.compile("|".join(parts), re.IGNORECASE)


def _forms(value: str) -> frozenset[str]:
    """A value as it is, and as addresses, JSON and HTML write it."""
    if _SAME_EVERYWHERE.fullmatch(value):
        return frozenset((value,))
    import json
    from html import escape
    from urllib.parse import quote, quote_plus

    quoted = json.dumps(value)[1:-1]
    slashed = quoted.replace("/", "\\/")
    in_address = {form(value, safe="", errors="replace") for form in (quote, quote_plus)}
    return frozenset((value, quoted, slashed, escape(value), *in_address))


def _beside_a_mask(value: str) -> Iterator[str]:
    """Patterns for a key echoed in part: its first or last characters beside a mask."""
    head, tail = re.escape(value[:4]), re.escape(value[-4:])
    rest = r"[A-Za-z0-9_\-]*"
    yield rf"(?<![A-Za-z0-9]){head}{rest}[*.…•]{{2,}}{rest}"
    yield rf"[*.…•]{{2,}}{rest}{tail}(?![A-Za-z0-9])"


def _pieces(value: str) -> Iterator[str]:
    """Beginnings and ends of six characters or more."""
    for size in range(len(value) - 1, 5, -1):
        yield value[:size]
        yield value[-size:]


_shared = Redactor()


def register(value: str) -> None:
    """Adds a credential to the process's redactor (every :class:`Secret` does so itself)."""
    _shared.add(value)


def redact(text: str) -> str:
    """``text`` through the process's one redactor."""
    return _shared(text)


_UNSEEN = {
    **{code: 0x2400 + code for code in range(32) if code not in (9, 10)},
    127: 0x2421,
    **dict.fromkeys((*range(128, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""Control characters but tab and newline (a terminal would obey them), and those that turn the direction of the text
after them (it would be read as what it is not) → pictures of them."""


def visible(text: str) -> str:
    """``text`` with pictures for its control characters: what a provider says moves nobody's cursor."""
    return text if text.isprintable() else text.translate(_UNSEEN)


def one_line(text: str) -> str:
    """:func:`safe` text for a cell of a table: line ends and tabs are pictures too, so that a row stays a row."""
    return visible(redact(text)).translate({9: 0x2409, 10: 0x240A})


def safe(text: str) -> str:
    """``text`` without secrets and without control characters: every sentence that a terminal may show."""
    return visible(redact(text).replace("\r\n", "\n"))


def short(text: str, limit: int = 140) -> str:
    """One :func:`safe` line of at most ``limit`` characters: line ends become spaces, a cut ends in ``…``."""
    line = visible(" ".join(redact(text).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
