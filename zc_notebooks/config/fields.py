"""Checks of single values: each takes what TOML gave and returns the parsed value, or raises :class:`Wrong`.

A check that returns ``None`` says "absent": that is what a blank text is (spec 2.1).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from zc_notebooks.redact import Secret, redact

Check = Callable[[Any], Any]

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_MIN_KEY: Final = 4
_LONG_NAME: Final = 20
_KEY_LENGTH: Final = 8
"""Characters from which a value at a name like ``x-api-key`` is taken for a credential."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KEY_WORDS: Final = frozenset(
    {"apikey", "auth", "authorization", "cookie", "credential", "credentials", "key", "password", "secret", "token"}
)
_OTHERS: Final[Mapping[str, frozenset[str]]] = {
    "key": frozenset({"cache", "idempotency", "partition", "public", "routing", "sort"}),
    "token": frozenset({"bos", "eos", "pad", "stop"}),
}
"""Words before these that make them no credential."""


class Wrong(ValueError):
    """A value that cannot stand; the text says what would be right. ``hidden``: never show the value."""

    def __init__(self, message: str, *, at: str = "", value: object = None, hidden: bool = False) -> None:
        self.at = at
        self.value = value
        self.hidden = hidden
        super().__init__(message)


class HeaderTable(dict[str, str]):
    """Header names and values whose repr shows the names only."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: ***" for name in self) + "}"


def text(value: object) -> str | None:
    """One line of text, trimmed; blank is absent."""
    if not isinstance(value, str):
        raise Wrong("must be text in quotes")
    trimmed = value.strip()
    if _CONTROL.search(trimmed):
        raise Wrong("must be one line without control characters")
    return trimmed or None


def flag(value: object) -> bool:
    """``true`` or ``false``."""
    if not isinstance(value, bool):
        raise Wrong("must be true or false")
    return value


def choice(*allowed: str) -> Check:
    """One of a few words."""
    words = ", ".join(allowed)

    def check(value: object) -> str | None:
        given = text(value)
        if given is not None and given not in allowed:
            raise Wrong(f"must be one of {words}")
        return given

    return check


def number(low: float = 0, high: float | None = None, *, above: bool = False) -> Check:
    """A finite number from ``low`` (``above``: more than that) to ``high``."""
    span = f"of {low:g} or more" if high is None else f"from {low:g} to {high:g}"
    wanted = f"must be a number above {low:g}" if above else f"must be a number {span}"

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Wrong(wanted)
        try:
            given = float(value)
        except OverflowError:
            raise Wrong(wanted) from None
        if not math.isfinite(given) or given < low or (above and given == low) or (high is not None and given > high):
            raise Wrong(wanted)
        return given

    return check


def whole(low: int = 0) -> Check:
    """A whole number of at least ``low``, and of a size that a machine counts with."""

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 1 << 63:
            raise Wrong(f"must be a whole number of {low} or more")
        return value

    return check


def money(value: object) -> Decimal:
    """An amount of USD, exactly as written."""
    given = number()(value)
    return Decimal(value) if isinstance(value, int) else Decimal(repr(given))


def many(check: Check, what: str = "texts") -> Check:
    """A list of values; a blank item stays as ``""`` so that places keep their meaning."""

    def check_all(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise Wrong(f"must be a list of {what}")
        found = []
        for place, item in enumerate(value):
            try:
                parsed = check(item)
            except Wrong as wrong:
                raise Wrong(str(wrong), at=f"[{place}]", value=item, hidden=wrong.hidden) from None
            found.append("" if parsed is None else parsed)
        return tuple(found)

    return check_all


class ExtraTable(dict[str, Any]):
    """Fields of a request body whose repr shows no credential."""

    def __repr__(self) -> str:
        return redact(super().__repr__())


def extras(value: object) -> ExtraTable:
    """A table, as it stands. Values that are credentials become known to the redactor."""
    found = ExtraTable(table(value))
    for _, item in keys_in(found):
        Secret(item)
    return found


def keys_in(nested: Mapping[str, Any], path: str = "") -> list[tuple[str, str]]:
    """The places of a table at which a credential stands, and the credential itself."""
    found: list[tuple[str, str]] = []
    for name, item in nested.items():
        if isinstance(item, dict):
            found.extend(keys_in(item, f"{path}.{name}"))
        elif isinstance(item, str) and names_a_key(name) and item.strip():
            key = item.split()[-1]  # after "Bearer"
            if len(key) >= _KEY_LENGTH:
                found.append((f"{path}.{name}", key))
    return found


def names_a_key(name: str) -> bool:
    """Whether what stands under a name (``x-api-key``, ``accessToken``) is a credential."""
    words = [word.lower() for word in _WORDS.findall(name)] or [""]
    return words[-1] in _KEY_WORDS and not _OTHERS.get(words[-1], frozenset()).intersection(words)


def table(value: object) -> dict[str, Any]:
    """Any table, as it stands."""
    if not isinstance(value, dict):
        raise Wrong("must be a table")
    return value


def by_model(check: Check) -> Check:
    """A table model → value. A bare dotted key (``a.b = 1``), which TOML nests, is joined again."""

    def check_all(value: object) -> dict[str, Any]:
        found = {}
        for name, item in _joined(table(value)):
            try:
                found[name.strip()] = check(item)
            except Wrong as wrong:
                raise Wrong(str(wrong), at=f".{name}", value=item) from None
        return found

    return check_all


def _joined(nested: Mapping[str, Any]) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, item in nested.items():
        if isinstance(item, dict):
            pairs.extend((f"{name}.{rest}", value) for rest, value in _joined(item))
        else:
            pairs.append((name, item))
    return pairs


# -- credentials ----------------------------------------------------------------------------------------------------


def variable(value: object) -> str | None:
    """The name of an environment variable. Something that looks like a key itself is refused and never shown."""
    try:
        name = text(value)
    except Wrong as wrong:
        raise Wrong(str(wrong), hidden=isinstance(value, str)) from None
    if name is None:
        return None
    if not _VARIABLE.fullmatch(name) or redact(name) != name or _looks_like_key(name):
        raise Wrong("must be the name of a variable that holds the key, never the key itself", hidden=True)
    return name


def _looks_like_key(name: str) -> bool:
    return len(name) >= _LONG_NAME and "_" not in name and any(letter.isdigit() for letter in name)


def sendable(value: str) -> str | None:
    """Why a (trimmed) key cannot be used, or ``None`` when it can. Never quotes it."""
    if len(value) < _MIN_KEY:
        return f"is shorter than {_MIN_KEY} characters"
    if not _HEADER_VALUE.fullmatch(value) or " " in value or "\t" in value:
        return "holds a space, a control character or a letter outside ASCII, which no header can carry"
    return None


def secret(value: object) -> Secret | None:
    """A key in the file."""
    if not isinstance(value, str):
        raise Wrong("must be text in quotes", hidden=True)
    trimmed = value.strip()
    if not trimmed:
        return None
    fault = sendable(trimmed)
    if fault is not None:
        raise Wrong(f"the key {fault}", hidden=True)
    return Secret(trimmed)


def headers(value: object) -> HeaderTable:
    """A table header → text. Values that are credentials become known to the redactor."""
    found = HeaderTable()
    for name, item in table(value).items():
        if not _HEADER_NAME.fullmatch(name):
            raise Wrong("is no header name", at=f".{name}")
        if not isinstance(item, str) or not _HEADER_VALUE.fullmatch(item.strip()):
            raise Wrong("must be one line of ASCII text", at=f".{name}", hidden=True)
        found[name] = item.strip()
    for _, key in keys_in(found):
        Secret(key)
    return found
